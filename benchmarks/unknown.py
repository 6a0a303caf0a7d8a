"""Pairs that are not known, and what unlinked pairs weigh: what leaving out and weighing buys."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import odsymnmf as od
from benchmarks.quality.families import real
from benchmarks.timing import table
from odsymnmf.datasets import cliques, flip, planted_partition
from odsymnmf.memberships import labels
from odsymnmf.metrics import membership_accuracy, scores

TRIALS = 10
GRAPHS = [
    "dolphins", "polbooks", "football", "polblogs_lcc", "email_eu_core", "pbmc68k_reduced",
    "fb100_Reed98", "cora", "lfr1000_mu0.1", "lfr1000_mu0.3", "lfr1000_mu0.5",
]  # fmt: skip
WEIGHTS = [1.0, 0.3, 0.1, 0.03, "balanced"]


def hidden(A: Any, share: float, seed: int) -> Any:
    """Return A with a share of its pairs unknown, NaN."""
    n = len(A)
    unknown = np.triu(np.random.default_rng(1000 + seed).random((n, n)) < share, 1)
    return np.where(unknown | unknown.T, np.nan, A)


def noisy_cliques(seed: int) -> tuple[Any, Any, Any]:
    A, H = cliques([10] * 10)
    return np.asarray(flip(A, 0.05, random_state=seed), dtype=float), H, H.argmax(axis=1)


def planted(seed: int) -> tuple[Any, Any, Any]:
    A, groups = planted_partition([40] * 5, p_in=0.6, p_out=0.1, random_state=seed)
    return A.toarray(), None, groups


def correlated(seed: int) -> tuple[Any, Any, Any]:
    """Correlations of 200 series of 50 values, each half its group's and half its own."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(4), 50)
    series = rng.standard_normal((4, 50))[groups] + rng.standard_normal((200, 50))
    return np.corrcoef(series), None, groups


def found(A: Any, r: int, loss: Any, H: Any, groups: Any) -> tuple[float, float]:
    """Return the ARI of the labels and the accuracy of H, where a true H is known."""
    f = od.factorize(A, r, loss=loss, upper=1.0, random_state=0)
    accuracy = membership_accuracy(f.H, H) if H is not None else np.nan
    return scores(labels(f.H), groups)["ari"], accuracy


def recovery() -> Iterator[list[str]]:
    cases = {
        "10 cliques of 10, 5 % of pairs flipped": (noisy_cliques, ("l2", "l1"), (0, 0.3, 0.7)),
        "5 groups of 40, 60 % and 10 % linked": (planted, ("l2", "l1"), (0, 0.3, 0.7)),
        "correlations of 4 groups of 50": (correlated, ("l2", "l1"), (0, 0.7, 0.85, 0.95)),
    }
    for name, (make, losses, shares) in cases.items():
        for loss in losses:
            for share in shares:
                left_out, filled = [], []
                for seed in range(TRIALS):
                    A, H, groups = make(seed)
                    B = hidden(A, share, seed)
                    r = len(np.unique(groups))
                    left_out.append(found(B, r, loss, H, groups))
                    filled.append(found(np.nan_to_num(B), r, loss, H, groups))
                cells = [
                    "" if np.isnan(both).any() else f"{both[0]:.2f} : {both[1]:.2f}"
                    for both in np.transpose([np.mean(left_out, axis=0), np.mean(filled, axis=0)])
                ]
                yield [name, loss, f"{share:.0%}", *cells]


def weight_of(A: Any, weight: Any) -> float:
    """Return the weight itself, or that by which unlinked pairs weigh as much as the links."""
    if weight != "balanced":
        return float(weight)
    n, links = A.shape[0], A.nnz - np.count_nonzero(A.diagonal())
    return float(links / (n * (n - 1) - links))


def unlinked(data: Path, loss: Any) -> Iterator[list[str]]:
    means = []
    for name in GRAPHS:
        A, groups = real(data, name)
        r = len(np.unique(groups))
        row = []
        for weight in WEIGHTS:
            f = od.factorize(A, r, loss=loss, zero_weight=weight_of(A, weight))
            mine = labels(f.H)
            row.append([scores(mine, groups)["nmi"], 100 * np.mean(mine < 0)])
        means.append(row)
        balanced = weight_of(A, "balanced")
        yield [name, *(f"{nmi:.3f}, {none:.0f} %" for nmi, none in row), f"{balanced:.2g}"]
    yield ["mean", *(f"{nmi:.3f}, {none:.0f} %" for nmi, none in np.mean(means, axis=0)), ""]


def main(data: Path | None) -> None:
    warnings.simplefilter("ignore")
    table(
        f"Unknown pairs, left out : filled with 0 (mean of {TRIALS})",
        ["problem", "loss", "unknown", "ARI of the labels", "accuracy of H"],
        recovery(),
    )
    if data is None:
        return
    header = ["graph", *(f"{weight}" for weight in WEIGHTS), "what balanced is"]
    for loss in ("l1", "l2"):
        title = f"NMI and unassigned items by `zero_weight`, {loss}"
        table(title, header, unlinked(data, loss))
