"""Sweeps of sparse memberships in rounds: what they cost beside row by row, and what they find."""

import time
from collections.abc import Iterator

from benchmarks.many_problems import mean_f1, overlapping
from odsymnmf import factorize
from odsymnmf.engine.many import starts
from odsymnmf.engine.many.find import FRACTION, find, natural_bound
from odsymnmf.engine.many.memberships import Memberships, column_sets
from odsymnmf.engine.many.rounds import SparseRounds
from odsymnmf.engine.many.sweep import SparseL2, links
from odsymnmf.engine.team import Team


def sweeps(n: int = 200_000, seed: int = 7, repeats: int = 7) -> Iterator[tuple[str, ...]]:
    """Seconds of a sweep near the end of a fit, the least of some."""
    A, _ = overlapping(n, seed=seed)
    stored = links(A)
    H = find(stored, after=2)
    order = starts.order_by_strongest(H)
    stored, H = starts.reordered(stored, order), H[order]
    first = None
    for name, jobs in (("row by row", None), ("rounds, 1 thread", 1), ("rounds, 2 threads", 2)):
        with Team(jobs or 1) as team:
            rounds = None if jobs is None else SparseRounds(team)
            fit = SparseL2(stored, Memberships(H), upper=natural_bound(stored), rounds=rounds)
            times = []
            for _ in range(3 + repeats):
                started = time.perf_counter()
                fit.sweep()
                times.append(time.perf_counter() - started)
        seconds = min(times[3:])
        first = first or seconds
        refused = "" if rounds is None else str(rounds.refused)
        yield f"{n:,}", name, f"{seconds:.3f}", f"{first / seconds:.2f}", refused


def fits(n: int = 20_000, seed: int = 7) -> Iterator[tuple[str, ...]]:
    """What either ends with."""
    for mixing in (0.2, 0.6):
        A, known = overlapping(n, mixing=mixing, seed=seed)
        for name, jobs in (("row by row", None), ("rounds", 1)):
            f = factorize(A, "auto", memberships="sparse", n_jobs=jobs)
            f1 = mean_f1(n, column_sets(f.H, FRACTION, 3), known)
            row = (str(f.n_iter), str(f.H.shape[1]), f"{f.history[-1]:.0f}", f"{f1:.3f}")
            yield f"{n:,}, mixing {mixing}", name, *row
