"""What a sweep costs, beside the one product that any method needs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import problems
from benchmarks.compiled_paper import algorithm_1_and_3
from benchmarks.timing import minima, table
from odsymnmf import init
from odsymnmf.losses import L1, L2
from odsymnmf.similarity import as_similarity, cosine

FEW = 6
ROUNDS = 8


def warmed(loss: Any, r: int, sweeps: int = FEW) -> Any:
    """Return H a few sweeps after a random start."""
    H = init.random(loss.A, r, np.random.default_rng(1))
    for _ in range(sweeps):
        loss.sweep(H)
    return H


def ratio(loss: Any, H: Any, product: Any) -> str:
    product_time, sweep_time = minima(product, lambda: loss.sweep(H))
    return f"{sweep_time / product_time:.2f}"


def l2_dense() -> Iterator[tuple[str, str, str]]:
    A = problems.dense(4000, 20)
    loss = L2(as_similarity(A), np.inf)
    H = warmed(loss, 20)
    yield "l2 dense, n = 4000, r = 20", "<= 1.6 x `A @ H`", ratio(loss, H, lambda: A @ H)


def l2_sparse() -> Iterator[tuple[str, str, str]]:
    """All three in turn, round after round: the machine is slow for many seconds on end, and a
    short product slips through a gap that is too short for a sweep."""
    cases = []
    for n, stored, r, target in [
        (50_000, 10**6, 50, 2.2),
        (50_000, 10**6, 10, 3.2),
        (20_000, 2 * 10**6, 20, 1.5),
    ]:
        A, _ = problems.shuffled(*problems.planted(n, stored, 50))
        loss = L2(as_similarity(A), np.inf)
        name = f"l2 sparse, n = {n:,}, {A.nnz:,} stored, r = {r}"
        cases.append((name, target, A, loss, warmed(loss, r)))
    rounds = [
        [
            minima(lambda: A @ H, lambda: loss.sweep(H), repeats=500 // H.shape[1])  # noqa: B023
            for _, _, A, loss, H in cases
        ]
        for _ in range(ROUNDS)
    ]
    for (name, target, *_), times in zip(cases, zip(*rounds, strict=True), strict=True):
        product_time, sweep_time = np.min(times, axis=0)
        yield name, f"<= {target} x `A @ H`", f"{sweep_time / product_time:.2f}"


def l1_sparse() -> Iterator[tuple[str, str, str]]:
    A, _ = problems.shuffled(*problems.planted(20_000, 1_300_000, 200))
    similarity = as_similarity(A)
    H = warmed(L2(similarity, np.inf), 200)
    loss = L1(similarity, np.inf)
    for _ in range(FEW):
        loss.sweep(H)
    name = f"l1 sparse, n = 20,000, {A.nnz:,} stored, r = 200, from an l2 start"
    yield name, "<= 2 x `A @ H`", ratio(loss, H, lambda: A @ H)


def l1_dense() -> Iterator[tuple[str, str, str]]:
    A = problems.dense(2000, 10)
    loss = L1(as_similarity(A), np.inf)
    H = warmed(loss, 10)
    paper = H.copy()
    R = A - paper @ paper.T
    algorithm_1_and_3(R.copy(), paper.copy(), 1)
    theirs, ours = minima(lambda: algorithm_1_and_3(R, paper, 10), lambda: loss.sweep(H), repeats=3)
    yield (
        "l1 dense, n = 2000, r = 10, beside compiled Algorithms 1 + 3 with sorting",
        ">= 8 x faster",
        f"{theirs / ours:.1f} x faster",
    )


def l2_gram(data: Path | None) -> Iterator[tuple[str, str, str]]:
    for name, r, target in [("wordnet_gloss", 45, 4), ("ohscal", 10, 2.2)]:
        X = problems.documents(data, name)
        title = f"l2 Gram, {name}, r = {r}"
        if X is None:
            yield title, f"<= {target} x `X @ (X.T @ H)`", "needs --data"
            continue
        A = cosine(X)
        loss = L2(A, np.inf)
        H = warmed(loss, r)
        yield (
            title,
            f"<= {target} x `X @ (X.T @ H)`",
            ratio(loss, H, lambda A=A, H=H: A.X @ (A.X.T @ H)),
        )


def greedy() -> Iterator[tuple[str, str, str]]:
    A, _ = problems.shuffled(*problems.planted(50_000, 10**6, 50))
    similarity = as_similarity(A)
    loss = L2(similarity, np.inf)
    H = warmed(loss, 20)
    for name, l1 in [("l2", False), ("l1", True)]:
        start = lambda l1=l1: init.greedy(similarity, 20, l1=l1, upper=np.inf)  # noqa: E731
        start()
        sweep_time, start_time = minima(lambda: loss.sweep(H), start, repeats=5)
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
            l2, l1 = L2(similarity, np.inf), L1(similarity, np.inf)
            H = warmed(l2, 20)
            K = H.copy()
            l1.sweep(K)
            measured = minima(lambda: A @ H, lambda: l2.sweep(H), lambda: l1.sweep(K), repeats=7)  # noqa: B023
            for name, value in zip(times, measured, strict=True):
                times[name].append(value)
        for name, found in times.items():
            slope = np.polyfit(np.log(stored), np.log(found), 1)[0]
            title = f"growth of {name}, 0.25 to 8 million stored entries, {family}, r = 20"
            yield title, "log-log slope 1.0 +- 0.15", f"{slope:.2f}"


def main(data: Path | None) -> None:
    def rows() -> Iterator[tuple[str, str, str]]:
        yield from l2_dense()
        yield from l2_sparse()
        yield from l1_sparse()
        yield from l1_dense()
        yield from l2_gram(data)
        yield from greedy()
        yield from growth()

    table("The price of a sweep", ["case", "goal", "measured"], rows())
