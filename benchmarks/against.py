"""Results and CPU time of this checkout and another: ``python -m benchmarks against --old DIR``.

The two checkouts fit the same settings in turn, each in a separate process with one BLAS thread.
The time of a process is the minimum over its fits; the median over several processes is reported.
Kernels are compiled first, into a cache directory for each version of their source.
"""

import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import combinations, groupby, product
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.timing import table

HERE = Path(__file__).resolve().parents[1]
# Pairs of processes for each setting, and fits in each of them.
PROCESSES, FITS = 3, 3
RTOL = 1e-12

Setting = dict[str, Any]

DENSE_H: dict[str, list[Any]] = {
    "data": ["dense", "sparse", "documents", "features"],
    "loss": ["l2", "l1", "mixed", "robust", "symnmf"],
    "weights": [None, "unknown", "zero_weight", "matrix"],
    "dtype": ["float64", "float32"],
    "n_jobs": [None, 1, 2],
    "init": ["greedy", "spectral", "random", "array", "labels"],
    "upper": [None, 0.5],
    "restarts": [0, 2],
}
SPARSE_H: dict[str, list[Any]] = {
    "data": ["sparse", "communities"],
    "loss": ["l2", "l1"],
    "weights": [None, "unknown", "zero_weight", "matrix"],
    "dtype": ["float64", "float32"],
    "n_jobs": [None, 1, 2],
    "init": ["ego", "labels", "sets", "csr"],
    "upper": [None, 0.5],
}


def possible(choice: Setting) -> bool:
    """Return whether the options can be combined."""
    if choice["weights"] == "zero_weight" and choice["data"] not in ("sparse", "communities"):
        return False
    return choice["loss"] != "symnmf" or (choice["weights"] is None and choice["restarts"] == 0)


def pairwise(
    axes: dict[str, list[Any]],
    possible: Callable[[Setting], bool] = lambda choice: True,
    together: tuple[tuple[str, ...], ...] = (),
) -> Iterator[Setting]:
    """Choose combinations until every possible pair of values occurs, greedily.

    Of each group of axes in ``together``, every possible combination occurs.
    """
    parts = []
    for values in product(*axes.values()):
        choice = dict(zip(axes, values, strict=True))
        if possible(choice):
            pairs = set(combinations(choice.items(), 2))
            groups = {tuple((axis, choice[axis]) for axis in group) for group in together}
            parts.append((choice, pairs | groups))
    missing: set[Any] = set().union(*(part for _, part in parts))
    while missing:
        choice, part = max(parts, key=lambda candidate: len(candidate[1] & missing))
        missing -= part
        yield choice


def setting(
    data: str,
    r: int,
    weights: str | None = None,
    dtype: str = "float64",
    estimator: str = "",
    **options: Any,
) -> Setting:
    """Return the data and options of a fit as a dictionary that can be sent to a process."""
    return {
        "data": data,
        "r": r,
        "weights": weights,
        "dtype": dtype,
        "estimator": estimator,
        "options": options,
    }


def settings() -> Iterator[Setting]:
    """Yield pairwise combinations of options, default fits of estimators, and long sweeps."""
    common: Setting = {"max_iter": 12, "random_state": 0}
    for choice in pairwise(DENSE_H, possible):
        options = {**common, **choice}
        if options["loss"] == "symnmf":
            options |= {"loss": "l2", "diagonal": "fit"}
        yield setting(r=6, **options)
    for choice in pairwise(SPARSE_H, possible):
        r = 10 if choice["data"] == "sparse" else 200
        yield setting(r=r, sparse_membership=True, **common, **choice)
    od = {"estimator": "ODSymNMF", "random_state": 0}
    yield setting("dense", 6, **od)
    yield setting("dense", 6, weights="unknown", loss="l1", n_jobs=2, **od)
    yield setting("sparse", 10, **od)
    yield setting("sparse", 10, loss="l1", zero_weight=0.3, **od)
    yield setting("sparse", 10, dtype="float32", loss="mixed", n_init=2, **od)
    yield setting("sparse", 10, estimator="SymNMF", random_state=0)
    yield setting("documents", 8, affinity="cosine", **od)
    yield setting("documents", 8, affinity="cosine", loss="robust", dtype="float32", **od)
    yield setting("points", 5, affinity="rbf", **od)
    yield setting("points", 5, affinity="nearest_neighbors", loss="l1", **od)
    yield setting("communities", 200, sparse_membership=True, **od)
    sweeps: Setting = {"init": "array", "max_iter": 4, "tol": 0.0, "restarts": 0}
    yield setting("large dense", 20, loss="l2", **sweeps)
    yield setting("large dense", 10, loss="l1", **sweeps | {"max_iter": 2})
    yield setting("large sparse", 50, loss="l2", **sweeps)
    yield setting("large sparse", 50, loss="l2", n_jobs=2, **sweeps)
    yield setting("large sparse", 50, loss="l1", **sweeps)
    yield setting("large sparse", 20, loss="l2", init="greedy", max_iter=0)
    yield setting("large sparse", 20, loss="l1", init="greedy", max_iter=0)
    yield setting("large documents", 20, loss="l2", **sweeps)


