"""CPU time, agreement with known groups and memory, compared with igraph's Leiden.

Each method runs in a separate process, on one core. Compilation and the construction of igraph's
graph are not measured. Memory is the increase of the peak during the fit, H included, relative to
the size of the CSR arrays of the graph; the size of H is given, too. A second table compares H with
the converged fit from the same partition.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

import odsymnmf as od
from benchmarks import graphs
from benchmarks.methods import leiden_runs, leiden_search
from benchmarks.timing import in_new_process, peak_memory, table

Fit = Callable[[], Any]


def prepare_leiden(A: Any, r: int) -> Fit:
    run = leiden_runs(A)
    return lambda: run(1.0)


def prepare_leiden_with_r(A: Any, r: int) -> Fit:
    run = leiden_runs(A)
    return lambda: leiden_search(run, A.shape[0], r)


# Functions of the graph and the number of groups that return the fit to be timed, which returns
# labels or a model.
METHODS: dict[str, Callable[[Any, int], Fit]] = {
    "odsymnmf": lambda A, r: lambda: od.ODSymNMF(r).fit(A),
    "odsymnmf, auto": lambda A, r: lambda: od.ODSymNMF("auto").fit(A),
    "Leiden": prepare_leiden,
    "Leiden with r": prepare_leiden_with_r,
}


def planted(n: int, groups: int) -> tuple[Any, Any]:
    sizes = [n // groups] * groups
    return od.datasets.planted_partition(sizes, degree_in=16, degree_out=4, random_state=0)


def neighbors(n: int, groups: int, dimension: int, spread: float, k: int) -> tuple[Any, Any]:
    X, labels = graphs.points(n, groups, dimension, spread, seed=0)
    return graphs.neighbors(X, k), labels


CASES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "planted, 2,000 nodes, 20 groups": partial(planted, 2000, 20),
    "planted, 9,000 nodes, 90 groups": partial(planted, 9000, 90),
    "10 neighbors, 9,000 points, 20 groups": partial(neighbors, 9000, 20, 10, 0.5, 10),
    "12 neighbors, 60,000 points, 10 groups": partial(neighbors, 60_000, 10, 10, 0.5, 12),
    "12 neighbors, 100,000 points, 250 groups": partial(neighbors, 100_000, 250, 3, 0.1, 12),
    "planted, 200,000 nodes, 50 groups": partial(planted, 200_000, 50),
    "planted, 200,000 nodes, 1,000 groups": partial(planted, 200_000, 1000),
    "planted, 1,000,000 nodes, 100 groups": partial(planted, 1_000_000, 100),
}


def measure(path: str, method: str) -> None:
    """Print CPU seconds, NMI, the number of clusters, memory and the size of H as JSON."""
    warnings.simplefilter("ignore")
    A, truth = planted(2000, 20)
    METHODS[method](A, 20)()  # compiles
    od.ODSymNMF(20, init="multilevel", sparse_membership=True, max_iter=3).fit(A)
    A = sparse.csr_array(sparse.load_npz(f"{path}.npz"))
    truth = np.load(f"{path}.npy")
    fit = METHODS[method](A, len(np.unique(truth)))
    before = peak_memory()
    start = time.process_time()
    result = fit()
    seconds = time.process_time() - start
    growth = peak_memory() - before
    labels, H = getattr(result, "labels_", result), getattr(result, "membership_", np.empty(0))
    nmi = od.metrics.scores(labels, truth)["nmi"]
    memory = growth / n_bytes(A), n_bytes(H) / n_bytes(A)
    print(json.dumps([seconds, nmi, len(np.unique(labels[labels >= 0])), *memory]))


def n_bytes(A: Any) -> int:
    if sparse.issparse(A):
        return int(A.data.nbytes + A.indices.nbytes + A.indptr.nbytes)
    return int(A.nbytes)


CODE = "import sys; from benchmarks.leiden import measure; measure(*sys.argv[1:])"
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def rows(only: str) -> Iterator[list[str]]:
    for name, make in CASES.items():
        if only not in name:
            continue
        with TemporaryDirectory() as folder:
            path = f"{folder}/graph"
            A, truth = make()
            sparse.save_npz(f"{path}.npz", A, compressed=False)
            np.save(f"{path}.npy", truth)
            del A
            results = {m: json.loads(in_new_process(CODE, path, m, **ONE_CORE)) for m in METHODS}
        reference = results["Leiden"][0]
        for method, (seconds, nmi, count, *memory) in results.items():
            values = f"{seconds:.2f}", f"{seconds / max(reference, 1e-3):.2f}", f"{nmi:.3f}"
            yield [name, method, *values, str(count), *(f"{part:.1f}" for part in memory)]


# Name, graph, and options of the fit.
EXPLAINED: list[tuple[str, Callable[[], tuple[Any, Any]], dict[str, Any]]] = [
    ("planted, 9,000 nodes, 90 groups", partial(planted, 9000, 90), {}),
    ("the same, sparse H", partial(planted, 9000, 90), {"sparse_membership": True}),
    ("10 neighbors, 9,000 points, 20 groups", partial(neighbors, 9000, 20, 10, 0.5, 10), {}),
    (
        "12 neighbors, 20,000 points, 80 groups, sparse H",
        partial(neighbors, 20_000, 80, 3, 0.1, 12),
        {"sparse_membership": True},
    ),
    ("LFR, 3,000 nodes, mixing 0.5", partial(graphs.lfr, 3000, 0.5, 20, (20, 150), seed=0), {}),
    ("3 neighbors, 9,000 points: many components", partial(neighbors, 9000, 20, 3, 0.5, 3), {}),
]


def explained() -> Iterator[list[str]]:
    """Compare 1 - f(H) / f(0) with that of the converged dense fit from the same partition."""
    for name, make, options in EXPLAINED:
        A, truth = make()
        r = len(np.unique(truth))
        model = od.ODSymNMF(r, init="multilevel", **options).fit(A)
        converged = od.ODSymNMF(
            r, init="multilevel", sparse_membership=False, tol=1e-7, max_iter=1000
        ).fit(A)
        total = converged.similarity_.sum_of_squares
        ratio = (total - model.objective_) / (total - converged.objective_)
        components = connected_components(A)[0]
        sweeps = model.n_iter_, converged.n_iter_
        yield [name, f"{components}", *map(str, sweeps), f"{ratio:.4f}"]


def main(data: Path | None, only: str = "") -> None:
    warnings.simplefilter("ignore")
    header = [
        "graph",
        "method",
        "CPU seconds",
        "/ Leiden",
        "NMI",
        "clusters",
        "memory / A",
        "H / A",
    ]
    table("Compared with Leiden, with r given and not given", header, rows(only))
    if not only:
        header = ["graph", "components", "sweeps", "sweeps, converged", "explained / converged"]
        table("Explained similarity", header, explained())
