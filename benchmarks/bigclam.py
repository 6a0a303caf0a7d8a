"""BigClam (Yang and Leskovec, 2013) in its plainest form, compiled: a peer for many clusters.

P(i, j linked) = 1 - exp(-F_i . F_j), F >= 0. Projected gradient steps on one row after another
with a backtracking line search, from the neighbourhoods of locally minimal conductance; an item
belongs to a cluster if its entry is at least sqrt(-log(1 - density)), as in the paper. A row is
worked on in the columns that it or a neighbour has; r is given, as in the original.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from odsymnmf.kernels.sparse_arrays import Links

Array = NDArray[Any]


@njit(cache=True, fastmath=True)
def _value(x: Any, F: Any, near: Any, sums: Any) -> Any:
    """The part of the log-likelihood that depends on row x."""
    total = 0.0
    around = np.zeros(len(x))
    for i in near:
        dot = 0.0
        for l in range(len(x)):
            dot += x[l] * F[i, l]
            around[l] += F[i, l]
        total += np.log(1.0 - np.exp(-max(dot, 1e-6)))
    for l in range(len(x)):
        total -= x[l] * (sums[l] - around[l])
    return total


@njit(cache=True, fastmath=True)
def _pass(indptr: Any, indices: Any, F: Any, sums: Any, active: Any, counts: Any) -> Any:
    """Update every row once, in the columns that it or a neighbour has; return the gain."""
    n, gain = len(indptr) - 1, 0.0
    for k in range(n):
        near = indices[indptr[k] : indptr[k + 1]]
        cols = np.unique(active[k, : counts[k]])
        for i in near:
            cols = np.union1d(cols, active[i, : counts[i]])
        m = len(cols)
        x, part, total = np.empty(m), np.empty((len(near), m)), np.empty(m)
        for c in range(m):
            x[c] = F[k, cols[c]]
            total[c] = sums[cols[c]] - x[c]
            for b in range(len(near)):
                part[b, c] = F[near[b], cols[c]]
        local = np.arange(len(near))
        before = _value(x, part, local, total)
        slope = -total.copy()
        for b in range(len(near)):
            dot = 0.0
            for c in range(m):
                dot += x[c] * part[b, c]
            p = np.exp(-max(dot, 1e-6))
            for c in range(m):
                slope[c] += part[b, c] * (1.0 + p / (1.0 - p))
        step, square = 1.0, 0.0
        for c in range(m):
            square += slope[c] * slope[c]
        for _ in range(10):
            new = np.minimum(np.maximum(x + step * slope, 0.0), 1000.0)
            after = _value(new, part, local, total)
            if after >= before + 0.05 * step * square:
                gain += after - before
                counts[k] = 0
                for c in range(m):
                    sums[cols[c]] += new[c] - x[c]
                    F[k, cols[c]] = new[c]
                    if new[c] > 1e-4 and counts[k] < active.shape[1]:
                        active[k, counts[k]] = cols[c]
                        counts[k] += 1
                    else:
                        sums[cols[c]] -= F[k, cols[c]]
                        F[k, cols[c]] = 0.0
                break
            step *= 0.3
    return gain


def _seeds(A: Links) -> Array:
    """Return the items whose neighbourhood has a lower conductance than their neighbours'."""
    from odsymnmf.engine.many.starts import _common

    n = len(A.indptr) - 1
    degree = np.diff(A.indptr).astype(float)
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    inside = 2 * degree + np.bincount(rows, weights=_common(A), minlength=n)
    volume = degree + np.bincount(rows, weights=degree[A.indices], minlength=n)
    phi = (volume - inside) / np.maximum(np.minimum(volume, degree.sum() - volume), 1.0)
    lowest = np.full(n, np.inf)
    np.minimum.at(lowest, rows, phi[A.indices])
    seeds = np.flatnonzero((phi <= lowest) & (degree > 1))
    return seeds[np.argsort(phi[seeds], kind="stable")]


def bigclam_sets(A: Links, r: int, most_passes: int = 100) -> list[Array]:
    """Return the r sets of BigClam; the likelihood stops the passes when it gains < 0.01 %."""
    n = len(A.indptr) - 1
    F = np.zeros((n, r))
    rng = np.random.default_rng(0)
    seeds = _seeds(A)[:r]
    for c in range(r):
        k = seeds[c] if c < len(seeds) else rng.integers(n)
        F[A.indices[A.indptr[k] : A.indptr[k + 1]], c] = 1.0
        F[k, c] = 1.0
    counts = np.minimum((F > 0).sum(axis=1), 256).astype(np.int64)
    active = np.zeros((n, 256), dtype=np.int64)
    for k in range(n):
        active[k, : counts[k]] = np.flatnonzero(F[k])[:256]
    sums, total = F.sum(axis=0), 0.0
    for _ in range(most_passes):
        gain = _pass(A.indptr, A.indices, F, sums, active, counts)
        total += gain
        if gain < 1e-4 * max(total, 1.0):
            break
    density = len(A.indices) / (n * (n - 1.0))
    bar = np.sqrt(-np.log(1.0 - density))
    return [np.flatnonzero(F[:, c] >= bar) for c in range(r)]