def title(setting: Setting) -> str:
    """Return the values that differ from the defaults."""
    options = {k: v for k, v in setting["options"].items() if v is not None}
    for usual in ("max_iter", "random_state", "tol"):
        options.pop(usual, None)
    kind = "sparse H" if options.pop("sparse_membership", False) else ""
    symnmf = "symnmf" if options.pop("diagonal", None) else ""
    loss = options.pop("loss", "l2")
    words = [setting["estimator"], symnmf or loss, setting["data"], kind, setting["weights"]]
    words += [setting["dtype"] if setting["dtype"] != "float64" else ""]
    words += [f"{k}={v}" for k, v in options.items()]
    return " ".join(word for word in words if word)


class Side:
    """A process that fits settings with one of the checkouts."""

    def __init__(self, root: Path):
        threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {
            "PYTHONPATH": os.pathsep.join([str(root / "src"), str(HERE)]),
            "NUMBA_CACHE_DIR": str(kernel_cache(root)),
            **dict.fromkeys(threads, "1"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.measured_side"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
            cwd=HERE,
        )

    def ask(self, setting: Setting) -> None:
        assert self.process.stdin is not None
        print(json.dumps(setting), file=self.process.stdin, flush=True)

    def answer(self) -> Setting:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def kernel_cache(root: Path) -> Path:
    """Return a directory for compiled kernels of this source.

    Numba's own cache does not notice that an inlined function in another file has changed.
    """
    source = b"".join(p.read_bytes() for p in sorted((root / "src").rglob("kernels/*.py")))
    return Path(tempfile.gettempdir()) / f"odsymnmf-{hashlib.sha256(source).hexdigest()[:16]}"


def measure(group: list[Setting], old: Path, repeats: int) -> Iterator[tuple[Any, Any, float]]:
    """Yield the results of both sides for each setting, and the time of new / old."""
    sides = [Side(HERE), Side(old)]
    for setting in group:
        for side in sides:
            side.ask(setting)
        results = [side.answer() for side in sides]  # compiles
        times: list[list[float]] = [[], []]
        for k in range(repeats):
            for i in (0, 1) if k % 2 else (1, 0):
                sides[i].ask(setting)
                times[i].append(sides[i].answer().get("seconds", math.nan))
        ratio = min(times[0]) / min(times[1]) if repeats else math.nan
        yield results[0], results[1], ratio
    for side in sides:
        side.end()


def differences(new: Setting, old: Setting) -> tuple[bool, list[str]]:
    """Return whether the results are identical, and the columns that show it."""
    for name, result in (("new", new), ("old", old)):
        if "error" in result:
            return False, [f"{name}: {result['error']}", "", "", ""]
    difference = abs(new["objective"] - old["objective"]) / max(abs(old["objective"]), 1e-300)
    equal = {key: new[key] == old[key] for key in ("H", "n_iter", "labels")}
    yes = {key: "yes" if value else "no" for key, value in equal.items()}
    labels = yes["labels"] if old["labels"] else ""
    identical = all(equal.values()) and difference <= RTOL
    return identical, [yes["H"], f"{difference:.1e}", yes["n_iter"], labels]


def main(old: Path, only: str = "", results: bool = False) -> None:
    """Compare the settings that have ``only`` in their title; results alone, or times too."""
    chosen = sorted((s for s in settings() if only in title(s)), key=lambda s: s["data"])
    processes, repeats = (1, 0) if results else (PROCESSES, FITS)
    different: list[str] = []

    def rows() -> Iterator[list[str]]:
        for _, members in groupby(chosen, key=lambda s: s["data"]):
            group = list(members)
            measured = [measure(group, old, repeats) for _ in range(processes)]
            for setting, results_of in zip(group, zip(*measured, strict=True), strict=True):
                identical, columns = differences(*results_of[0][:2])
                if not identical:
                    different.append(title(setting))
                ratio = median(ratio for _, _, ratio in results_of)
                yield [title(setting), "" if results else f"{ratio:.2f}", *columns]

    header = [
        "case",
        "CPU new / old",
        "same H",
        "objective, relative",
        "same n_iter",
        "same labels",
    ]
    table("This checkout and another", header, rows())
    summary = "these differ: " + "; ".join(different) if different else "all identical"
    print(f"\n{len(chosen)} cases: {summary}")
