"""Algorithm 4: ODsymNMF-l1 without the residual."""

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import Array, problem, visits
from odsymnmf.paper.weighted_median import constrained_weighted_median


def odsymnmf_l1(
    A: ArrayLike,
    H0: ArrayLike,
    *,
    sweeps: int = 30,
    order: str = "columns",
    empty: float = 1.0,
    upper: float = 1.0,
) -> Array:
    """Minimize sum_{i != j} |A_ij - (H H^T)_ij|, one weighted median per entry, O(n^2 r^2) a sweep.

    Parameters
    ----------
    A, H0, sweeps, order
        As in `algorithm_1.odsymnmf`.
    empty : float
        The value of an entry whose column is zero elsewhere.
    upper : float
        Upper bound on the entries of H.

    Returns
    -------
    H : ndarray of shape (n, r)

    Examples
    --------
    >>> H = odsymnmf_l1([[1, 1, 0], [1, 1, 1], [0, 1, 1]], [[1, 0], [1, 1], [0, 1]])
    >>> H.tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    A, H = problem(A, H0)
    for _ in range(sweeps):
        for K, l in visits(H, order):
            for k in K:
                a = H[:, l]
                b = A[:, k] - H @ H[k] + H[:, l] * H[k, l]
                items = np.delete(np.arange(len(H)), k)
                H[k, l] = constrained_weighted_median(a[items], b[items], empty=empty, upper=upper)
    return H
