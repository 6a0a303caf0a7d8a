"""How long a fit can be deaf: the longest stretches in which Python could hear no signal.

A signal is sent for every 20 ms of CPU time of a whole fit. Its handler can run only where Ctrl-C
could be heard; what passes between two calls of it is the wait. CPU time, so that a busy machine
changes little; of two threads, that of both.
"""

import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from scipy import sparse

import odsymnmf as od
from benchmarks import problems
from benchmarks.timing import table

TICK = 0.02


def deaf(work: Callable[[], Any]) -> tuple[float, float, str]:
    """Return the CPU seconds of some work, its longest deaf stretch, and where that ended."""
    worst, where = 0.0, ""
    last = began = time.process_time()

    def heard(number: int, frame: FrameType | None) -> None:
        nonlocal worst, where, last
        now = time.process_time()
        if now - last > worst:
            worst, where = now - last, _place(frame)
        last = now

    before = signal.signal(signal.SIGPROF, heard)
    signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return time.process_time() - began, worst, where


def _place(frame: FrameType | None) -> str:
    """Return the innermost function of ours."""
    ours = [f for f in traceback.extract_stack(frame) if "odsymnmf" in f.filename]
    return f"{Path(ours[-1].filename).stem}.{ours[-1].name}" if ours else ""


def graph(n: int, links: int, r: int) -> Any:
    A, _ = problems.planted(n, links, r)
    return sparse.csr_array(A).astype(np.float32)


def similar(n: int) -> Any:
    X = np.random.default_rng(0).random((n, 30), dtype=np.float32)
    return X @ X.T


def choose(A: Any) -> Any:
    r = 40 if sparse.issparse(A) and A.shape[0] > 1000 else 4
    return od.choose.n_clusters(A, range(r // 4, r + 1, r // 4), random_state=0)


def fit(r: int, **options: Any) -> Callable[[Any], Any]:
    return lambda A: od.factorize(A, min(r, A.shape[0]), random_state=0, tol=0, **options)


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "spectral start, n = 1,000,000, r = 100": (
        lambda: graph(1_000_000, 10_000_000, 100),
        fit(100, init="spectral", max_iter=1),
    ),
    "random start, n = 2,000,000, r = 100": (
        lambda: graph(2_000_000, 12_000_000, 100),
        fit(100, init="random", max_iter=1),
    ),
    'init="l2", then l1, n = 300,000, r = 30': (
        lambda: graph(300_000, 3_000_000, 30),
        fit(30, loss="l1", init="l2", max_iter=1, restarts=0),
    ),
    'init="mixed", then l1, n = 30,000, r = 30': (
        lambda: graph(30_000, 300_000, 30),
        fit(30, loss="l1", init="mixed", max_iter=1, restarts=0),
    ),
    "rounds, two threads, n = 500,000, r = 50": (
        lambda: graph(500_000, 5_000_000, 50),
        fit(50, init="random", n_jobs=2, max_iter=5),
    ),
    "rounds, two threads, dense, n = 8,000, r = 100": (
        lambda: similar(8_000),
        fit(100, init="random", n_jobs=2, max_iter=5),
    ),
    "choose.n_clusters, n = 100,000, 10 to 40": (lambda: graph(100_000, 1_000_000, 30), choose),
    "ODSymNMF(50), n = 500,000": (
        lambda: graph(500_000, 5_000_000, 50),
        lambda A: od.ODSymNMF(min(50, A.shape[0]), random_state=0, max_iter=3).fit(A),
    ),
}


def rows() -> Iterator[tuple[str, str, str, str]]:
    for name, (make, work) in CASES.items():
        A = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work(graph(300, 3_000, 3) if sparse.issparse(A) else similar(300))  # so it is compiled
        total, worst, where = deaf(lambda work=work, A=A: work(A))
        yield name, f"{total:.1f}", f"{worst:.2f}", f"`{where}`"


def main(data: Path | None = None) -> None:
    header = ("fit", "CPU seconds", "longest wait", "in")
    table("How long Ctrl-C may have to wait", header, rows())
