"""The objectives with sparse memberships: stored pairs, exceptions, and sums over columns."""

import numpy as np

from odsymnmf.kernels.compile import allocating


@allocating
def _dot(x, i, indptr, column, value):
    total = 0.0
    for s in range(indptr[i], indptr[i + 1]):
        total += x[column[s]] * value[s]
    return total


@allocating
def stored_terms(A, w0, E, indptr, column, value, r, absolute):
    """Return what the stored pairs add to the sum over all pairs of (h_i . h_j)^p, and exceptions.

    With p_ij = h_i . h_j that is w0 sum over stored pairs of (A_ij - p_ij)^2 - p_ij^2 for l2 and
    of |A_ij - p_ij| - p_ij for l1 (``absolute``), plus v_ij (A_ij - p_ij)^2 or v_ij |A_ij - p_ij|
    over the exceptions.
    """
    x = np.zeros(r)
    total, exceptions = 0.0, 0.0
    for k in range(len(A.indptr) - 1):
        for s in range(indptr[k], indptr[k + 1]):
            x[column[s]] = value[s]
        for j in range(A.indptr[k], A.indptr[k + 1]):
            i, w = A.indices[j], np.float64(A.data[j])
            if i != k:
                p = _dot(x, i, indptr, column, value)
                total += abs(w - p) - p if absolute else w * (w - 2.0 * p)
        if len(E.indptr) > 0:
            for j in range(E.indptr[k], E.indptr[k + 1]):
                rest = E.a[j] - _dot(x, E.indices[j], indptr, column, value)
                exceptions += E.v[j] * (abs(rest) if absolute else rest * rest)
        for s in range(indptr[k], indptr[k + 1]):
            x[column[s]] = 0.0
    return w0 * total + exceptions


@allocating
def all_products(indptr, column, value, r):
    """Return sum_{i != j} h_i . h_j = 2 sum_i h_i . (sum of the rows before i)."""
    before, total = np.zeros(r), 0.0
    for i in range(len(indptr) - 1):
        for s in range(indptr[i], indptr[i + 1]):
            total += 2.0 * before[column[s]] * value[s]
            before[column[s]] += value[s]
    return total


@allocating
def sum_of_products(H):
    """Return the sum of all entries of H H^T H: of (sum_t h_it) (h_i . sum_j h_j) over i."""
    sums, total = np.zeros(len(H.head)), 0.0
    for i in range(len(H.span)):
        for s in range(H.span[i, 0], H.span[i, 1]):
            sums[H.column[s]] += H.value[s]
    for i in range(len(H.span)):
        row, product = 0.0, 0.0
        for s in range(H.span[i, 0], H.span[i, 1]):
            row += H.value[s]
            product += sums[H.column[s]] * H.value[s]
        total += row * product
    return total
