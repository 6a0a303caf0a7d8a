"""Sums over the stored pairs of A, always in float64."""

import numpy as np

from odsymnmf.kernels.compile import kernel


@kernel
def stored_squares(indptr, indices, data, H):
    """Return sum of (A_ij - p_ij)^2 and sum of p_ij^2 over the stored pairs, p_ij = h_i . h_j."""
    errors, squares = 0.0, 0.0
    for i in range(len(indptr) - 1):
        for j in range(indptr[i], indptr[i + 1]):
            p = 0.0
            for l in range(H.shape[1]):
                p += np.float64(H[i, l]) * H[indices[j], l]
            e = data[j] - p
            errors += e * e
            squares += p * p
    return errors, squares
