"""Column restarts from every initialization: agreement with known groups, and time."""

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import odsymnmf as od
from benchmarks.problems import load
from benchmarks.timing import table
from odsymnmf import memberships, metrics
from odsymnmf.datasets import cliques, flip, planted_partition
from odsymnmf.similarity import cosine

INITS = ("greedy", "spectral", "random", "zero")
TRIALS = 10
GRAPHS = ("dolphins", "football", "email_eu_core", "cora", "lfr1000_mu0.3", "lfr1000_mu0.5")
DOCUMENTS = ("tr11", "tr23")

# Similarities, the number of clusters, and the score of H in percent.
Problem = tuple[Any, int, Callable[[Any], float]]


def noisy_cliques(noise: float, seed: int) -> Problem:
    A, truth = cliques([10] * 10)
    return flip(A, noise, seed), 10, lambda H: 100 * metrics.membership_accuracy(H, truth)


def labeled(A: Any, groups: Any, order: Any) -> Problem:
    groups = groups[order]
    r = len(np.unique(groups[groups >= 0]))
    return A, r, lambda H: 100 * metrics.scores(memberships.labels(H), groups)["nmi"]


def problems(data: Path | None) -> Iterator[tuple[str, list[Problem], int]]:
    """Yield a name, problems to average over, and the limit of sweeps."""
    for noise in (0.1, 0.2, 0.3):
        trials = [noisy_cliques(noise, seed) for seed in range(TRIALS)]
        yield f"10 cliques of 10, {noise:.0%} flipped", trials, 200
    A, groups = planted_partition([50] * 80, p_in=0.8, degree_out=5, random_state=0)
    yield "80 groups of 50", [labeled(A, groups, np.arange(len(groups)))], 50
    rng = np.random.default_rng(0)
    for name in GRAPHS:
        graph = load(data, "graphs", name)
        if graph is not None:
            A, groups = graph
            order = rng.permutation(len(groups))
            yield name, [labeled(A[order][:, order], groups, order)], 50
    for name in DOCUMENTS:
        documents = load(data, "documents", name)
        if documents is not None:
            counts, groups = documents
            order = rng.permutation(len(groups))
            X = cosine(counts[order]).X
            yield f"{name} (documents)", [labeled((X @ X.T).toarray(), groups, order)], 20


def fit(
    problem: Problem, loss: Any, init: str, restarts: int, max_iter: int
) -> tuple[float, float]:
    """Return the score and CPU seconds."""
    A, r, score = problem
    options = {"upper": 1.0, "max_iter": max_iter, "random_state": 0}
    start = time.process_time()
    H = od.factorize(A, r, loss=loss, init=init, restarts=restarts, **options).H
    return score(H), time.process_time() - start


def rows(data: Path | None) -> Iterator[list[str]]:
    for name, trials, max_iter in problems(data):
        for loss in ("l1", "l2"):
            cells, ratios = [], []
            for init in INITS:
                fit(trials[0], loss, init, 1, 1)  # compiles
                pairs = [[fit(p, loss, init, k, max_iter) for k in (0, 10)] for p in trials]
                (score, seconds), (score_with, seconds_with) = np.mean(pairs, axis=0)
                cells.append(f"{score:.0f} → {score_with:.0f}")
                ratios.append(seconds_with / seconds)
            yield [name, loss, *cells, f"{np.median(ratios):.1f}"]


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    header = ["data", "loss", *INITS, "time with / without, median"]
    table("Without → with column restarts: accuracy of H (cliques) or NMI, %", header, rows(data))
