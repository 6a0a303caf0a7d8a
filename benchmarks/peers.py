"""Beside what a user would pick instead: time to the same objective, and to the same clusters.

The objective is the off-diagonal l2 error of every method's own approximation of A. Every method
runs with 1, 2, 3, 5, 8, ... sweeps; the first of its runs that gets there is timed as a whole, so
that computing the objective costs nobody anything: by turns with the others, and the least counts.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import NMF
from sklearn.metrics import normalized_mutual_info_score

import odsymnmf as od
from benchmarks import problems
from benchmarks.compiled_paper import algorithm_2
from benchmarks.timing import minima, seconds, table
from odsymnmf.engine import starts
from odsymnmf.engine.losses import make_loss
from odsymnmf.similarity import as_similarity

# A method is given a number of sweeps and returns factors W, V with A ~ W V^T.
Method = Callable[[int], tuple[Any, Any]]
SWEEPS = [1, 2, 3, 5, 8, 13, 21, 34, 55]
# How often a run is timed: as often as fits in so many seconds, but not less, and not more.
TIMING, LEAST, MOST = 40.0, 5, 40
# Seconds after which a method gets no more sweeps.
LIMIT = 1.5
# A random start may lead to a poor minimum: one says little.
RANDOM = 7


def error(A: Any, W: Any, V: Any) -> float:
    """sum_{i != j} (A_ij - (W V^T)_ij)^2, A with a zero diagonal."""
    own = np.einsum("ij,ij->i", W, V)
    squares = A.multiply(A).sum() if sparse.issparse(A) else np.vdot(A, A)
    inner = np.einsum("ij,ij->", W, A @ V)
    return float(squares - 2 * inner + np.sum((W.T @ W) * (V.T @ V)) - own @ own)


def errors(A: Any, method: Method) -> dict[int, float]:
    """Return the error after ever more sweeps, until it takes too long."""
    found: dict[int, float] = {}
    method(1)
    for sweeps in SWEEPS:
        result: list[Any] = []
        took = seconds(lambda: result.append(method(sweeps)))  # noqa: B023
        found[sweeps] = error(A, *result[-1])
        if took > LIMIT:
            break
    return found


def first_below(found: dict[int, float], target: float) -> int | None:
    return next((sweeps for sweeps, value in found.items() if value <= target), None)


def least_times(runs: dict[Any, Callable[[], Any]]) -> dict[Any, float]:
    """Return the least time of each run, all of them taken in turn."""
    once = minima(*runs.values(), repeats=1)
    repeats = min(max(LEAST, int(TIMING / sum(once))), MOST)
    return dict(zip(runs, minima(*runs.values(), repeats=repeats), strict=True))


def ours(A: Any, r: int, start: Any) -> Method:
    similarity = as_similarity(A)  # like the others' input, brought into its own form once

    def run(sweeps: int) -> tuple[Any, Any]:
        f = od.factorize(similarity, r, init=start, max_iter=sweeps, tol=0, random_state=0)
        return f.H, f.H

    return run


def paper(A: Any, start: Callable[[], Any]) -> Method:
    """Algorithm 2, column by column, compiled."""
    S = sparse.csr_array(A)

    def run(sweeps: int) -> tuple[Any, Any]:
        H = np.asfortranarray(start())
        C, L, D = (H**2).sum(axis=0), (H**2).sum(axis=1), H.T @ H
        for _ in range(sweeps):
            algorithm_2(S.indptr, S.indices, S.data, H, C, L, D)
        return H, H

    return run


def nmf(A: Any, r: int, start: Any) -> Method:
    """scikit-learn's NMF by coordinate descent, A ~ W V^T without symmetry."""

    def run(sweeps: int) -> tuple[Any, Any]:
        given = start is not None
        model = NMF(
            r,
            init="custom" if given else "nndsvda",
            solver="cd",
            max_iter=sweeps,
            tol=0,
            random_state=0,
        )
        factors = {"W": start.copy(), "H": start.T.copy()} if given else {}
        W = model.fit_transform(A, **factors)
        return W, model.components_.T

    return run


@contextmanager
def silenced() -> Iterator[None]:
    """Keep what compiled code prints off the table."""
    sys.stdout.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    for stream in kept:
        os.dup2(nowhere, stream)
    try:
        yield
    finally:
        for stream, copy in kept.items():
            os.dup2(copy, stream)
            os.close(copy)
        os.close(nowhere)


def planc(A: Any, r: int, start: Any, algorithm: str) -> Method | None:
    """pyplanc's symmetric solvers, where it is installed."""
    try:
        import pyplanc
    except ImportError:
        return None
    M = sparse.csc_matrix(A) if sparse.issparse(A) else np.asfortranarray(A)

    def run(sweeps: int) -> tuple[Any, Any]:
        given = {"Hinit": np.asfortranarray(start)} if start is not None else {}
        with silenced():
            out = pyplanc.symNMF(M, r, sweeps, 0.0, algorithm, 2, **given)
        H, W = np.array(out.H), np.array(out.W)
        return (W if W.size else H), H  # Gauss-Newton has one factor, alternation two

    return run


