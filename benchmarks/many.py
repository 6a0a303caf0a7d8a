"""Thousands of clusters with sparse memberships: cost, known groups, and other methods."""

import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.graphs import many_overlapping, many_planted, symmetric
from benchmarks.methods import to_igraph
from benchmarks.timing import cpu_seconds, in_new_process, minima, table
from odsymnmf import factorize
from odsymnmf.init import ego
from odsymnmf.metrics import best_match_f1
from odsymnmf.solvers.sparse_h import SparseH, column_sets, links
from odsymnmf.solvers.sparse_losses import SparseL2

SEED = 7
RESOLUTIONS = (0.01, 0.03, 0.1, 0.2, 0.3)


def find_sets(A: Any, **options: Any) -> list[Any]:
    """Return the sets of at least three entries >= a fifth of the largest entry of a column."""
    return column_sets(factorize(A, "auto", sparse_membership=True, **options).H, 0.2, 3)


def leiden(A: Any, resolution: float | None) -> list[Any]:
    """Return the clusters of igraph's Leiden: modularity, or the Potts model with a resolution."""
    graph, weights = to_igraph(A)
    options: dict[str, Any] = {"objective_function": "modularity"}
    if resolution is not None:
        options = {"objective_function": "CPM", "resolution": resolution}
    random.seed(SEED)  # the generator that igraph uses
    clusters = graph.community_leiden(weights=weights, n_iterations=2, **options)
    return [np.array(s) for s in clusters if len(s) >= 3]


def label_propagation(A: Any) -> list[Any]:
    graph, weights = to_igraph(A)
    random.seed(SEED)
    return [np.array(s) for s in graph.community_label_propagation(weights=weights)]


def nearly_converged(A: Any, init: Any = "auto") -> tuple[SparseL2, Any]:
    """Return a nearly converged fit and its A, the items in the order of their clusters."""
    H = factorize(A, "auto", init=init, sparse_membership=True, tol=0.01).H
    order = ego.order_by_strongest(H)
    stored = ego.reordered(links(A), order)
    fit = SparseL2(stored, SparseH(H[order]), upper=1.0)
    for _ in range(3):
        fit.sweep()
    return fit, sparse.csr_array((stored.data, stored.indices, stored.indptr), shape=A.shape)


def sweep_costs() -> Iterator[tuple[str, str, str]]:
    n = 100_000
    fit, A = nearly_converged(many_overlapping(n, seed=SEED)[0])
    H = fit.H.csr()
    sweep, product = minima(fit.sweep, lambda: A @ H, repeats=9)
    title = f"sweep / sparse `A @ H`, overlapping groups, n = {n:,}, {fit.H.r:,} clusters"
    yield title, "<= 1.3", f"{sweep / product:.2f}"
    times, numbers = [], []
    for size in (1000, 400, 150, 50, 14):
        graph, sets = many_planted(n, size=size, seed=SEED)
        fit, _ = nearly_converged(graph, sets)
        times += minima(fit.sweep, repeats=5)
        numbers.append(fit.H.r)
    slope = np.polyfit(np.log(numbers), np.log(times), 1)[0]
    shown = ", ".join(f"{r:,}: {t:.3f} s" for r, t in zip(numbers, times, strict=True))
    yield f"sweep at n = {n:,}, by r ({shown}): log-log slope", "<= 0.15", f"{slope:.2f}"


MILLION = """
import time
from benchmarks.many import best_match_f1, find_sets, many_overlapping
from benchmarks.timing import peak_memory
find_sets(many_overlapping(1000, seed=1)[0])  # compiles
A, known = many_overlapping(1_000_000, seed=11)
before = peak_memory() / 1e9
start = time.process_time()
sets = find_sets(A)
seconds = time.process_time() - start
peak = peak_memory() / 1e9
f1 = best_match_f1(sets, known)
print(f"{A.nnz:,} {len(known)} {len(sets)} {seconds:.1f} {before:.2f} {peak:.2f} {f1:.3f}")
"""


