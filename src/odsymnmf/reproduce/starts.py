"""Every start, with and without column restarts: objective, accuracy and time.

Three families: the paper's cliques with pairs flipped (accuracy of H), graphs with known groups
and documents with known classes, in random order (both NMI, at most 50 sweeps). H is bounded by 1.
"""

import csv
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from odsymnmf.datasets import cliques, flip
from odsymnmf.factorize import factorize
from odsymnmf.memberships import labels
from odsymnmf.metrics import membership_accuracy, scores
from odsymnmf.reproduce.cells import Request
from odsymnmf.similarity import cosine

STARTS = ["greedy", "spectral", "nndsvd", "random", "zero", "l2"]
ROUNDS = [0, 10]
NOISE = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
SIZES = {
    "5 balanced": [10] * 5,
    "5 unbalanced": [12, 11, 10, 9, 8],
    "10 balanced": [10] * 10,
    "10 unbalanced": list(range(14, 4, -1)),
}
GRAPHS = ["dolphins", "polbooks", "football", "email_eu_core", "pbmc68k_reduced", "lfr1000_mu0.1"]
DOCUMENTS = ["tr11", "tr23", "tr41", "tr45"]
LOSSES: list[Literal["l2", "l1"]] = ["l1", "l2"]


@dataclass(frozen=True)
class Row:
    """One fit, or the mean of several."""

    family: str
    data: str
    loss: str
    start: str
    restarts: int
    objective: float
    score: float
    seconds: float


def fits(family: str, data: str, A: Any, r: int, score: Any, **options: Any) -> Iterator[Row]:
    """Yield a row per loss, start and number of rounds."""
    for loss in LOSSES:
        for start in STARTS:
            if start == "l2" and loss == "l2":
                continue
            for rounds in ROUNDS:
                begun = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # slow convergence is no matter here
                    found = factorize(A, r, loss=loss, init=start, restarts=rounds, **options)
                spent = time.perf_counter() - begun
                value = float(score(found.H))
                yield Row(family, data, loss, start, rounds, found.objective, value, spent)


def synthetic(trials: int, seed: int) -> Iterator[Row]:
    """Yield the fits of noisy cliques, the mean over the trials."""
    for name, sizes in SIZES.items():
        A, truth = cliques(sizes)
        for noise in NOISE:
            runs = [
                list(
                    fits(
                        name,
                        f"{noise:g}",
                        flip(A, noise, seed + trial),
                        len(sizes),
                        lambda H, truth=truth: membership_accuracy(H, truth),
                        upper=1.0,
                        random_state=seed + trial,
                    )
                )
                for trial in range(trials if noise else 1)
            ]
            yield from (mean(rows) for rows in zip(*runs, strict=True))


def mean(rows: tuple[Row, ...]) -> Row:
    """Average what was measured."""
    values = {
        name: float(np.mean([getattr(row, name) for row in rows]))
        for name in ("objective", "score", "seconds")
    }
    return Row(**{**asdict(rows[0]), **values})


def real(data: Path, seed: int) -> Iterator[Row]:
    """Yield the fits of graphs and of documents, in random order."""
    for family, names in (("graphs", GRAPHS), ("documents", DOCUMENTS)):
        for name in names:
            given = sparse.csr_array(sparse.load_npz(data / family / f"{name}.npz"))
            groups = np.load(data / family / f"{name}_labels.npy")
            order = np.random.default_rng(seed).permutation(len(groups))
            groups = groups[order]
            if family == "graphs":
                A: Any = given.astype(np.float64)[order][:, order]
            else:
                # Few enough to form their cosines: l1 would compute them in every sweep.
                X = cosine(given.astype(np.float64)[order]).X
                A = (X @ X.T).toarray()
            yield from fits(
                family,
                name,
                A,
                len(np.unique(groups[groups >= 0])),
                lambda H, groups=groups: scores(labels(H), groups)["nmi"],
                upper=1.0,
                max_iter=50,
                random_state=seed,
            )


def summary(rows: list[Row]) -> str:
    """Return the rows as Markdown tables: a line per start, a cell without -> with restarts."""
    found = {(w.family, w.data, w.loss, w.start, w.restarts): w for w in rows}
    pieces = []
    for family in dict.fromkeys(row.family for row in rows):
        columns = list(dict.fromkeys(row.data for row in rows if row.family == family))
        for what, form in (("score", "{:.2f}"), ("objective", "{:.4g}"), ("seconds", "{:.2g}")):
            pieces.append(f"\n### {family}: {what}, without → with restarts\n")
            pieces.append("| loss, start | " + " | ".join(columns) + " |")
            pieces.append("|---" * (len(columns) + 1) + "|")
            for loss, start in dict.fromkeys((w.loss, w.start) for w in rows):
                cells = (
                    " → ".join(
                        form.format(getattr(found[family, column, loss, start, rounds], what))
                        for rounds in ROUNDS
                    )
                    for column in columns
                )
                pieces.append(f"| {loss}, {start} | " + " | ".join(cells) + " |")
    return "\n".join(pieces) + "\n"


def figure(rows: list[Row], path: Path) -> None:
    """Draw the accuracy of l1 by noise, a panel per family, with and without restarts."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('figures need matplotlib: pip install "odsymnmf[plots]"') from error
    picture = Figure(figsize=(12, 3.2), layout="constrained")
    panels = picture.subplots(1, len(SIZES), sharey=True)
    for panel, name in zip(panels, SIZES, strict=True):
        for number, start in enumerate(STARTS):
            for rounds, line in zip(ROUNDS, (":", "-"), strict=True):
                chosen = [
                    w
                    for w in rows
                    if (w.family, w.loss, w.start, w.restarts) == (name, "l1", start, rounds)
                ]
                panel.plot(
                    [float(w.data) for w in chosen],
                    [w.score for w in chosen],
                    line,
                    color=f"C{number}",
                    label=start if rounds else None,
                )
        panel.set_title(f"{name} clusters", fontsize=10)
        panel.set_xlabel("share of pairs flipped")
    panels[0].set_ylabel("accuracy of H, l1")
    panels[0].legend(fontsize=8, title="solid: restarts", title_fontsize=8)
    picture.savefig(path, dpi=120)


def main(request: Request) -> None:
    """Write starts.csv, starts.md and starts.png."""
    rows = list(synthetic(request.trials, request.seed))
    if request.data is None:
        print("starts: graphs and documents are left out; they need --data")
    else:
        rows += real(request.data, request.seed)
    with (request.out / "starts.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    (request.out / "starts.md").write_text(summary(rows))
    figure(rows, request.out / "starts.png")
