"""As many clusters as the data has: what it costs, what it finds, and what others find.

``python -m benchmarks many`` prints the tables; ``python -m benchmarks.many FUNCTION`` one of them.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from benchmarks import many_rounds
from benchmarks.bigclam import ENOUGH, bigclam_sets
from benchmarks.many_problems import (
    among_known,
    best_match_f1,
    known_groups,
    mean_f1,
    overlapping,
    planted,
)
from benchmarks.timing import in_new_process, table
from odsymnmf import factorize
from odsymnmf.engine.many import starts
from odsymnmf.engine.many.find import FRACTION, find, natural_bound
from odsymnmf.engine.many.memberships import Memberships, column_sets
from odsymnmf.engine.many.peers import label_propagation_sets, leiden_sets
from odsymnmf.engine.many.sweep import SparseL2, links

SEED = 7


def cpu(function: Callable[[], Any]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def warm() -> None:
    """Compile everything once."""
    A, groups = planted(600, seed=1)
    stored = links(A)
    find(stored)
    factorize(A, "auto", memberships="sparse")
    bigclam_sets(stored, len(groups))


def swept(A: Any, **options: Any) -> tuple[SparseL2, sparse.csr_array]:
    """Return a fit near its end, items in the order of their clusters, and its A."""
    stored = links(A)
    H = find(stored, after=2, **options)
    order = starts.order_by_strongest(H)
    stored = starts.reordered(stored, order)
    fit = SparseL2(stored, Memberships(H[order]), upper=natural_bound(stored))
    for _ in range(3):
        fit.sweep()
    return fit, sparse.csr_array((stored.data, stored.indices, stored.indptr), shape=A.shape)


def sweep_times(fit: SparseL2, A: Any, repeats: int = 9) -> tuple[float, float]:
    """Return the CPU seconds of a sweep and of ``A @ H``, measured in turn; the least of each."""
    H = fit.H.csr()
    times = [(cpu(fit.sweep), cpu(lambda: A @ H)) for _ in range(repeats)]
    sweeps, products = np.min(times, axis=0)
    return float(sweeps), float(products)


def prices() -> Iterator[tuple[str, str, str]]:
    A, _ = overlapping(100_000, seed=SEED)
    fit, B = swept(A)
    ours, product = sweep_times(fit, B)
    title = f"sweep / scipy's sparse `A @ H`, overlapping, n = 100,000, {fit.H.r:,} clusters"
    yield title, "<= 1.3", f"{ours / product:.2f}"


def slope_in_r() -> Iterator[tuple[str, str, str]]:
    n, times, numbers = 100_000, [], []
    for size in (1000, 400, 150, 50, 14):
        A, sets = planted(n, size=size, seed=SEED)
        fit, B = swept(A, sets=sets, merge=False)
        times.append(sweep_times(fit, B, 5)[0])
        numbers.append(fit.H.r)
    slope = np.polyfit(np.log(numbers), np.log(times), 1)[0]
    shown = ", ".join(f"{r:,}: {t:.3f} s" for r, t in zip(numbers, times, strict=True))
    yield f"sweep at n = 100,000, by r ({shown}): log-log slope", "<= 0.15", f"{slope:.2f}"


def slope_in_n() -> Iterator[tuple[str, str, str]]:
    sizes, times = [20_000, 60_000, 200_000, 1_000_000], []
    for n in sizes:
        A, _ = overlapping(n, seed=SEED)
        stored = links(A)
        del A
        times.append(cpu(lambda: find(stored)))  # noqa: B023
    slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    shown = ", ".join(f"{n:,}: {t:.1f} s" for n, t in zip(sizes, times, strict=True))
    yield f"start to sets, by n ({shown}): log-log slope", "1.0 +- 0.15", f"{slope:.2f}"


MILLION = """
import resource, sys, time
from benchmarks.many import FRACTION, column_sets, mean_f1, overlapping
from odsymnmf import factorize
n = int(sys.argv[1])
factorize(overlapping(1000, seed=1)[0], "auto", memberships="sparse")  # compile
A, known = overlapping(n, seed=11)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
started = time.process_time()
f = factorize(A, "auto", memberships="sparse")
found = column_sets(f.H, FRACTION, 3)
seconds = time.process_time() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(A.nnz, len(known), len(found), f"{seconds:.1f}", f"{before:.2f}", f"{peak:.2f}",
      f"{mean_f1(n, found, known):.3f}", f.n_iter)
"""


def million(n: int = 1_000_000) -> Iterator[tuple[str, str, str]]:
    stored, known, found, seconds, before, peak, f1, sweeps = in_new_process(
        MILLION, str(n)
    ).split()
    title = f"overlapping, n = {n:,}, {int(stored):,} stored entries, {known} groups, start to sets"
    yield f"{title}: CPU seconds", "<= 90", seconds
    yield "its peak memory (the making of the graph included)", "<= 2 GB", f"{peak} GB ({before})"
    yield f"its mean best-match F1 ({found} clusters found)", ">= 0.92", f1
    yield "its sweeps, after those of the start", "", sweeps


def leiden(A: Any, resolution: float | None) -> list[Any]:
    return [s for s in leiden_sets(links(A), resolution) if len(s) >= 3]


class SmallGain:
    """A callback that ends a fit when two sweeps gain less than 0.01 %, as BigClam's passes do."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def __call__(self, sweep: Any) -> bool:
        if sweep.rows is None:
            self.values.append(sweep.objective)
        return len(self.values) > 2 and self.values[-3] < (1 + ENOUGH) * self.values[-1]


