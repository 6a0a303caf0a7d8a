"""BigClam (Yang and Leskovec, WSDM 2013), compiled: a peer for many clusters.

P(i, j linked) = 1 - exp(-F_i . F_j), F >= 0, by gradient steps on one row after another. Where the
paper is silent, as its authors' program in SNAP does it: rows in random order; seeds are the ego
networks of least conductance, but for items in the ego network of an earlier one; an entry at zero
moves only upwards; the line search begins at 1, shrinks by 0.3 and asks for 0.05 of the promised
gain, ten times at most; a pair with no cluster in common is linked with probability 1 / n;
passes end when two of them gain less than 0.01 % of the likelihood. An item belongs to a cluster
if its entry is at least sqrt(-log(1 - density)). A row costs the columns that its neighbours
have. r is given, as in the original.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from odsymnmf.engine.many.starts import common_neighbours
from odsymnmf.kernels.sparse_arrays import Links

Array = NDArray[Any]

# Of the line search; the steepest slope; the gain of two passes, as a share, that is too little.
SHRINK, PROMISED, TRIALS, STEEPEST, ENOUGH = 0.3, 0.05, 10, 10.0, 1e-4
# Seeds have so many links at least; an entry is so large at most; slopes below are none.
LINKS, LARGEST, FLAT = 5, 1000.0, 1e-4
# Items of a cluster for which no seed is left.
FILL = 10


class Affiliations(NamedTuple):
    """F in full, the columns that each row has, how many, and the sums of the columns."""

    F: Any
    columns: Any
    counts: Any
    sums: Any


@njit(cache=True, fastmath=True)
def _likelihood(x: Any, near: Any, other: Any, floor: Any) -> Any:
    """The part of the log-likelihood that depends on row x; other = the sums without neighbours."""
    total = 0.0
    for b in range(len(near)):
        dot = floor
        for c in range(len(x)):
            dot += x[c] * near[b, c]
        total += np.log(1.0 - np.exp(-dot))
    for c in range(len(x)):
        total -= x[c] * other[c]
    return total


@njit(cache=True, fastmath=True)
def _slopes(x: Any, near: Any, other: Any, floor: Any, slope: Any) -> Any:
    """The gradient, without entries at zero that would fall; return its squared length."""
    for c in range(len(x)):
        slope[c] = -other[c]
    for b in range(len(near)):
        dot = floor
        for c in range(len(x)):
            dot += x[c] * near[b, c]
        p = np.exp(-dot)
        for c in range(len(x)):
            slope[c] += near[b, c] * p / (1.0 - p)
    square = 0.0
    for c in range(len(x)):
        if abs(slope[c]) < FLAT or (x[c] == 0.0 and slope[c] < 0.0):
            slope[c] = 0.0
        slope[c] = min(max(slope[c], -STEEPEST), STEEPEST)
        square += slope[c] * slope[c]
    return square


@njit(cache=True)
def _pass(order: Any, A: Any, B: Any, floor: Any) -> Any:
    """Take a step in every row; return the likelihood of the rows, as each was left."""
    place, cols = np.full(len(B.sums), -1), np.empty(len(B.sums), dtype=np.int64)
    room, likelihood = np.empty(0), 0.0
    for k in order:
        near = A.indices[A.indptr[k] : A.indptr[k + 1]]
        m = 0
        for i in near:
            for l in B.columns[i, : B.counts[i]]:
                if place[l] < 0:
                    place[l], cols[m] = m, l
                    m += 1
        for l in B.columns[k, : B.counts[k]]:
            if place[l] < 0:  # no neighbour has it
                B.sums[l] -= B.F[k, l]
                B.F[k, l] = 0.0
        if len(room) < m * len(near):
            room = np.empty(2 * m * len(near))
        part = room[: m * len(near)].reshape(len(near), m)
        x, other, slope = np.empty(m), np.empty(m), np.empty(m)
        part[:] = 0.0
        for c in range(m):
            x[c] = B.F[k, cols[c]]
            other[c] = B.sums[cols[c]] - x[c]
        for b in range(len(near)):
            i = near[b]
            for l in B.columns[i, : B.counts[i]]:
                part[b, place[l]] = B.F[i, l]
                other[place[l]] -= B.F[i, l]
        for c in range(m):
            place[cols[c]] = -1
        before = _likelihood(x, part, other, floor)
        square = _slopes(x, part, other, floor, slope)
        step, after = 1.0, before
        for _ in range(TRIALS):
            new = np.minimum(np.maximum(x + step * slope, 0.0), LARGEST)
            after = _likelihood(new, part, other, floor)
            if after >= before + PROMISED * step * square:
                break
            step *= SHRINK
        else:
            new, after = x, before
        likelihood += after
        count = 0
        for c in range(m):
            B.sums[cols[c]] += new[c] - x[c]
            B.F[k, cols[c]] = new[c]
            if new[c] > 0.0:
                B.columns[k, count] = cols[c]
                count += 1
        B.counts[k] = count
    return likelihood


def _seeds(A: Links) -> list[int]:
    """Return the centres of the ego networks of least conductance, none within another."""
    n = len(A.indptr) - 1
    degree = np.diff(A.indptr).astype(float)
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    inside = 2 * degree + np.bincount(rows, weights=common_neighbours(A), minlength=n)
    volume = degree + np.bincount(rows, weights=degree[A.indices], minlength=n)
    phi = (volume - inside) / np.maximum(np.minimum(volume, degree.sum() - volume), 1.0)
    phi[degree < LINKS] = 1.0
    passed, seeds = np.zeros(n, dtype=bool), []
    for k in np.argsort(phi, kind="stable"):
        if not passed[k]:
            seeds.append(k)
            passed[A.indices[A.indptr[k] : A.indptr[k + 1]]] = True
    return seeds


def _start(A: Links, r: int, rng: np.random.Generator) -> Affiliations:
    n = len(A.indptr) - 1
    F = np.zeros((n, r))
    for c, k in enumerate(_seeds(A)[:r]):
        F[A.indices[A.indptr[k] : A.indptr[k + 1]], c] = 1.0
        F[k, c] = 1.0
    for c in np.flatnonzero(F.sum(axis=0) == 0):
        F[rng.integers(n, size=FILL), c] = rng.random(FILL)
    columns, counts = np.zeros((n, r), dtype=np.int32), (F > 0).sum(axis=1)
    rows, there = np.nonzero(F)
    columns[rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)] = there
    return Affiliations(F, columns, counts, F.sum(axis=0))


def bigclam_sets(A: Links, r: int, most_passes: int = 500) -> list[Array]:
    """Return the r sets of BigClam."""
    n = len(A.indptr) - 1
    rng = np.random.default_rng(0)
    B = _start(A, r, rng)
    floor, likelihood = -np.log1p(-1.0 / n), [-np.inf]
    for _ in range(most_passes):
        for _ in range(2):
            after = _pass(rng.permutation(n), A, B, floor)
        likelihood.append(after)
        if likelihood[-1] - likelihood[-2] <= -ENOUGH * likelihood[-1]:
            break
    density = len(A.indices) / (n * (n - 1.0))
    bar = np.sqrt(-np.log1p(-density))
    return [np.flatnonzero(B.F[:, c] >= bar) for c in range(r)]
