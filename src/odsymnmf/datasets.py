"""Example data: the synthetic families of the paper, planted partitions, a small graph.

Every random function takes ``random_state``: None (NumPy's global state), an int, a
``numpy.random.RandomState`` or a ``numpy.random.Generator``. The same int gives bit-identical
data on every call; a generator that is passed in is advanced.
"""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from odsymnmf.inputs import Dataset, to_similarity_matrix
from odsymnmf.utils import (
    RandomSource,
    RandomState,
    as_random,
    optional_import,
    plain_signature,
    whole_number,
)

__all__ = ["adversarial", "cliques", "flip", "les_miserables", "planted_partition"]

Sizes = Sequence[int] | NDArray[np.integer[Any]]
Indices = NDArray[np.int64]


@plain_signature
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
    counts = _check_sizes(sizes)
    H = np.repeat(np.eye(len(counts)), counts, axis=0)
    return H @ H.T, H


@plain_signature
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
        Determines which items are connected.

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

    # The positions of the smallest of `size` random numbers: uniform, without repetition.
    draws = as_random(random_state).random((isolated, 2, size))
    chosen = draws.argsort(axis=2)[:, :, :connections] + np.array([[[0], [size]]])
    rows = np.arange(2 * size, n)[:, None, None]
    A[rows, chosen] = A[chosen, rows] = 1
    return A, H


@plain_signature
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
        Determines which pairs are flipped.

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
    delta = _check_number("delta", delta, 1)
    matrix = np.asarray(A)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "fiub":
        raise ValueError(
            f"A must be a square array of zeros and ones, got {type(A).__name__} of shape "
            f"{matrix.shape} and dtype {matrix.dtype}; call .toarray() on a sparse matrix"
        )
    flipped: NDArray[Any] = matrix.astype(np.float32 if matrix.dtype == np.float32 else np.float64)
    i, j = np.triu_indices(len(flipped), k=1)
    pairs = flipped[i, j]
    wrong = np.flatnonzero(~np.isin(pairs, (0, 1)) | (pairs != flipped[j, i]))
    if wrong.size:
        a, b = i[wrong[0]], j[wrong[0]]
        raise ValueError(
            f"A must be binary and symmetric off the diagonal, but A[{a}, {b}] is {flipped[a, b]} "
            f"and A[{b}, {a}] is {flipped[b, a]}; pass for example A + A.T > 0.5"
        )
    chosen = as_random(random_state).random(len(pairs)) < delta
    flipped[i, j] = flipped[j, i] = np.where(chosen, 1 - pairs, pairs)
    return flipped


