"""Measured complexity: log-log slopes of time and memory in n, K and r."""

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks.paper.assumptions import Array
from benchmarks.paper.experiment import Request, compute, panels, table, write
from odsymnmf.init.arrays import scale_to_fit
from odsymnmf.init.greedy import greedy
from odsymnmf.paper import algorithm_5, algorithm_6
from odsymnmf.paper.algorithm_1 import odsymnmf
from odsymnmf.paper.algorithm_2 import odsymnmf_l2
from odsymnmf.paper.algorithm_3 import rank_one_l1
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.paper.symnmf import symnmf
from odsymnmf.similarity import as_similarity
from odsymnmf.solvers.losses import make_solver

Call = Callable[[], object]

AXES = ("n, full A", "n, sparse A", "K", "r")
DEGREE = 16  # stored entries per item of a sparse A
# Number of sizes, each twice the one before; slopes leave out the smallest, where constant costs
# are largest.
STEPS = 4
PAPER_REPEATS, LIBRARY_REPEATS = 2, 5


@dataclass(frozen=True)
class Algorithm:
    """One sweep or initialization; `prepare(A, H)` returns the call to be measured.

    ``n`` and ``r`` are the smallest sizes. ``time`` and ``memory`` are the exponents of the
    documented orders, one per axis of AXES.
    """

    prepare: Callable[[Any, Array], Call]
    n: int
    r: int
    time: tuple[str, str, str, str]
    memory: tuple[str, str, str, str]
    sparse: bool = False


def paper_sweep(sweep: Callable[..., Any]) -> Callable[[Any, Array], Call]:
    return lambda A, H: partial(sweep, A, H, sweeps=1, upper=np.inf)


def paper_greedy(init: Callable[..., Any], p: int) -> Callable[[Any, Array], Call]:
    return lambda A, H: partial(init, A, H.shape[1], p, upper=np.inf)


def residual_l1(A: Array, H: Array, *, sweeps: int, upper: float) -> Array:
    return odsymnmf(A, H, partial(rank_one_l1, upper=upper), sweeps=sweeps)


def library_sweep(loss: str, diagonal: str = "ignore") -> Callable[[Any, Array], Call]:
    def prepare(A: Any, H: Array) -> Call:
        solver = make_solver(loss, as_similarity(A), np.inf, diagonal=diagonal)

        def sweep() -> None:
            solver.H = H.copy()
            solver.refresh()
            solver.sweep(np.arange(len(H)))

        return sweep

    return prepare


def library_greedy(loss: str) -> Callable[[Any, Array], Call]:
    return lambda A, H: partial(greedy, make_solver(loss, as_similarity(A), np.inf), H.shape[1])