def beside_bigclam(
    n: int = 10_000, repeats: int = 2, iterations: int = 1
) -> Iterator[tuple[str, ...]]:
    """CPU seconds from A to sets, by turns, the least of each; BigClam is told the number.

    cdlib's goes on for 50 iterations by default, which takes a quarter of an hour.
    """
    A, known = overlapping(n, seed=SEED)
    stored, r = links(A), len(known)
    cases: dict[str, Callable[[], Any]] = {
        'ours, `factorize(A, "auto")`': lambda: column_sets(
            factorize(A, "auto", memberships="sparse").H, FRACTION, 3
        ),
        "ours, ended by BigClam's rule": lambda: column_sets(
            factorize(A, "auto", memberships="sparse", callback=SmallGain()).H, FRACTION, 3
        ),
        "BigClam (our own, compiled)": lambda: bigclam_sets(stored, r),
    }
    found = [method() for method in cases.values()]
    times = [[cpu(method) for method in cases.values()] for _ in range(repeats)]
    least = np.min(times, axis=0)

    def row(name: str, seconds: float, found: list[Any]) -> tuple[str, ...]:
        sets = [s for s in found if len(s) >= 3]
        f1 = f"{mean_f1(n, sets, known):.3f}" if sets else ""
        return name, f"{seconds:.2f}", f"{seconds / least[0]:.1f}", f"{len(sets)}/{r}", f1

    for name, seconds, sets in zip(cases, least, found, strict=True):
        yield row(name, seconds, sets)
    with suppress(ImportError):
        started = time.process_time()
        sets = cdlib_bigclam(A, r, iterations)
        seconds = time.process_time() - started
        yield row(f"BigClam of cdlib, {iterations} of its 50 iterations", seconds, sets)


def cdlib_bigclam(A: Any, r: int, iterations: int) -> list[Any]:
    import networkx
    from cdlib import algorithms

    graph = networkx.from_scipy_sparse_array(A)
    found = algorithms.big_clam(
        graph, dimensions=r, iterations=iterations, affiliation_method="threshold"
    )
    return [np.array(items) for items in found.communities]


def peers(n: int, mixing: float = 0.2) -> Iterator[tuple[str, ...]]:
    A, known = overlapping(n, mixing=mixing, seed=SEED)
    stored = links(A)
    cases: dict[str, Callable[[], Any]] = {
        "ours, ten sweeps": lambda: column_sets(find(stored), FRACTION, 3),
        'ours, `factorize(A, "auto")`': lambda: column_sets(
            factorize(A, "auto", memberships="sparse").H, FRACTION, 3
        ),
        "our start alone": lambda: starts.ego_networks(stored),
        "Leiden, modularity": lambda: leiden(A, None),
    }
    for resolution in (0.01, 0.03, 0.1, 0.2, 0.3):
        cases[f"Leiden, constant Potts, {resolution}"] = lambda g=resolution: leiden(A, g)
    cases["label propagation"] = lambda: label_propagation_sets(stored)
    for name, method in cases.items():
        started = time.process_time()
        found = method()
        seconds = time.process_time() - started
        sets = [s for s in found if len(s) >= 3]
        f1 = mean_f1(n, sets, known)
        yield (
            f"{n:,}, mixing {mixing}",
            name,
            f"{seconds:.2f}",
            f"{len(sets)}/{len(known)}",
            f"{f1:.3f}",
        )


def real(data: Path | None) -> Iterator[tuple[str, ...]]:
    for name in ("amazon", "dblp"):
        problem = known_groups(data, name)
        if problem is None:
            continue
        A, known = problem
        n, stored = A.shape[0], links(A)
        mean = np.mean([len(s) for s in known])
        stay = np.mean([A[s][:, s].sum() / max(A[s].sum(), 1) for s in known])
        title = f"{name} ({n:,} items, {len(known)} groups of {mean:.1f}, {stay:.0%} of links stay)"
        H = find(stored)
        start = starts.ego_networks(stored)
        free = find(stored, start, upper=np.inf, merge=False)
        cases = {
            "our start": start,
            "ours": column_sets(H, FRACTION, 3),
            "ours, without the bound on H": column_sets(free, FRACTION, 3),
            "from the known groups themselves": column_sets(
                find(stored, known, merge=False), FRACTION, 3
            ),
            "Leiden, modularity": leiden(A, None),
            "BigClam (our own, compiled)": bigclam_sets(stored, len(start)),
        }
        for method, found in cases.items():
            sets = [s for s in found if len(s) >= 3]
            inside = among_known(n, sets, known)
            cut, left = best_match_f1(n, inside, known), np.mean([len(s) for s in inside])
            whole = best_match_f1(n, sets, known)[0]
            size = np.mean([len(s) for s in sets])
            yield (
                title,
                method, str(len(sets)), f"{size:.1f}", f"{left:.1f}",
                f"{whole:.3f}", f"{np.mean(cut):.3f}",
            )  # fmt: skip


