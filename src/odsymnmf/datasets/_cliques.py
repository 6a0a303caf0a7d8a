"""Block-diagonal cliques, alone and with isolated items that pull at them."""

import numpy as np
from numpy.typing import NDArray

from odsymnmf.datasets._check import Sizes, as_sizes
from odsymnmf.options import whole_number
from odsymnmf.random_state import RandomState, as_random


def cliques(sizes: Sizes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Disjoint cliques and their memberships, A = H H^T.

    H_il = 1 if item i belongs to clique l, else 0. A is binary and block diagonal, with ones on
    the diagonal.

    Parameters
    ----------
    sizes : list of int
        Number of items of each clique. The items of a clique are consecutive.

    Returns
    -------
    A : ndarray of shape (n, n)
    H : ndarray of shape (n, r)
        n is the sum of `sizes`, r their number.

    Examples
    --------
    >>> from odsymnmf.datasets import cliques
    >>> A, H = cliques([2, 1])
    >>> print(A)
    [[1. 1. 0.]
     [1. 1. 0.]
     [0. 0. 1.]]
    >>> print(H)
    [[1. 0.]
     [1. 0.]
     [0. 1.]]
    """
    counts = as_sizes(sizes)
    H = np.repeat(np.eye(len(counts)), counts, axis=0)
    return H @ H.T, H


def adversarial(
    size: int = 10,
    isolated: int = 10,
    connections: int = 0,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two cliques, and isolated items with `connections` edges to each of them.

    Without connections, A = diag(1 1^T, 1 1^T, I) with blocks of `size`, `size` and `isolated`
    items. Every isolated item is then connected to `connections` distinct items of the first
    clique and as many of the second, chosen at random. Up to half of `size`, the l1 loss is
    expected to find the two cliques regardless.

    Parameters
    ----------
    size : int
        Number of items of each clique.
    isolated : int
        Number of items outside the cliques; they come last.
    connections : int
        Number of edges from each isolated item to each clique, at most `size`.
    random_state : None, int, RandomState or Generator
        Which items are connected. The same int gives the same bits.

    Returns
    -------
    A : ndarray of shape (n, n)
        Binary and symmetric, ones on the diagonal; n = 2 size + isolated.
    H : ndarray of shape (n, 2)
        The memberships in the two cliques; rows of isolated items are zero.

    Examples
    --------
    >>> from odsymnmf.datasets import adversarial
    >>> A, H = adversarial(size=4, isolated=3, connections=1, random_state=0)
    >>> print(A[-3:, :4].sum(axis=1), A[-3:, 4:8].sum(axis=1))
    [1. 1. 1.] [1. 1. 1.]
    >>> print(H.sum(axis=0))
    [4. 4.]
    """
    size = whole_number("size", size, 1)
    isolated = whole_number("isolated", isolated, 0)
    connections = whole_number("connections", connections, 0)
    if connections > size:
        raise ValueError(
            f"connections={connections} is more than the {size} items of a clique; "
            f"pass at most size={size}"
        )
    n = 2 * size + isolated
    H = np.zeros((n, 2))
    H[:size, 0] = H[size : 2 * size, 1] = 1
    A = H @ H.T
    np.fill_diagonal(A, 1)

    # The places of the smallest of `size` random numbers are a uniform choice without repetition.
    draws = as_random(random_state).random((isolated, 2, size))
    chosen = draws.argsort(axis=2)[:, :, :connections] + np.array([[[0], [size]]])
    rows = np.arange(2 * size, n)[:, None, None]
    A[rows, chosen] = A[chosen, rows] = 1
    return A, H
