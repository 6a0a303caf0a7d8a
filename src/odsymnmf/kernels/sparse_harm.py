"""By how much the objective of an item rises without one of its memberships, entry by entry."""

import numpy as np

from odsymnmf.kernels.compile import allocating


@allocating
def squares_of_all(indptr, column, value, d_indptr, d_column, d_value, scale, rises):
    """Add scale times the rise of sum_{j != i} (h_i . h_j)^2 to every entry's: it is negative.

    Without entry x in column l that is x^2 (D_ll - x^2) - 2 x sum_t (D_lt - x h_it) h_it.
    """
    for i in range(len(indptr) - 1):
        begin, end = indptr[i], indptr[i + 1]
        for s in range(begin, end):
            l, x = column[s], value[s]
            total, own, e = 0.0, 0.0, begin
            for p in range(d_indptr[l], d_indptr[l + 1]):
                while e < end and column[e] < d_column[p]:
                    e += 1
                if e == end:
                    break
                if column[e] == d_column[p]:
                    both = d_value[p] - x * value[e]
                    total += both * value[e]
                    if d_column[p] == l:
                        own = both
            rises[s] += scale * (x * x * own - 2.0 * x * total)


@allocating
def _phi(e, l1, l2):
    return l1 * abs(e) + l2 * e * e


@allocating
def stored_pairs(A, w0, E, indptr, column, value, r, l1, l2, rises, alone):
    """Add what stored pairs differ by from pairs with A_ij = 0, and the exceptions.

    ``alone`` gets what every item's pairs cost without memberships.
    """
    h, place = np.zeros(r), np.full(r, -1)
    for i in range(len(indptr) - 1):
        for s in range(indptr[i], indptr[i + 1]):
            h[column[s]], place[column[s]] = value[s], s
        for j in range(A.indptr[i], A.indptr[i + 1]):
            k, a = A.indices[j], np.float64(A.data[j])
            alone[i] += w0 * _phi(a, l1, l2)
            p = 0.0
            for s in range(indptr[k], indptr[k + 1]):
                p += h[column[s]] * value[s]
            for s in range(indptr[k], indptr[k + 1]):
                to = place[column[s]]
                if to >= 0:
                    x = h[column[s]] * value[s]
                    rise = _phi(a - p + x, l1, l2) - _phi(a - p, l1, l2)
                    rises[to] += w0 * (rise - (_phi(p - x, l1, l2) - _phi(p, l1, l2)))
        if len(E.indptr) > 0:
            for j in range(E.indptr[i], E.indptr[i + 1]):
                k, a, v = E.indices[j], E.a[j], E.v[j]
                alone[i] += v * _phi(a, l1, l2)
                p = 0.0
                for s in range(indptr[k], indptr[k + 1]):
                    p += h[column[s]] * value[s]
                for s in range(indptr[k], indptr[k + 1]):
                    to = place[column[s]]
                    if to >= 0:
                        x = h[column[s]] * value[s]
                        rises[to] += v * (_phi(a - p + x, l1, l2) - _phi(a - p, l1, l2))
        for s in range(indptr[i], indptr[i + 1]):
            h[column[s]], place[column[s]] = 0.0, -1
