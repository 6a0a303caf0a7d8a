"""What a user would pick instead: each method maps similarities and r to labels."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralClustering


def spectral_clustering(A: Any, r: int) -> Any:
    dense = A.toarray() if sparse.issparse(A) else A
    return SpectralClustering(r, affinity="precomputed", random_state=0).fit_predict(dense)


def _igraph(A: Any) -> tuple[Any, list[float]]:
    import igraph

    half = sparse.triu(sparse.coo_array(A), k=1).tocoo()
    pairs = list(zip(half.row.tolist(), half.col.tolist(), strict=True))
    return igraph.Graph(A.shape[0], pairs), half.data.tolist()


def leiden(A: Any, r: int) -> Any:
    """Modularity, as leidenalg's users start with; it chooses the number of clusters itself."""
    import leidenalg

    graph, weights = _igraph(A)
    partition = leidenalg.ModularityVertexPartition
    return leidenalg.find_partition(graph, partition, weights=weights, seed=0).membership


def leiden_partition(A: Any, resolution: float, seed: int = 0) -> Any:
    """Modularity with a resolution."""
    import leidenalg

    graph, weights = _igraph(A)
    kind = leidenalg.RBConfigurationVertexPartition
    return leidenalg.find_partition(
        graph, kind, weights=weights, resolution_parameter=resolution, seed=seed
    )


def _halved_in(A: Any, r: int, steps: int = 12) -> tuple[float, Any]:
    """Halve in on the resolution, from 1, until r clusters come out, or nearly r.

    Clusters of less than a tenth of the mean size (the crumbs of a graph in pieces) do not count.
    """
    low, high, best = 1 / 64, 64.0, (np.inf, 1.0, None)
    for _ in range(steps):
        resolution = np.sqrt(low * high)
        found = leiden_partition(A, resolution)
        count = sum(10 * r * size >= A.shape[0] for size in found.sizes())
        best = min(best, (abs(count - r), resolution, found.membership), key=lambda b: b[0])
        if count == r:
            break
        low, high = (resolution, high) if count < r else (low, resolution)
    return best[1:]


def leiden_resolution(A: Any, r: int) -> float:
    """Return the resolution that gives r clusters, or nearly r."""
    return _halved_in(A, r)[0]


def leiden_with_r(A: Any, r: int) -> Any:
    """Modularity with the resolution that gives r clusters, or nearly r."""
    return _halved_in(A, r)[1]


def infomap(A: Any, r: int) -> Any:
    import infomap

    half = sparse.triu(sparse.coo_array(A), k=1).tocoo()
    model = infomap.Infomap(silent=True, two_level=True, seed=1)
    model.add_nodes(range(A.shape[0]))
    model.add_links(
        list(zip(half.row.tolist(), half.col.tolist(), half.data.tolist(), strict=True))
    )
    model.run()
    modules = model.get_modules()
    return [modules[i] for i in range(A.shape[0])]


PEERS = {
    "SpectralClustering": spectral_clustering,
    "Leiden": leiden,
    "Leiden with r": leiden_with_r,
    "Infomap": infomap,
}
