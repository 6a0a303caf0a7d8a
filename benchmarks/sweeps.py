"""Time of a sweep relative to the product with A that every such method needs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import problems
from benchmarks.timing import minima, seconds, table
from odsymnmf.init import arrays
from odsymnmf.init import greedy as greedy_init
from odsymnmf.similarity import as_similarity, cosine
from odsymnmf.solvers.losses import make_solver

# Every case is measured in this many rounds, each for at least this many seconds: a shared machine
# may be slow for several seconds.
ROUNDS, ROUND_SECONDS = 10, 0.5


class Fit:
    """A solver with its H; ``sweep`` updates every entry of H once."""

    def __init__(self, loss: str, A: Any, H: Any, rounds: Callable[[Any], Any] | None = None):
        self.solver, self.H = make_solver(loss, A, np.inf), H
        self.solver.H = H
        self.sweep = rounds(self.solver) if rounds else self.solver.sweep


def warm_fit(loss: str, A: Any, r: int, n_sweeps: int = 6) -> Fit:
    """Return a fit a few sweeps after a random initialization, of l2 first if the loss is l1."""
    H = arrays.random(make_solver("l2", A, np.inf), r, np.random.default_rng(1))
    for name in dict.fromkeys(["l2", loss]):
        fit = Fit(name, A, H)
        for _ in range(n_sweeps):
            fit.sweep()
    return fit


class Case(NamedTuple):
    """A sweep and the product that its time is relative to."""

    name: str
    goal: str
    product: Callable[[], Any]
    sweep: Callable[[], Any]


def ratios(cases: list[Case]) -> Iterator[tuple[str, str, str]]:
    """Measure all cases in turn, round after round."""
    repeats = [int(ROUND_SECONDS / (seconds(c.product) + seconds(c.sweep))) + 1 for c in cases]
    rounds = [
        [minima(c.product, c.sweep, repeats=k) for c, k in zip(cases, repeats, strict=True)]
        for _ in range(ROUNDS)
    ]
    for case, times in zip(cases, zip(*rounds, strict=True), strict=True):
        product_time, sweep_time = np.min(times, axis=0)
        yield case.name, case.goal, f"{sweep_time / product_time:.2f}"


def sparse_case(loss: str, n: int, stored: int, r: int, goal: str, groups: int = 50) -> Case:
    A, _ = problems.shuffled(*problems.planted(n, stored, groups))
    fit = warm_fit(loss, as_similarity(A), r)
    name = f"{loss} sparse, n = {n:,}, {A.nnz:,} stored, r = {r}"
    return Case(name, f"{goal} x `A @ H`", lambda: A @ fit.H, fit.sweep)


def cases(data: Path | None) -> Iterator[Case]:
    A = problems.dense(4000, 20)
    fit = warm_fit("l2", as_similarity(A), 20)
    yield Case("l2 dense, n = 4000, r = 20", "<= 1.6 x `A @ H`", lambda: A @ fit.H, fit.sweep)
    yield sparse_case("l2", 50_000, 10**6, 50, "<= 2.2")
    yield sparse_case("l2", 50_000, 10**6, 10, "<= 3.2")
    yield sparse_case("l2", 20_000, 2 * 10**6, 20, "<= 1.5")
    yield sparse_case("l2", 500_000, 10**7, 10, "(none)")
    yield sparse_case("l1", 20_000, 1_300_000, 200, "<= 2", groups=200)
    for name, r, goal in [("wordnet_gloss", 45, "<= 4"), ("ohscal", 10, "<= 2.2")]:
        documents = problems.load(data, "documents", name)
        if documents is not None:
            yield gram_case(documents[0], name, r, goal)


def gram_case(X: Any, name: str, r: int, goal: str) -> Case:
    A = cosine(X)
    fit = warm_fit("l2", A, r)
    product = "`X @ (X.T @ H)`"
    return Case(
        f"l2 Gram, {name}, r = {r}", f"{goal} x {product}", lambda: A.X @ (A.X.T @ fit.H), fit.sweep
    )


def greedy() -> Iterator[tuple[str, str, str]]:
    A, _ = problems.shuffled(*problems.planted(50_000, 10**6, 50))
    similarity = as_similarity(A)
    fit = warm_fit("l2", similarity, 20)
    for name in ("l2", "l1"):
        loss = make_solver(name, similarity, np.inf)
        init = lambda loss=loss: greedy_init.greedy(loss, 20)  # noqa: E731
        init()
        sweep_time, init_time = minima(fit.sweep, init, repeats=5)
        title = f"greedy initialization, {name}, n = 50,000, {A.nnz:,} stored, r = 20"
        yield title, "<= 40 l2 sweeps", f"{init_time / sweep_time:.1f} sweeps"


def growth() -> Iterator[tuple[str, str, str]]:
    """Fit log-log slopes for graphs with 20 links per item, items in the order of their groups."""
    sizes = [12_500 * 2**k for k in range(6)]
    times: dict[str, list[float]] = {"`A @ H`": [], "the l2 sweep": [], "the l1 sweep": []}
    for n in sizes:
        A, _ = problems.planted(n, 20 * n, n // 50)
        similarity = as_similarity(A)
        l2, l1 = warm_fit("l2", similarity, 20), warm_fit("l1", similarity, 20)
        measured = minima(lambda: A @ l2.H, l2.sweep, l1.sweep, repeats=7)  # noqa: B023
        for name, value in zip(times, measured, strict=True):
            times[name].append(value)
    for name, values in times.items():
        slope = np.polyfit(np.log(sizes), np.log(values), 1)[0]
        title = f"growth of {name}, 0.25 to 8 million stored entries, 20 per item, r = 20"
        yield title, "log-log slope 1.0 +- 0.15", f"{slope:.2f}"


def main(data: Path | None) -> None:
    header = ["case", "goal", "measured"]
    table("Time of a sweep", header, ratios(list(cases(data))))
    table("Time of the greedy initialization", header, greedy())
    table("Growth of the time of a sweep", header, growth())
