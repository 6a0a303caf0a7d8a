"""Algorithm 1: ODsymNMF by rank-one problems, with the residual stored; rank one for l2."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import Array, problem, rank_one_problem, visits

RankOne = Callable[[Array, Array, Sequence[int]], Array]


def odsymnmf(
    A: ArrayLike, H0: ArrayLike, rank_one: RankOne, *, sweeps: int = 30, order: str = "columns"
) -> Array:
    """Minimize ||A - H H^T||_OD by solving min_h ||P - h h^T||_OD for one column h at a time.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric similarities.
    H0 : array-like of shape (n, r)
        Nonnegative initialization. An entry above ``upper`` is set to it at its first update.
    rank_one : callable
        ``rank_one(P, h, K)`` returns h with its entries K updated: `rank_one_l2` below or
        `algorithm_3.rank_one_l1`. Options are passed with `functools.partial`.
    sweeps : int
        Number of updates of every entry of H (the paper does not give a stopping rule).
    order : {"columns", "rows"}
        The paper's order, or the row order of the compiled kernels.

    Returns
    -------
    H : ndarray of shape (n, r)

    Examples
    --------
    Example 1 of the paper, two overlapping clusters:

    >>> H = odsymnmf([[1, 1, 0], [1, 1, 1], [0, 1, 1]], [[1, 0], [1, 1], [0, 1]], rank_one_l2)
    >>> H.tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    A, H = problem(A, H0)
    R = A - H @ H.T
    for _ in range(sweeps):
        for K, l in visits(H, order):
            P = R + np.outer(H[:, l], H[:, l])
            H[:, l] = rank_one(P, H[:, l], K)
            R = P - np.outer(H[:, l], H[:, l])
    return H


def rank_one_l2(
    P: ArrayLike, h0: ArrayLike, K: Sequence[int] | None = None, *, upper: float = 1.0
) -> Array:
    """Minimize 1/4 sum_{i != j} (P_ij - h_i h_j)^2 over the entries h_k, k in K, one by one.

    h_k = max(0, b_k / a_k) with a_k = ||h||^2 - h_k^2 and b_k = h^T P_:,k - h_k P_kk, summed
    without item k, because the differences cancel (ERRATA.md). K = None visits all items.
    If a_k = 0, the objective does not depend on h_k, which becomes 0, as MATLAB's max(0, 0/0).

    Examples
    --------
    >>> rank_one_l2([[9, 0.5], [0.5, 9]], [0.3, 1.0], [0]).tolist()
    [0.5, 1.0]
    """
    P, h, K = rank_one_problem(P, h0, K)
    for k in K:
        items = np.delete(np.arange(len(h)), k)
        a_k = h[items] @ h[items]
        b_k = h[items] @ P[items, k]
        h[k] = min(max(0.0, b_k / a_k), upper) if a_k > 0 else 0.0
    return h
