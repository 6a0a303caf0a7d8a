"""Algorithm 6: greedy initialization without the residual; 2r - 1 computations of the scores."""

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.algorithm_5 import with_self_similarity
from odsymnmf.paper.inputs import Array
from odsymnmf.paper.weighted_median import constrained_weighted_median


def greedy_init(
    A: ArrayLike, r: int, p: int, *, self_similarity: float | None = 1.0, upper: float = 1.0
) -> Array:
    """Return H as `algorithm_5.greedy_init`, with scores s = A w - H (H^T w), updated 2r - 1 times.

    Parameters and result are those of `algorithm_5.greedy_init`.

    Examples
    --------
    >>> greedy_init([[1, 1, 0], [1, 1, 0], [0, 0, 1]], r=1, p=2).tolist()
    [[1.0], [1.0], [0.0]]
    """
    A = with_self_similarity(A, self_similarity)
    n = len(A)
    H = np.zeros((n, r))
    for j in range(r):
        w: Array = np.ones(n)
        J = np.zeros(n, dtype=bool)
        C_j = 0.0
        B = H[:, :j]  # the columns 1 to j - 1
        for i in range(1, n + 1):
            if i < 2 * r:
                s = A @ w - B @ (B.T @ w)
            s[J] = -np.inf
            k = int(np.argmax(s))
            if i == 1:
                H[k, j] = min(1.0, upper)
                w = A[:, k].copy()
            else:
                if p == 2:
                    b = H[J, j] @ A[J, k] - (H[J, j] @ B[J]) @ B[k]
                    H[k, j] = min(b / C_j, upper) if b > 0 else 0.0
                else:
                    R_Jk = A[J, k] - B[J] @ B[k]
                    H[k, j] = constrained_weighted_median(H[J, j], R_Jk, upper=upper)
                w += A[:, k]
            J[k] = True
            C_j += H[k, j] ** 2
    return H
