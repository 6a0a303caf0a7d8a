"""How well memberships predict similarities that they were not fitted to."""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.engine.losses import Scales, pair_losses
from odsymnmf.engine.losses.new_items import solve_rows
from odsymnmf.problem import blocking
from odsymnmf.signals import held

# Parts of the fitted items: the similarities to one are predicted from those to the others.
PARTS = 5


def foretold(S: Any, H: Any, scales: Scales, upper: float, zero_weight: float) -> Array:
    """Return the loss of new items' similarities, each predicted from others, and that at zero.

    The fitted items fall into five parts. For each, the memberships of the new items are found
    from their similarities to the other four, and compared with what they have to this one.

    Parameters
    ----------
    S : ndarray or CSR of shape (m, n)
        Similarities of new items to fitted ones; NaN: not known.
    H : ndarray or CSR of shape (n, r)
        Memberships of the fitted items. If they are sparse, pairs that S does not store are
        added up without being looked at.
    scales, upper, zero_weight
        As for `solve_rows`.

    Returns
    -------
    ndarray of two numbers
        The loss, and what it would be without memberships.
    """
    total, n = np.zeros(2), H.shape[0]
    place = np.arange(n) % PARTS
    if sparse.issparse(H):
        zero_weight, S = zero_weight if sparse.issparse(S) else 1.0, sparse.csr_array(S)
    for part in range(min(PARTS, n)):
        asked, told = np.flatnonzero(place == part), np.flatnonzero(place != part)
        if sparse.issparse(H):
            X = _solved(S[:, told], H[told], scales, upper, zero_weight)
            total += _missed(S[:, asked], X, H[asked].astype(np.float64), scales, zero_weight)
            continue
        X = solve_rows(S[:, told], H[told], scales, upper, zero_weight).astype(np.float64)
        for b in blocks(S.shape[0], max(1, blocking.BLOCK_ENTRIES // max(len(asked), 1))):
            truth, weights = _full(S[b][:, asked], zero_weight)
            known = ~np.isnan(truth)
            truth, weights = np.where(known, truth, 0.0), np.where(known, weights, 0.0)
            missed = truth - X[b] @ H[asked].T
            total[0] += float(np.sum(weights * pair_losses(missed, scales)))
            total[1] += float(np.sum(weights * pair_losses(truth, scales)))
    return total


def _solved(S: Any, H: Any, scales: Scales, upper: float, zero_weight: float) -> Any:
    with held():  # this imports Numba
        from odsymnmf.engine.many.new_items import solve_sparse_rows
    return solve_sparse_rows(S, H, scales, upper, zero_weight).astype(np.float64)


def _missed(S: Any, X: Any, H: Any, scales: Scales, zero_weight: float) -> Array:
    """Return the loss between S and X H^T, and that of S, at the cost of what is stored.

    As if nothing were stored: sum_pi x_p . h_i and sum_pi (x_p . h_i)^2 = <X^T X, H^T H>. Then what
    stored pairs add; an unknown one (NaN) weighs nothing.
    """
    products = float(X.sum(axis=0) @ H.sum(axis=0))
    squares = float((X.T @ X).multiply(H.T @ H).sum())
    loss, alone = zero_weight * (scales.l1 * products + scales.l2 * squares), 0.0
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    for b in blocks(S.nnz, blocking.BLOCK_ENTRIES):
        p = np.asarray(X[rows[b]].multiply(H[S.indices[b]]).sum(axis=1)).ravel()
        loss -= zero_weight * float(np.sum(pair_losses(p, scales)))
        known = ~np.isnan(S.data[b])
        truth = S.data[b][known].astype(np.float64)
        loss += float(np.sum(pair_losses(truth - p[known], scales)))
        alone += float(np.sum(pair_losses(truth, scales)))
    return np.array([loss, alone])


def _full(S: Any, zero_weight: float) -> tuple[Array, Any]:
    """Return rows in full, and what their entries weigh."""
    if not sparse.issparse(S):
        return S.astype(np.float64), 1.0
    stored = sparse.csr_array((np.ones(S.nnz), S.indices, S.indptr), shape=S.shape).toarray()
    return S.toarray().astype(np.float64), np.where(stored > 0, 1.0, zero_weight)
