"""Memberships of new items, from their similarities to items whose memberships are known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf import kernels

Array = NDArray[Any]


def solve_rows(S: Any, H: Array, loss: str, upper: float) -> Array:
    """Return X whose row p minimises sum_i |S_pi - x . h_i|^p over 0 <= x <= upper.

    Each row is a convex problem. l2 is solved to optimality; for l1, coordinate descent over
    weighted medians goes on until no single entry improves. The sum leaves out the pairs where
    S is NaN.

    Parameters
    ----------
    S : ndarray or CSR of shape (m, n)
        Similarities of m new items to n known ones.
    H : ndarray of shape (n, r)
        Memberships of the known items.
    loss : {"l2", "l1"}
    upper : float
        Upper bound on the entries of X; infinity for none.

    Returns
    -------
    ndarray of shape (m, r)

    Examples
    --------
    >>> H = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> solve_rows(np.array([[1.0, 1.0, 0.0], [1.0, np.nan, 1.0]]), H, "l2", np.inf)
    array([[1., 0.],
           [1., 1.]])
    """
    solve = {"l2": _least_squares, "l1": _least_absolute_deviations}[loss]
    gaps = _has_nan(S)
    X = np.zeros((S.shape[0], H.shape[1]), dtype=H.dtype)
    X[~gaps] = solve(S[~gaps], H, upper)
    for p in np.flatnonzero(gaps):
        row = S[[p]].toarray() if sparse.issparse(S) else S[[p]]
        known = ~np.isnan(row[0])
        X[p] = solve(row[:, known], H[known], upper)
    return X


def _least_squares(S: Any, H: Array, upper: float) -> Array:
    H = H.astype(np.float64, copy=False)
    X = np.zeros((S.shape[0], H.shape[1]))
    kernels.rows.least_squares(S @ H, H.T @ H, upper, X)
    return X


def _least_absolute_deviations(S: Any, H: Array, upper: float) -> Array:
    S = sparse.csr_array(S)
    room = np.zeros((1, H.shape[1]))
    X = _least_squares(S, H, upper)
    kernels.rows.least_absolute_deviations(
        S.indptr, S.indices, S.data, np.vstack([H, room]), upper, X
    )
    return X


def _has_nan(S: Any) -> Array:
    if not sparse.issparse(S):
        return np.isnan(S).any(axis=1)
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    return np.bincount(rows, weights=np.isnan(S.data), minlength=S.shape[0]) > 0
