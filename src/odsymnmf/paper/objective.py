"""Equation (odgeneral): what is minimised."""

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import norm, problem


def off_diagonal_error(A: ArrayLike, H: ArrayLike, p: int) -> float:
    """Return sum over i != j of |A_ij - (H H^T)_ij|^p, the p-th power of the paper's norm.

    The bars are missing in the paper: without them the sum for p = 1 has no lower bound.

    Examples
    --------
    >>> off_diagonal_error([[1, 1], [1, 1]], [[2], [1]], p=1)
    2.0
    """
    p = norm(p)
    A, H = problem(A, H, ("A", "H"))
    error = np.abs(A - H @ H.T) ** p
    np.fill_diagonal(error, 0)
    return float(error.sum())
