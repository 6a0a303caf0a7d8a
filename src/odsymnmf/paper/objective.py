"""Equation (odgeneral): the objective."""

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.paper.inputs import problem


def off_diagonal_error(A: ArrayLike, H: ArrayLike, p: int) -> float:
    """Return sum over i != j of |A_ij - (H H^T)_ij|^p, the p-th power of the paper's norm.

    The bars are missing in the paper: without them the sum for p = 1 has no lower bound.

    Examples
    --------
    >>> off_diagonal_error([[1, 1], [1, 1]], [[2], [1]], p=1)
    2.0
    """
    A, H = problem(A, H)
    error = np.abs(A - H @ H.T) ** p
    np.fill_diagonal(error, 0)
    return float(error.sum())
