"""What a sweep costs, beside the one product that any method needs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import problems
from benchmarks.compiled_paper import algorithm_1_and_3
from benchmarks.timing import minima, seconds, table
from odsymnmf.blas import one_thread
from odsymnmf.engine import starts
from odsymnmf.engine.losses import make_loss
from odsymnmf.similarity import as_similarity, cosine

# Sweeps after a random start.
FEW = 6
# How often every case gets its turn, and for how many seconds at least.
ROUNDS, ROUND = 10, 0.5


class Fit:
    """H under way: ``sweep`` updates every entry once."""

    def __init__(self, loss: str, similarity: Any, H: Any):
        self.loss, self.H = make_loss(loss, similarity, np.inf), H
        self.items = np.arange(len(H))
        self.sums = self.loss.sums(H)
        self.sweeps = 0

    def sweep(self) -> None:
        # As a run does: what sweeps keep up to date is computed anew now and then.
        if self.sweeps % self.loss.refresh == 0:
            self.loss.tidy(self.H)
            self.sums = self.loss.sums(self.H)
        self.loss.sweep(self.H, self.sums, self.items)
        self.sweeps += 1


def warmed(loss: str, similarity: Any, r: int, sweeps: int = FEW) -> Fit:
    """Return a fit a few sweeps after a random start."""
    H = starts.random(make_loss(loss, similarity, np.inf), r, np.random.default_rng(1))
    fit = Fit(loss, similarity, H)
    for _ in range(sweeps):
        fit.sweep()
    return fit


class Case(NamedTuple):
    """A sweep and the product that it is measured by."""

    name: str
    goal: str
    product: Callable[[], Any]
    sweep: Callable[[], Any]


def prices(cases: list[Case]) -> Iterator[tuple[str, str, str]]:
    """Measure all cases in turn, round after round.

    The machine is slow for many seconds on end, and a short product slips through gaps that are
    too short for a sweep: each case needs several chances to meet a quiet second.
    """
    repeats = [int(ROUND / (seconds(c.product) + seconds(c.sweep))) + 1 for c in cases]
    rounds = [
        [minima(c.product, c.sweep, repeats=k) for c, k in zip(cases, repeats, strict=True)]
        for _ in range(ROUNDS)
    ]
    for case, times in zip(cases, zip(*rounds, strict=True), strict=True):
        product_time, sweep_time = np.min(times, axis=0)
        yield case.name, case.goal, f"{sweep_time / product_time:.2f}"


def l2_dense() -> Case:
    A = problems.dense(4000, 20)
    fit = warmed("l2", as_similarity(A), 20)
    goal = "<= 1.6 x `A @ H`"
    return Case("l2 dense, n = 4000, r = 20", goal, lambda: A @ fit.H, fit.sweep)


def l2_sparse(n: int, stored: int, r: int, goal: str) -> Case:
    A, _ = problems.shuffled(*problems.planted(n, stored, 50))
    fit = warmed("l2", as_similarity(A), r)
    name = f"l2 sparse, n = {n:,}, {A.nnz:,} stored, r = {r}"
    return Case(name, f"{goal} x `A @ H`", lambda: A @ fit.H, fit.sweep)


def l1_sparse() -> Case:
    A, _ = problems.shuffled(*problems.planted(20_000, 1_300_000, 200))
    similarity = as_similarity(A)
    fit = Fit("l1", similarity, warmed("l2", similarity, 200).H)
    for _ in range(FEW):
        fit.sweep()
    name = f"l1 sparse, n = 20,000, {A.nnz:,} stored, r = 200, from an l2 start"
    return Case(name, "<= 2 x `A @ H`", lambda: A @ fit.H, fit.sweep)


def l2_gram(X: Any, name: str, r: int, goal: str) -> Case:
    A = cosine(X)
    fit = warmed("l2", A, r)
    return Case(
        f"l2 Gram, {name}, r = {r}",
        f"{goal} x `X @ (X.T @ H)`",
        lambda: A.X @ (A.X.T @ fit.H),
        fit.sweep,
    )


def cases(data: Path | None) -> Iterator[Case]:
    yield l2_dense()
    yield l2_sparse(50_000, 10**6, 50, "<= 2.2")
    yield l2_sparse(50_000, 10**6, 10, "<= 3.2")
    yield l2_sparse(20_000, 2 * 10**6, 20, "<= 1.5")
    yield l2_sparse(500_000, 10**7, 10, "(none set)")
    yield l1_sparse()
    for name, r, goal in [("wordnet_gloss", 45, "<= 4"), ("ohscal", 10, "<= 2.2")]:
        X = problems.documents(data, name)
        if X is not None:
            yield l2_gram(X, name, r, goal)


def l1_dense() -> Iterator[tuple[str, str, str]]:
    A = problems.dense(2000, 10)
    fit = warmed("l1", as_similarity(A), 10)
    paper = fit.H.copy()
    R = A - paper @ paper.T
    algorithm_1_and_3(R.copy(), paper.copy(), 1)
    theirs, ours = minima(lambda: algorithm_1_and_3(R, paper, 10), fit.sweep, repeats=3)
    yield (
        "l1 dense, n = 2000, r = 10, beside compiled Algorithms 1 + 3 with sorting",
        ">= 8 x faster",
        f"{theirs / ours:.1f} x faster",
    )


def dense_start() -> Iterator[tuple[str, str, str]]:
    """The start that a dense kernel gets by default."""
    A = as_similarity(problems.kernel(5000, 12))
    fit = warmed("l2", A, 12)
    loss = make_loss("l2", A, np.inf)
    start = lambda: starts.spectral(loss, 12, np.random.default_rng(0))  # noqa: E731
    start()
    with one_thread():  # as in a fit, where threads of our own share sweeps and starts alike
        sweep_time, start_time = minima(fit.sweep, start, repeats=5)
    title = "spectral start, l2, dense kernel, n = 5000, r = 12"
    yield title, "<= 10 l2 sweeps", f"{start_time / sweep_time:.1f} sweeps"


def greedy() -> Iterator[tuple[str, str, str]]:
    A, _ = problems.shuffled(*problems.planted(50_000, 10**6, 50))
    similarity = as_similarity(A)
    fit = warmed("l2", similarity, 20)
    for name in ("l2", "l1"):
        loss = make_loss(name, similarity, np.inf)
        start = lambda loss=loss: starts.greedy(loss, 20)  # noqa: E731
        start()
        sweep_time, start_time = minima(fit.sweep, start, repeats=5)
        title = f"greedy start, {name}, n = 50,000, {A.nnz:,} stored, r = 20"
        yield title, "<= 40 l2 sweeps", f"{start_time / sweep_time:.1f} sweeps"


def growth() -> Iterator[tuple[str, str, str]]:
    """By more items of 20 links each; by more items and more links, as most real graphs grow
    (entries ~ n^1.33; Leskovec, Kleinberg and Faloutsos, 2005, find powers of 1.1 to 1.7); and
    with a fixed share of all pairs (entries ~ n^2).

    Items stand in the order of their groups: shuffled ones add the cache's curve, to all alike.
    """
    stored = [2**k * 250_000 for k in range(6)]
    steps = [2.0**k for k in range(6)]
    families = {
        "entries ~ n": [(int(12_500 * s), int(250 * s)) for s in steps],
        "entries ~ n^1.33": [(int(12_500 * s**0.75), int(250 * s**0.75)) for s in steps],
        "entries ~ n^2": [(int(5_000 * s**0.5), 20) for s in steps],
    }
    for family, sizes in families.items():
        times: dict[str, list[float]] = {"`A @ H`": [], "the l2 sweep": [], "the l1 sweep": []}
        for entries, (n, groups) in zip(stored, sizes, strict=True):
            A, _ = problems.planted(n, entries, groups)
            similarity = as_similarity(A)
            l2 = warmed("l2", similarity, 20)
            l1 = Fit("l1", similarity, l2.H.copy())
            l1.sweep()
            measured = minima(lambda: A @ l2.H, l2.sweep, l1.sweep, repeats=7)  # noqa: B023
            for name, value in zip(times, measured, strict=True):
                times[name].append(value)
        for name, found in times.items():
            slope = np.polyfit(np.log(stored), np.log(found), 1)[0]
            title = f"growth of {name}, 0.25 to 8 million stored entries, {family}, r = 20"
            yield title, "log-log slope 1.0 +- 0.15", f"{slope:.2f}"


def main(data: Path | None) -> None:
    def rows() -> Iterator[tuple[str, str, str]]:
        yield from prices(list(cases(data)))
        yield from l1_dense()
        yield from greedy()
        yield from dense_start()
        yield from growth()

    table("The cost of a sweep", ["case", "goal", "measured"], rows())