def methods(A: Any, r: int, start: Any) -> dict[str, Method]:
    """Every system from one start, or, without one, each from its own best.

    Algorithm 2 has our greedy start then: the paper's own would take O(r^2 n^2).
    """
    greedy = lambda: starts.greedy(make_loss("l2", as_similarity(A), np.inf), r)  # noqa: E731
    own = start is None
    found = {
        "odsymnmf": ours(A, r, "spectral" if own else start),
        "odsymnmf, greedy start": ours(A, r, "greedy") if own else None,
        "Algorithm 2, compiled": paper(A, greedy if own else start.copy),
        "scikit-learn NMF cd": nmf(A, r, start),
        "pyplanc anlsbpp": planc(A, r, start, "anlsbpp"),
        "pyplanc gnsym": planc(A, r, start, "gnsym"),
    }
    return {name: method for name, method in found.items() if method is not None}


def zero_diagonal(A: Any) -> Any:
    A = A.copy()
    np.fill_diagonal(A, 0)
    return A


def cases() -> Iterator[tuple[str, Any, int]]:
    yield "dense, n = 2000, r = 10", zero_diagonal(problems.dense(2000, 10)), 10
    A, _ = problems.shuffled(*problems.planted(20_000, 600_000, 20))
    yield f"sparse, n = 20,000, {A.nnz:,} stored, r = 20", A, 20


def compare(A: Any, r: int, given: list[Any], share: tuple[float, ...]) -> Iterator[list[str]]:
    """Yield a row per system: its time to each share of the best explained energy, over ours.

    Of several starts the median counts, and from how many the last share was reached.
    """
    systems = [methods(A, r, start) for start in given]
    found = {
        (name, i): errors(A, method)
        for i, system in enumerate(systems)
        for name, method in system.items()
    }
    nothing = np.zeros((A.shape[0], 1))
    energy = error(A, nothing, nothing)
    best = energy - min(value for run in found.values() for value in run.values())
    first = {
        (name, i, part): first_below(run, energy - part * best)
        for (name, i), run in found.items()
        for part in share
    }
    least = least_times(
        {
            (name, i, sweeps): partial(systems[i][name], sweeps)
            for (name, i, _), sweeps in first.items()
            if sweeps is not None
        }
    )
    times = {
        name: np.array(
            [
                [least.get((name, i, first[name, i, part]), np.inf) for part in share]
                for i in range(len(given))
            ]
        )
        for name in systems[0]
    }
    mine = np.median(times["odsymnmf"], axis=0)
    for name, measured in times.items():
        cells = [
            "not reached" if np.isinf(took) else f"{took / own:.1f}"
            for took, own in zip(np.median(measured, axis=0), mine, strict=True)
        ]
        reached = np.isfinite(measured[:, -1]).sum()
        yield [name, *cells, f"{reached} of {len(given)}"]


def clusters() -> Iterator[list[str]]:
    A, labels = problems.shuffled(*problems.planted(20_000, 600_000, 20))

    def fit() -> Any:
        f = od.factorize(A, 20, init="spectral", max_iter=10, random_state=0)
        return f.H.argmax(axis=1)

    def spectral() -> Any:
        # Its default solver factorizes the graph, which takes minutes here.
        model = SpectralClustering(
            20, affinity="precomputed", eigen_solver="lobpcg", random_state=0
        )
        return model.fit_predict(sparse.csr_matrix(A))

    fit()
    times = {}
    for name, method in {"odsymnmf": fit, "SpectralClustering": spectral}.items():
        found: list[Any] = []
        times[name] = min(seconds(lambda: found.append(method())) for _ in range(2))  # noqa: B023
        nmi = normalized_mutual_info_score(labels, found[-1])
        yield [name, f"{times[name] / times['odsymnmf']:.1f}", f"{nmi:.4f}"]


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    share = (0.99, 0.999)
    header = ["system", "time to 99 % / ours", "to 99.9 % / ours", "starts that reached it"]
    for name, A, r in cases():
        loss, rng = make_loss("l2", as_similarity(A), np.inf), np.random.default_rng(0)
        kinds = {
            f"one of {RANDOM} random starts, the median": [
                starts.random(loss, r, rng) for _ in range(RANDOM)
            ],
            "one greedy start": [starts.greedy(loss, r)],
            "one spectral start": [starts.spectral(loss, r, rng)],
        }
        for kind, given in kinds.items():
            table(f"All from {kind}: {name}", header, compare(A, r, given, share))
        table(f"Each from its own best start: {name}", header, compare(A, r, [None], share))
    table(
        "Clusters of the sparse graph",
        ["system", "time / ours", "NMI with the planted groups"],
        clusters(),
    )
