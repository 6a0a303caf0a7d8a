"""Column restarts: rank one against brute force, and a planted graph with many groups."""

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import in_new_process, table
from odsymnmf import factorize

GRAPHS, STARTS = 2000, 100

PLANTED = """
import re, time
import odsymnmf as od
from odsymnmf.datasets import planted_partition
from odsymnmf.memberships import labels
from odsymnmf.metrics import scores

A, groups = planted_partition([50] * 400, p_in=0.8, degree_out=5, random_state=0)
od.factorize(A[:200][:, :200], 3, loss="l1")
times = []
for rounds in (0, 10):
    begun = time.perf_counter()
    found = od.factorize(A, 400, loss="l1", restarts=rounds)
    times.append(time.perf_counter() - begun)
    nmi = scores(labels(found.H), groups)["nmi"]
    print(f"{nmi:.4f}", end=" ")
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1e6
print(f"{times[1] / times[0] - 1:.2f} {peak:.2f}")
"""


def rank_one_optimum(A: Any) -> tuple[float, Any]:
    """Return the least sum_{i != j} |A_ij - h_i h_j| over binary h, for binary A, and an h."""
    h = (np.arange(2 ** len(A))[:, None] >> np.arange(len(A))) & 1
    M = 1 - 2 * A
    np.fill_diagonal(M, 0)
    values = A.sum() + np.einsum("pi,pi->p", h @ M, h)
    return float(values.min()), h[values.argmin()]


def best_of(A: Any, optimum: float, seed: int) -> tuple[float, int]:
    """Return the least objective, greedy first, then random starts until one is optimal."""
    best = np.inf
    for start in range(STARTS):
        init = "random" if start else "greedy"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f = factorize(A, 1, loss="l1", init=init, upper=1.0, random_state=seed + start)
        best = min(best, f.objective)
        if best <= optimum + 1e-9:
            break
    return best, start


def brute_force() -> Iterator[tuple[str, str, str]]:
    """Greedy and up to 99 random starts beside the optimum, and what the failures share."""
    rng = np.random.default_rng(0)
    first = below = 0
    missed: Counter[str] = Counter()
    for graph in range(GRAPHS):
        n, density = int(rng.integers(6, 13)), rng.uniform(0.2, 0.8)
        upper = np.triu(rng.random((n, n)) < density, 1).astype(float)
        A = upper + upper.T
        optimum, h = rank_one_optimum(A)
        best, start = best_of(A, optimum, STARTS * graph)
        first += start == 0
        below += best < optimum - 1e-9
        if best > optimum + 1e-9:
            links, pairs = h @ A @ h / 2, (best - optimum) / 2
            missed[f"{h.sum()} items, {links:g} links, worse by {pairs:g} pair"] += 1
    failures = "; ".join(f"{count} x {what}" for what, count in sorted(missed.items()))
    title = f"rank one, binary, {GRAPHS} graphs, n = 6 to 12"
    yield f"{title}: below the optimum", "0", str(below)
    yield f"{title}: optimal, greedy start", "-", f"{first / GRAPHS:.1%}"
    share = 1 - missed.total() / GRAPHS
    yield f"{title}: optimal, {STARTS} starts", ">= 98 %", f"{share:.1%}"
    yield f"{title}: the best groups that were missed", "-", failures


def planted() -> Iterator[tuple[str, str, str]]:
    without, nmi, ratio, peak = in_new_process(PLANTED).split()
    title = "planted graph, n = 20,000 in 400 groups of 50, r = 400, l1"
    yield f"{title}: NMI without restarts", "-", without
    yield f"{title}: NMI with restarts", ">= 0.99", nmi
    yield f"{title}: time of restarts / time of the fit", "<= 5", ratio
    yield f"{title}: peak memory of the process", "< 1 GB", f"{peak} GB"


def main(data: Path | None) -> None:
    def rows() -> Iterator[tuple[str, str, str]]:
        yield from brute_force()
        yield from planted()

    table("Column restarts", ["what", "goal", "measured"], rows())