def million() -> Iterator[tuple[str, str, str]]:
    stored, known, clusters, seconds, before, peak, f1 = in_new_process(MILLION).split()
    name = f"n = 1,000,000, {stored} stored, {known} overlapping groups: CPU seconds"
    yield name, "<= 90", seconds
    yield "peak memory (after making the graph)", "<= 2 GB", f"{peak} GB ({before} GB)"
    yield f"mean best-match F1 ({clusters} clusters)", ">= 0.92", f1


def other_methods(n: int) -> Iterator[tuple[str, ...]]:
    A, known = many_overlapping(n, seed=SEED)
    cases: dict[str, Callable[[], list[Any]]] = {
        'odsymnmf, `factorize(A, "auto")`': lambda: find_sets(A),
        "its initialization alone": lambda: ego.ego_networks(links(A)),
        "Leiden, modularity": lambda: leiden(A, None),
        **{
            f"Leiden, constant Potts model, {resolution}": lambda g=resolution: leiden(A, g)
            for resolution in RESOLUTIONS
        },
        "label propagation": lambda: label_propagation(A),
    }
    for name, method in cases.items():
        clusters, seconds = cpu_seconds(method)
        sets = [s for s in clusters if len(s) >= 3]
        f1 = f"{best_match_f1(sets, known):.3f}"
        yield f"{n:,}", name, f"{seconds:.2f}", f"{len(sets)}/{len(known)}", f1


def mixing() -> Iterator[tuple[str, ...]]:
    """Increase the share of links between groups."""
    families: dict[str, Callable[[float], Any]] = {
        "disjoint groups of 40": lambda s: many_planted(20_000, inside=1 - s, seed=SEED),
        "overlapping": lambda s: many_overlapping(20_000, mixing=s, seed=SEED),
    }
    for name, make in families.items():
        for share in (0.25, 0.4, 0.5, 0.6, 0.7):
            A, known = make(share)
            init, result = ego.ego_networks(links(A)), find_sets(A)
            f1 = [best_match_f1(sets, known) for sets in (init, result)]
            f1.append(max(best_match_f1(leiden(A, g), known) for g in RESOLUTIONS))
            counts = f"{len(init)} -> {len(result)} / {len(known)}"
            yield name, f"{share}", counts, *(f"{value:.3f}" for value in f1)


def real(data: Path | None) -> Iterator[list[str]]:
    """Compare with known groups of real graphs, all sets restricted to the items of these."""
    for name in ("amazon", "dblp"):
        folder = data / "overlapping" if data else None
        if folder is None or not (folder / f"{name}.ungraph.txt").exists():
            continue
        pairs = np.loadtxt(folder / f"{name}.ungraph.txt", dtype=np.int64)
        lines = (folder / f"{name}.cmty.txt").read_text().splitlines()
        known = [np.array(line.split(), dtype=np.int64) for line in lines if line.strip()]
        n = int(max(pairs.max(), max(s.max() for s in known))) + 1
        A = symmetric(pairs[:, 0], pairs[:, 1], n)
        covered = np.isin(np.arange(n), np.concatenate(known))
        title = f"{name} ({n:,} items, {len(known)} groups)"
        cases = {
            "odsymnmf": find_sets(A),
            "its initialization alone": ego.ego_networks(links(A)),
            "Leiden, modularity": leiden(A, None),
        }
        for method, sets in cases.items():
            restricted = [c for c in (s[covered[s]] for s in sets) if len(c) >= 3]
            size, f1 = np.mean([len(s) for s in sets]), best_match_f1(restricted, known)
            yield [title, method, str(len(sets)), f"{size:.1f}", f"{f1:.3f}"]


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    find_sets(many_planted(600, seed=1)[0])  # compiles
    header = ["case", "goal", "measured"]
    table("Cost of a sweep", header, sweep_costs())
    table("A million items", header, million())
    table(
        "Overlapping groups: other methods",
        ["items", "method", "CPU seconds", "clusters/groups", "F1"],
        (row for n in (10_000, 100_000) for row in other_methods(n)),
    )
    table(
        "Links between groups: mean best-match F1",
        ["family", "share of links between groups", "initialization -> result / groups",
         "F1 of the initialization", "F1 of the result", "Leiden, best of 5 resolutions"],
        mixing(),
    )  # fmt: skip
    header = ["graph", "method", "clusters", "mean size", "F1, items with known groups"]
    table("Known groups of real graphs", header, real(data))
