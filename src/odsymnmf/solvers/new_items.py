"""Memberships of new items from their similarities to known items, by the kernels of sweeps."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import lsq_linear, nnls

from odsymnmf import kernels
from odsymnmf.similarity.weights import EQUAL, PairWeights, keep_entries, with_data
from odsymnmf.solvers.objective import Scales
from odsymnmf.utils import Array

# Maximum number of passes over the entries of a row. Then l2 is solved by an active set method:
# coordinate descent is slow if columns of H are nearly equal.
MAX_PASSES = 1000


def solve_new_rows(
    S: Any,
    H: Any,
    scales: Scales,
    upper: float = np.inf,
    zero_weight: float = 1.0,
    penalized: bool = True,
) -> Any:
    """Return X whose row p minimizes sum_i w_pi phi(S_pi - x . h_i) over 0 <= x <= upper.

    phi(e) = l1 |e| + l2 e^2. Each row is a convex problem. l2 is solved to optimality; with l1,
    coordinate descent ends when no single entry can be improved. Pairs where S is NaN are left out,
    and pairs that a sparse S does not store have weight ``zero_weight``.

    ``S`` (m x n) may be an array or CSR, and so may H (n x r): with a CSR array, the penalty of l2
    applies if ``penalized``, as in the fit.

    Examples
    --------
    >>> H = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> S = np.array([[1.0, 1.0, 0.0], [1.0, np.nan, 1.0]])
    >>> solve_new_rows(S, H, Scales(l1=0, l2=1))
    array([[1., 0.],
           [1., 1.]])
    """
    known, weights = S, EQUAL
    if sparse.issparse(S) or sparse.issparse(H) or scales.l1 > 0 or np.isnan(S).any():
        known, weights = _known_pairs(S, zero_weight if sparse.issparse(S) else 1.0)
    if sparse.issparse(H):
        return _sparse_rows(known, weights, H, scales, upper, penalized)
    H64, X = np.require(H, np.float64, ["C", "W"]), np.zeros((S.shape[0], H.shape[1]))
    if X.size:
        _least_squares(known, weights, H64, upper, X)
        if scales.l1 > 0:
            _absolute_errors(known, weights, H64, scales, upper, X)
    return X.astype(H.dtype)


def _known_pairs(S: Any, w0: float) -> tuple[sparse.csr_array, PairWeights]:
    """Return the known similarities, whose pairs weigh one, and the weights of all pairs."""
    S = sparse.csr_array(S)
    S.sum_duplicates()
    unknown = np.isnan(S.data)
    v, known = np.where(unknown, 0.0, 1.0) - w0, keep_entries(S, ~unknown)
    if not v.any():
        return known, PairWeights(w0)
    excess = keep_entries(with_data(S, v), v != 0)
    return known, PairWeights(w0, excess, np.where(unknown, 0.0, S.data)[v != 0])


def _least_squares(S: Any, weights: PairWeights, H: Array, upper: float, X: Array) -> None:
    """Solve l2 by coordinate descent; rows that do not converge, by an active set method."""
    l2, r, new = kernels.l2, H.shape[1], np.arange(len(X))
    G = np.ascontiguousarray(S @ H)
    source = kernels.sources.Block(G, np.zeros((0, 0)), np.zeros_like(G))
    gram, bounds = l2.GramState(H.T @ H, np.zeros(r)), kernels.rows.Bounds(upper, 0.0)
    unsolved = np.empty(len(X), dtype=np.bool_)
    l2.l2_rows(
        new, source, weights.for_kernel(new, r), None, H, X, gram, l2.workspace(r), bounds,
        MAX_PASSES, False, X, unsolved,
    )  # fmt: skip
    for p in np.flatnonzero(unsolved):
        root = np.sqrt(weights.dense_rows(np.array([p]), len(H))[0])
        s = S[[p]].toarray()[0] if sparse.issparse(S) else S[p]
        B, b = root[:, None] * H, root * s
        X[p] = nnls(B, b)[0]
        if (X[p] > upper).any():
            row = lsq_linear(B, b, bounds=(0.0, upper), method="bvls").x
            X[p] = row.clip(0.0, upper)  # rounding


def _absolute_errors(
    S: Any, weights: PairWeights, H: Array, scales: Scales, upper: float, X: Array
) -> None:
    """Improve the least squares solution by coordinate descent until no entry changes."""
    l1, l2, mixed, r, new = kernels.l1, kernels.l2, kernels.mixed, H.shape[1], np.arange(len(X))
    indptr, indices = S.indptr.astype(np.int32), S.indices.astype(np.int32)
    rows = kernels.rows.CsrRows(new, indptr, indices, S.data.astype(np.float64))
    kernel_weights = weights.for_kernel(new, r)
    stored = None if kernel_weights is None else np.ones(S.nnz)
    work = l1.workspace(rows, stored is not None, r)
    state = l1.ColumnState(H.sum(axis=0), np.zeros(r), np.ones(len(H), dtype=np.bool_))
    bounds, moved, change = kernels.rows.Bounds(upper, 0.0), np.empty(0, np.bool_), np.empty(0)
    outputs = bounds, MAX_PASSES, False, X, moved, change
    if scales.l2 == 0:
        l1.l1_rows(new, rows, stored, kernel_weights, H, X, state, work, *outputs)
        return
    state = mixed.State(state, l2.GramState(H.T @ H, np.zeros(r)))
    work = mixed.Workspace(work, l2.workspace(r))
    mixed.mixed_rows(new, rows, stored, kernel_weights, H, X, state, work, tuple(scales), *outputs)


def _sparse_rows(
    S: Any, weights: PairWeights, H: Any, scales: Scales, upper: float, penalized: bool
) -> sparse.csr_array:
    from odsymnmf.solvers.sparse_h import SparseH  # imports Numba
    from odsymnmf.solvers.sparse_losses import MIN_GAIN, sparse_loss_for

    Links, m = kernels.sparse_h.Links, S.shape[0]
    stored = Links(S.indptr.astype(np.int64), S.indices.astype(np.int32), S.data.astype(H.dtype))
    options: dict[str, Any] = {}
    if scales.l1 == 0 and not penalized:
        options = {"share": MIN_GAIN, "penalized": False}
    solver = sparse_loss_for(scales)(stored, SparseH(H, H.dtype), weights, upper=upper, **options)
    solver.begin_new_items(m)
    out, _, _ = solver.solve_into_log(np.arange(m), 4 * m + 64, MAX_PASSES)
    indptr = np.append(0, np.cumsum(out.span[:, 1] - out.span[:, 0]))
    top = int(out.top[0])
    X = (out.value[:top].copy(), out.column[:top].copy(), indptr)
    return sparse.csr_array(X, shape=(m, H.shape[1]))
