"""Agreement with known groups on graphs and points that were not used to choose any setting."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from sklearn import datasets

import odsymnmf as od
from benchmarks import graphs
from benchmarks.families import neighbor_graph, single_labels, sklearn_dataset
from benchmarks.methods import leiden_with_r, spectral_clustering
from benchmarks.quality import score
from benchmarks.timing import table

Source = Callable[[], tuple[Any, Any]]
METHODS: dict[str, Callable[[Any, int], Any]] = {
    "default": lambda A, r: od.ODSymNMF(r).fit_predict(A),
    'init="spectral"': lambda A, r: od.ODSymNMF(r, init="spectral").fit_predict(A),
    "Leiden with r": leiden_with_r,
    "SpectralClustering": spectral_clustering,
}
BLOBS = partial(datasets.make_blobs, 500, random_state=170)
POINTS: dict[str, Source] = {
    "moons": partial(datasets.make_moons, 500, noise=0.05, random_state=0),
    "noisy moons": partial(datasets.make_moons, 500, noise=0.2, random_state=0),
    "circles": partial(datasets.make_circles, 500, factor=0.5, noise=0.05, random_state=0),
    "iris": partial(sklearn_dataset, "iris"),
    "digits": partial(sklearn_dataset, "digits"),
    "wine": partial(sklearn_dataset, "wine"),
    "5 blobs": partial(BLOBS, centers=5),
    "3 blobs, unequal spread": partial(BLOBS, centers=3, cluster_std=[1.0, 2.5, 0.5]),
}


def labeled(G: Any, name: str) -> tuple[Any, Any]:
    """Return the adjacency matrix and the labels given by a node attribute."""
    values = [value for _, value in G.nodes(data=name)]
    return nx.to_scipy_sparse_array(G, weight=None, dtype=float), np.unique(
        values, return_inverse=True
    )[1]


def partitioned(G: Any) -> tuple[Any, Any]:
    """Return the adjacency matrix and the groups planted by networkx."""
    groups = np.empty(len(G), dtype=int)
    for l, nodes in enumerate(G.graph["partition"]):
        groups[list(nodes)] = l
    return nx.to_scipy_sparse_array(G, dtype=float), groups


def caves() -> tuple[Any, Any]:
    G = nx.relaxed_caveman_graph(40, 12, 0.35, seed=0)
    return nx.to_scipy_sparse_array(G, dtype=float), np.repeat(np.arange(40), 12)


def clouds(k: int, *sizes: Any) -> Source:
    return partial(neighbor_graph, partial(graphs.points, *sizes, seed=900), k)


GRAPHS: dict[str, Source] = {
    "planted, 12 groups, degree 7": partial(graphs.planted, [80] * 12, 7, 0.25, seed=900),
    "planted, 25 groups, hubs": partial(graphs.planted, [40] * 25, 10, 0.35, 0.01, seed=901),
    "planted, 9 unequal groups": lambda: graphs.planted(
        graphs.unequal(1800, 9, 20), 9, 0.35, seed=902
    ),
    "LFR, 1,500 items, mixing 0.45": partial(graphs.lfr, 1500, 0.45, 18, (15, 80), seed=903),
    "LFR, 3,000 items, mixing 0.55": partial(graphs.lfr, 3000, 0.55, 22, (20, 150), seed=904),
    "overlapping, 24 groups": lambda: single_labels(*graphs.cover(1200, 24, 0.25, 18, seed=905)),
    "8 neighbors, 14 clouds": clouds(8, 1400, 14, 4, 0.35),
    "12 neighbors, 18 unequal clouds": clouds(12, 1800, 18, 8, 0.5, 6),
    "karate club (networkx)": lambda: labeled(nx.karate_club_graph(), "club"),
    "40 relaxed caves (networkx)": caves,
    "Gaussian partition (networkx)": lambda: partitioned(
        nx.gaussian_random_partition_graph(800, 40, 8, 0.25, 0.012, seed=0)
    ),
    "5 neighbors, digits": partial(neighbor_graph, partial(sklearn_dataset, "digits"), 5),
}


def rows(sources: dict[str, Source]) -> Iterator[list[str]]:
    columns = []
    for name, make in sources.items():
        A, groups = make()
        scores = [score(A, groups, method) for method in METHODS.values()]
        columns.append([np.nan if s is None else s.nmi for s in scores])
        yield [name, *(f"{nmi:.3f}" for nmi in columns[-1])]
    yield ["mean", *(f"{nmi:.3f}" for nmi in np.mean(columns, axis=0))]


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    points = {name: partial(neighbor_graph, make, 10) for name, make in POINTS.items()}
    table("Points with 10 nearest neighbors: NMI", ["points", *METHODS], rows(points))
    table("Graphs not used to choose settings: NMI", ["graph", *METHODS], rows(GRAPHS))
