"""Algorithm 5: greedy initialization with a stored residual; scores are computed for every item."""

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import Array, similarity
from odsymnmf.paper.weighted_median import constrained_weighted_median


def with_self_similarity(A: ArrayLike, self_similarity: float | None) -> Array:
    """Return a copy of A with self_similarity * (largest off-diagonal entry) on the diagonal.

    Algorithms 5 and 6 read the diagonal in R w and A w. None keeps the diagonal of A; 1 is the
    case of the paper, where A is binary with a diagonal of ones.

    Examples
    --------
    >>> with_self_similarity([[0, 3], [3, 0]], 2.0).tolist()
    [[6.0, 3.0], [3.0, 6.0]]
    """
    A = similarity(A).copy()
    if self_similarity is not None:
        off_diagonal = A[~np.eye(len(A), dtype=bool)]
        np.fill_diagonal(A, self_similarity * off_diagonal.max(initial=0.0))
    return A


def optimize_hk(R_kJ: ArrayLike, h_J: ArrayLike, p: int, *, upper: float = 1.0) -> float:
    """Return the entry h_k given the entries h_J: argmin_x sum_{i in J} |R_ki - x h_i|^p, x >= 0.

    Examples
    --------
    >>> optimize_hk([1.0, 0.0], [1.0, 1.0], p=2)
    0.5
    """
    a, b = np.asarray(h_J), np.asarray(R_kJ)
    if p == 1:
        return constrained_weighted_median(a, b, upper=upper)
    return min(max(0.0, float(a @ b) / float(a @ a)), float(upper)) if a.any() else 0.0


def greedy_init(
    A: ArrayLike, r: int, p: int, *, self_similarity: float | None = 1.0, upper: float = 1.0
) -> Array:
    """Return H, built column by column; the next item of a column is argmax R w, with w = A 1_J.

    Parameters
    ----------
    A : array-like of shape (n, n)
        Symmetric similarities.
    r : int
        Number of columns.
    p : {1, 2}
        The norm whose closed form sets each entry.
    self_similarity : float or None
        See `with_self_similarity`.
    upper : float
        Upper bound on the entries of H.

    Returns
    -------
    H : ndarray of shape (n, r)

    Examples
    --------
    >>> greedy_init([[1, 1, 0], [1, 1, 0], [0, 0, 1]], r=1, p=1).tolist()
    [[1.0], [1.0], [0.0]]
    """
    A = with_self_similarity(A, self_similarity)
    n = len(A)
    H = np.zeros((n, r))
    R = A.copy()
    for j in range(r):
        w: Array = np.ones(n)
        J: list[int] = []
        for i in range(n):
            s = R @ w
            s[J] = -np.inf
            k = int(np.argmax(s))
            J.append(k)  # H_kj is 0 until it is set below, so R_kk has no weight
            if i == 0:
                H[k, j] = min(1.0, upper)
                w = A[:, k].copy()
            else:
                H[k, j] = optimize_hk(R[k, J], H[J, j], p, upper=upper)
                w += A[:, k]
        R -= np.outer(H[:, j], H[:, j])
    return H
