"""Random graphs with known groups: LFR, planted partitions, points, overlapping groups."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

Pair = tuple[Any, Any]


def symmetric(rows: Any, columns: Any, n: int) -> sparse.csr_array:
    """Return the binary adjacency matrix of the pairs, without loops and repetitions."""
    apart = rows != columns
    i, j = rows[apart].astype(np.int32), columns[apart].astype(np.int32)
    ones = np.ones(2 * len(i), dtype=np.int8)
    A = sparse.coo_array((ones, (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()
    return sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=(n, n))


def power_law(rng: Any, size: int, exponent: float, low: float, high: float) -> Any:
    """Draw from the density x^-exponent between low and high."""
    a, b, u = low ** (1 - exponent), high ** (1 - exponent), rng.random(size)
    return (a + (b - a) * u) ** (1 / (1 - exponent))


def matched(rng: Any, weights: Any, items: Any, links: int) -> Pair:
    """Draw both ends of the links among the items, in proportion to their weights."""
    share = weights / weights.sum()
    return tuple(rng.choice(items, size=links, p=share) for _ in range(2))


def lfr(
    n: int, mixing: float, degree: float = 15, sizes: tuple[int, int] = (20, 100), seed: int = 0
) -> Pair:
    """Power laws for degrees (2.5), group sizes (1.5); a share ``mixing`` of links between groups.

    The benchmark of Lancichinetti, Fortunato and Radicchi (2008), with randomly drawn links.
    """
    rng = np.random.default_rng(seed)
    counts: list[int] = []
    while sum(counts) < n:
        counts.append(int(power_law(rng, 1, 1.5, *sizes)[0]))
    counts[-1] -= sum(counts) - n
    if counts[-1] < sizes[0]:
        last = counts.pop()
        counts[int(np.argmin(counts))] += last
    groups = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    degrees = power_law(rng, n, 2.5, 1.0, 20.0)
    return linked(rng, groups, degrees * degree / degrees.mean(), mixing), groups


def linked(rng: Any, groups: Any, degrees: Any, mixing: float) -> Any:
    """Return a graph with these expected degrees, a share ``mixing`` of the links across groups."""
    n, ends = len(groups), []
    for group in np.unique(groups):
        items = np.flatnonzero(groups == group)
        # An item cannot have more neighbors in its group than there are items.
        inside = np.minimum((1 - mixing) * degrees[items], 0.7 * len(items))
        ends.append(matched(rng, inside, items, round(inside.sum() / 2)))
    rows, columns = matched(rng, degrees, np.arange(n), round(mixing * degrees.sum()))
    across = np.flatnonzero(groups[rows] != groups[columns])[: round(mixing * degrees.sum() / 2)]
    ends.append((rows[across], columns[across]))
    return symmetric(*(np.concatenate(part) for part in zip(*ends, strict=True)), n)


def planted(
    sizes: list[int], degree: float, mixing: float, hubs: float = 0.0, seed: int = 0
) -> Pair:
    """A degree-corrected planted partition; ``hubs`` is the share of items of tenfold degree."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    degrees = power_law(rng, len(groups), 3.0, 1.0, 5.0)
    degrees[rng.random(len(groups)) < hubs] *= 10
    return linked(rng, groups, degrees * degree / degrees.mean(), mixing), groups


def unequal(n: int, groups: int, ratio: float) -> list[int]:
    """Return sizes that decrease geometrically, the largest ``ratio`` times the smallest."""
    shares = ratio ** -(np.arange(groups) / (groups - 1))
    sizes = np.maximum((n * shares / shares.sum()).astype(int), 5)
    sizes[0] += n - sizes.sum()
    return sizes.tolist()


def neighbors(X: Any, k: int = 10) -> Any:
    """Link every point to its k nearest neighbors."""
    G = sparse.coo_array(kneighbors_graph(X, k))
    return symmetric(G.row.astype(np.int64), G.col.astype(np.int64), X.shape[0])


