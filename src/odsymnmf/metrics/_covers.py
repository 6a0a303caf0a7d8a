"""Covers against each other: all from the items that two sets have in common.

Sets are columns of a sparse matrix, so the common items of all pairs of sets are one product,
and only pairs that have some are stored.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array, csr_array

from odsymnmf.arrays import Array

Cover = Sequence[ArrayLike]

# Stored pairs of items that the omega index looks at in one go.
BLOCK = 4_000_000


def overlapping_nmi(found: Cover, truth: Cover, n: int | None = None) -> float:
    r"""Normalised mutual information of two covers, I(X : Y) / max(H(X), H(Y)).

    I(X : Y) = (H(X) - H(X|Y) + H(Y) - H(Y|X)) / 2. H(X) adds up the entropies of the sets, each
    taken as a random variable that says whether an item is in it. H(X|Y) adds up, for every set of
    X, what is left of its entropy given the set of Y that is most informative about it; a set that
    is informative only through its complement does not count.

    Parameters
    ----------
    found, truth : list of arrays
        The items of every set. An item counts once per set; empty sets are left out.
    n : int, optional
        Total number of items, those in no set included. Default: the items of both covers.

    Returns
    -------
    float
        From 0 to 1; 1 for the same cover.

    References
    ----------
    McDaid, Greene and Hurley, "Normalized mutual information to evaluate overlapping community
    finding algorithms", 2011.

    Examples
    --------
    >>> from odsymnmf.metrics import overlapping_nmi
    >>> overlapping_nmi([[0, 1, 2], [2, 3, 4]], [[2, 3, 4], [0, 1, 2]])
    1.0
    >>> round(overlapping_nmi([[0, 1, 2], [3, 4]], [[0, 1, 2], [2, 3, 4]]), 3)
    0.716
    """
    X, Y = _as_columns(found, truth)
    n = _number_of_items(n, X.shape[0])
    own, other = _sizes(X), _sizes(Y)
    left = [_entropy(own, n), _entropy(other, n)]
    whole = [float(part.sum()) for part in left]
    if max(whole) == 0:
        return 1.0  # both consist of sets of all items
    for i, j, common in _pairs(X, Y, n):
        a, b = own[i], other[j]
        joint = [_bits(part, n) for part in (common, a - common, b - common, n - a - b + common)]
        tells = joint[0] + joint[3] >= joint[1] + joint[2]
        together = sum(joint)
        for mine, given, place in ((left[0], b, i), (left[1], a, j)):
            rest = np.maximum(together - _entropy(given, n), 0.0)
            np.minimum.at(mine, place[tells], rest[tells])
    information = sum(h - float(rest.sum()) for h, rest in zip(whole, left, strict=True)) / 2
    return min(max(information / max(whole), 0.0), 1.0)


def omega_index(found: Cover, truth: Cover, n: int | None = None) -> float:
    r"""Agreement on how many sets each pair of items shares, corrected for chance.

    omega = (o - e) / (1 - e): o is the share of pairs that are together in as many sets of one
    cover as of the other, e = sum_t p_t q_t what it would be by chance, p_t and q_t the shares of
    pairs together in t sets. For partitions it is the adjusted Rand index.

    Parameters
    ----------
    found, truth : list of arrays
        The items of every set. An item counts once per set; empty sets are left out.
    n : int, optional
        Total number of items, those in no set included. Default: the items of both covers.

    Returns
    -------
    float
        At most 1; 0 is chance.

    Notes
    -----
    The cost is the sum of the squared sizes of the sets, because pairs are counted.

    References
    ----------
    Collins and Dent, "Omega: a general formulation of the Rand index of cluster recovery suitable
    for non-disjoint solutions", 1988.

    Examples
    --------
    >>> from odsymnmf.metrics import omega_index
    >>> omega_index([[0, 1, 2], [2, 3, 4]], [[2, 3, 4], [0, 1, 2]])
    1.0
    >>> round(omega_index([[0, 1, 2], [3, 4]], [[0, 1, 2], [2, 3, 4]]), 3)
    0.615
    """
    X, Y = (csr_array(cover) for cover in _as_columns(found, truth))
    n = _number_of_items(n, X.shape[0])
    pairs = n * (n - 1) // 2
    if pairs == 0:
        return 1.0
    counts: list[dict[int, int]] = [{}, {}]
    differ = 0
    for block in _item_blocks(X, Y):
        shared = [_later_pairs(cover, block) for cover in (X, Y)]
        for part, seen in zip(shared, counts, strict=True):
            for times, number in enumerate(np.bincount(part.data).tolist()):
                if times and number:
                    seen[times] = seen.get(times, 0) + number
        differ += int((shared[0] - shared[1]).count_nonzero())
    for seen in counts:
        seen[0] = pairs - sum(seen.values())
    # Exact integers: with many pairs both shares are close to one.
    agree = (pairs - differ) * pairs
    chance = sum(number * counts[1].get(times, 0) for times, number in counts[0].items())
    return 1.0 if chance == pairs**2 else (agree - chance) / (pairs**2 - chance)


def best_match_f1(found: Cover, truth: Cover) -> float:
    r"""Mean F1 of every set with the set of the other cover that matches it best.

    (mean_i max_j F1(X_i, Y_j) + mean_j max_i F1(X_i, Y_j)) / 2, with
    F1(X, Y) = 2 |X and Y| / (|X| + |Y|).

    Parameters
    ----------
    found, truth : list of arrays
        The items of every set. An item counts once per set; empty sets are left out.

    Returns
    -------
    float
        From 0 to 1.

    References
    ----------
    Yang and Leskovec, "Overlapping community detection at scale: a nonnegative matrix
    factorization approach", 2013.

    Examples
    --------
    >>> from odsymnmf.metrics import best_match_f1
    >>> best_match_f1([[0, 1, 2], [2, 3, 4]], [[2, 3, 4], [0, 1, 2]])
    1.0
    >>> round(best_match_f1([[0, 1, 2], [3, 4]], [[0, 1, 2], [2, 3, 4]]), 3)
    0.9
    """
    X, Y = _as_columns(found, truth)
    common = (X.T @ Y).tocoo()
    f1 = 2 * common.data / (_sizes(X)[common.row] + _sizes(Y)[common.col])
    best = np.zeros(X.shape[1]), np.zeros(Y.shape[1])
    np.maximum.at(best[0], common.row, f1)
    np.maximum.at(best[1], common.col, f1)
    return float((best[0].mean() + best[1].mean()) / 2)


def _as_columns(found: Cover, truth: Cover) -> tuple[csc_array, csc_array]:
    """Return a matrix of items by sets for each cover; the items of both, numbered."""
    sets = [_as_sets("found", found), _as_sets("truth", truth)]
    joined = [np.concatenate(cover) for cover in sets]
    kinds = [items.dtype.kind in "iu" for items in joined]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"found names items by {joined[0].dtype}, truth by {joined[1].dtype}; "
            "name them alike, all by number or all by text"
        )
    names, codes = np.unique(np.concatenate(joined), return_inverse=True)
    parts = np.split(codes, [len(joined[0])])
    return (
        _columns(parts[0], [len(items) for items in sets[0]], len(names)),
        _columns(parts[1], [len(items) for items in sets[1]], len(names)),
    )


def _columns(items: Array, sizes: list[int], n: int) -> csc_array:
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return csc_array((np.ones(len(items), dtype=np.int64), items, indptr), shape=(n, len(sizes)))


def _as_sets(name: str, cover: Cover) -> list[Array]:
    """Return the sets that are not empty, each item once."""
    sets = []
    for place, items in enumerate(cover):
        array = np.asarray(items)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iuU"):
            raise ValueError(
                f"{name}[{place}] must be a flat array of items, numbers or texts, got "
                f"shape {array.shape} of {array.dtype}; a cover is a list of such arrays"
            )
        if array.size:
            sets.append(np.unique(array))
    if not sets:
        raise ValueError(f"{name} has only empty sets; there is nothing to compare")
    if len({array.dtype.kind == "U" for array in sets}) > 1:
        raise ValueError(f"{name} names some items by number and some by text; name them alike")
    return sets


def _number_of_items(n: int | None, seen: int) -> int:
    if n is None:
        return seen
    if not isinstance(n, Integral) or isinstance(n, bool) or n < seen:
        raise ValueError(
            f"n={n!r}, but the sets hold {seen} items; n counts all items, and is a whole number"
        )
    return int(n)


def _sizes(X: csc_array) -> Array:
    return np.diff(X.indptr).astype(np.int64)


def _bits(w: Array, n: int) -> Array:
    """Return -w log2(w / n), 0 at w = 0."""
    w = w.astype(np.float64)
    return -w * np.log2(np.where(w > 0, w, n) / n)


def _entropy(sizes: Array, n: int) -> Array:
    return _bits(sizes, n) + _bits(n - sizes, n)


def _pairs(X: csc_array, Y: csc_array, n: int) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the pairs of sets that may tell about each other, with the items they share.

    Sets without a common item tell nothing if together they have at most half of all items: with
    f(w) = -w log(w / n), f(a) + f(b) >= f(a + b) >= f(n - a - b) then. So beyond the pairs with
    common items only those with a set of a quarter of all items or more are looked at; there can
    be but few such sets for what the cover holds.
    """
    common = (X.T @ Y).tocoo()
    yield common.row, common.col, common.data
    for side, other in ((X, Y), (Y, X)):
        for large in np.flatnonzero(4 * _sizes(side) >= n):
            shared = other.T @ side[:, [large]].toarray()[:, 0]
            there = np.arange(other.shape[1])
            here = np.full(other.shape[1], large)
            yield (here, there, shared) if side is X else (there, here, shared)


def _item_blocks(X: csr_array, Y: csr_array) -> Iterator[slice]:
    """Cut the items into blocks of about BLOCK pairs."""
    work = sum(cover @ np.asarray(cover.sum(axis=0)).ravel() for cover in (X, Y))
    number = np.cumsum(work) // BLOCK
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(work)]
    for start, stop in pairwise(edges):
        yield slice(start, stop)


def _later_pairs(cover: csr_array, block: slice) -> csr_array:
    """Count the sets that items of the block share with items that come after them."""
    shared = (cover[block] @ cover.T).tocoo()
    later = shared.col > shared.row + block.start
    entries = (shared.data[later], (shared.row[later], shared.col[later]))
    return csr_array(entries, shape=shared.shape)
