"""How many clusters: three measures beside the true number, ``python -m benchmarks how_many``.

Graphs: (1) the number of negative eigenvalues of the Bethe-Hessian centres the candidates; (2) the
description length of a degree-corrected block model at the labels of each fit decides. Where (1)
is more than MANY_SCALES times (2), groups have groups inside, as in nearest-neighbour graphs of
points, and (3) decides: the stability of the labels when a part of the items is left out. It is
the only one for kernels, correlations and documents. ``--held-out`` adds the error on held-out
pairs (held_out.py), which is dearer.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks import held_out
from benchmarks.quality import ours
from benchmarks.quality.families import GRAPHS, Problem, problems
from benchmarks.timing import table
from odsymnmf import factorize, memberships

# Candidates are this far apart: the nearest is within 10 % of any number in between.
STEP = 2**0.25
MANY_SCALES = 1.5
# Stability: so many fits to so large a share of the items; within SLACK of the best is as good.
PARTS, SHARE, SLACK = 4, 0.7, 0.05
SHORT: dict[str, Any] = {"max_iter": 30, "tol": 1e-3}


def bethe_hessian(A: Any) -> int:
    """Count the negative eigenvalues of (b^2 - 1) I - b A + diag(d), b^2 = sum d^2 / sum d - 1."""
    links = (A != 0).astype(np.float64)
    d = np.asarray(links.sum(axis=1)).ravel()
    b = np.sqrt(max((d @ d) / d.sum() - 1, 0.0))
    M = np.diag(d + b**2 - 1) - b * links.toarray()
    return int((np.linalg.eigvalsh(M) < 0).sum())


def description_length(A: Any, labels: Any) -> float:
    """Nats to describe the graph (its links alone) by a degree-corrected block model.

    Of the groups, of the links between them, of the degrees, and of the graph given all these:
    Peixoto, "Nonparametric Bayesian inference of the microcanonical stochastic block model", 2017.
    Links between groups either one by one, or as inside and outside alone (Zhang and Peixoto,
    "Statistical inference of assortative community structures in networks", 2020), if shorter.
    """
    links = (A != 0).astype(np.float64)
    groups = np.unique(labels, return_inverse=True)[1]
    n, B = len(groups), int(groups.max()) + 1
    Z = sparse.csr_array((np.ones(n), (np.arange(n), groups)), shape=(n, B))
    W = (Z.T @ links @ Z).toarray()
    sizes, ends, E = np.bincount(groups), W.sum(axis=1), W.sum() / 2
    inside, across = np.diag(W) / 2, W[np.triu_indices(B, 1)]
    partition = log_factorial(n) - log_factorial(sizes).sum() + log_choose(n - 1, B - 1) + np.log(n)
    degrees = (log_factorial(ends + sizes - 1) - log_factorial(sizes - 1)).sum()
    degrees -= log_factorial(links.sum(axis=1)).sum()
    kinds = B * (B + 1) / 2
    each = log_choose(kinds + E - 1, E) - log_factorial(across).sum()
    each -= (inside * np.log(2) + log_factorial(inside)).sum()
    near, far = inside.sum(), across.sum()
    alike = near * np.log(B / 2) - log_factorial(near) - log_factorial(far)
    alike += far * np.log(B * (B - 1) / 2) + np.log(E + 1) if B > 1 else 0.0
    return float(partition + degrees + min(each, alike))


def log_factorial(x: Any) -> Any:
    return gammaln(np.asarray(x, dtype=np.float64) + 1)


def log_choose(n: float, k: float) -> float:
    return float(log_factorial(n) - log_factorial(k) - log_factorial(n - k))


def around(centre: int, low: int, high: int) -> list[int]:
    """Return the candidates centre STEP^j from low to high."""
    steps = np.arange(-40, 41)
    found = np.unique(np.round(centre * STEP**steps).astype(int))
    return [int(r) for r in found if low <= r <= high]


class Fits:
    """Labels for each r, all started from one set of eigenvectors."""

    def __init__(self, X: Any, family: str, most: int) -> None:
        self.setting = ours.default(family)
        self.A = ours.scaled(X, family, self.setting.regular, self.setting.background)
        self.V = ours.eigenvectors(self.A, min(most, self.A.n - 1))

    def labels(self, r: int) -> Any:
        bound = ours.upper(self.A.n, r, self.setting.bound)
        H = ours.rotated(self.A, self.V[:, :r])
        H = np.minimum(H, np.inf if bound is None else bound)
        return memberships.labels(factorize(self.A, r, init=H, upper=bound, **SHORT).H)


def shortest(A: Any, family: str, centre: int) -> int:
    """Return the r of least description length; further out while it is the last candidate."""
    low, high = max(centre // 2, 2), max(2 * centre, 4)
    fits, lengths = Fits(A, family, min(3 * high, A.shape[0] // 3)), dict[int, float]()
    while True:
        for r in around(centre, low, min(high, fits.V.shape[1])):
            if r not in lengths:
                lengths[r] = description_length(A, fits.labels(r))
        best = min(lengths, key=lambda r: lengths[r])
        if best == max(lengths) and high < fits.V.shape[1]:
            high = int(1.5 * high)
        elif best == min(lengths) and low > 2:
            low = max(low // 2, 2)
        else:
            return best


def stabilities(X: Any, family: str, candidates: list[int]) -> list[float]:
    """Return the mean adjusted Rand index of the labels of all and of a part of the items."""
    rng, n = np.random.default_rng(0), X.shape[0]
    whole = Fits(X, family, max(candidates))
    parts = [np.sort(rng.permutation(n)[: int(SHARE * n)]) for _ in range(PARTS)]
    fits = [
        Fits(X[part] if family == "documents" else X[part][:, part], family, max(candidates))
        for part in parts
    ]
    found = []
    for r in candidates:
        labels = whole.labels(r)
        agreed = [
            adjusted_rand_score(labels[part], fit.labels(r))
            for part, fit in zip(parts, fits, strict=True)
        ]
        found.append(float(np.mean(agreed)))
    return found


def stable(X: Any, family: str, most: int) -> int:
    """Return the largest r whose labels are as stable as any, to SLACK."""
    candidates = around(2, 2, min(most, X.shape[0] // 5))
    values = stabilities(X, family, candidates)
    return max(r for r, v in zip(candidates, values, strict=True) if v >= max(values) - SLACK)


class Answer(NamedTuple):
    bethe: int | None
    shortest: int | None
    stable: int | None
    recommended: int


def recommend(X: Any, family: str) -> Answer:
    if family not in GRAPHS:
        r = stable(X, family, most=40)
        return Answer(None, None, r, r)
    bethe = max(bethe_hessian(X), 2)
    short = shortest(X, family, bethe)
    if bethe <= MANY_SCALES * short:
        return Answer(bethe, short, None, short)
    steady = stable(X, family, most=short)
    return Answer(bethe, short, steady, steady)


def close(r: int, true: int) -> bool:
    """Within 20 % of the true number, or within 1."""
    return abs(r - true) <= max(1, 0.2 * true)


def wanted(problem: Problem) -> bool:
    """Leave out LFR with mixing over 0.5, near the limit where groups can be found."""
    return not (problem.family == "lfr" and problem.name[-3:] in ("0.6", "0.7"))


def main(
    data: Path | None, families: list[str] | None = None, measure: Callable[..., Any] | None = None
) -> None:
    tally: dict[tuple[str, str], list[bool]] = {}

    def rows() -> Any:
        for problem in filter(wanted, problems(data, families)):
            X, groups = problem.make()
            true = len(np.unique(groups[groups >= 0]))
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")  # fits are cut short
                started = time.process_time()
                answer = recommend(X, problem.family)
                took = time.process_time() - started
                more = []
                if measure is not None and problem.family in GRAPHS:
                    candidates = around(answer.bethe or 2, 2, 2 * max(answer[:2]))
                    more = [candidates[int(measure(X, candidates).mean(axis=0).argmin())]]
            tally.setdefault((problem.family, problem.half), []).append(
                close(answer.recommended, true)
            )
            cells = ["-" if value is None else value for value in (*answer, *more)]
            yield [problem.name, problem.half, true, *cells, f"{took:.1f}"]

    header = ["problem", "half", "true", "Bethe-Hessian", "description length", "stability"]
    held = ["held-out"] if measure is not None else []
    table("How many clusters", [*header, "recommended", *held, "seconds"], rows())
    table(
        "Recommended within 20 % of the true number, or within 1",
        ["family", "half", "problems"],
        [(*key, f"{sum(hits)} of {len(hits)}") for key, hits in tally.items()],
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.how_many", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ODSYMNMF_DATA"))
    parser.add_argument("--families", nargs="*", help="real, lfr, planted, ... (default: all)")
    parser.add_argument("--held-out", action="store_true", help="add the held-out error's choice")
    options = parser.parse_args()
    main(
        Path(options.data) if options.data else None,
        options.families,
        held_out.errors if options.held_out else None,
    )
