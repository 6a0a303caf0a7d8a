"""Start, model or reading: what keeps labels from the truth, ``python -m benchmarks.quality.why``.

On the graphs of the half that chooses: the explained share of the squared similarities from three
starts, one of them the true groups, and the NMI of three ways to read labels off one H.
"""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import odsymnmf as od
from benchmarks.quality import ours
from benchmarks.quality.families import CHOOSE, GRAPHS, problems
from benchmarks.timing import table
from odsymnmf import memberships, metrics
from odsymnmf.engine.starts import fitted


def true_start(A: Any, groups: Any, r: int) -> Any:
    """Return one column per group; items of unknown group go to the first."""
    H = np.zeros((A.n, r))
    H[np.arange(A.n), np.maximum(groups, 0)] = 1.0
    return fitted(A, H)


def measured(A: Any, X: Any, groups: Any, r: int) -> tuple[list[float], list[float]]:
    bound = ours.upper(A.n, r, ours.GRAPH.bound)
    starts = [ours.spectral(A, r), "greedy", true_start(A, groups, r)]
    fits = [
        od.factorize(A, r, init=H if isinstance(H, str) else np.minimum(H, bound), upper=bound)
        for H in starts
    ]
    nmi = lambda labels: metrics.scores(labels, groups)["nmi"]  # noqa: E731
    H, last = fits[0].H, fits[2].H
    argmax = memberships.labels(H)
    read = [
        nmi(argmax),
        nmi(memberships.labels(memberships.strength(H))),
        nmi(ours.settled(X, argmax, r, "real")),
        nmi(memberships.labels(last)),
    ]
    return [100 * (1 - fit.objective / A.energy) for fit in fits], read


def main(data: Path | None) -> None:
    found = []

    def rows() -> Any:
        for p in problems(data, GRAPHS):
            if p.half != CHOOSE:
                continue
            X, groups = p.make()
            r = len(np.unique(groups[groups >= 0]))
            explained, read = measured(ours.scaled(X, p.family, 0.25), X, groups, r)
            found.append([*(np.array(explained) / max(explained)), *read])
            yield [p.name, *(f"{x:.2f}" for x in explained), *(f"{x:.3f}" for x in read)]
        shares = np.mean(found, axis=0)
        yield ["mean", *(f"{x:.4f} of the best" for x in shares[:3])] + [
            f"{x:.3f}" for x in shares[3:]
        ]

    starts = ["explained %, spectral start", "greedy start", "true groups as start"]
    reads = ["NMI, argmax", "argmax of strength", "settled", "argmax, from the true groups"]
    table("Start, model or reading", ["graph", *starts, *reads], rows())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = os.environ.get("ODSYMNMF_DATA")
    main(Path(folder) if folder else None)