SPARSE_ORDERS = (("", "1", "1", "1 to 2"), ("", "1", "1", "0 to 1"))
SPARSE_GREEDY_ORDERS = (("", "1", "1", "2"), ("", "1", "1", "0 to 1"))
FULL_ORDERS = (("2", "2", "0", "1"), ("2", "2", "0", "0"))
L2_ORDERS = (("2", "1", "1", "1"), ("2", "1", "1", "0"))
GREEDY_ORDERS = (("2", "2", "0", "2"), ("2", "1", "1", "0"))
PAPER = {
    "Algorithm 2, l2": Algorithm(paper_sweep(odsymnmf_l2), 500, 2, *L2_ORDERS),
    "Algorithms 1 and 3, l1": Algorithm(paper_sweep(residual_l1), 100, 2, *FULL_ORDERS),
    "Algorithm 4, l1": Algorithm(paper_sweep(odsymnmf_l1), 100, 2, *GREEDY_ORDERS),
    "symNMF": Algorithm(paper_sweep(symnmf), 100, 2, *L2_ORDERS),
    "Algorithm 5, greedy, l2": Algorithm(
        paper_greedy(algorithm_5.greedy_init, 2), 100, 2, ("3", "3", "0", "1"), FULL_ORDERS[1]
    ),
    "Algorithm 6, greedy, l2": Algorithm(
        paper_greedy(algorithm_6.greedy_init, 2), 250, 2, *GREEDY_ORDERS
    ),
    "Algorithm 6, greedy, l1": Algorithm(
        paper_greedy(algorithm_6.greedy_init, 1), 100, 2, *GREEDY_ORDERS
    ),
}
LIBRARY = {
    "l2, full": Algorithm(library_sweep("l2"), 500, 4, *FULL_ORDERS),
    "l1, full": Algorithm(library_sweep("l1"), 250, 4, *FULL_ORDERS),
    "l2, sparse": Algorithm(library_sweep("l2"), 5000, 4, *SPARSE_ORDERS, sparse=True),
    "l1, sparse": Algorithm(library_sweep("l1"), 5000, 4, *SPARSE_ORDERS, sparse=True),
    "symNMF, sparse": Algorithm(library_sweep("l2", "fit"), 5000, 4, *SPARSE_ORDERS, sparse=True),
    "greedy, l2, sparse": Algorithm(
        library_greedy("l2"), 2500, 4, *SPARSE_GREEDY_ORDERS, sparse=True
    ),
    "greedy, l1, sparse": Algorithm(
        library_greedy("l1"), 2500, 4, *SPARSE_GREEDY_ORDERS, sparse=True
    ),
}


def sizes(algorithm: Algorithm, axis: str, steps: int) -> list[tuple[int, int, int]]:
    """Return (n, entries per item, r) for each step; A is full if n entries per item."""
    n, r = algorithm.n, algorithm.r
    factors = [2**step for step in range(steps)]
    if axis == "n, full A":
        return [(n * f, n * f, r) for f in factors]
    if axis == "n, sparse A":
        return [(n * f, DEGREE, r) for f in factors]
    if axis == "K":
        # Enough entries per item to exceed the cost of an item without entries.
        degree = 2 * DEGREE if algorithm.sparse else DEGREE // 2
        return [(4 * n, degree * f, r) for f in factors]
    items, degree = (4 * n, DEGREE) if algorithm.sparse else (2 * n, 2 * n)
    return [(items, degree, r * f) for f in factors]


