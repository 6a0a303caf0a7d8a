"""Time to the objective of scikit-learn's NMF, and to the clusters of its SpectralClustering.

The objective is the off-diagonal squared error of the method's approximation of A. Every method
runs with 1, 2, 3, 5, 8, ... sweeps; its time is the CPU time of the shortest run that reaches the
target, with one BLAS thread.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import NMF
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import odsymnmf as od
from benchmarks import problems
from benchmarks.timing import minima, table

SWEEPS = (1, 2, 3, 5, 8, 13, 21, 34, 55)
# Fractions of the best fit.
TARGETS = (0.99, 0.999)

# Number of sweeps -> factors W, V with A ~ W V^T.
Method = Callable[[int], tuple[Any, Any]]


def explained(A: Any, W: Any, V: Any) -> float:
    """Return the decrease of sum_{i != j} (A_ij - (W V^T)_ij)^2 from W = V = 0; A_ii = 0."""
    diagonal = np.einsum("ij,ij->i", W, V)
    return float(2 * np.vdot(W, A @ V) - np.vdot(W.T @ W, V.T @ V) + diagonal @ diagonal)


def methods(A: Any, r: int) -> dict[str, Method]:
    def odsymnmf(init: str, sweeps: int) -> tuple[Any, Any]:
        H = od.factorize(A, r, init=init, max_iter=sweeps, tol=0, random_state=0).H
        return H, H

    def nmf(sweeps: int) -> tuple[Any, Any]:
        model = NMF(r, init="nndsvda", solver="cd", max_iter=sweeps, tol=0, random_state=0)
        return model.fit_transform(A), model.components_.T

    return {
        "odsymnmf": partial(odsymnmf, "spectral"),
        'odsymnmf, init="greedy"': partial(odsymnmf, "greedy"),
        "NMF": nmf,
    }


def times(A: Any, r: int) -> Iterator[list[str]]:
    """Yield a row per method: its times to reach the targets, relative to those of odsymnmf."""
    curves = {}
    for name, method in methods(A, r).items():
        method(1)  # compiles
        curves[name] = [explained(A, *method(sweeps)) for sweeps in SWEEPS]
    best = max(map(max, curves.values()))
    runs = {}
    for name, method in methods(A, r).items():
        for target in TARGETS:
            reached = [
                k for k, value in zip(SWEEPS, curves[name], strict=True) if value >= target * best
            ]
            if reached:
                runs[name, target] = partial(method, reached[0])
    minimum = dict(
        zip(runs, minima(*runs.values(), repeats=5, clock=time.process_time), strict=True)
    )
    for name in curves:
        ratios = [minimum.get((name, t), np.inf) / minimum["odsymnmf", t] for t in TARGETS]
        yield [name, *("not reached" if np.isinf(x) else f"{x:.1f}" for x in ratios)]


def clusters(A: Any, groups: Any, r: int) -> Iterator[list[str]]:
    # The default solver of SpectralClustering takes minutes here.
    options = {"affinity": "precomputed", "random_state": 0}
    spectral = SpectralClustering(r, eigen_solver="lobpcg", **options)
    methods = {
        "odsymnmf": lambda: od.ODSymNMF(r, random_state=0).fit_predict(A),
        "SpectralClustering": lambda: spectral.fit_predict(sparse.csr_matrix(A)),
    }
    labels = {name: method() for name, method in methods.items()}
    minimum = dict(
        zip(methods, minima(*methods.values(), repeats=2, clock=time.process_time), strict=True)
    )
    for name, clusters in labels.items():
        nmi = normalized_mutual_info_score(groups, clusters)
        yield [name, f"{minimum[name] / minimum['odsymnmf']:.1f}", f"{nmi:.4f}"]


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    dense = problems.dense(2000, 10)
    np.fill_diagonal(dense, 0)
    A, groups = problems.shuffled(*problems.planted(20_000, 600_000, 20))
    title = f"sparse, n = 20,000, {A.nnz:,} stored, r = 20"
    header = ["method", "time to 99 % of the best fit / ours", "to 99.9 %"]
    table("Fit: dense, n = 2000, r = 10", header, times(dense, 10))
    table(f"Fit: {title}", header, times(A, 20))
    header = ["method", "time / ours", "NMI with the planted groups"]
    table(f"Clusters: {title}", header, clusters(A, groups, 20))
