"""Losses in between l1 and l2: what mixed and robust are good for, on documents and on cliques."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import odsymnmf as od
from benchmarks.quality.families import documents
from benchmarks.timing import table
from odsymnmf.datasets import cliques, flip
from odsymnmf.memberships import labels
from odsymnmf.metrics import membership_accuracy, scores
from odsymnmf.similarity import cosine

SETS = ["tr11", "tr23", "tr41", "tr45"]
# Documents of a set, at most: l1 looks at every pair.
MOST = 400
SWEEPS = 30
TRIALS = 10
LOSSES: dict[str, dict[str, Any]] = {
    "l2": {"loss": "l2"},
    "mixed, 0.25": {"loss": "mixed", "l1_ratio": 0.25},
    "mixed, 0.5": {"loss": "mixed"},
    "mixed, 0.75": {"loss": "mixed", "l1_ratio": 0.75},
    "robust": {"loss": "robust"},
    "l1": {"loss": "l1"},
}


def both(A: Any, H: Any) -> tuple[float, float]:
    """Return f_1(H) / f_1(0) and f_2(H) / f_2(0)."""
    absolute = od.objective(A, H, loss="mixed", l1_ratio=0.5)
    nothing = np.zeros_like(H[:, :1])
    squared = od.objective(A, H) / od.objective(A, nothing)
    return 2 * absolute - squared, squared


def sets(data: Path) -> Iterator[tuple[str, Any, Any, int]]:
    for name in SETS:
        X, groups = documents(data, name, MOST)
        yield name, cosine(X), groups, len(np.unique(groups))


def starts(data: Path) -> Iterator[list[str]]:
    """Yield f_1 / f_1(0) of the l1 fit from three starts, with and without restarts."""
    for name, A, _, r in sets(data):
        nothing = od.objective(A, np.zeros((A.n, 1)), loss="l1")
        cells = []
        for restarts in (0, 10):
            for init in ("greedy", "l2", "mixed"):
                f = od.factorize(
                    A, r, loss="l1", init=init, restarts=restarts, max_iter=SWEEPS, random_state=0
                )
                cells.append(f"{f.objective / nothing:.4f}")
        yield [name, str(A.n), str(r), *cells]


def losses(data: Path) -> Iterator[list[str]]:
    for name, A, groups, r in sets(data):
        for loss, options in LOSSES.items():
            f = od.factorize(A, r, restarts=0, max_iter=SWEEPS, random_state=0, **options)
            absolute, squared = both(A, f.H)
            score = scores(labels(f.H), groups)
            measured = [absolute, squared, score["nmi"], score["accuracy"]]
            mix = f"{f.mix['l1_ratio']:.3f}" if f.mix else ""
            yield [name, loss, *(f"{value:.3f}" for value in measured), mix]


def noisy_cliques() -> Iterator[list[str]]:
    A, H = cliques([10] * 10)
    for noise in (0.05, 0.1, 0.15, 0.2, 0.25):
        cells = []
        for options in LOSSES.values():
            fits = [
                od.factorize(
                    flip(A, noise, random_state=seed), 10, upper=1.0, random_state=0, **options
                )
                for seed in range(TRIALS)
            ]
            cells.append(f"{np.mean([membership_accuracy(f.H, H) for f in fits]):.3f}")
        yield [f"{noise:.0%}", *cells]


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    title = f"Accuracy of H, 10 cliques of 10 with pairs flipped (mean of {TRIALS})"
    table(title, ["flipped", *LOSSES], noisy_cliques())
    if data is None:
        return
    header = ["set", "loss", "f1 / f1(0)", "f2 / f2(0)", "NMI", "accuracy", "mix at the end"]
    title = f"Documents, greedy start, {SWEEPS} sweeps, no restarts"
    table(title, header, losses(data))
    kinds = [f"{init}{more}" for more in ("", " + restarts") for init in ("greedy", "l2", "mixed")]
    title = f"f1 / f1(0) of the l1 fit by its start, {SWEEPS} sweeps"
    table(title, ["set", "n", "r", *kinds], starts(data))
