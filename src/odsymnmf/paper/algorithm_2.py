"""Algorithm 2: ODsymNMF-l2 without the residual."""

from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import Array, problem, visits


def odsymnmf_l2(
    A: ArrayLike,
    H0: ArrayLike,
    *,
    sweeps: int = 30,
    order: str = "columns",
    upper: float = 1.0,
) -> Array:
    """Minimize sum_{i != j} (A_ij - (H H^T)_ij)^2 by H_kl = max(0, b_kl / a_kl), O(K r) a sweep.

    Line by line as printed, including the difference C_l - H_kl^2 that cancels (ERRATA.md).
    If a_kl = 0, the entry becomes 0, as MATLAB's max(0, 0/0).

    Parameters
    ----------
    A, H0, sweeps, order
        As in `algorithm_1.odsymnmf`.
    upper : float
        Upper bound on the entries of H.

    Returns
    -------
    H : ndarray of shape (n, r)

    Examples
    --------
    >>> H = odsymnmf_l2([[1, 1, 0], [1, 1, 1], [0, 1, 1]], [[1, 0], [1, 1], [0, 1]])
    >>> H.tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    A, H = problem(A, H0)
    C = (H**2).sum(axis=0)
    L = (H**2).sum(axis=1)
    D = H.T @ H
    for _ in range(sweeps):
        for K, l in visits(H, order):
            for k in K:
                h = H[k].copy()
                a = C[l] - h[l] ** 2
                b = H[:, l] @ A[:, k] - h @ D[:, l] + h[l] * (C[l] + L[k] - A[k, k] - h[l] ** 2)
                H[k, l] = min(max(0.0, b / a), upper) if a > 0 else 0.0
                C[l] += H[k, l] ** 2 - h[l] ** 2
                L[k] += H[k, l] ** 2 - h[l] ** 2
                D[l, :] += -h * h[l] + H[k] * H[k, l]
                D[:, l] = D[l, :]
    return H
