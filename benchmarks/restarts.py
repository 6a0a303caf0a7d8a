"""Column restarts: rank one against brute force, and a planted graph with many groups."""

import warnings
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


def rank_one_optimum(A: Any) -> float:
    """Return the least sum_{i != j} |A_ij - h_i h_j| over binary h, for binary A."""
    h = (np.arange(2 ** len(A))[:, None] >> np.arange(len(A))) & 1
    M = 1 - 2 * A
    np.fill_diagonal(M, 0)
    return float(A.sum() + np.einsum("pi,pi->p", h @ M, h).min())


def brute_force() -> Iterator[tuple[str, str, str]]:
    """Greedy first, then random starts, each until the optimum is met; all with restarts."""
    rng = np.random.default_rng(0)
    first = optimal = below = 0
    for graph in range(GRAPHS):
        n, density = int(rng.integers(6, 13)), rng.uniform(0.2, 0.8)
        upper = np.triu(rng.random((n, n)) < density, 1).astype(float)
        A = upper + upper.T
        optimum = rank_one_optimum(A)
        for start in range(STARTS):
            init = "random" if start else "greedy"
            seed = STARTS * graph + start
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                f = factorize(A, 1, loss="l1", init=init, upper=1.0, random_state=seed).objective
            below += f < optimum - 1e-9
            if f <= optimum + 1e-9:
                first += start == 0
                optimal += 1
                break
    title = f"rank one, binary, {GRAPHS} graphs, n = 6 to 12"
    yield f"{title}: below the optimum", "0", str(below)
    yield f"{title}: optimal, greedy start", "-", f"{first / GRAPHS:.1%}"
    yield f"{title}: optimal, {STARTS} starts", ">= 98 %", f"{optimal / GRAPHS:.1%}"


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
