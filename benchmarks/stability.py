"""Whether the same items come together again: ``python -m benchmarks stability [--data DIR]``.

Ten seeds with the items as they are, and ten orders of the items with one seed. The score is the
mean adjusted Rand index of all pairs of runs, labels put back into the order of the file. The
number of clusters is that of the known groups; Leiden gets the resolution that `leiden_with_r`
finds for them once, and keeps it.
"""

import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

import odsymnmf as od
from benchmarks.quality.families import GRAPHS, problems
from benchmarks.quality.peers import leiden_partition, leiden_resolution
from benchmarks.timing import table

RUNS = 10

# Similarities (or documents by words), a seed -> labels
Method = Callable[[Any, int], Any]


def ours(family: str, r: int) -> Method:
    affinity = "cosine" if family == "documents" else "precomputed"
    return lambda X, seed: od.ODSymNMF(r, affinity=affinity, random_state=seed).fit_predict(X)


def leiden(X: Any, r: int) -> Method:
    resolution = leiden_resolution(X, r)
    return lambda X, seed: leiden_partition(X, resolution, seed).membership


def reordered(X: Any, order: Any, features: bool) -> Any:
    rows = (sparse.csr_array(X) if sparse.issparse(X) else X)[order]
    return rows if features else rows[:, order]


def agreement(found: list[Any]) -> float:
    return float(np.mean([adjusted_rand_score(a, b) for a, b in combinations(found, 2)]))


def over_seeds(method: Method, X: Any) -> float:
    return agreement([method(X, seed) for seed in range(RUNS)])


def over_orders(method: Method, X: Any, features: bool) -> float:
    found = []
    for seed in range(RUNS):
        order = np.random.default_rng(seed).permutation(X.shape[0])
        labels = np.empty(len(order), dtype=int)
        labels[order] = method(reordered(X, order, features), 0)
        found.append(labels)
    return agreement(found)


def main(data: Path | None) -> None:
    level: list[bool] = []

    def rows() -> Iterator[list[str]]:
        for problem in problems(data, None):
            X, groups = problem.make()
            r = len(np.unique(groups[groups >= 0]))
            methods = [ours(problem.family, r)]
            if problem.family in GRAPHS:
                methods.append(leiden(X, r))
            features = problem.family == "documents"
            found = [(over_seeds(m, X), over_orders(m, X, features)) for m in methods]
            if len(found) == 2:
                level.append(sum(found[0]) >= sum(found[1]))
            cells = [f"{value:.3f}" for pair in found for value in pair]
            yield [problem.family, problem.name, *cells, *["-"] * (4 - len(cells))]

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # slow convergence, graphs in several pieces
        header = ["family", "problem", "seeds", "orders", "Leiden: seeds", "Leiden: orders"]
        table(f"Mean adjusted Rand index between {RUNS} runs", header, rows())
    print(f"\nat least as high as Leiden's (mean of both): {sum(level)} of {len(level)} graphs")


if __name__ == "__main__":
    import os

    folder = os.environ.get("ODSYMNMF_DATA")
    main(Path(folder) if folder else None)