def mixing() -> Iterator[tuple[str, ...]]:
    """Where half of the links, and more, leave the groups."""
    families = [("planted, 40 a group", lambda s: planted(20_000, inside=1 - s, seed=SEED)),
                ("overlapping", lambda s: overlapping(20_000, mixing=s, seed=SEED))]  # fmt: skip
    for name, make in families:
        for share in (0.25, 0.4, 0.5, 0.6, 0.7):
            A, known = make(share)
            n, stored = A.shape[0], links(A)
            start = starts.ego_networks(stored)
            H = find(stored, start, merge=False)
            merged = column_sets(find(stored, start), FRACTION, 3)
            f1 = [mean_f1(n, s, known) for s in (start, column_sets(H, FRACTION, 3), merged)]
            best = max(mean_f1(n, leiden(A, g), known) for g in (0.01, 0.03, 0.1, 0.2, 0.3))
            counts = f"{len(start)} -> {len(merged)} / {len(known)}"
            yield name, f"{share}", counts, *(f"{v:.3f}" for v in f1), f"{best:.3f}"


def tried() -> Iterator[tuple[str, ...]]:
    """What else was tried, on two families of 20,000 items."""
    problems = [planted(20_000, inside=0.5, seed=SEED), overlapping(20_000, mixing=0.6, seed=SEED)]
    same = {"KEEP": starts.KEEP}
    no_filter = {"_by_chance": lambda A: np.full(len(A.indices), -1.0)}
    cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "as it is": (same, {}),
        "ego networks of all links": (no_filter, {}),
        "members down to 0.1 of the largest": ({"KEEP": 0.1}, {}),
        "members down to 0.3 of the largest": ({"KEEP": 0.3}, {}),
        "no bound on H": (same, {"upper": np.inf}),
        "no mergers": (same, {"merge": False}),
        "neither": (same, {"upper": np.inf, "merge": False}),
        "price 0.03": (same, {"share": 0.03}),
        "price 0.2": (same, {"share": 0.2}),
        "l1": (same, {"loss": "l1"}),
    }
    for name, (changes, options) in cases.items():
        cells = []
        for A, known in problems:
            stored = links(A)
            with mock.patch.multiple(starts, **changes):
                start = starts.ego_networks(stored)
            found = column_sets(find(stored, start, **options), FRACTION, 3)
            cells += [f"{mean_f1(A.shape[0], sets, known):.3f}" for sets in (start, found)]
        yield name, *cells


def main(data: Path | None, only: str | None = None) -> None:
    warm()
    goals = ["case", "goal", "measured"]
    shown: dict[str, Callable[[], None]] = {
        "prices": lambda: table("The price of many clusters", goals, prices()),
        "by_r": lambda: table("By the number of clusters", goals, slope_in_r()),
        "by_n": lambda: table("By the number of items", goals, slope_in_n()),
        "million": lambda: table("A million items", goals, million()),
        "peers": lambda: table(
            "Beside other methods, overlapping family",
            ["items", "method", "CPU seconds", "clusters/groups", "F1"],
            (row for n in (10_000, 100_000) for row in peers(n)),
        ),
        "bigclam": lambda: table(
            "Beside BigClam, overlapping family, 10,000 items",
            ["method", "CPU seconds", "times ours", "clusters/groups", "F1"],
            beside_bigclam(iterations=50 if only == "bigclam" else 1),
        ),
        "threads": lambda: table(
            "Sweeps in rounds",
            ["items", "sweeps", "seconds", "times as fast", "rounds split"],
            many_rounds.sweeps(),
        ),
        "rounds": lambda: table(
            "Fits in rounds",
            ["items", "sweeps", "until converged", "clusters", "objective with its price", "F1"],
            many_rounds.fits(),
        ),
        "mixing": lambda: table(
            "Where links leave the groups",
            ["family", "share that leaves", "start -> end / groups", "F1 of the start",
             "after sweeps", "with mergers", "Leiden, best of 5"],
            mixing(),
        ),
        "tried": lambda: table(
            "What else was tried",
            ["variant", "planted, half leave: F1 of the start", "at the end",
             "overlapping, 60 % leave: F1 of the start", "at the end"],
            tried(),
        ),
        "real": lambda: table(
            "Known groups",
            ["graph", "method", "clusters", "mean size", "cut", "F1 of the known groups",
             "F1 both ways, items in known groups only"],
            real(data),
        ),
    }  # fmt: skip
    for name, show in shown.items():
        if only in (None, name):
            show()


if __name__ == "__main__":
    import os

    folder = os.environ.get("ODSYMNMF_DATA")
    main(Path(folder) if folder else None, sys.argv[1] if len(sys.argv) > 1 else None)
