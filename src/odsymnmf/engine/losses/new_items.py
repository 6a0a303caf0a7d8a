"""Memberships of new items, from their similarities to items whose memberships are known."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import lsq_linear, nnls

from odsymnmf import kernels
from odsymnmf.arrays import Array
from odsymnmf.engine.losses.protocol import Scales
from odsymnmf.problem.weights import ORDINARY, Weights

# Passes over the entries of a row. l2 is then solved by an active set method: coordinate descent
# is slow where columns of H are nearly the same.
PASSES = 1000


def solve_rows(
    S: Any, H: Array, scales: Scales, upper: float = np.inf, zero_weight: float = 1.0
) -> Array:
    """Return X whose row p minimises sum_i w_pi phi(S_pi - x . h_i) over 0 <= x <= upper.

    phi(e) = l1 |e| + l2 e^2. Each row is a convex problem. l2 is solved to optimality; with l1,
    coordinate descent goes on until no single entry improves. The sum leaves out the pairs where
    S is NaN, and a pair that a sparse S does not store weighs ``zero_weight``.

    Parameters
    ----------
    S : ndarray or CSR of shape (m, n)
        Similarities of m new items to n known ones.
    H : ndarray of shape (n, r)
        Memberships of the known items.
    scales : Scales
        l1 and l2.
    upper : float
        Upper bound on the entries of X; infinity for none.
    zero_weight : float
        What a pair weighs that a sparse S does not store.

    Returns
    -------
    ndarray of shape (m, r)

    Examples
    --------
    >>> H = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> S = np.array([[1.0, 1.0, 0.0], [1.0, np.nan, 1.0]])
    >>> solve_rows(S, H, Scales(l1=0, l2=1))
    array([[1., 0.],
           [1., 1.]])
    """
    H64 = H.astype(np.float64, copy=False)
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
    weights: Weights
    stored: Array | None = None


def _weighed(S: Any, zero_weight: float) -> _Weighed:
    """Return S with zeros where it is not known, and what its pairs weigh."""
    if not sparse.issparse(S):
        unknown = np.isnan(S)
        if not unknown.any():
            return _Weighed(S, ORDINARY)
        v = sparse.csr_array(unknown).astype(np.float64) * -1.0
        return _Weighed(np.where(unknown, 0.0, S), Weights(1.0, v, np.zeros(v.nnz)))
    S = sparse.csr_array(S)
    S.sum_duplicates()
    unknown = np.isnan(S.data)
    excess = np.where(unknown, 0.0, 1.0) - zero_weight
    S = sparse.csr_array((np.where(unknown, 0.0, S.data), S.indices, S.indptr), shape=S.shape)
    if not excess.any():
        return _Weighed(S, Weights(zero_weight))
    v = sparse.csr_array((excess, S.indices, S.indptr), shape=S.shape)
    return _Weighed(S, Weights(zero_weight, v, S.data), excess + zero_weight)


def _least_squares(weighed: _Weighed, H: Array, upper: float, X: Array) -> None:
    l2, r, (S, weights, _) = kernels.l2, H.shape[1], weighed
    G = np.ascontiguousarray(S @ H)
    source = kernels.sources.Block(G, np.zeros((0, 0)), np.zeros_like(G))
    kept, passes = l2.Sums(H.T @ H, np.zeros(r)), np.full(len(X), PASSES)
    uneven = weights.uneven(np.arange(len(X)), r)
    if l2.solve(source, uneven, H, kept, l2.workspace(r), upper, passes, X):
        for p in np.flatnonzero(passes < 0):
            root = np.sqrt(weights.of(np.array([p]), len(H))[0])
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
    """Go on from the least squares solution, entry by entry, until none moves."""
    l1, l2, mixed, r, new = kernels.l1, kernels.l2, kernels.mixed, H.shape[1], np.arange(len(X))
    S, weights, stored = sparse.csr_array(weighed.S), weighed.weights, weighed.stored
    rows = l1.Rows(new, S.indptr, S.indices, S.data.astype(np.float64))
    room, uneven = l1.workspace(rows, stored is not None, r), weights.uneven(new, r)
    held, others = np.ones(len(H) + 1, dtype=np.bool_), H.sum(axis=0)
    sums = l1.Sums(np.zeros(r), np.zeros(r), held)
    padded = np.vstack([H, np.zeros((1, r))])
    if scales.l2 == 0:
        l1.solve(rows, stored, uneven, padded, sums, others, room, upper, PASSES, X)
        return
    gram = l2.Sums(np.zeros((r, r)), np.zeros(r))
    mixed.solve(
        rows, stored, uneven, padded, mixed.Sums(sums, gram), (others, H.T @ H),
        mixed.Room(room, l2.workspace(r)), tuple(scales), upper, PASSES, X,
    )  # fmt: skip
