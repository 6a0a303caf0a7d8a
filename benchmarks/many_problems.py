"""Graphs with thousands of groups, known groups of real graphs, and the agreement with them."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]


def _matched(ends: Array, kind: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Pair the ends of links at random among those of the same kind; an odd one stays alone."""
    order = np.lexsort((rng.random(len(ends)), kind))
    ends, kind = ends[order], kind[order]
    place = np.arange(len(kind)) - np.searchsorted(kind, kind)
    left = np.flatnonzero(place % 2 == 0)
    left = left[left + 1 < len(kind)]
    left = left[kind[left] == kind[left + 1]]
    return ends[left], ends[left + 1]


def _graph(n: int, first: Array, second: Array) -> sparse.csr_array:
    """Return the binary graph of the links, loops and repetitions left out."""
    apart = first != second
    i, j = first[apart].astype(np.int32), second[apart].astype(np.int32)
    ones = np.ones(2 * len(i), dtype=np.int8)
    A = sparse.coo_array((ones, (np.r_[i, j], np.r_[j, i])), shape=(n, n)).tocsr()
    return sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=(n, n))


def overlapping(
    n: int, *, mixing: float = 0.2, shared: float = 0.3, inside: int = 12, seed: int = 0
) -> tuple[sparse.csr_array, list[Array]]:
    """Groups of 20 to 100 items (sizes ~ s^-2); a share of the items is in two or three.

    A membership brings ``inside`` links on average; the share ``mixing`` of all links goes
    anywhere. Return the graph and its groups.
    """
    rng = np.random.default_rng(seed)
    many = np.ones(n, dtype=np.int64)
    several = rng.choice(n, int(shared * n), replace=False)
    many[several] = rng.integers(2, 4, len(several))
    total = int(many.sum())
    # the inverse of the distribution function of s^-2 between 20 and 100
    sizes = np.round(1.0 / (1 / 20 + rng.random(total // 10) * (1 / 100 - 1 / 20))).astype(int)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), total) + 1]
    group = np.repeat(np.arange(len(sizes)), sizes)[:total]
    item = rng.permutation(np.repeat(np.arange(n), many))
    M = sparse.coo_array((np.ones(total), (group, item)), shape=(len(sizes), n)).tocsr()
    sets = [M.indices[M.indptr[c] : M.indptr[c + 1]] for c in range(len(sizes))]
    sets = [s for s in sets if len(s) >= 10]  # the last one may be cut short
    item = np.concatenate(sets)
    size = np.repeat([len(s) for s in sets], [len(s) for s in sets])
    ends = np.minimum(rng.poisson(inside, len(item)), size - 1)
    group = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    a, b = _matched(np.repeat(item, ends), np.repeat(group, ends), rng)
    degree = np.bincount(item, weights=ends, minlength=n)
    out = np.repeat(np.arange(n), rng.poisson(degree * mixing / (1 - mixing)))
    c, d = _matched(out, np.zeros(len(out), dtype=np.int64), rng)
    return _graph(n, np.r_[a, c], np.r_[b, d]), sets


def planted(
    n: int, *, size: int = 40, degree: int = 20, inside: float = 0.75, seed: int = 0
) -> tuple[sparse.csr_array, list[Array]]:
    """Disjoint groups of ``size`` items in random order; the share ``inside`` of links stays."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) // size)
    stay, leave = rng.poisson(degree * inside, n), rng.poisson(degree * (1 - inside), n)
    a, b = _matched(np.repeat(np.arange(n), stay), np.repeat(label, stay), rng)
    out = np.repeat(np.arange(n), leave)
    c, d = _matched(out, np.zeros(len(out), dtype=np.int64), rng)
    sets = np.split(np.argsort(label, kind="stable"), np.arange(size, n, size))
    return _graph(n, np.r_[a, c], np.r_[b, d]), sets


def known_groups(data: Path | None, name: str) -> tuple[sparse.csr_array, list[Array]] | None:
    """Read a graph and its known groups (amazon, dblp), or None where they are not at hand."""
    folder = data / "overlapping" if data else None
    if folder is None or not (folder / f"{name}.ungraph.txt").exists():
        return None
    links = np.loadtxt(folder / f"{name}.ungraph.txt", dtype=np.int64)
    lines = (folder / f"{name}.cmty.txt").read_text().splitlines()
    sets = [np.array(line.split(), dtype=np.int64) for line in lines if line.strip()]
    n = int(max(links.max(), max(s.max() for s in sets))) + 1
    return _graph(n, links[:, 0], links[:, 1]), sets


def best_match_f1(n: int, found: list[Array], known: list[Array]) -> tuple[float, float]:
    """Return the mean best F1 of the known sets with the found ones, and the other way round."""
    found = [s for s in found if len(s)]
    if not found:
        return 0.0, 0.0
    F, K = incidence(n, found), incidence(n, known)
    both = sparse.coo_array(K.T @ F)
    a, b = np.array([len(s) for s in known]), np.array([len(s) for s in found])
    f1 = 2.0 * both.data / (a[both.row] + b[both.col])
    of_known, of_found = np.zeros(len(a)), np.zeros(len(b))
    np.maximum.at(of_known, both.row, f1)
    np.maximum.at(of_found, both.col, f1)
    return float(of_known.mean()), float(of_found.mean())


def mean_f1(n: int, found: list[Array], known: list[Array]) -> float:
    """The mean of both directions."""
    return float(np.mean(best_match_f1(n, found, known)))


def among_known(n: int, found: list[Array], known: list[Array]) -> list[Array]:
    """Cut the found sets to the items that are in some known group; drop those of fewer than 3."""
    covered = np.zeros(n, dtype=bool)
    covered[np.concatenate(known)] = True
    return [c for c in (s[covered[s]] for s in found) if len(c) >= 3]


def incidence(n: int, sets: list[Array]) -> sparse.csr_array:
    columns = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    ones = np.ones(len(columns))
    return sparse.csr_array((ones, (np.concatenate(sets), columns)), shape=(n, len(sets)))
