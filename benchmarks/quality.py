"""Agreement with known groups: normalized mutual information (NMI) and adjusted Rand index (ARI).

The number of clusters is that of the known groups, and all seeds are fixed. Items without a known
group are clustered but not scored. Problems are in two halves, see families.py.
"""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import odsymnmf as od
from benchmarks.families import GRAPHS, HELD_OUT, TUNING, Problem, problems
from benchmarks.methods import METHODS, spectral_clustering
from benchmarks.timing import cpu_seconds, table
from odsymnmf import metrics

Method = Callable[[Any, int], Any]
PAPER = "paper's settings"


class Score(NamedTuple):
    nmi: float
    ari: float
    seconds: float


def estimator(family: str, **options: Any) -> Method:
    affinity = "cosine" if family == "documents" else "precomputed"
    return lambda X, r: od.ODSymNMF(r, affinity=affinity, **options).fit_predict(X)


def methods(family: str) -> dict[str, Method]:
    """Return the methods that can cluster problems of this family."""
    own_methods = {
        PAPER: estimator(family, normalize=None, upper=None, init="greedy"),
        "default": estimator(family),
    }
    if family in GRAPHS:
        return own_methods | METHODS
    return own_methods | {
        "SpectralClustering": lambda X, r: spectral_clustering(affinities(X, family), r)
    }


def affinities(X: Any, family: str) -> Any:
    """Return similarities >= 0 as a dense array."""
    if family == "documents":
        X = X @ X.T
    return np.maximum(X.toarray() if sparse.issparse(X) else X, 0.0)


def score(X: Any, groups: Any, method: Method) -> Score | None:
    """Return the agreement and CPU seconds of a method; None if its package is not installed."""
    r = len(np.unique(groups[groups >= 0]))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # disconnected graphs, slow convergence
        try:
            labels, seconds = cpu_seconds(lambda: method(X, r))
        except ImportError:
            return None
    agreement = metrics.scores(labels, groups)
    return Score(agreement["nmi"], agreement["ari"], seconds)


def scores(problem: Problem, methods: dict[str, Method]) -> dict[str, Score]:
    X, groups = problem.make()
    values = {name: score(X, groups, method) for name, method in methods.items()}
    return {name: value for name, value in values.items() if value is not None}


def summary(rows: list[dict[str, Score]], name: str) -> list[str]:
    """Return mean and worst NMI, mean ARI, collapses (below half of the best), relative time."""
    rows = [row for row in rows if name in row]
    if not rows:
        return ["-"] * 5
    nmi = np.array([row[name].nmi for row in rows])
    best = np.array([max(score.nmi for score in row.values()) for row in rows])
    paper = sum(row[PAPER].seconds for row in rows)
    return [
        f"{nmi.mean():.3f}",
        f"{nmi.min():.3f}",
        f"{np.mean([row[name].ari for row in rows]):.3f}",
        f"{np.sum(nmi < best / 2)} of {len(rows)}",
        f"{sum(row[name].seconds for row in rows) / paper:.2f}",
    ]


def main(data: Path | None) -> None:
    if data is None:
        print("\nquality: real graphs and documents need --data")
    for family in ("lfr", "signed"):
        scores(next(problems(None, [family])), {"default": estimator(family)})  # compiles
    names = [PAPER, "default", *METHODS]
    scores_of: dict[Problem, dict[str, Score]] = {}

    def cells() -> Iterator[list[str]]:
        for p in problems(data):
            row = scores_of[p] = scores(p, methods(p.family))
            yield [p.name, p.half, *(f"{row[n].nmi:.3f}" if n in row else "-" for n in names)]

    table("NMI with the known groups", ["problem", "half", *names], cells())
    for half in (TUNING, HELD_OUT):
        families: dict[str, list[dict[str, Score]]] = {}
        for p, row in scores_of.items():
            if p.half == half:
                families.setdefault(p.family, []).append(row)
        table(
            f"Mean NMI by family, {half} half",
            ["family", "problems", *names],
            [
                [family, len(rows), *(summary(rows, name)[0] for name in names)]
                for family, rows in families.items()
            ],
        )
        graphs = [row for family, rows in families.items() if family in GRAPHS for row in rows]
        header = ["method", "mean NMI", "worst", "mean ARI", "collapses", "time / paper's"]
        rows = [[name, *summary(graphs, name)] for name in names]
        table(f"{len(graphs)} graphs, {half} half", header, rows)
