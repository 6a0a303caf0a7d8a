"""Random binary noise."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odsymnmf.datasets._check import as_real
from odsymnmf.random_state import RandomState, as_random


def flip(A: ArrayLike, delta: float, random_state: RandomState = None) -> NDArray[np.floating[Any]]:
    """Flip every pair of a binary matrix with probability delta.

    For every i < j independently, A_ij and A_ji both become 1 - A_ij with probability `delta`.
    The diagonal is neither read nor changed.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric, with zeros and ones off the diagonal. It is not modified.
    delta : float
        Probability of a flip, from 0 to 1.
    random_state : None, int, RandomState or Generator
        Which pairs are flipped. The same int gives the same bits.

    Returns
    -------
    ndarray of shape (n, n)
        float32 if A is, else float64.

    Examples
    --------
    >>> from odsymnmf.datasets import cliques, flip
    >>> A, H = cliques([2, 1])
    >>> print(flip(A, 1.0))
    [[1. 0. 1.]
     [0. 1. 1.]
     [1. 1. 1.]]
    >>> bool((flip(A, 0.3, random_state=0) == flip(A, 0.3, random_state=0)).all())
    True
    """
    delta = as_real("delta", delta, most=1)
    noisy = _copy_of_matrix(A)
    i, j = np.triu_indices(len(noisy), k=1)
    pairs = noisy[i, j]
    _check_pairs(pairs, noisy[j, i], i, j)
    flipped = as_random(random_state).random(len(pairs)) < delta
    noisy[i, j] = noisy[j, i] = np.where(flipped, 1 - pairs, pairs)
    return noisy


def _copy_of_matrix(A: ArrayLike) -> NDArray[np.floating[Any]]:
    matrix = np.asarray(A)
    if matrix.dtype.kind not in "fiub":
        raise ValueError(
            f"A must be a dense array of zeros and ones, got {type(A).__name__} of dtype "
            f"{matrix.dtype}; call .toarray() on a sparse matrix"
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A must be square, got shape {matrix.shape}; pass an n x n matrix")
    dtype = np.float32 if matrix.dtype == np.float32 else np.float64
    return matrix.astype(dtype)


def _check_pairs(
    upper: NDArray[Any], lower: NDArray[Any], i: NDArray[np.intp], j: NDArray[np.intp]
) -> None:
    for values, rows, columns in ((upper, i, j), (lower, j, i)):
        wrong = np.flatnonzero((values != 0) & (values != 1))
        if wrong.size:
            k = wrong[0]
            raise ValueError(
                f"A must be binary off the diagonal, but A[{rows[k]}, {columns[k]}] is "
                f"{values[k]}; threshold it first, for example (A > 0.5)"
            )
    wrong = np.flatnonzero(upper != lower)
    if wrong.size:
        k = wrong[0]
        raise ValueError(
            f"A must be symmetric, but A[{i[k]}, {j[k]}] is {upper[k]} and A[{j[k]}, {i[k]}] is "
            f"{lower[k]}; symmetrize it first, for example np.maximum(A, A.T)"
        )
