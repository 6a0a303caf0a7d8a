"""How well known groups are found: ``python -m benchmarks.quality [--settings] [--data DIR]``.

The number of clusters is that of the known groups, and all seeds are fixed. The score is the
normalised mutual information (and the adjusted Rand index); items of unknown group are clustered
but not scored. Problems come in two halves (see families.py): what ``--settings`` finds on the one
that chooses is what the table reports on the other. Real graphs and documents need ``--data``.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.quality import ours, peers
from benchmarks.quality.families import CHOOSE, GRAPHS, REPORT, Problem, problems
from benchmarks.timing import table
from odsymnmf import metrics

# The one setting that did best on the half that chooses, all kinds of input taken together.
BEST_SINGLE = ours.Setting(0.25, (6, 5), "spectral", settle="links")
# What --settings tries, on the half that chooses.
TRIED = [
    ours.TODAY,
    ours.Setting(None, None, "spectral", settle=None),
    ours.Setting(0.0, None, "spectral", settle=None),
    ours.Setting(0.0, (6, 5), "greedy", settle=None),
    *(ours.Setting(t, (6, 5), "spectral", settle=None) for t in (0.0, 0.1, 0.25, 0.5, 1.0)),
    *(ours.Setting(0.25, (6, b), "spectral", settle=None) for b in (3, 8)),
    ours.Setting(0.25, (12, 5), "spectral", settle=None),
    ours.Setting(0.25, (6, 5), "greedy", settle=None),
    ours.Setting(0.25, (6, 5), "spectral", settle=None, restarts=3),
    ours.Setting(0.25, (6, 5), "spectral", settle=None, background=True),
    *(ours.Setting(t, (6, 5), "spectral") for t in (0.25, 1.0)),
    *(ours.Setting(t, (6, 5), "spectral", settle="mean") for t in (0.0, 0.25, 1.0)),
]

Method = Callable[[Any, int], Any]


class Score(NamedTuple):
    nmi: float
    ari: float
    seconds: float


Row = dict[str, Score]


def methods(family: str) -> dict[str, Method]:
    """Return what can cluster this kind of input, by name."""
    found: dict[str, Method] = {
        "paper's settings": ours.named(family, ours.TODAY),
        "default": ours.library(family),
        "best single setting": ours.named(family, BEST_SINGLE),
    }
    if family == "documents":
        found["SpectralClustering"] = lambda X, r: peers.spectral_clustering(cosines(X), r)
    elif family == "signed":
        found["SpectralClustering"] = lambda A, r: peers.spectral_clustering(positive(A), r)
    elif family == "kernels":
        found["SpectralClustering"] = peers.spectral_clustering
    else:
        found |= peers.PEERS
    return found


def cosines(X: Any) -> Any:
    return (X @ X.T).toarray()


def positive(A: Any) -> Any:
    return np.maximum(A.toarray() if sparse.issparse(A) else A, 0.0)


def score(problem: Problem, X: Any, groups: Any, method: Method) -> Score | None:
    """Return how the method does; None where its package is not installed."""
    r = len(np.unique(groups[groups >= 0]))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # graphs in several pieces, and slow convergence
        started = time.process_time()
        try:
            labels = method(X, r)
        except ImportError:
            return None
    took = time.process_time() - started
    found = metrics.scores(labels, groups)
    return Score(found["nmi"], found["ari"], took)


def scores(problem: Problem, tried: dict[str, Method] | None = None) -> Row:
    X, groups = problem.make()
    found = {
        name: score(problem, X, groups, method)
        for name, method in (tried or methods(problem.family)).items()
    }
    return {name: value for name, value in found.items() if value is not None}


def warm_up() -> None:
    """Compile, so that no time holds it."""
    for problem in list(problems(None, ["lfr"]))[:1] + list(problems(None, ["signed"]))[:1]:
        scores(problem)


def summary(rows: list[tuple[Problem, Row]], name: str) -> list[str]:
    """Mean and worst NMI, mean ARI, collapses, time beside the paper's, where a method applies."""
    there = [row for _, row in rows if name in row]
    if not there:
        return ["-"] * 5
    nmi = np.array([row[name].nmi for row in there])
    best = np.array([max(score.nmi for score in row.values()) for row in there])
    today = sum(row["paper's settings"].seconds for row in there)
    return [
        f"{nmi.mean():.3f}",
        f"{nmi.min():.3f}",
        f"{np.mean([row[name].ari for row in there]):.3f}",
        f"{np.sum(nmi < best / 2)} of {len(there)}",
        f"{sum(row[name].seconds for row in there) / today:.2f}",
    ]


def unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def main(data: Path | None, families: list[str] | None = None) -> None:
    if data is None:
        print(
            "quality: without --data, a directory with graphs/ and documents/, these are left out"
        )
    warm_up()
    chosen = list(problems(data, families))
    names = unique(name for p in chosen for name in methods(p.family))
    rows: list[tuple[Problem, Row]] = []

    def cells() -> Iterator[list[str]]:
        for p in chosen:
            row = scores(p)
            rows.append((p, row))
            nmi = (f"{row[name].nmi:.3f}" if name in row else "-" for name in names)
            yield [p.name, p.half, *nmi]

    table("NMI with the known groups", ["problem", "half", *names], cells())
    for half in (CHOOSE, REPORT):
        mine = [(p, row) for p, row in rows if p.half == half]
        table(
            f"Mean NMI by family, half that {half}s",
            ["family", "problems", *names],
            [
                (
                    family,
                    len(part := [(p, row) for p, row in mine if p.family == family]),
                    *(summary(part, name)[0] for name in names),
                )
                for family in unique(p.family for p, _ in mine)
            ],
        )
        header = ["method", "mean NMI", "worst", "mean ARI", "collapses", "time / paper's"]
        graphs = [(p, row) for p, row in mine if p.family in GRAPHS]
        table(f"Graphs, half that {half}s", header, [(m, *summary(graphs, m)) for m in names])
        table(f"All problems, half that {half}s", header, [(m, *summary(mine, m)) for m in names])


def settings(data: Path | None, families: list[str] | None = None) -> None:
    """Print what was tried on the half that chooses."""
    warm_up()
    chosen = [(p, *p.make()) for p in problems(data, families) if p.half == CHOOSE]
    kinds = unique(p.family for p, _, _ in chosen)
    spent: list[float] = []

    def rows() -> Iterator[list[str]]:
        for setting in TRIED:
            found = [(p, score(p, X, z, ours.named(p.family, setting))) for p, X, z in chosen]
            done = [(p.family, value) for p, value in found if value is not None]
            spent.append(sum(value.seconds for _, value in done))
            yield [
                str(setting),
                *(mean(value.nmi for family, value in done if family == kind) for kind in kinds),
                mean(value.nmi for _, value in done),
                f"{spent[-1] / spent[0]:.2f}",
            ]

    table(
        f"Mean NMI on the half that chooses, {len(chosen)} problems",
        ["setting", *kinds, "all", "time / paper's"],
        rows(),
    )


def mean(values: Iterable[float]) -> str:
    return f"{np.mean(list(values)):.3f}"


def command() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ODSYMNMF_DATA"))
    parser.add_argument("--settings", action="store_true", help="print what else was tried")
    parser.add_argument("--families", nargs="*", help="real, lfr, planted, ... (default: all)")
    options = parser.parse_args()
    data = Path(options.data) if options.data else None
    (settings if options.settings else main)(data, options.families)