@plain_signature
def planted_partition(
    sizes: Sizes,
    p_in: float | None = None,
    p_out: float | None = None,
    random_state: RandomState = None,
    *,
    degree_in: float | None = None,
    degree_out: float | None = None,
) -> tuple[csr_array, Indices]:
    """A random graph with planted groups.

    For every pair i < j independently, A_ij = A_ji = 1 with probability `p_in` if i and j are in
    the same group, and with probability `p_out` if they are not. All other entries and the diagonal
    are 0.

    Degrees may be given instead of probabilities, which is easier for large sparse graphs:
    `degree_in` and `degree_out` are the expected numbers of neighbors inside and outside the
    group, averaged over the items. With n items, ``p_in = degree_in n / sum(s (s - 1))`` and
    ``p_out = degree_out n / (n^2 - sum(s^2))``, where s runs over `sizes`. Pass either the
    probability or the degree, for each of the two.

    Parameters
    ----------
    sizes : list of int
        Number of items of each group. The items of a group are consecutive.
    p_in, p_out : float, optional
        Probability of an edge inside a group and across groups.
    random_state : None, int, RandomState or Generator
        Determines the edges.
    degree_in, degree_out : float, optional
        Expected number of neighbors inside and outside the group, instead of p_in and p_out.

    Returns
    -------
    A : csr_array of shape (n, n), float64
        Symmetric, binary, sorted indices, no stored zeros, nothing on the diagonal.
    labels : ndarray of shape (n,), int64
        The group of each item, from 0 on.

    Notes
    -----
    Time and memory grow with n and the number of edges, not with n^2: all pairs are numbered,
    and the gaps between the edges, which have a geometric distribution, are drawn at once.

    Examples
    --------
    >>> from odsymnmf.datasets import planted_partition
    >>> A, labels = planted_partition([3, 2], p_in=1, p_out=0)
    >>> print(A.toarray())
    [[0. 1. 1. 0. 0.]
     [1. 0. 1. 0. 0.]
     [1. 1. 0. 0. 0.]
     [0. 0. 0. 0. 1.]
     [0. 0. 0. 1. 0.]]
    >>> print(labels)
    [0 0 0 1 1]

    1000 groups of 50 items, with about 12 neighbors inside and 3 outside:

    >>> A, labels = planted_partition([50] * 1000, degree_in=12, degree_out=3, random_state=0)
    >>> A.shape, round(A.nnz / A.shape[0])
    ((50000, 50000), 15)
    """
    counts = _check_sizes(sizes)
    n = int(counts.sum())
    pairs_in = int((counts * (counts - 1) // 2).sum())
    pairs_out = n * (n - 1) // 2 - pairs_in
    inside = _probability("in", p_in, degree_in, n, pairs_in)
    outside = _probability("out", p_out, degree_out, n, pairs_out)

    source = as_random(random_state)
    a, b = _pairs_inside(_successes(pairs_in, inside, source), counts)
    c, d = _pairs_across(_successes(pairs_out, outside, source), counts)
    i, j = np.concatenate([a, c]), np.concatenate([b, d])
    # int32 where it suffices, as SciPy would choose.
    index = np.int32 if max(n, 2 * len(i)) <= np.iinfo(np.int32).max else np.int64
    ends = np.concatenate([i, j], dtype=index), np.concatenate([j, i], dtype=index)
    A = coo_array((np.ones(2 * len(i)), ends), shape=(n, n)).tocsr()
    return A, np.repeat(np.arange(len(counts)), counts)


def les_miserables() -> Dataset:
    """Co-appearances of the characters of Victor Hugo's *Les Misérables*.

    A_ij is the number of chapters in which characters i and j appear together; the diagonal is
    zero. The counts are Donald Knuth's (The Stanford GraphBase, 1993), as included in networkx.

    Returns
    -------
    odsymnmf.io.Dataset
        ``matrix`` (a csr_array of shape (77, 77)) and ``names``.

    Raises
    ------
    ImportError
        Without networkx: ``pip install "odsymnmf[graphs]"``.

    Examples
    --------
    >>> from odsymnmf.datasets import les_miserables
    >>> data = les_miserables()
    >>> data.matrix.shape, data.matrix.nnz // 2
    ((77, 77), 254)
    >>> valjean, cosette = data.names.index("Valjean"), data.names.index("Cosette")
    >>> int(data.matrix[valjean, cosette])
    31
    """
    networkx = optional_import("networkx", "les_miserables()", '"odsymnmf[graphs]"')
    return to_similarity_matrix(networkx.les_miserables_graph())


def _check_sizes(sizes: Sizes) -> Indices:
    counts = [whole_number(f"sizes[{k}]", size, 1) for k, size in enumerate(sizes)]
    if not counts:
        raise ValueError("sizes is empty; pass one positive integer per group")
    return np.array(counts, dtype=np.int64)


def _check_number(name: str, value: float, largest: float) -> float:
    """Return a number from 0 to `largest`."""
    if not isinstance(value, Real) or not 0 <= value <= largest:
        raise ValueError(f"{name} must be a number from 0 to {largest:g}, got {value!r}")
    return float(value)


def _probability(side: str, p: float | None, degree: float | None, n: int, pairs: int) -> float:
    if p is not None and degree is None:
        return _check_number(f"p_{side}", p, 1)
    if p is not None or degree is None:
        raise ValueError(f"pass either p_{side} or degree_{side}, got {p!r} and {degree!r}")
    largest = 2 * pairs / n
    return _check_number(f"degree_{side}", degree, largest) / (largest or 1.0)


def _successes(trials: int, p: float, source: RandomSource) -> Indices:
    """Return which of `trials` independent trials succeed, in time O(trials p).

    P(gap > k) = (1 - p)^k, so log(1 - U) / log(1 - p), rounded down, is the number of failures
    before the next success when U is uniform on [0, 1).
    """
    if p == 0 or trials == 0:
        return np.empty(0, dtype=np.int64)
    if p == 1:
        return np.arange(trials, dtype=np.int64)
    successes = np.empty(0, dtype=np.int64)
    last = -1
    while last < trials:
        expected = (trials - 1 - last) * p
        # Four standard deviations more than expected: a second pass is rare.
        draws = source.random(int(expected + 4 * math.sqrt(expected)) + 8)
        with np.errstate(over="ignore"):  # infinitely many failures, if p is tiny
            failures = np.log1p(-draws) / math.log1p(-p)
        # Clip gaps beyond the end before they overflow an int64.
        gaps = 1 + np.minimum(failures, trials).astype(np.int64)
        successes = np.concatenate([successes, last + np.cumsum(gaps)])
        last = int(successes[-1])
    return successes[: np.searchsorted(successes, trials)]


def _pairs_inside(t: Indices, sizes: Indices) -> tuple[Indices, Indices]:
    """Return pair number t among all pairs i > j of the same group, group after group.

    In a group, the pairs (1, 0), (2, 0), (2, 1), (3, 0), ... have the numbers 0, 1, 2, 3, ...: row
    i begins at i (i - 1) / 2.
    """
    first_item = np.cumsum(sizes) - sizes
    group, t = _locate(t, sizes * (sizes - 1) // 2)
    i = ((1 + np.sqrt(1 + 8 * t.astype(np.float64))) / 2).astype(np.int64)
    # For large t the root may be rounded up to the next row; never down, as 2 i - 1 is a double.
    i -= i * (i - 1) // 2 > t
    j = t - i * (i - 1) // 2
    return first_item[group] + i, first_item[group] + j


def _pairs_across(t: Indices, sizes: Indices) -> tuple[Indices, Indices]:
    """Return pair number t among all pairs i > j of different groups, item after item."""
    first_item = np.cumsum(sizes) - sizes
    group, t = _locate(t, sizes * first_item)
    earlier = first_item[group]
    return earlier + t // earlier, t % earlier


def _locate(t: Indices, lengths: Indices) -> tuple[Indices, Indices]:
    """Return the interval that contains position t, and the position inside it."""
    ends = np.cumsum(lengths)
    interval = np.searchsorted(ends, t, side="right")
    return interval, t - (ends - lengths)[interval]
