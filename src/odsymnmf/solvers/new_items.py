"""Memberships of new items from their similarities to known items, by the kernels of sweeps."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import lsq_linear, nnls

from odsymnmf import kernels
from odsymnmf.similarity.weights import EQUAL, PairWeights, keep_entries
from odsymnmf.solvers.objective import Scales
from odsymnmf.utils import Array

# Passes over the entries of a row. l2 is then solved by an active set method: coordinate descent
# is slow where columns of H are nearly the same.
PASSES = 1000


def solve_new_rows(
    S: Any,
    H: Any,
    scales: Scales,
    upper: float = np.inf,
    zero_weight: float = 1.0,
    penalized: bool = True,
) -> Any:
    """Return X whose row p minimises sum_i w_pi phi(S_pi - x . h_i) over 0 <= x <= upper.

    phi(e) = l1 |e| + l2 e^2. Each row is a convex problem. l2 is solved to optimality; with l1,
    coordinate descent goes on until no single entry improves. The sum leaves out the pairs where
    S is NaN, and a pair that a sparse S does not store weighs ``zero_weight``.

    Parameters
    ----------
    S : ndarray or CSR of shape (m, n)
        Similarities of m new items to n known ones.
    H : ndarray or CSR of shape (n, r)
        Memberships of the known items; with a CSR array, the penalty of l2 applies.
    scales : Scales
        l1 and l2.
    upper : float
        Upper bound on the entries of X; infinity for none.
    zero_weight : float
        Weight of the pairs that a sparse S does not store.
    penalized : bool
        Whether l2 penalizes memberships of a CSR array, as in the fit.

    Returns
    -------
    ndarray or CSR of shape (m, r), like H

    Examples
    --------
    >>> H = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> S = np.array([[1.0, 1.0, 0.0], [1.0, np.nan, 1.0]])
    >>> solve_new_rows(S, H, Scales(l1=0, l2=1))
    array([[1., 0.],
           [1., 1.]])
    """
    if sparse.issparse(H):
        return _sparse_rows(S, H, scales, upper, zero_weight, penalized)
    H64 = np.require(H, np.float64, ["C", "W"])
    X = np.zeros((S.shape[0], H.shape[1]))
    if not X.size:
        return X.astype(H.dtype)
    weighed = _weighed(S, zero_weight)
    _least_squares(weighed, H64, upper, X)
    if scales.l1 > 0:
        _with_absolute_errors(weighed, H64, scales, upper, X)
    return X.astype(H.dtype)


class _Weighed(NamedTuple):
    """Similarities with zeros where they are not known, and what their pairs weigh.

    ``stored`` is what the stored pairs of a sparse S weigh, None where each weighs one.
    """

    S: Any
    weights: PairWeights
    stored: Array | None = None


def _weighed(S: Any, zero_weight: float) -> _Weighed:
    """Return S with zeros where it is not known, and what its pairs weigh."""
    if not sparse.issparse(S):
        unknown = np.isnan(S)
        if not unknown.any():
            return _Weighed(S, EQUAL)
        v = sparse.csr_array(unknown).astype(np.float64) * -1.0
        return _Weighed(np.where(unknown, 0.0, S), PairWeights(1.0, v, np.zeros(v.nnz)))
    S = sparse.csr_array(S)
    S.sum_duplicates()
    unknown = np.isnan(S.data)
    excess = np.where(unknown, 0.0, 1.0) - zero_weight
    S = sparse.csr_array((np.where(unknown, 0.0, S.data), S.indices, S.indptr), shape=S.shape)
    if not excess.any():
        return _Weighed(S, PairWeights(zero_weight))
    v = sparse.csr_array((excess, S.indices, S.indptr), shape=S.shape)
    return _Weighed(S, PairWeights(zero_weight, v, S.data), excess + zero_weight)


def _least_squares(weighed: _Weighed, H: Array, upper: float, X: Array) -> None:
    """Solve l2 by coordinate descent, and what has not converged by an active set method."""
    l2, r, (S, weights, _), new = kernels.l2, H.shape[1], weighed, np.arange(len(X))
    G = np.ascontiguousarray(S @ H)
    source = kernels.sources.Block(G, np.zeros((0, 0)), np.zeros_like(G))
    gram, bounds = l2.GramState(H.T @ H, np.zeros(r)), kernels.rows.Bounds(upper, 0.0)
    unsolved = np.empty(len(X), dtype=np.bool_)
    l2.l2_rows(
        new, source, weights.for_kernel(new, r), None, H, X, gram, l2.workspace(r), bounds, PASSES,
        False, X, unsolved,
    )  # fmt: skip
    for p in np.flatnonzero(unsolved):
        root = np.sqrt(weights.dense_rows(np.array([p]), len(H))[0])
        s = S[[p]].toarray()[0] if sparse.issparse(S) else S[p]
        X[p] = _active_set(root[:, None] * H, root * s, upper)


def _active_set(B: Array, b: Array, upper: float) -> Array:
    """Minimise |B x - b| over 0 <= x <= upper exactly."""
    x: Array = nnls(B, b)[0]
    if (x > upper).any():
        x = lsq_linear(B, b, bounds=(0.0, upper), method="bvls").x
    return x


def _with_absolute_errors(
    weighed: _Weighed, H: Array, scales: Scales, upper: float, X: Array
) -> None:
    """Continue from the least squares solution, entry by entry, until none moves."""
    l1, l2, mixed, r, new = kernels.l1, kernels.l2, kernels.mixed, H.shape[1], np.arange(len(X))
    S, weights, stored = sparse.csr_array(weighed.S), weighed.weights, weighed.stored
    indptr, indices = S.indptr.astype(np.int32), S.indices.astype(np.int32)
    rows = kernels.rows.CsrRows(new, indptr, indices, S.data.astype(np.float64))
    uneven = weights.for_kernel(new, r)
    if uneven is not None and stored is None:
        stored = np.ones(S.nnz)
    work = l1.workspace(rows, stored is not None, r)
    state = l1.ColumnState(H.sum(axis=0), np.zeros(r), np.ones(len(H), dtype=np.bool_))
    bounds, none = kernels.rows.Bounds(upper, 0.0), np.empty(0)
    moved = np.empty(0, dtype=np.bool_)
    if scales.l2 == 0:
        l1.l1_rows(
            new, rows, stored, uneven, H, X, state, work, bounds, PASSES, False, X, moved, none
        )
        return
    both = mixed.State(state, l2.GramState(H.T @ H, np.zeros(r)))
    mixed.mixed_rows(
        new, rows, stored, uneven, H, X, both, mixed.Workspace(work, l2.workspace(r)),
        tuple(scales), bounds, PASSES, False, X, moved, none,
    )  # fmt: skip


def _sparse_rows(
    S: Any, H: Any, scales: Scales, upper: float, zero_weight: float, penalized: bool
) -> sparse.csr_array:
    from odsymnmf.solvers.sparse_h import SparseH  # imports Numba
    from odsymnmf.solvers.sparse_losses import MIN_GAIN, sparse_loss_for

    w0 = zero_weight if sparse.issparse(S) else 1.0
    S = sparse.csr_array(S)
    S.sum_duplicates()
    pairs, weights = _pairs(S, w0)
    options: dict[str, Any] = {}
    if scales.l1 == 0 and not penalized:
        options = {"share": MIN_GAIN, "penalized": False}
    solver = sparse_loss_for(scales)(pairs, SparseH(H, H.dtype), weights, upper=upper, **options)
    m = S.shape[0]
    solver.begin_new_items(m)
    out, _, _ = solver.solve_into_log(np.arange(m), 4 * m + 64, PASSES)
    counts = out.span[:, 1] - out.span[:, 0]
    order = np.concatenate([[0], np.cumsum(counts)])
    top = int(out.top[0])
    X = (out.value[:top].copy(), out.column[:top].copy(), order)
    return sparse.csr_array(X, shape=(m, H.shape[1]))


def _pairs(S: sparse.csr_array, w0: float) -> tuple[Any, PairWeights]:
    """Return the known similarities of new items, and the pairs whose weight differs."""
    Links, unknown = kernels.sparse_h.Links, np.isnan(S.data)
    values = np.where(unknown, 0.0, S.data)
    v = np.where(unknown, 0.0, 1.0) - w0
    known, differ = keep_entries(S, ~unknown), v != 0
    stored = Links(known.indptr.astype(np.int64), known.indices.astype(np.int32), known.data)
    if not differ.any():
        return stored, PairWeights(w0)
    excess = keep_entries(sparse.csr_array((v, S.indices, S.indptr), shape=S.shape), differ)
    return stored, PairWeights(w0, excess, values[differ])
