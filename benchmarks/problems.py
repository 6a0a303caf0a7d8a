"""The graphs, matrices and documents that the benchmarks run on."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.datasets import planted_partition


def planted(n: int, stored: int, groups: int, seed: int = 0) -> tuple[Any, Any]:
    """Return a graph with about ``stored`` entries, 80 % of them inside groups, and the groups."""
    degree = stored / n
    return planted_partition(
        [n // groups] * groups, degree_in=0.8 * degree, degree_out=0.2 * degree, random_state=seed
    )


def shuffled(A: Any, labels: Any, seed: int = 0) -> tuple[Any, Any]:
    """Return the same graph with its items in random order, as files have them."""
    order = np.random.default_rng(seed).permutation(len(labels))
    A = A[order][:, order]
    A.sort_indices()
    return A, labels[order]


def dense(n: int, r: int, seed: int = 0) -> Any:
    """Return a full symmetric matrix near rank r: overlapping groups and noise, all positive."""
    rng = np.random.default_rng(seed)
    H = rng.random((n, r)) * (rng.random((n, r)) < 0.3)
    noise = rng.exponential(0.05, size=(n, n))
    return H @ H.T + (noise + noise.T) / 2


def kernel(n: int, groups: int, seed: int = 0) -> Any:
    """Return exp(-|x - y|^2 / (2 s^2)) for points in clouds, s half the median distance."""
    rng = np.random.default_rng(seed)
    X = 4 * rng.standard_normal((groups, 5))[rng.integers(groups, size=n)]
    X += rng.standard_normal((n, 5))
    squares = np.sum(X**2, axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0)
    return np.exp(-distances / (0.5 * np.median(distances[:300, :300])))


def documents(data: Path | None, name: str) -> Any | None:
    """Return a document-word matrix of the data directory, None without one."""
    path = data / "documents" / f"{name}.npz" if data else None
    return sparse.load_npz(path) if path and path.exists() else None
