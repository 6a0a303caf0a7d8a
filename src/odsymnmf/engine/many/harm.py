"""What each membership is worth to its item, for sparse memberships."""

from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Scales
from odsymnmf.engine.many.sweep import exceptions, links
from odsymnmf.kernels import sparse_harm
from odsymnmf.problem import Similarity


def entry_harm(A: Similarity, H: Any, scales: Scales) -> tuple[Array, Array]:
    """Return by how much f_i rises without each stored membership of i, and f_i without any.

    f_i = sum_{j != i} w_ij phi(A_ij - h_i . h_j) with phi(e) = l1 |e| + l2 e^2; nothing but the
    one entry changes. As `odsymnmf.engine.losses.harm`, by the entries of a CSR array.
    """
    stored, E = links(A.links()), exceptions(A.weights)
    indptr, data = H.indptr.astype(np.int64), H.data.astype(np.float64)
    indices = H.indices.astype(np.int32, copy=False)
    rises, alone = np.zeros(len(data)), np.zeros(A.n)
    w0 = float(A.weights.background)
    if scales.l2 > 0:
        # Of all pairs, as if no similarity were stored: D = H^T H at the pairs of columns in use.
        H64 = H.astype(np.float64)
        D = (H64.T @ H64).tocsr()
        D.sort_indices()
        sparse_harm.squares_of_all(
            indptr, indices, data, D.indptr.astype(np.int64), D.indices, D.data,
            w0 * scales.l2, rises,
        )  # fmt: skip
    if scales.l1 > 0:
        totals = np.bincount(indices, weights=data, minlength=H.shape[1])
        rises -= w0 * scales.l1 * data * (totals[indices] - data)
    sparse_harm.stored_pairs(
        stored, w0, E, indptr, indices, data, H.shape[1], scales.l1, scales.l2, rises, alone
    )
    return rises, alone
