"""Sweeps in rounds (`n_jobs`): their cost, the speedup of threads, and the number of sweeps."""

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import odsymnmf as od
from benchmarks import problems
from benchmarks.graphs import many_overlapping
from benchmarks.sweeps import Fit, warm_fit
from benchmarks.timing import minima, table
from odsymnmf.init.arrays import random
from odsymnmf.similarity import as_similarity, cosine
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.rounds import Rounds

# Sweeps that give the final explained fraction, and the part of it that is to be reached.
MAX_ITER, TARGET = 100, 0.99
N_INITS = 5
GRAPHS = ("cora", "email_eu_core", "fb100_Amherst41", "fb100_Reed98", "football", "lfr10000",
          "lfr1000_mu0.3", "pbmc68k_reduced", "polblogs_lcc", "polbooks")  # fmt: skip
DOCUMENTS = ("classic", "reviews", "tr45")


def cases(data: Path | None) -> Iterator[tuple[str, Any, int, str]]:
    A, _ = problems.shuffled(*problems.planted(200_000, 4_000_000, 50))
    yield "l2 sparse, n = 200,000, r = 50", as_similarity(A), 50, "l2"
    A, _ = problems.shuffled(*problems.planted(50_000, 1_000_000, 50))
    yield "l2 sparse, n = 50,000, r = 50", as_similarity(A), 50, "l2"
    A, _ = problems.shuffled(*problems.planted(20_000, 1_300_000, 200))
    yield "l1 sparse, n = 20,000, r = 200", as_similarity(A), 200, "l1"
    documents = problems.load(data, "documents", "wordnet_gloss")
    if documents is not None:
        yield "l2 Gram, wordnet_gloss, r = 45", cosine(documents[0]), 45, "l2"


def sweep_times(data: Path | None, repeats: int = 9) -> Iterator[list[str]]:
    """Time a sweep row by row, in rounds with one thread, and with two, from the same H."""
    for name, A, r, loss in cases(data):
        H = warm_fit(loss, A, r, 4).H
        fits = [Fit(loss, A, H.copy())]
        fits += [Fit(loss, A, H.copy(), lambda s, k=k: Rounds(s, k)) for k in (1, 2)]
        for fit in fits:
            fit.sweep()
        yield cells(name, *minima(*(fit.sweep for fit in fits), repeats=repeats))
    yield sparse_membership()


def sparse_membership(n: int = 200_000) -> list[str]:
    """Time whole fits with sparse memberships, which differ little in their number of sweeps."""
    options: dict[str, Any] = {"sparse_membership": True, "max_iter": 10, "tol": 0}
    od.factorize(many_overlapping(2000, seed=7)[0], "auto", n_jobs=1, **options)  # compiles
    A, _ = many_overlapping(n, seed=7)
    times = []
    for n_jobs in (None, 1, 2):
        start = time.perf_counter()
        od.factorize(A, "auto", n_jobs=n_jobs, **options)
        times.append(time.perf_counter() - start)
    return cells(f"sparse memberships, n = {n:,}, 10 sweeps and initialization", *times)


def cells(name: str, row_by_row: float, one_thread: float, two_threads: float) -> list[str]:
    """Return a line of the table of ratios."""
    ratios = one_thread / row_by_row, one_thread / two_threads, two_threads / row_by_row
    return [name, f"{ratios[0]:.2f}", f"{ratios[1]:.2f} x", f"{ratios[2]:.2f}"]


def convergence(data: Path | None) -> Iterator[list[Any]]:
    """Compare both from the same random initializations: medians of sweeps, means of shares."""
    sources = [("graphs", name) for name in GRAPHS] + [("documents", name) for name in DOCUMENTS]
    ratios = []
    for folder, name in sources:
        problem = problems.load(data, folder, name)
        if problem is None:
            continue
        A = as_similarity(problem[0]) if folder == "graphs" else cosine(problem[0])
        r = len(np.unique(problem[1]))
        sweeps, shares = [], []
        for seed in range(N_INITS):
            H = random(make_solver("l2", A, np.inf), r, np.random.default_rng(seed))
            options = {"init": H, "max_iter": MAX_ITER, "tol": 0}
            fits = [od.factorize(A, r, n_jobs=n_jobs, **options) for n_jobs in (None, 1)]
            curves = [1 - fit.history / A.sum_of_squares for fit in fits]
            sweeps.append([np.argmax(curve >= TARGET * curve[-1]) for curve in curves])
            shares.append([curve[-1] for curve in curves])
        row, rounds = np.median(sweeps, axis=0)
        ratios.append(rounds / max(row, 1))
        row_share, rounds_share = np.mean(shares, axis=0)
        yield [name, A.n, r, f"{row:.0f} : {rounds:.0f}", f"{row_share:.4f} : {rounds_share:.4f}"]
    if ratios:
        yield ["median of rounds / row by row", "", "", f"{np.median(ratios):.2f}", ""]


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    threadpool_limits(1)  # threads of BLAS would add to those of rounds
    header = ["case", "rounds with one thread / row by row", "speedup of two threads",
              "two threads / row by row"]  # fmt: skip
    table("Time of a sweep in rounds", header, sweep_times(data))
    header = ["problem", "n", "r", "sweeps to 99 % of the final explained share",
              "final explained share"]  # fmt: skip
    table("Row by row : in rounds", header, convergence(data))
