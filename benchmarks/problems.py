"""Graphs, matrices and documents for measuring times."""

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
    """Return A and labels with the items in random order."""
    order = np.random.default_rng(seed).permutation(len(labels))
    A = A[order][:, order]
    A.sort_indices()
    return A, labels[order]


def dense(n: int, r: int, seed: int = 0) -> Any:
    """Return a dense symmetric matrix: overlapping groups (rank r) plus positive noise."""
    rng = np.random.default_rng(seed)
    H = rng.random((n, r)) * (rng.random((n, r)) < 0.3)
    noise = rng.exponential(0.05, size=(n, n))
    return H @ H.T + (noise + noise.T) / 2


def load(data: Path | None, folder: str, name: str) -> tuple[Any, Any] | None:
    """Return a matrix of DATA/graphs or DATA/documents and its groups, None if it is missing."""
    path = data / folder / f"{name}.npz" if data else None
    if path is None or not path.exists():
        return None
    groups = path.with_name(f"{name}_labels.npy")
    X = sparse.csr_array(sparse.load_npz(path)).astype(np.float64)
    return X, np.load(groups) if groups.exists() else None
