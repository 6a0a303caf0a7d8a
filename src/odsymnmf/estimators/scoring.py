"""How well memberships predict similarities that they were not fitted to."""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.engine.losses import Scales, pair_losses
from odsymnmf.engine.new_items import solve_rows

# Parts of the fitted items: the similarities to one are predicted from those to the others.
PARTS = 5
BLOCK_ENTRIES = 2**22


def foretold(S: Any, H: Array, scales: Scales, upper: float, zero_weight: float) -> Array:
    """Return the loss of new items' similarities, each predicted from others, and that at zero.

    The fitted items fall into five parts. For each, the memberships of the new items are found
    from their similarities to the other four, and compared with what they have to this one.

    Parameters
    ----------
    S : ndarray or CSR of shape (m, n)
        Similarities of new items to fitted ones; NaN: not known.
    H : ndarray of shape (n, r)
        Memberships of the fitted items.
    scales, upper, zero_weight
        As for `solve_rows`.

    Returns
    -------
    ndarray of two numbers
        The loss, and what it would be without memberships.
    """
    total, n = np.zeros(2), len(H)
    place = np.arange(n) % PARTS
    for part in range(min(PARTS, n)):
        asked, told = np.flatnonzero(place == part), np.flatnonzero(place != part)
        X = solve_rows(S[:, told], H[told], scales, upper, zero_weight).astype(np.float64)
        for b in blocks(S.shape[0], max(1, BLOCK_ENTRIES // max(len(asked), 1))):
            truth, weights = _full(S[b][:, asked], zero_weight)
            known = ~np.isnan(truth)
            truth, weights = np.where(known, truth, 0.0), np.where(known, weights, 0.0)
            missed = truth - X[b] @ H[asked].T
            total[0] += float(np.sum(weights * pair_losses(missed, scales)))
            total[1] += float(np.sum(weights * pair_losses(truth, scales)))
    return total


def _full(S: Any, zero_weight: float) -> tuple[Array, Any]:
    """Return rows in full, and what their entries weigh."""
    if not sparse.issparse(S):
        return S.astype(np.float64), 1.0
    stored = sparse.csr_array((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape).toarray()
    return S.toarray().astype(np.float64), np.where(stored > 0, 1.0, zero_weight)
