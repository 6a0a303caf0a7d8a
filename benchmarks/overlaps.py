"""Overlapping groups: the rules of `overlapping_sets` and other methods, on planted groups.

10 to 50 % of the items are in two groups, and r is known. Rules are chosen on the first, third, ...
problem and reported on the others.
"""

import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import odsymnmf as od
from benchmarks import graphs
from benchmarks.methods import OVERLAPPING
from benchmarks.timing import table
from odsymnmf.metrics import best_match_f1, omega_index, overlapping_nmi

# n, groups, share of items in two groups, mean degree, mixing, largest / smallest size
PROBLEMS = [
    (1000, 20, 0.1, 15, 0.2, 1),
    (1000, 20, 0.2, 20, 0.3, 1),
    (1200, 15, 0.3, 20, 0.2, 1),
    (1200, 24, 0.3, 25, 0.3, 1),
    (1000, 10, 0.4, 25, 0.2, 5),
    (1000, 20, 0.5, 30, 0.2, 1),
    (1000, 15, 0.3, 15, 0.1, 5),
    (1200, 12, 0.5, 40, 0.4, 1),
]
RULES = {
    "row": (0.3, 0.4, 0.5),
    "column": (0.15, 0.2, 0.25),
    "strength": (0.15, 0.2, 0.25),
    "loss": (0.005, 0.01, 0.02),
}
DEFAULT = "strength >= 0.2"

Scores = dict[str, tuple[float, float, float]]


def measure(number: int) -> Scores:
    """Return overlapping NMI, mean best-match F1 and omega index of all rules and methods."""
    A, truth = graphs.cover(*PROBLEMS[number], seed=400 + number)
    n, r = A.shape[0], len(truth)
    covers: dict[str, list[Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slow convergence, and warnings of other packages
        model = od.ODSymNMF(r).fit(A)
        for rule, thresholds in RULES.items():
            for threshold in thresholds:
                sets = model.overlapping_sets(threshold, rule=rule)
                covers[f"{rule} >= {threshold}"] = [items for items in sets if len(items) > 1]
        for name, method in OVERLAPPING.items():
            try:
                covers[name] = method(A, r)
            except ImportError:
                continue
    return {
        name: (
            (
                overlapping_nmi(sets, truth, n),
                best_match_f1(sets, truth),
                omega_index(sets, truth, n),
            )
            if sets
            else (0.0, 0.0, 0.0)
        )
        for name, sets in covers.items()
    }


def main(data: Path | None) -> None:
    np.random.seed(0)  # noqa: NPY002 - methods of cdlib use this generator
    random.seed(0)
    rows: list[Scores] = []
    names = ["row >= 0.5", DEFAULT, *OVERLAPPING]

    def cells() -> Iterator[list[Any]]:
        for number, problem in enumerate(PROBLEMS):
            rows.append(measure(number))
            scores = (rows[-1].get(name) for name in names)
            yield [problem, *("-" if s is None else f"{s[0]:.3f} / {s[1]:.3f}" for s in scores)]

    header = ["n, groups, shared, degree, mixing, size ratio", *names]
    table("Overlapping NMI / mean best-match F1", header, cells())
    header = ["rule or method", "overlapping NMI", "mean best-match F1", "omega", "worst NMI"]
    for half, part in (("tuning", rows[::2]), ("held-out", rows[1::2])):
        means = {name: np.mean([row[name] for row in part], axis=0) for name in rows[0]}
        table(
            f"Overlapping groups, {half} half, {len(part)} problems",
            header,
            [
                [name, *(f"{x:.3f}" for x in mean), f"{min(row[name][0] for row in part):.3f}"]
                for name, mean in means.items()
            ],
        )
