"""symNMF by coordinate descent (Vandaele, Gillis, Lei, Zhong, Dhillon 2016): the baseline."""

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import Array, problem, visits


def minimize_quartic(a: float, b: float, upper: float = np.inf) -> float:
    """Minimize x^4 / 4 + a x^2 / 2 + b x over 0 <= x <= upper.

    The candidates are 0 and the real roots of x^3 + a x + b. The real parts of complex roots are
    candidates, too, so that double roots need no special case.

    Examples
    --------
    >>> minimize_quartic(a=-1.0, b=0.0)
    1.0
    """
    x = np.append(0.0, np.clip(np.roots([1.0, 0.0, a, b]).real, 0.0, upper))
    return float(x[np.argmin(x**4 / 4 + a * x**2 / 2 + b * x)])


def symnmf(
    A: ArrayLike,
    H0: ArrayLike,
    *,
    sweeps: int = 30,
    order: str = "columns",
    upper: float = np.inf,
) -> Array:
    """Minimize ||A - H H^T||_F^2, diagonal included: each entry is the root of x^3 + a x + b.

    a = C_l + L_k - 2 H_kl^2 - A_kk, and b is minus the b_kl of Algorithm 2.

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
    >>> symnmf([[4, 2], [2, 1]], [[1.0], [1.0]]).round(6).tolist()
    [[2.0], [1.0]]
    """
    A, H = problem(A, H0)
    C = (H**2).sum(axis=0)
    L = (H**2).sum(axis=1)
    D = H.T @ H
    for _ in range(sweeps):
        for K, l in visits(H, order):
            for k in K:
                h = H[k].copy()
                a = C[l] + L[k] - 2 * h[l] ** 2 - A[k, k]
                b = h @ D[:, l] - H[:, l] @ A[:, k] - h[l] * (C[l] + L[k] - A[k, k] - h[l] ** 2)
                H[k, l] = minimize_quartic(a, b, upper)
                C[l] += H[k, l] ** 2 - h[l] ** 2
                L[k] += H[k, l] ** 2 - h[l] ** 2
                D[l, :] += -h * h[l] + H[k] * H[k, l]
                D[:, l] = D[l, :]
    return H
