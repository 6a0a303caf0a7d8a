"""The paper's experiments, with a reading of what it leaves open.

The readings are those of ``paper/ERRATA.md``, section 2; `Reading` has the ones that are varied.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.datasets import adversarial, cliques, flip
from odsymnmf.factorization import factorize
from odsymnmf.metrics import membership_accuracy
from odsymnmf.paper.algorithm_2 import odsymnmf_l2
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.paper.algorithm_6 import greedy_init
from odsymnmf.paper.symnmf import symnmf

METHODS = ("OD-l1", "OD-l2", "symNMF")
STARTS = ("random", "zero", "greedy")
OURS = ("ours l1", "ours l2")
SWEEPS = 30
# Fits end before SWEEPS where no entry moves by more: no printed digit changes after that.
TOLERANCE = 1e-4

# What differs between the methods, for the compiled engine.
ENGINE: dict[str, dict[str, Any]] = {
    "OD-l1": {"loss": "l1", "restarts": 0, "upper": 1.0},
    "OD-l2": {"upper": 1.0},
    "symNMF": {"diagonal": "fit"},
    "ours l1": {"loss": "l1", "upper": 1.0},
    "ours l2": {"upper": 1.0},
}


@dataclass(frozen=True)
class Reading:
    """What the paper does not say.

    ``by``: the transcription of the paper, column by column as it is printed or row by row, or
    the compiled engine (row by row; a median of nothing is 0 there).
    """

    upper: float | None = 1.0
    scaled: bool = True
    empty: float = 1.0
    self_similarity: float = 1.0
    by: Literal["columns", "rows", "engine"] = "columns"


def problem(family: str, settings: list[Any], seed: int, trial: int) -> tuple[Array, Array]:
    """Return A and the true memberships: cliques [sizes, noise], or adversarial [m, n, number]."""
    rng = np.random.default_rng([seed, trial])
    if family == "cliques":
        sizes, noise = settings
        A, truth = cliques(sizes)
        return flip(A, noise, rng), truth
    size, isolated, connections = settings
    return adversarial(size, isolated, connections, rng)


def start(
    A: Array, r: int, method: str, name: str, reading: Reading, rng: np.random.Generator
) -> Array:
    """Return H0: uniform and scaled to A, zero, or Algorithm 6."""
    if name == "zero":
        return np.zeros((len(A), r))
    if name == "greedy":
        bound = np.inf if reading.upper is None else reading.upper
        p = 1 if method == "OD-l1" else 2
        return greedy_init(A, r, p, self_similarity=reading.self_similarity, upper=bound)
    H0 = rng.random((len(A), r))
    if reading.scaled:
        H0 *= np.sqrt(np.sum(A * (H0 @ H0.T)) / np.sum((H0.T @ H0) ** 2))
    return H0


def fit(A: Array, H: Array, method: str, reading: Reading, sweeps: int = SWEEPS) -> Array:
    """Return H after at most so many sweeps of the method."""
    if reading.by == "engine":
        return factorize(A, H.shape[1], init=H, max_iter=sweeps, **ENGINE[method]).H
    upper = np.inf if reading.upper is None else reading.upper
    for _ in range(sweeps):
        before = H
        if method == "OD-l1":
            H = odsymnmf_l1(A, H, sweeps=1, order=reading.by, upper=upper, empty=reading.empty)
        elif method == "OD-l2":
            H = odsymnmf_l2(A, H, sweeps=1, order=reading.by, upper=upper)
        else:
            H = symnmf(A, H, sweeps=1, order=reading.by)  # the baseline knows no bound
        if np.abs(H - before).max() <= TOLERANCE:
            break
    return H


def accuracies(
    family: str,
    settings: list[Any],
    seed: int,
    trial: int,
    fits: list[list[str]],
    reading: dict[str, Any],
) -> dict[str, dict[str, float]]:
    """Return the accuracy for each [method, start], of H as it is and with columns scaled.

    Columns are scaled to the root mean square length of those of the truth. The methods named
    "ours" are the engine's own: its greedy start and, for l1, column restarts.
    """
    A, truth = problem(family, settings, seed, trial)
    r, read = truth.shape[1], Reading(**reading)
    found: dict[str, dict[str, float]] = {"raw": {}, "scaled": {}}
    for method, name in fits:
        if method in OURS:
            H = factorize(A, r, init=name, random_state=trial, **ENGINE[method]).H
        else:
            H0 = start(A, r, method, name, read, np.random.default_rng([seed, trial, 1]))
            H = fit(A, H0, method, read)
        found["raw"][f"{method} {name}"] = membership_accuracy(H, truth)
        lengths = np.linalg.norm(H, axis=0)
        unit = np.divide(H, lengths, out=np.zeros_like(H), where=lengths > 0)
        length = np.linalg.norm(truth) / np.sqrt(r)
        found["scaled"][f"{method} {name}"] = membership_accuracy(length * unit, truth)
    return found