def random_similarities(n: int, degree: int, rng: np.random.Generator) -> Any:
    """Return a random symmetric A with about this many entries per item, full if n of them."""
    if degree >= n:
        A = rng.random((n, n))
        return (A + A.T) / 2
    rows, columns = (rng.integers(n, size=n * degree // 2) for _ in range(2))
    half = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    return sparse.csr_array(half + half.T)


def measure(algorithm: str, axis: str, steps: int, repeats: int, seed: int) -> list[dict[str, Any]]:
    """Return minimum seconds and peak bytes at each size; the sizes take turns."""
    case = (PAPER | LIBRARY)[algorithm]
    rng = np.random.default_rng(seed)
    calls, rows = [], []
    for n, degree, r in sizes(case, axis, steps):
        A = random_similarities(n, degree, rng)
        stored = A.nnz if sparse.issparse(A) else A.size
        if not case.sparse and sparse.issparse(A):
            A = A.toarray()
        # H after two sweeps of l2, as it is during a fit.
        solver = make_solver("l2", as_similarity(A), np.inf)
        H = scale_to_fit(solver.A, rng.random((n, r)))
        solver.H = H
        solver.refresh()
        for _ in range(2):
            solver.sweep(np.arange(n))
        calls.append(case.prepare(A, H))
        if algorithm in LIBRARY:
            calls[-1]()  # compiles
        arrays = (A.data, A.indices, A.indptr) if sparse.issparse(A) else (A,)
        size = sum(array.nbytes for array in arrays) + peak(calls[-1])
        rows.append({"x": {"K": stored, "r": r}.get(axis, n), "seconds": np.inf, "bytes": size})
    for _ in range(repeats):
        for row, call in zip(rows, calls, strict=True):
            start = time.process_time()
            call()
            row["seconds"] = min(row["seconds"], time.process_time() - start)
    return rows


def peak(call: Call) -> int:
    """Return the peak of the bytes allocated during the call."""
    tracemalloc.start()
    call()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def slope(x: Any, y: Any) -> float:
    """Return the exponent b of the best fit y = a x^b."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def table_complexity(request: Request) -> None:
    """Measured complexity.

    The exponent b in time ~ n^b (and so on) of one sweep over H, or of one initialization, fitted
    over the larger three of four sizes that double, and in brackets the order given in the paper
    (for the library, that of its documentation). "n, full A": all entries of A are stored;
    "n, sparse A": 16 per item; "K": n fixed, more entries stored; "r": n and K fixed (A full, for
    the library also sparse). Time is CPU time, the minimum of two runs at every size (five for the
    library). Memory is the size of A plus the peak of the bytes allocated during the call.

    - The transcriptions are plain NumPy and need a full A, so their memory and products grow with
      n² for every K; the paper's orders for sparse A require code that keeps A sparse.
    - An entry of H costs the transcriptions some ten microseconds before any arithmetic. Where this
      exceeds the arithmetic at these sizes (most of all in symNMF, and in every second power of r),
      the exponent is closer to that of the number of entries, n r.
    - The library's exponents are below the orders where a constant part matters at these sizes: the
      cost of a row without entries, and BLAS products, which are more efficient at larger sizes.
    - The paper gives the orders of Algorithms 5 and 6 in its text, and none for symNMF; the one
      shown is that of Algorithm 2, which keeps the same sums.
    """
    settings = {"steps": STEPS, "seed": request.seed}
    jobs = [
        (
            labels := {"algorithm": name, "axis": axis},
            {**labels, **settings, "repeats": PAPER_REPEATS if name in PAPER else LIBRARY_REPEATS},
        )
        for name, algorithm in (PAPER | LIBRARY).items()
        for axis in AXES
        if not (algorithm.sparse and axis == AXES[0])
    ]
    rows = compute(request, measure, jobs, n_jobs=1).round({"seconds": 6})  # time is measured
    parts = ["## The paper's algorithms, transcribed", summary(rows, PAPER)]
    parts += ["## This library", summary(rows, LIBRARY)]
    write(request, table_complexity, rows, parts, plot(rows))


def summary(rows: pd.DataFrame, algorithms: dict[str, Algorithm]) -> str:
    """Return a line per algorithm: slopes of time, then of memory, and the orders."""
    parts = dict(iter(rows.groupby(["algorithm", "axis"])))
    lines = []
    for name, algorithm in algorithms.items():
        line = [name]
        for quantity, orders in (("seconds", algorithm.time), ("bytes", algorithm.memory)):
            for axis, order in zip(AXES, orders, strict=True):
                part = parts.get((name, axis))
                exponent = "" if part is None else f"{slope(part['x'][1:], part[quantity][1:]):.2f}"
                line.append(f"{exponent} ({order})" if exponent else "")
        lines.append(line)
    return table(["", *(f"{q}: {axis}" for q in ("time", "memory") for axis in AXES)], lines)


def plot(rows: pd.DataFrame) -> Any:
    """Plot time by size, a panel per axis."""
    image, axes = panels(13, 4, len(AXES))
    lines = {}
    for (name, axis), part in rows.groupby(["algorithm", "axis"], sort=False):
        color = f"C{list(PAPER | LIBRARY).index(name) % len(PAPER)}"
        ax = axes[AXES.index(axis)]
        (lines[name],) = ax.loglog(
            part["x"], part["seconds"], "--" if name in PAPER else "-", color=color
        )
        ax.set_xlabel(axis)
        ax.minorticks_off()
    axes[0].set_ylabel("CPU seconds")
    image.legend(list(lines.values()), list(lines), loc="outside right upper", fontsize=7)
    return image
