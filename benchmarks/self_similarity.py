"""Which virtual diagonal the greedy start should have: accuracy on noisy cliques."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import odsymnmf as od
from benchmarks.timing import table
from odsymnmf.datasets import cliques, flip
from odsymnmf.engine import growing
from odsymnmf.metrics import membership_accuracy

SIZES = {
    "10 x 10": [10] * 10,
    "5 x 10": [10] * 5,
    "2 x 10": [10] * 2,
    "14, 13, ..., 5": list(range(14, 4, -1)),
    "12, 11, ..., 8": list(range(12, 7, -1)),
}
MULTIPLES = [0.0, 1.0, 2.0, 3.0]
TRIALS = 20


def accuracy(sizes: list[int], noise: float, loss: str) -> float:
    A, H = cliques(sizes)
    fits = (
        od.factorize(flip(A, noise, random_state=seed), len(sizes), loss=loss, upper=1.0)
        for seed in range(TRIALS)
    )
    return 100 * float(np.mean([membership_accuracy(f.H, H) for f in fits]))


def rows() -> Iterator[list[str]]:
    default = growing.SELF_SIMILARITY
    for noise in (0.1, 0.2):
        for name, sizes in SIZES.items():
            for loss in ("l1", "l2"):
                cells = []
                for growing.SELF_SIMILARITY in MULTIPLES:
                    cells.append(f"{accuracy(sizes, noise, loss):.1f}")
                yield [name, f"{noise:.0%}", loss, *cells]
    growing.SELF_SIMILARITY = default


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    header = ["cliques", "noise", "loss", *(f"{m:g} x" for m in MULTIPLES)]
    table(f"Accuracy (%) by virtual diagonal, mean of {TRIALS}", header, rows())
