"""One side of `benchmarks.against`: times a case with whichever odsymnmf it is given.

Run as ``python -m benchmarks.measured_side CASE START``, with a line on standard input for each
measurement. START is a file for H, made by the side that comes first: both do the same work.
"""

import hashlib
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import odsymnmf as od
from benchmarks import problems
from odsymnmf.similarity import as_similarity, cosine

# Sweeps after a random start.
FEW = 6
# Before the losses became objects behind one protocol, they were two classes in one module.
BEFORE_ROOMS = find_spec("odsymnmf.losses") is not None


def sparse_graph(n: int, stored: int, groups: int = 50) -> Any:
    return as_similarity(problems.shuffled(*problems.planted(n, stored, groups))[0])


def documents(name: str) -> Any:
    data = os.environ.get("ODSYMNMF_DATA")
    return cosine(problems.documents(Path(data) if data else None, name))


# name: loss, problem, r
SWEEPS: dict[str, tuple[str, Callable[[], Any], int]] = {
    "l2 dense, n = 4000, r = 20": ("l2", lambda: as_similarity(problems.dense(4000, 20)), 20),
    "l2 sparse, n = 50,000, 1 million stored, r = 50": (
        "l2", lambda: sparse_graph(50_000, 10**6), 50),
    "l2 sparse, n = 50,000, 1 million stored, r = 10": (
        "l2", lambda: sparse_graph(50_000, 10**6), 10),
    "l2 sparse, n = 20,000, 2 million stored, r = 20": (
        "l2", lambda: sparse_graph(20_000, 2 * 10**6), 20),
    "l2 sparse, n = 500,000, 10 million stored, r = 10": (
        "l2", lambda: sparse_graph(500_000, 10**7), 10),
    "l1 sparse, n = 20,000, 1.3 million stored, r = 200": (
        "l1", lambda: sparse_graph(20_000, 1_300_000, 200), 200),
    "l1 dense, n = 2000, r = 10": ("l1", lambda: as_similarity(problems.dense(2000, 10)), 10),
    "l2 Gram, wordnet_gloss, r = 45": ("l2", lambda: documents("wordnet_gloss"), 45),
    "l2 Gram, ohscal, r = 10": ("l2", lambda: documents("ohscal"), 10),
    "l1 Gram, tr23, r = 6": ("l1", lambda: documents("tr23"), 6),
}  # fmt: skip
OTHERS = {
    "greedy start, l2, n = 50,000, 1 million stored, r = 20": "l2",
    "greedy start, l1, n = 50,000, 1 million stored, r = 20": "l1",
    "l1 fit with restarts, n = 4000, r = 80": "l1",
}
NEEDS_DATA = [name for name in SWEEPS if "Gram" in name]


def _sweeper(loss: str, A: Any) -> Callable[[Any], tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return a function of H: what comes before a sweep, and the sweep.

    l1 computes its sums anew for every sweep, so that belongs to it.
    """
    if BEFORE_ROOMS:
        from odsymnmf.losses import L1, L2  # type: ignore[import-not-found]

        old = {"l1": L1, "l2": L2}[loss](A, np.inf)

        def both(H: Any) -> Any:
            def before() -> None:
                old.refresh(H)
                old._sweeps = 1  # else the sweep of l2 would do it again

            return (before if loss == "l2" else lambda: None), lambda: old.sweep(H)

        return both
    from odsymnmf.engine.losses import make_loss

    new = make_loss(loss, A, np.inf)

    def both(H: Any) -> Any:
        kept: list[Any] = []

        def begin() -> None:
            new.tidy(H)
            kept[:] = [new.sums(H)]

        def sweep() -> None:
            if loss == "l1":
                begin()
            new.sweep(H, kept[0], np.arange(len(H)))

        return begin, sweep

    return both


def _sweep_case(name: str, start: Path) -> Callable[[], tuple[float, Any]]:
    loss, make, r = SWEEPS[name]
    A = make()
    sweeper = _sweeper(loss, A)
    if not start.exists():
        H = np.random.default_rng(1).uniform(size=(A.n, r)) * np.sqrt(A.energy) / A.n / np.sqrt(r)
        for step in [_sweeper("l2", A)] * FEW + [sweeper] * FEW:
            for part in step(H):
                part()
        np.save(start, H)
    first = np.load(start)
    H = first.copy()
    before, sweep = sweeper(H)

    def measure() -> tuple[float, Any]:
        H[:] = first
        before()
        begun = time.process_time()
        sweep()
        return time.process_time() - begun, H

    return measure


def _other_case(name: str) -> Callable[[], tuple[float, Any]]:
    loss = OTHERS[name]
    if name.startswith("greedy"):
        A, r, options = sparse_graph(50_000, 10**6), 20, {"max_iter": 0}
    else:
        A, r, options = sparse_graph(4000, 120_000, 80), 80, {}

    def measure() -> tuple[float, Any]:
        begun = time.process_time()
        H = od.factorize(A, r, loss=loss, init="greedy", **options).H  # type: ignore[arg-type]
        return time.process_time() - begun, H

    return measure


def main(name: str, start: Path) -> None:
    warnings.simplefilter("ignore")
    measure = _sweep_case(name, start) if name in SWEEPS else _other_case(name)
    measure()  # compiles
    print("ready", flush=True)
    for _ in sys.stdin:
        took, H = measure()
        print(took, hashlib.sha256(H.tobytes()).hexdigest(), float(H.sum()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
