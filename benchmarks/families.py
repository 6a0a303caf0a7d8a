"""Problems with known groups, in two halves: settings are chosen on one, reported on the other.

In each family, settings are chosen on problems 1, 3, 5, ... and reported on 2, 4, 6, ... The order
was fixed before the first measurement.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from benchmarks import graphs
from benchmarks.problems import load

TUNING, HELD_OUT = "tuning", "held-out"
# The families whose problems are graphs without negative links.
GRAPHS = ["real", "lfr", "planted", "points", "overlapping"]


class Problem(NamedTuple):
    """A problem; `make` returns a graph, kernel, correlations or documents x words, and labels."""

    family: str
    name: str
    half: str
    make: Callable[[], tuple[Any, Any]]


def documents(data: Path, name: str, limit: int = 1200) -> tuple[Any, Any]:
    """Return tf-idf rows of unit norm, shuffled (some files are sorted by class)."""
    X, labels = load(data, "documents", name)
    order = np.random.default_rng(0).permutation(len(labels))[:limit]
    rows = TfidfTransformer(sublinear_tf=True).fit_transform(X[order])
    return sparse.csr_array(rows), labels[order]


def sklearn_dataset(name: str) -> tuple[Any, Any]:
    """Return a data set of scikit-learn with standardized columns, shuffled, and its labels."""
    X, labels = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return StandardScaler().fit_transform(X)[order], labels[order]


def neighbor_graph(source: Callable[[], tuple[Any, Any]], k: int) -> tuple[Any, Any]:
    """Return the graph of the k nearest neighbors of points, and their labels."""
    X, labels = source()
    return graphs.neighbors(X, k), labels


def rbf_similarities(source: Callable[[], tuple[Any, Any]], width: float) -> tuple[Any, Any]:
    """Return exp(-|x - y|^2 / (2 s^2)), s = ``width`` times the median distance, and the labels."""
    X, labels = source()
    X, labels = X[:1200], labels[:1200]
    squares = ((X[:300, None] - X[None, :300]) ** 2).sum(axis=2)
    median = np.median(squares[np.triu_indices(len(squares), 1)])
    return rbf_kernel(X, gamma=1 / (2 * width**2 * median)), labels


def correlations(n: int, groups: int, length: int, fraction: float, seed: int) -> tuple[Any, Any]:
    """Return correlations of n series, each the sum of its group's series and noise, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(groups, size=n)
    common = rng.standard_normal((groups, length))
    series = np.sqrt(fraction) * common[labels] + np.sqrt(1 - fraction) * rng.standard_normal(
        (n, length)
    )
    return np.corrcoef(series), labels


