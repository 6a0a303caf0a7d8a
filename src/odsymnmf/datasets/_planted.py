"""Planted-partition graphs, at a cost linear in the number of edges."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from odsymnmf.datasets._check import (
    Sizes,
    as_real,
    as_sizes,
)
from odsymnmf.random_state import RandomSource, RandomState, as_random

Indices = NDArray[np.int64]


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
    the same group, and with probability `p_out` if they are not. All else is 0, the diagonal
    included.

    For large sparse graphs it is easier to say how many neighbours an item has: `degree_in` and
    `degree_out` are the expected numbers of neighbours inside and outside the own group, averaged
    over the items. With n items, ``p_in = degree_in n / sum(s (s - 1))`` and
    ``p_out = degree_out n / (n^2 - sum(s^2))``, where s runs over `sizes`. Pass either the
    probability or the degree, for each of the two.

    Parameters
    ----------
    sizes : list of int
        Number of items of each group. The items of a group are consecutive.
    p_in, p_out : float, optional
        Probability of an edge inside a group and across groups.
    random_state : None, int, RandomState or Generator
        The same int gives the same graph, bit for bit.
    degree_in, degree_out : float, optional
        Expected number of neighbours inside and outside the group, instead of p_in and p_out.

    Returns
    -------
    A : csr_array of shape (n, n), float64
        Symmetric, binary, sorted indices, no stored zeros, nothing on the diagonal.
    labels : ndarray of shape (n,), int64
        The group of each item, from 0 on.

    Notes
    -----
    Time and memory grow with n and the number of edges, never with n^2: all pairs are numbered,
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

    1000 groups of 50 items, with about 12 neighbours inside and 3 outside:

    >>> A, labels = planted_partition([50] * 1000, degree_in=12, degree_out=3, random_state=0)
    >>> A.shape, round(A.nnz / A.shape[0])
    ((50000, 50000), 15)
    """
    counts = as_sizes(sizes)
    n = int(counts.sum())
    pairs_in = int((counts * (counts - 1) // 2).sum())
    pairs_out = n * (n - 1) // 2 - pairs_in
    inside = _probability("in", p_in, degree_in, n, pairs_in)
    outside = _probability("out", p_out, degree_out, n, pairs_out)

    source = as_random(random_state)
    a, b = _pairs_inside(_successes(pairs_in, inside, source), counts)
    c, d = _pairs_across(_successes(pairs_out, outside, source), counts)
    i, j = np.concatenate([a, c]), np.concatenate([b, d])
    return _graph(i, j, n), np.repeat(np.arange(len(counts)), counts)


def _probability(side: str, p: float | None, degree: float | None, n: int, pairs: int) -> float:
    if (p is None) == (degree is None):
        raise ValueError(
            f"pass exactly one of p_{side} and degree_{side}, got p_{side}={p!r} and "
            f"degree_{side}={degree!r}"
        )
    if p is not None:
        return as_real(f"p_{side}", p, most=1)
    assert degree is not None
    degree = as_real(f"degree_{side}", degree)
    most = 2 * pairs / n
    if degree > most:
        raise ValueError(
            f"degree_{side}={degree:g} is more than the {most:g} other items there are "
            f"{side}side a group on average; lower it, or change sizes"
        )
    return degree / most if pairs else 0.0


def _successes(trials: int, p: float, source: RandomSource) -> Indices:
    """Which of `trials` independent trials succeed, in order: O(trials p), not O(trials).

    P(gap > k) = (1 - p)^k, so log(1 - U) / log(1 - p), rounded down, is the number of failures
    before the next success when U is uniform on [0, 1).
    """
    if p == 0 or trials == 0:
        return np.empty(0, dtype=np.int64)
    if p == 1:
        return np.arange(trials, dtype=np.int64)
    found = []
    last = -1
    while last < trials:
        expected = (trials - 1 - last) * p
        # Four standard deviations more than expected: a second round is rare.
        draws = source.random(int(expected + 4 * math.sqrt(expected)) + 8)
        with np.errstate(over="ignore"):  # infinitely many failures, if p is next to nothing
            failures = np.log1p(-draws) / math.log1p(-p)
        # A gap past the end is past the end; cut before it overflows an int64.
        gaps = 1 + np.minimum(failures, trials).astype(np.int64)
        places = last + np.cumsum(gaps)
        found.append(places)
        last = int(places[-1])
    successes = np.concatenate(found)
    return successes[: np.searchsorted(successes, trials)]


def _pairs_inside(t: Indices, sizes: Indices) -> tuple[Indices, Indices]:
    """Pair number t among all pairs i > j of the same group, group after group.

    In a group, the pairs (1, 0), (2, 0), (2, 1), (3, 0), ... have the numbers 0, 1, 2, 3, ...: row
    i begins at i (i - 1) / 2.
    """
    first_item = np.cumsum(sizes) - sizes
    pairs = sizes * (sizes - 1) // 2
    group, t = _locate(t, pairs)
    i = ((1 + np.sqrt(1 + 8 * t.astype(np.float64))) / 2).astype(np.int64)
    # For large t the root may be rounded up to the next row; never down, as 2 i - 1 is a double.
    i -= i * (i - 1) // 2 > t
    j = t - i * (i - 1) // 2
    return first_item[group] + i, first_item[group] + j


def _pairs_across(t: Indices, sizes: Indices) -> tuple[Indices, Indices]:
    """Pair number t among all pairs i > j of different groups.

    Each of the s items of a group meets each of the f items of earlier groups: s f pairs, item
    after item.
    """
    first_item = np.cumsum(sizes) - sizes
    group, t = _locate(t, sizes * first_item)
    earlier = first_item[group]
    return earlier + t // earlier, t % earlier


def _locate(t: Indices, lengths: Indices) -> tuple[Indices, Indices]:
    """The stretch that place t falls into, and the place inside it, for stretches end to end."""
    ends = np.cumsum(lengths)
    stretch = np.searchsorted(ends, t, side="right")
    return stretch, t - (ends - lengths)[stretch]


def _graph(i: Indices, j: Indices, n: int) -> csr_array:
    # Half the memory, and what scipy itself would choose.
    small = max(n, 2 * len(i)) <= np.iinfo(np.int32).max
    index = np.int32 if small else np.int64
    rows = np.concatenate([i, j]).astype(index)
    columns = np.concatenate([j, i]).astype(index)
    return coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