def points(
    n: int, groups: int, dimension: int, spread: float, ratio: float = 1.0, seed: int = 0
) -> Pair:
    """Gaussian clouds around random centers at distance about 1, of unequal spread and size."""
    rng = np.random.default_rng(seed)
    sizes = unequal(n, groups, ratio) if ratio > 1 else [n // groups] * groups
    labels = np.repeat(np.arange(groups), sizes)
    centers = rng.standard_normal((groups, dimension)) / np.sqrt(2 * dimension)
    spreads = spread * rng.uniform(0.6, 1.4, groups) / np.sqrt(dimension)
    X = centers[labels] + spreads[labels, None] * rng.standard_normal((len(labels), dimension))
    order = rng.permutation(len(labels))
    return X[order], labels[order]


def cover(
    n: int,
    groups: int,
    shared: float,
    degree: float = 20,
    mixing: float = 0.2,
    ratio: float = 1.0,
    seed: int = 0,
) -> tuple[Any, list[Any]]:
    """A graph whose groups overlap: a share of the items is in two of them.

    An item of two groups has no more links than others. Returns the graph and its groups, as arrays
    of items.
    """
    rng = np.random.default_rng(seed)
    sizes = unequal(n, groups, ratio) if ratio > 1 else [n // groups] * groups
    first = rng.permutation(np.repeat(np.arange(groups), sizes))
    n = len(first)
    in_two = rng.random(n) < shared
    second = np.where(in_two, (first + rng.integers(1, groups, n)) % groups, -1)
    degrees = power_law(rng, n, 3.0, 1.0, 5.0)
    degrees *= degree / degrees.mean()
    sets = [np.flatnonzero((first == g) | (second == g)) for g in range(groups)]
    ends = []
    for items in sets:
        inside = (1 - mixing) * degrees[items] / (1 + in_two[items])
        ends.append(matched(rng, inside, items, round(inside.sum() / 2)))
    ends.append(matched(rng, degrees, np.arange(n), round(mixing * degrees.sum() / 2)))
    return symmetric(*(np.concatenate(part) for part in zip(*ends, strict=True)), n), sets


def paired(ends: Any, kind: Any, rng: np.random.Generator) -> Pair:
    """Pair the ends of links at random among those of the same kind; an odd one is left out."""
    order = np.lexsort((rng.random(len(ends)), kind))
    ends, kind = ends[order], kind[order]
    place = np.arange(len(kind)) - np.searchsorted(kind, kind)
    first = np.flatnonzero(place % 2 == 0)
    first = first[first + 1 < len(kind)]
    first = first[kind[first] == kind[first + 1]]
    return ends[first], ends[first + 1]


def many_overlapping(
    n: int, *, mixing: float = 0.2, shared: float = 0.3, inside: int = 12, seed: int = 0
) -> tuple[Any, list[Any]]:
    """Groups of 20 to 100 items (sizes ~ s^-2); a share of the items is in two or three groups.

    An item has ``inside`` links in each of its groups on average; a share ``mixing`` of all links
    is random. Returns the graph and its groups.
    """
    rng = np.random.default_rng(seed)
    n_groups = np.ones(n, dtype=np.int64)
    overlapping = rng.choice(n, int(shared * n), replace=False)
    n_groups[overlapping] = rng.integers(2, 4, len(overlapping))
    total = int(n_groups.sum())
    # Inverse of the distribution function of s^-2 between 20 and 100.
    sizes = np.round(1.0 / (1 / 20 + rng.random(total // 10) * (1 / 100 - 1 / 20))).astype(int)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), total) + 1]
    group = np.repeat(np.arange(len(sizes)), sizes)[:total]
    item = rng.permutation(np.repeat(np.arange(n), n_groups))
    M = sparse.coo_array((np.ones(total), (group, item)), shape=(len(sizes), n)).tocsr()
    sets = [M.indices[M.indptr[c] : M.indptr[c + 1]] for c in range(len(sizes))]
    sets = [s for s in sets if len(s) >= 10]  # the last one may be cut short
    item = np.concatenate(sets)
    size = np.repeat([len(s) for s in sets], [len(s) for s in sets])
    ends = np.minimum(rng.poisson(inside, len(item)), size - 1)
    group = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    a, b = paired(np.repeat(item, ends), np.repeat(group, ends), rng)
    degree = np.bincount(item, weights=ends, minlength=n)
    out = np.repeat(np.arange(n), rng.poisson(degree * mixing / (1 - mixing)))
    c, d = paired(out, np.zeros(len(out), dtype=np.int64), rng)
    return symmetric(np.r_[a, c], np.r_[b, d], n), sets


def many_planted(
    n: int, *, size: int = 40, degree: int = 20, inside: float = 0.75, seed: int = 0
) -> tuple[Any, list[Any]]:
    """Disjoint groups of ``size`` items; a share ``inside`` of the links is inside groups."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) // size)
    n_inside, n_outside = rng.poisson(degree * inside, n), rng.poisson(degree * (1 - inside), n)
    a, b = paired(np.repeat(np.arange(n), n_inside), np.repeat(label, n_inside), rng)
    out = np.repeat(np.arange(n), n_outside)
    c, d = paired(out, np.zeros(len(out), dtype=np.int64), rng)
    sets = np.split(np.argsort(label, kind="stable"), np.arange(size, n, size))
    return symmetric(np.r_[a, c], np.r_[b, d], n), sets
