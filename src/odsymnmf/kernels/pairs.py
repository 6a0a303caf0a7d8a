"""Sums over the stored pairs of A, always in float64."""

import numpy as np

from odsymnmf.kernels.compile import kernel


@kernel
def stored_squares(items, rows, H, errors, squares):
    """Set errors[b] = sum_j (A_ij - p_ij)^2 and squares[b] = sum_j p_ij^2 of item i = items[b].

    Over its stored pairs, p_ij = h_i . h_j. A number for each item: who adds them up does so in
    one order, whoever has computed them.
    """
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        error, square = 0.0, 0.0
        for j in range(rows.indptr[q], rows.indptr[q + 1]):
            p = 0.0
            for l in range(H.shape[1]):
                p += np.float64(H[i, l]) * H[rows.indices[j], l]
            e = rows.data[j] - p
            error += e * e
            square += p * p
        errors[b] = error
        squares[b] = square