def signed_graph(n: int, groups: int, degree: float, wrong: float, seed: int) -> tuple[Any, Any]:
    """Return a graph with links +1 inside groups, -1 between them, some signs wrong, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(groups, size=n)
    A = sparse.triu(graphs.symmetric(*rng.integers(n, size=(2, int(n * degree / 2))), n)).tocoo()
    sign = np.where(labels[A.row] == labels[A.col], 1.0, -1.0)
    sign[rng.random(len(sign)) < wrong] *= -1
    half = sparse.coo_array((sign, (A.row, A.col)), shape=(n, n))
    return sparse.csr_array(half + half.T), labels


def single_labels(A: Any, sets: list[Any]) -> tuple[Any, Any]:
    """Return A and the labels of the items, -1 for items of several groups."""
    labels, count = np.full(A.shape[0], -1), np.zeros(A.shape[0])
    for g, items in enumerate(sets):
        labels[items] = g
        count[items] += 1
    labels[count > 1] = -1
    return A, labels


REAL = [
    "dolphins", "polbooks", "football", "polblogs_lcc", "email_eu_core", "pbmc68k_reduced",
    "fb100_Reed98", "fb100_Amherst41", "cora", "lfr1000_mu0.3", "lfr1000_mu0.5",
]  # fmt: skip
TEXTS = ["tr11", "tr23", "tr41", "tr45", "la1", "la2", "hitech", "k1b", "reviews", "classic"]


def lfr_graphs() -> Iterator[tuple[str, Any]]:
    for i, mixing in enumerate([0.3, 0.3, 0.4, 0.4, 0.5, 0.5, 0.6, 0.6, 0.7, 0.7]):
        n, sizes = (1000, (10, 50)) if i % 4 in (0, 3) else (2000, (20, 200))
        make = partial(graphs.lfr, n, mixing, 15 + 5 * (i % 3), sizes, seed=i)
        yield f"lfr n={n} mixing={mixing}", make


def planted_graphs() -> Iterator[tuple[str, Any]]:
    cases = [
        ([250] * 4, 4, 0.1, 0.0), ([100] * 8, 5, 0.15, 0.0), ([100] * 10, 8, 0.3, 0.0),
        ([50] * 20, 8, 0.3, 0.0), ([100] * 20, 12, 0.4, 0.0), ([50] * 30, 12, 0.4, 0.0),
        ([500] * 4, 16, 0.5, 0.0), ([60] * 33, 16, 0.5, 0.0), ([100] * 10, 25, 0.6, 0.0),
        ([150] * 8, 25, 0.6, 0.0), (graphs.unequal(1500, 10, 10), 10, 0.3, 0.0),
        (graphs.unequal(1500, 12, 15), 12, 0.3, 0.0), (graphs.unequal(1000, 20, 8), 20, 0.5, 0.0),
        (graphs.unequal(2000, 15, 8), 16, 0.45, 0.0), ([100] * 10, 10, 0.3, 0.02),
        ([75] * 16, 12, 0.35, 0.02), (graphs.unequal(1500, 12, 8), 16, 0.4, 0.03),
        (graphs.unequal(1200, 8, 10), 12, 0.3, 0.03),
    ]  # fmt: skip
    for i, (sizes, degree, mixing, hubs) in enumerate(cases):
        kind = ("unequal " if sizes[0] != sizes[-1] else "") + ("hubs " if hubs else "")
        name = f"planted {kind}{len(sizes)} groups degree={degree} mixing={mixing}"
        yield name, partial(graphs.planted, sizes, degree, mixing, hubs, seed=100 + i)


CLOUDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    f"{groups} clouds in {dimension} dimensions{', unequal' if ratio > 1 else ''}": partial(
        graphs.points, n, groups, dimension, spread, ratio, seed=200 + i
    )
    for i, (n, groups, dimension, spread, ratio) in enumerate(
        [
            (1000, 10, 2, 0.15, 1), (1500, 15, 2, 0.1, 1), (1000, 10, 5, 0.4, 1),
            (1500, 12, 5, 0.4, 1), (2000, 20, 10, 0.55, 1), (1500, 20, 20, 0.65, 1),
            (1500, 10, 5, 0.35, 10), (1500, 12, 10, 0.5, 10), (2000, 30, 3, 0.15, 1),
            (2000, 25, 3, 0.2, 5),
        ]
    )
}  # fmt: skip
SKLEARN_DATASETS = ["iris", "wine", "digits", "breast_cancer"]


def neighbor_graphs() -> Iterator[tuple[str, Any]]:
    sources = CLOUDS | {name: partial(sklearn_dataset, name) for name in SKLEARN_DATASETS}
    for i, (name, source) in enumerate(sources.items()):
        k = (10, 10, 15, 15)[i % 4]
        yield f"{k} neighbors: {name}", partial(neighbor_graph, source, k)


def rbf_kernels() -> Iterator[tuple[str, Any]]:
    sources = list(CLOUDS.items())[::2] + [
        (name, partial(sklearn_dataset, name)) for name in SKLEARN_DATASETS
    ]
    sources.append(("12 clouds in 5 dimensions", CLOUDS["12 clouds in 5 dimensions"]))
    for i, (name, source) in enumerate(sources):
        width = (0.3, 0.5, 0.3)[i % 3]
        yield f"rbf {width}: {name}", partial(rbf_similarities, source, width)


def signed_similarities() -> Iterator[tuple[str, Any]]:
    for i, (n, groups, length, fraction) in enumerate(
        [(400, 6, 60, 0.3), (500, 8, 50, 0.3), (600, 10, 100, 0.2), (800, 12, 60, 0.25)]
    ):
        yield f"correlations {groups} groups", partial(correlations, n, groups, length, fraction, i)
    for i, (n, groups, degree, wrong) in enumerate(
        [(600, 4, 20, 0.1), (800, 5, 20, 0.1), (1000, 8, 40, 0.05), (1000, 6, 30, 0.08)]
    ):
        yield f"signed graph {groups} groups", partial(signed_graph, n, groups, degree, wrong, i)


def overlapping_graphs() -> Iterator[tuple[str, Any]]:
    for i, (n, groups, fraction, degree) in enumerate(
        [(1000, 20, 0.1, 15), (1000, 20, 0.2, 20), (1500, 15, 0.3, 20), (2000, 40, 0.3, 25)]
    ):
        make = partial(graphs.cover, n, groups, fraction, degree, seed=300 + i)
        yield (
            f"overlapping {groups} groups share={fraction}",
            lambda make=make: single_labels(*make()),
        )


def problems(data: Path | None, families: list[str] | None = None) -> Iterator[Problem]:
    """Yield the problems of all or some families; ``data`` has the real graphs and documents."""
    sources: dict[str, Any] = {
        "real": [(name, partial(load, data, "graphs", name)) for name in REAL] if data else [],
        "lfr": lfr_graphs(),
        "planted": planted_graphs(),
        "points": neighbor_graphs(),
        "overlapping": overlapping_graphs(),
        "documents": [(name, partial(documents, data, name)) for name in TEXTS] if data else [],
        "kernels": rbf_kernels(),
        "signed": signed_similarities(),
    }
    for family in families or sources:
        for number, (name, make) in enumerate(sources[family]):
            yield Problem(family, name, (TUNING, HELD_OUT)[number % 2], make)
