"""The appendix: the constrained weighted median."""

import numpy as np
from numpy.typing import ArrayLike


def weighted_median(a: ArrayLike, b: ArrayLike) -> float:
    """Minimize sum_i |a_i x - b_i| over all real x, for a >= 0 and not all zero.

    This is the appendix's loop: the smallest breakpoint b_i / a_i at which half of the weight
    is reached. Zero weights leave both S and a, and equal breakpoints all stay in S (ERRATA.md).
    The weights are not divided by their sum, because its rounding would decide ties.

    Examples
    --------
    >>> weighted_median([1, 1, 1], [3, 1, 2])
    2.0
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if not (a >= 0).all() or not a.any():
        raise ValueError("weights must be >= 0, and one of them > 0")
    nonzero = np.flatnonzero(a)
    S, weight = b[nonzero] / a[nonzero], a[nonzero]
    Inds = np.argsort(S, kind="stable")
    S, weight = S[Inds], weight[Inds]
    i, CumulatedSum, total = 0, 0.0, float(weight.sum())
    while 2 * CumulatedSum < total:
        CumulatedSum += float(weight[i])
        x = S[i]
        i += 1
    return float(x)


def constrained_weighted_median(
    a: ArrayLike, b: ArrayLike, *, empty: float = 1.0, upper: float = np.inf
) -> float:
    """Minimize sum_i |a_i x - b_i| over 0 <= x <= upper, for a >= 0.

    The sum is convex, so the unconstrained minimizer is moved to the nearest bound.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Weights and targets.
    empty : float
        The value if all weights are zero (or a is empty), at most ``upper``. With 1, the l1
        algorithms can change a zero initialization; 1 "keeps the cluster alive".
    upper : float
        Upper bound of x.

    Examples
    --------
    >>> constrained_weighted_median([1, 1, 1], [-3, -1, 2])
    0.0
    >>> constrained_weighted_median([0, 0], [5, 7])
    1.0
    """
    x = weighted_median(a, b) if np.any(a) else float(empty)
    return min(max(0.0, x), float(upper))
