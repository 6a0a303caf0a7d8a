"""Random graphs with known groups: LFR, degree-corrected planted partitions, points, covers."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

Pair = tuple[Any, Any]


def symmetric(rows: Any, columns: Any, n: int) -> Any:
    """Return the binary adjacency of the pairs, each once, without loops."""
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    pairs = np.unique((low * n + high)[low != high])
    half = sparse.coo_array((np.ones(len(pairs)), (pairs // n, pairs % n)), shape=(n, n))
    return sparse.csr_array(half + half.T)


def power_law(rng: Any, size: int, exponent: float, low: float, high: float) -> Any:
    """Draw from the density x^-exponent between low and high."""
    a, b, u = low ** (1 - exponent), high ** (1 - exponent), rng.random(size)
    return (a + (b - a) * u) ** (1 / (1 - exponent))


def matched(rng: Any, weights: Any, items: Any, links: int) -> Pair:
    """Draw both ends of so many links among the items, in proportion to their weights."""
    share = weights / weights.sum()
    return tuple(rng.choice(items, size=links, p=share) for _ in range(2))  # type: ignore[return-value]


def lfr(
    n: int, mixing: float, degree: float = 15, sizes: tuple[int, int] = (20, 100), seed: int = 0
) -> Pair:
    """Degrees and group sizes by power laws (2.5 and 1.5); a share ``mixing`` of links leaves.

    The benchmark of Lancichinetti, Fortunato and Radicchi (2008), by drawing ends of links.
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
        # An item cannot have more neighbours inside its group than there are.
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
    """Sizes that fall geometrically, the largest ``ratio`` times the smallest."""
    shares = ratio ** -(np.arange(groups) / (groups - 1))
    sizes = np.maximum((n * shares / shares.sum()).astype(int), 5)
    sizes[0] += n - sizes.sum()
    return sizes.tolist()


def neighbours(X: Any, k: int = 10) -> Any:
    """Link every point with its k nearest ones."""
    G = sparse.coo_array(kneighbors_graph(X, k))
    return symmetric(G.row.astype(np.int64), G.col.astype(np.int64), X.shape[0])


def points(
    n: int, groups: int, dimension: int, spread: float, ratio: float = 1.0, seed: int = 0
) -> Pair:
    """Gaussian clouds around random centres at distance about 1, of unequal spread and size."""
    rng = np.random.default_rng(seed)
    sizes = unequal(n, groups, ratio) if ratio > 1 else [n // groups] * groups
    labels = np.repeat(np.arange(groups), sizes)
    centres = rng.standard_normal((groups, dimension)) / np.sqrt(2 * dimension)
    spreads = spread * rng.uniform(0.6, 1.4, groups) / np.sqrt(dimension)
    X = centres[labels] + spreads[labels, None] * rng.standard_normal((len(labels), dimension))
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

    Every item spreads its links inside groups over all its groups, so an item of two has no more
    neighbours than others. Returns adjacency and groups, as arrays of items.
    """
    rng = np.random.default_rng(seed)
    sizes = unequal(n, groups, ratio) if ratio > 1 else [n // groups] * groups
    own = rng.permutation(np.repeat(np.arange(groups), sizes))
    n = len(own)
    both = rng.random(n) < shared
    second = np.where(both, (own + rng.integers(1, groups, n)) % groups, -1)
    degrees = power_law(rng, n, 3.0, 1.0, 5.0)
    degrees *= degree / degrees.mean()
    sets = [np.flatnonzero((own == g) | (second == g)) for g in range(groups)]
    ends = []
    for items in sets:
        inside = (1 - mixing) * degrees[items] / (1 + both[items])
        ends.append(matched(rng, inside, items, round(inside.sum() / 2)))
    ends.append(matched(rng, degrees, np.arange(n), round(mixing * degrees.sum() / 2)))
    return symmetric(*(np.concatenate(part) for part in zip(*ends, strict=True)), n), sets
