"""Clustering methods of other packages: functions of A and r that return labels or sets."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralClustering


def spectral_clustering(A: Any, r: int) -> Any:
    dense = A.toarray() if sparse.issparse(A) else A
    return SpectralClustering(r, affinity="precomputed", random_state=0).fit_predict(dense)


def to_igraph(A: Any) -> tuple[Any, list[float]]:
    """Return A as an igraph graph, and the weights of the edges."""
    import igraph

    half = sparse.triu(sparse.coo_array(A), k=1).tocoo()
    return igraph.Graph(A.shape[0], np.column_stack([half.row, half.col])), half.data.tolist()


def leiden_runs(A: Any) -> Callable[[float], Any]:
    """Return a function of the resolution that returns the labels of igraph's Leiden algorithm."""
    graph, weights = to_igraph(A)
    edge_weights = None if len(set(weights)) == 1 else weights

    def run(resolution: float) -> Any:
        random.seed(0)  # the generator that igraph uses
        clusters = graph.community_leiden(
            "modularity", weights=edge_weights, resolution=resolution, n_iterations=2
        )
        return np.array(clusters.membership)

    return run


def leiden_search(run: Callable[[float], Any], n: int, r: int, steps: int = 12) -> Any:
    """Bisect the resolution until r clusters have at least a tenth of the mean size."""
    low, high, resolution = 1 / 64, 4096.0, 1.0
    best: tuple[float, Any] = (np.inf, None)
    for _ in range(steps):
        labels = run(resolution)
        count = int(np.count_nonzero(10 * r * np.bincount(labels) >= n))
        best = min(best, (abs(count - r), labels), key=lambda b: b[0])
        if count == r:
            break
        low, high = (resolution, high) if count < r else (low, resolution)
        resolution = float(np.sqrt(low * high))
    return best[1]


def leiden(A: Any, r: int) -> Any:
    """Return the labels at resolution 1; r is not used."""
    return leiden_runs(A)(1.0)


def leiden_with_r(A: Any, r: int) -> Any:
    """Return the labels at the resolution that gives r clusters."""
    return leiden_search(leiden_runs(A), A.shape[0], r)


def infomap(A: Any, r: int) -> Any:
    graph, weights = to_igraph(A)
    random.seed(0)  # the generator that igraph uses
    return graph.community_infomap(edge_weights=weights).membership


METHODS = {
    "SpectralClustering": spectral_clustering,
    "Leiden": leiden,
    "Leiden with r": leiden_with_r,
    "Infomap": infomap,
}


def cdlib_method(name: str, **options: Any) -> Callable[[Any, int], list[Any]]:
    """Return a cdlib method for overlapping sets; an option with the value "r" becomes r."""

    def run(A: Any, r: int) -> list[Any]:
        import networkx as nx
        from cdlib import algorithms

        arguments = {key: r if value == "r" else value for key, value in options.items()}
        clustering = getattr(algorithms, name)(nx.from_scipy_sparse_array(A), **arguments)
        return [np.array(items) for items in clustering.communities if len(items) > 1]

    return run


def leiden_sets(A: Any, r: int) -> list[Any]:
    """Return the clusters of `leiden_with_r` as sets."""
    labels = np.asarray(leiden_with_r(A, r))
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


OVERLAPPING = {
    "Leiden with r": leiden_sets,
    "LFM": cdlib_method("lfm", alpha=0.8),
    "SLPA": cdlib_method("slpa"),
    "BigClam": cdlib_method("big_clam", dimensions="r", iterations=30),
    "DEMON": cdlib_method("demon", epsilon=0.25),
    "k-clique, k = 4": cdlib_method("kclique", k=4),
}
