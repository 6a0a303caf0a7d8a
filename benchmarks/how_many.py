"""The number of clusters recommended by `odsymnmf.choose.n_clusters`.

Graphs with known groups, fresh graphs (not used to choose any setting), other input, graphs without
groups, and points without groups. NMI is that of `ODSymNMF("auto")`.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

import odsymnmf as od
from benchmarks import graphs
from benchmarks.families import GRAPHS, HELD_OUT, TUNING, Problem, documents, problems
from benchmarks.problems import load
from benchmarks.timing import cpu_seconds, table


class Row(NamedTuple):
    """A recommendation for a graph with known groups."""

    problem: Problem
    n_groups: int
    n_clusters: int
    evidence: str
    nmi: float
    seconds: float

    @property
    def is_close(self) -> bool:
        return abs(self.n_clusters - self.n_groups) <= max(1, 0.2 * self.n_groups)


def measure(problem: Problem) -> Row:
    X, groups = problem.make()
    known = groups >= 0
    affinity = "cosine" if problem.family == "documents" else "precomputed"
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # slow convergence, no clear structure
        model = od.ODSymNMF("auto", affinity=affinity, random_state=0)
        _, seconds = cpu_seconds(lambda: model.fit(X))
    nmi = od.metrics.scores(model.labels_[known], groups[known])["nmi"]
    search = model.n_clusters_search_
    n_groups = len(np.unique(groups[known]))
    return Row(problem, n_groups, search.n_clusters, search.evidence, nmi, seconds)


def tables(title: str, measured: Iterator[Row]) -> None:
    """Print the recommendations, and how many are close to the true number."""
    rows: list[Row] = []

    def cells() -> Iterator[list[Any]]:
        for row in measured:
            rows.append(row)
            yield [row.problem.name, row.problem.half, row.n_groups, row.n_clusters, row.evidence,
                   f"{row.nmi:.3f}", f"{row.seconds:.2f}"]  # fmt: skip

    header = ["problem", "half", "true", "recommended", "evidence", "NMI", "CPU s"]
    table(title, header, cells())
    summary = []
    for half in (TUNING, HELD_OUT, "fresh", None):
        selected = [row for row in rows if half in (None, row.problem.half)]
        if selected:
            clear = [row.nmi for row in selected if row.evidence != "none"]
            close, none = sum(row.is_close for row in selected), len(selected) - len(clear)
            nmi = f"{np.mean(clear):.3f}" if clear else "-"
            summary.append([half or "all", f"{close} of {len(selected)}", none, nmi])
    header = ["half", "within 20 % or 1", 'evidence "none"', "mean NMI of the others"]
    table(f"{title}: summary", header, summary)


def neighbors_of_documents(data: Path, name: str) -> tuple[Any, Any]:
    """Link every document to its 15 nearest neighbors by cosine."""
    X, groups = documents(data, name)
    # Euclidean distances of unit vectors have the order of cosines.
    return graphs.neighbors(normalize(X), 15), groups


def fresh(data: Path | None) -> Iterator[Problem]:
    """Yield graphs that were not used to choose any setting."""
    sources: dict[str, Callable[[], tuple[Any, Any]]] = {
        "lfr n=5000 mixing=0.4": partial(graphs.lfr, 5000, 0.4, 20, (30, 300), seed=900),
        "planted 25 groups degree=10 mixing=0.3": partial(
            graphs.planted, [160] * 25, 10, 0.3, seed=901
        ),
        "planted unequal 30 groups degree=16 mixing=0.4": partial(
            graphs.planted, graphs.unequal(6000, 30, 12), 16, 0.4, seed=902
        ),
        "karate": karate,
    }
    if data is not None:
        sources["lfr10000"] = partial(load, data, "graphs", "lfr10000")
        for name in ("k1b", "tr41", "tr45", "la1", "reviews"):
            sources[f"15 neighbors: {name}"] = partial(neighbors_of_documents, data, name)
    for name, make in sources.items():
        yield Problem("fresh", name, "fresh", make)


def karate() -> tuple[Any, Any]:
    import networkx as nx

    G = nx.karate_club_graph()
    clubs = [G.nodes[v]["club"] for v in G]
    labels = np.unique(clubs, return_inverse=True)[1]
    return nx.to_scipy_sparse_array(G, weight=None, dtype=float), labels


def rewired(degrees: Any, seed: int) -> Any:
    """Return a random graph of about these degrees (the configuration model)."""
    ends = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(degrees)), degrees))
    half = len(ends) // 2
    return graphs.symmetric(ends[:half], ends[half : 2 * half], len(degrees))


def weighted(A: Any, seed: int) -> Any:
    """Give every link a random weight."""
    rng, half = np.random.default_rng(seed), sparse.triu(A, k=1).tocoo()
    weights = rng.pareto(2, half.nnz) + 1 if seed % 2 else rng.standard_exponential(half.nnz)
    half = sparse.coo_array((weights, (half.row, half.col)), shape=A.shape)
    return sparse.csr_array(half + half.T)


def null_graphs(data: Path | None) -> Iterator[tuple[str, Any]]:
    """Yield 40 graphs without groups; fewer if ``data`` is None."""
    rng = np.random.default_rng(0)
    for i, n in enumerate([100, 300, 1000, 1000, 2000, 3000, 5000, 10_000, 20_000, 20_000]):
        degree = [4, 3, 8, 16, 5][i % 5]
        A = graphs.symmetric(*rng.integers(n, size=(2, n * degree // 2)), n)
        yield f"random n={n} degree={degree}", A
        yield f"weighted random n={n} degree={degree}", weighted(A, i)
    for i, (n, exponent) in enumerate(
        [(500, 2.2), (1000, 2.5), (2000, 2.5), (5000, 2.2), (10_000, 3)]
    ):
        degrees = graphs.power_law(rng, n, exponent, 2 + i % 3, n / 10).astype(int)
        yield f"configuration model n={n} exponent={exponent}", rewired(degrees, i)
    for i, problem in enumerate(problems(data, ["real"] if data else ["overlapping"])):
        A = rewired(np.diff(sparse.csr_array(problem.make()[0]).indptr), i)
        yield f"rewired {problem.name}", A
        if i < 4:
            yield f"weighted rewired {problem.name}", weighted(A, i)


def evidence(A: Any) -> list[Any]:
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # no clear structure
        search, seconds = cpu_seconds(lambda: od.choose.n_clusters(A))
    return [search.n_clusters, search.evidence, f"{seconds:.2f}"]


def main(data: Path | None) -> None:
    measure(next(problems(None, ["planted"])))  # compiles
    tables("Number of clusters of graphs", (measure(p) for p in problems(data, GRAPHS)))
    tables("Fresh graphs", (measure(p) for p in fresh(data)))
    header = ["problem", "recommended", "evidence", "CPU s"]
    rows = [[name, *evidence(A)] for name, A in null_graphs(data)]
    table("Graphs without groups", header, rows)
    print(f"\none cluster: {sum(row[1] == 1 for row in rows)} of {len(rows)}")
    points = [
        [f"{n} uniform points in {dimension} dimensions",
         *evidence(graphs.neighbors(np.random.default_rng(n).random((n, dimension)), k))]
        for n in (1000, 3000, 10_000) for dimension, k in ((2, 10), (3, 15), (10, 15))
    ]  # fmt: skip
    table("Nearest-neighbor graphs of points without groups", header, points)
    families = ["documents", "kernels", "signed"] if data else ["kernels", "signed"]
    tables("Other input", (measure(p) for p in problems(data, families)))
