"""Sums over listed pairs: errors, the gain of a column, the loss from deleting a membership.

The formulas are in docs/algorithms.md: "l1 at the cost of the stored entries", "Column restarts".

Sums are in float64. Those of single items are returned one by one, so that the total does not
depend on how the items are distributed.
"""

import numpy as np

from odsymnmf.kernels.compile import allocating_kernel, fastmath_kernel, helper, kernel


@kernel
def pair_sums(items, rows, v, H, sums):
    """Set sums[b] to the sums of v |a - p|, v (a - p)^2, v p and v p^2 over the pairs of items[b].

    p_ij = h_i . h_j, a = A_ij; v are weights of the pairs, None if each is one. Costs O(r) a pair.
    """
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        error, square_error, product, square = 0.0, 0.0, 0.0, 0.0
        for j in range(rows.indptr[q], rows.indptr[q + 1]):
            p, w = 0.0, 1.0 if v is None else v[j]
            for l in range(H.shape[1]):
                p += np.float64(H[i, l]) * H[rows.indices[j], l]
            e = rows.data[j] - p
            error += w * abs(e)
            square_error += w * e * e
            product += w * p
            square += w * p * p
        sums[b, 0], sums[b, 1], sums[b, 2], sums[b, 3] = error, square_error, product, square


@fastmath_kernel
def column_gain(items, rows, v, j, H, power):
    """Return the increase of the error over the listed pairs if column j were removed.

    That is the sum of v (|e + x|^power - |e|^power), with e = a - h_i . h_k and x = H_ij H_kj; the
    sum of the absolute values of its terms; and the sum of x. Costs O(r) for each pair in column j.
    """
    total, size, products = 0.0, 0.0, 0.0
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        for p in range(rows.indptr[q], rows.indptr[q + 1]):
            k = rows.indices[p]
            x = np.float64(H[i, j]) * H[k, j]
            if x > 0.0:
                e, w = np.float64(rows.data[p]), 1.0 if v is None else v[p]
                for t in range(H.shape[1]):
                    e -= np.float64(H[i, t]) * H[k, t]
                without, error = abs(e + x), abs(e)
                if power == 2:
                    without, error = without * without, error * error
                total += w * (without - error)
                size += abs(w) * (without + error)
                products += x
    return total, size, products


@allocating_kernel
def deletion_loss_at_zero(indptr, column, value, d_indptr, d_column, d_value, scale, increase):
    """Add scale times the change of sum_{j != i} (h_i . h_j)^2 without each entry.

    Without entry x in column l that is x^2 (D_ll - x^2) - 2 x sum_t (D_lt - x h_it) h_it. Costs a
    row of D for each entry.
    """
    for i in range(len(indptr) - 1):
        begin, end = indptr[i], indptr[i + 1]
        for s in range(begin, end):
            l, x = column[s], value[s]
            total, diagonal, e = 0.0, 0.0, begin
            for p in range(d_indptr[l], d_indptr[l + 1]):
                while e < end and column[e] < d_column[p]:
                    e += 1
                if e == end:
                    break
                if column[e] == d_column[p]:
                    others = d_value[p] - x * value[e]
                    total += others * value[e]
                    if d_column[p] == l:
                        diagonal = others
            increase[s] += scale * (x * x * diagonal - 2.0 * x * total)


@helper
def _phi(e, l1, l2):
    return l1 * abs(e) + l2 * e * e


@helper
def _add_pair(k, a, v, w0, H, h, position, l1, l2, increase):
    """Add v times the change of phi(a - h . h_k) without each entry, minus w0 times that at a = 0.

    Return v phi(a).
    """
    indptr, column, value = H
    p = 0.0
    for s in range(indptr[k], indptr[k + 1]):
        p += h[column[s]] * value[s]
    for s in range(indptr[k], indptr[k + 1]):
        entry = position[column[s]]
        if entry >= 0:
            x, e = h[column[s]] * value[s], a - p
            change = v * (_phi(e + x, l1, l2) - _phi(e, l1, l2))
            increase[entry] += change - w0 * (_phi(p - x, l1, l2) - _phi(p, l1, l2))
    return v * _phi(a, l1, l2)


@allocating_kernel
def deletion_loss(items, A, w0, E, H, r, l1, l2, increase, zero_loss):
    """Add the difference of stored pairs to pairs with A_ij = 0, and the exceptions.

    H is a CSR triple; ``zero_loss`` is set to the loss of the items without memberships. Costs the
    memberships of the neighbors.
    """
    h, position = np.zeros(r), np.full(r, -1)
    indptr, column, value = H
    for p in range(len(items)):
        i, row = items[p], A.which[p]
        for s in range(indptr[i], indptr[i + 1]):
            h[column[s]], position[column[s]] = value[s], s
        for j in range(A.indptr[row], A.indptr[row + 1]):
            k, a = A.indices[j], np.float64(A.data[j])
            if k != i:
                zero_loss[i] += _add_pair(k, a, w0, w0, H, h, position, l1, l2, increase)
        for j in range(E.indptr[i], E.indptr[i + 1]):
            zero_loss[i] += _add_pair(
                E.indices[j], E.a[j], E.v[j], 0.0, H, h, position, l1, l2, increase
            )
        for s in range(indptr[i], indptr[i + 1]):
            h[column[s]], position[column[s]] = 0.0, -1


@helper
def _dot(x, i, indptr, column, value):
    total = 0.0
    for s in range(indptr[i], indptr[i + 1]):
        total += x[column[s]] * value[s]
    return total


@allocating_kernel
def sparse_error(A, w0, E, indptr, column, value, r, absolute):
    """Return the sum over stored pairs and exceptions that is added to that of (h_i . h_j)^p.

    With p_ij = h_i . h_j that is w0 sum over stored pairs of (A_ij - p_ij)^2 - p_ij^2 for l2 and
    of |A_ij - p_ij| - p_ij for l1 (``absolute``), plus v_ij (A_ij - p_ij)^2 or v_ij |A_ij - p_ij|
    over the exceptions. Costs the memberships of the neighbors.
    """
    x = np.zeros(r)
    total, exceptions = 0.0, 0.0
    for k in range(len(A.indptr) - 1):
        for s in range(indptr[k], indptr[k + 1]):
            x[column[s]] = value[s]
        for j in range(A.indptr[k], A.indptr[k + 1]):
            a, p = np.float64(A.data[j]), _dot(x, A.indices[j], indptr, column, value)
            total += abs(a - p) - p if absolute else a * (a - 2.0 * p)
        for j in range(E.indptr[k], E.indptr[k + 1]):
            e = E.a[j] - _dot(x, E.indices[j], indptr, column, value)
            exceptions += E.v[j] * (abs(e) if absolute else e * e)
        for s in range(indptr[k], indptr[k + 1]):
            x[column[s]] = 0.0
    return w0 * total + exceptions


@allocating_kernel
def sparse_pair_products(indptr, column, value, r):
    """Return sum_{i != j} h_i . h_j = 2 sum_i h_i . (sum of the rows before i).

    Costs the memberships.
    """
    before, total = np.zeros(r), 0.0
    for i in range(len(indptr) - 1):
        for s in range(indptr[i], indptr[i + 1]):
            total += 2.0 * before[column[s]] * value[s]
            before[column[s]] += value[s]
    return total
