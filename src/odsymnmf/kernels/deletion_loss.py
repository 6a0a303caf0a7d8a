"""Increase of the loss of an item without one of its memberships, entry by entry."""

import numpy as np

from odsymnmf.kernels.compile import allocating


@allocating
def unstored_squares(indptr, column, value, d_indptr, d_column, d_value, scale, increase):
    """Add scale times the change of sum_{j != i} (h_i . h_j)^2 without each entry.

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
            increase[s] += scale * (x * x * own - 2.0 * x * total)


@allocating
def _phi(e, l1, l2):
    return l1 * abs(e) + l2 * e * e


@allocating
def stored_pairs(items, A, w0, E, indptr, column, value, r, l1, l2, increase, zero_loss):
    """Add the difference of stored pairs to pairs with A_ij = 0, and the exceptions.

    ``zero_loss`` becomes the loss of the items without memberships.
    """
    h, position = np.zeros(r), np.full(r, -1)
    for p in range(len(items)):
        i, row = items[p], A.which[p]
        for s in range(indptr[i], indptr[i + 1]):
            h[column[s]], position[column[s]] = value[s], s
        for j in range(A.indptr[row], A.indptr[row + 1]):
            k, a = A.indices[j], np.float64(A.data[j])
            if k == i:
                continue
            zero_loss[i] += w0 * _phi(a, l1, l2)
            product = 0.0
            for s in range(indptr[k], indptr[k + 1]):
                product += h[column[s]] * value[s]
            for s in range(indptr[k], indptr[k + 1]):
                to = position[column[s]]
                if to >= 0:
                    x = h[column[s]] * value[s]
                    e = a - product
                    change = _phi(e + x, l1, l2) - _phi(e, l1, l2)
                    change -= _phi(product - x, l1, l2) - _phi(product, l1, l2)
                    increase[to] += w0 * change
        if len(E.indptr) > 0:
            for j in range(E.indptr[i], E.indptr[i + 1]):
                k, a, v = E.indices[j], E.a[j], E.v[j]
                zero_loss[i] += v * _phi(a, l1, l2)
                product = 0.0
                for s in range(indptr[k], indptr[k + 1]):
                    product += h[column[s]] * value[s]
                for s in range(indptr[k], indptr[k + 1]):
                    to = position[column[s]]
                    if to >= 0:
                        e, x = a - product, h[column[s]] * value[s]
                        increase[to] += v * (_phi(e + x, l1, l2) - _phi(e, l1, l2))
        for s in range(indptr[i], indptr[i + 1]):
            h[column[s]], position[column[s]] = 0.0, -1
