"""Accuracy on document sets next to the published numbers, and under other assumptions."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks.paper.assumptions import METHODS, OPTIONS, PUBLISHED_DOCUMENTS, Array
from benchmarks.paper.experiment import COLORS, Request, compute, panels, table, write
from benchmarks.problems import load
from odsymnmf import factorize, memberships
from odsymnmf.metrics import label_accuracy
from odsymnmf.paper.algorithm_6 import greedy_init
from odsymnmf.similarity import cosine

SWEEPS = 30
LABELS = ("H", "unit columns", "columns of sum 1", "H, zeros first")
# The sets that are small enough to try other assumptions on.
SMALL = ("hitech", "k1b", "tr11", "tr23", "tr41", "tr45")
SMALL_SWEEPS = (SWEEPS, 0, 5, 100)
DEFAULTS: dict[str, Any] = {"shuffled": True, "words": "all", "upper": 1.0, "init": "library"}
AS_ABOVE, NO_COMMON_WORDS = "as above", "without words that every document has"
VARIATIONS: dict[str, dict[str, Any]] = {
    AS_ABOVE: {},
    "documents in the stored order": {"shuffled": False},
    NO_COMMON_WORDS: {"words": "not in every document"},
    "counts times idf": {"words": "idf"},
    "no bound on H": {"upper": np.inf},
    "the paper's greedy initialization (self-similarity 1)": {"init": "paper"},
}

OTHERS = """## Other assumptions

Mean accuracy over {sets}, and in brackets the mean difference from the published numbers, with one
assumption changed at a time. The settings of the table above were fixed before these were tried."""


def document_sets(data: Path | str | None) -> list[str]:
    """Return the paper's sets that are in DATA/documents."""
    files = {path.name for path in (Path(data) / "documents").glob("*")} if data else set()
    return [name for name in PUBLISHED_DOCUMENTS if {f"{name}.npz", f"{name}_labels.npy"} <= files]


def table_documents(request: Request) -> None:
    """Document sets.

    Percentage of correctly labeled documents under the best matching of clusters with classes.
    Raw word counts, cosine similarity, greedy initialization, at most 30 sweeps row by row, entries
    of H at most 1 (OD-l1, OD-l2), documents shuffled. "H" takes the largest entry of a row as its
    label, "unit" the largest after the columns of H are scaled to unit norm; the paper does not
    state how labels are derived. A document whose row of H is zero has no label and counts as
    wrong. Seconds are CPU seconds for similarity, initialization and sweeps. The paper's twelfth
    set, `sports`, is not available.
    """
    sets = document_sets(request.data)
    frame = measure(request, sets)
    rows = frame[(frame["variation"] == AS_ABOVE) & (frame["sweeps"] == SWEEPS)].copy()
    rows["sweeps"] = np.minimum(rows["n_iter"], SWEEPS)
    parts = [summary(rows), "\n".join(differences(rows, frame))]
    small = frame[frame["set"].isin(SMALL)]
    if len(small):
        parts.append(OTHERS.format(sets=", ".join(small["set"].unique())))
        parts.append(other_assumptions(request, small))
    missing = [name for name in PUBLISHED_DOCUMENTS if name not in sets]
    if missing:
        parts.append(f"Not available in this run: {', '.join(missing)}.")
    names = {label: f"accuracy, {label}" for label in LABELS}
    columns = ["set", "method", *LABELS, "paper", "sweeps", "seconds", "unassigned", "common words"]
    shown = rows[columns].rename(columns=names).round(2)
    write(request, table_documents, shown, parts, plot(rows))


def measure(request: Request, sets: list[str]) -> pd.DataFrame:
    """Return a row per variation, set, method and number of sweeps."""
    jobs = []
    for variation, changes in VARIATIONS.items():
        for name in sets:
            if variation != AS_ABOVE and name not in SMALL:
                continue
            is_small = variation == AS_ABOVE and name in SMALL
            sweeps = SMALL_SWEEPS if is_small else (SWEEPS, 0)
            settings = {**DEFAULTS, **changes, "checkpoints": sweeps}
            for number, method in enumerate(METHODS):
                labels = {"variation": variation, "set": name, "method": method}
                labels["paper"] = PUBLISHED_DOCUMENTS[name][number]
                call = {"data": str(request.data), "name": name, "method": method}
                jobs.append((labels, {**call, "seed": request.seed, **settings}))
    return compute(request, document_fit, jobs)


def weight_words(X: sparse.csr_array, words: str) -> sparse.csr_array:
    """Return the counts of all words, of those not in every document, or times their idf."""
    counts = np.bincount(X.indices, minlength=X.shape[1])
    if words == "not in every document":
        return X[:, counts < X.shape[0]]
    if words == "idf":
        return X * np.log(X.shape[0] / np.maximum(counts, 1))
    return X


def all_pairs(X: sparse.csr_array) -> Array:
    """Return X X^T as a dense array, in blocks: the sparse product would not fit into memory."""
    A = np.empty((X.shape[0], X.shape[0]))
    for start in range(0, len(A), 1024):
        A[start : start + 1024] = (X[start : start + 1024] @ X.T).toarray()
    return A


def derive_labels(H: Array) -> dict[str, Array]:
    """Return labels: the largest entry of a row, columns scaled in three ways.

    "Zeros first" assigns a row of zeros to the first cluster, as MATLAB's max does.
    """
    norms, sums = np.linalg.norm(H, axis=0), H.sum(axis=0)
    return {
        "H": memberships.labels(H),
        "unit columns": memberships.labels(H / np.where(norms > 0, norms, 1)),
        "columns of sum 1": memberships.labels(H / np.where(sums > 0, sums, 1)),
        "H, zeros first": H.argmax(axis=1),
    }


def document_fit(
    data: str,
    name: str,
    method: str,
    seed: int,
    checkpoints: tuple[int, ...],
    shuffled: bool,
    words: str,
    upper: float,
    init: str,
) -> list[dict[str, Any]]:
    """Return the accuracies of the labels after each number of sweeps in ``checkpoints``."""
    X, classes = load(Path(data), "documents", name)
    if shuffled:
        order = np.random.default_rng(seed).permutation(len(classes))
        X, classes = X[order], classes[order]
    r = len(np.unique(classes[classes >= 0]))
    common = int(np.sum(np.bincount(X.indices, minlength=X.shape[1]) == len(classes)))
    start = time.process_time()
    A: Any = cosine(weight_words(X, words))
    options = OPTIONS[method] | ({} if method == "symNMF" else {"upper": upper})
    if method == "OD-l1" or init == "paper":
        A = all_pairs(A.X)  # l1 reads all similarities in every sweep
    rows: dict[int, dict[str, Any]] = {}

    def record(H: Array, sweeps: int) -> None:
        rows[sweeps] = {"sweeps": sweeps, "seconds": time.process_time() - start}
        for label, labels in derive_labels(H).items():
            rows[sweeps][label] = 100 * label_accuracy(labels, classes)

    if init == "paper":
        H = greedy_init(A, r, 1 if method == "OD-l1" else 2, upper=upper)
    else:
        H = factorize(A, r, init="greedy", max_iter=0, **options).H
    record(H, 0)

    def callback(state: Any) -> None:
        if state.n_iter in checkpoints:
            record(state.H, state.n_iter)

    result = factorize(A, r, init=H, max_iter=max(checkpoints), callback=callback, **options)
    for sweeps in checkpoints:
        if sweeps not in rows:  # converged before
            record(result.H, sweeps)
    unassigned = int(np.sum(memberships.labels(result.H) < 0))
    shared = {"n_iter": result.n_iter, "unassigned": unassigned, "common words": common}
    return [rows[sweeps] | shared for sweeps in checkpoints]


def summary(rows: pd.DataFrame) -> str:
    """Return a line per set: two accuracies, the published one, sweeps and seconds by method."""
    header = ["set"]
    for method in METHODS:
        header += [f"{method}: H", "unit", "paper", "sweeps", "s"]
    lines = []
    for name, part in rows.groupby("set", sort=False):
        line = [name]
        for row in part.to_dict("records"):
            line += [f"{row[key]:.1f}" for key in ("H", "unit columns", "paper")]
            line += [row["sweeps"], f"{row['seconds']:.3g}"]
        lines.append(line)
    means = ["mean"]
    for _, part in rows.groupby("method", sort=False):
        means += [f"{part[key].mean():.1f}" for key in ("H", "unit columns", "paper")] + ["", ""]
    return table(header, [*lines, means])


def differences(rows: pd.DataFrame, frame: pd.DataFrame) -> list[str]:
    """Describe the differences from the published accuracies for each way to derive labels."""
    paper = rows["paper"].to_numpy()
    lines = [f'- Labels of "{label}": {difference(rows[label], paper)}.' for label in LABELS]
    changed = rows[(rows["H, zeros first"] - rows["H"]).abs() > 1]
    if len(changed):
        names = "; ".join(
            f"{row['set']}, {row['method']}: {row['H, zeros first']:.1f} instead of "
            f"{row['H']:.1f}, {row['unassigned']} documents"
            for row in changed.to_dict("records")
        )
        lines.append(
            '- "Zeros first" assigns documents without a label to the first cluster, as MATLAB\'s '
            f"max does. This matters for {names}."
        )
    changed = frame[(frame["variation"] == NO_COMMON_WORDS) & (frame["sweeps"] == SWEEPS)]
    changed = changed[changed["common words"] > 0].set_index(["set", "method"])["H, zeros first"]
    accuracies = rows.set_index(["set", "method"])["H, zeros first"].copy()
    accuracies.update(changed)
    sets = ", ".join(dict.fromkeys(name for name, _ in changed.index)) or "none"
    lines.append(
        f"- The same, and without the words that every document has ({sets}): "
        f"{difference(accuracies, paper)}."
    )
    return lines


def difference(values: Any, published: Array) -> str:
    gaps = np.abs(np.asarray(values) - published)
    return (
        f"{gaps.mean():.1f} points from the published numbers on average, at most "
        f"{gaps.max():.1f}; within 5 in {np.sum(gaps <= 5)} of {len(gaps)}"
    )


def other_assumptions(request: Request, frame: pd.DataFrame) -> str:
    """Write table-documents-assumptions.csv; return it and the closest assumption as Markdown."""
    sweeps = frame["sweeps"].map("{} sweeps".format)
    titles = np.where(frame["variation"] == AS_ABOVE, AS_ABOVE + ", " + sweeps, frame["variation"])
    frame = frame[(frame["variation"] == AS_ABOVE) | (frame["sweeps"] == SWEEPS)].assign(
        assumption=pd.Series(titles, frame.index)
    )
    by = [frame["assumption"], frame["method"]]
    labels = frame[list(LABELS)]
    means = labels.groupby(by, sort=False).mean().unstack()
    gaps = labels.sub(frame["paper"], axis=0).abs().groupby(by, sort=False).mean().unstack()
    columns = [(label, method) for method in METHODS for label in LABELS]
    parts = {"accuracy": means[columns], "difference": gaps[columns]}
    joined = pd.concat(parts, axis=1).round(2)
    joined.columns = [f"{method}, {label}: {part}" for part, label, method in joined.columns]
    joined.to_csv(request.out / "table-documents-assumptions.csv")
    lines = [
        [name, *(f"{means.loc[name, c]:.1f} ({gaps.loc[name, c]:.1f})" for c in columns)]
        for name in means.index
    ]
    header = [f"{method}: H" if label == "H" else label for label, method in columns]
    overall = gaps.T.groupby(level=0, sort=False).mean().T.stack()
    best = overall.idxmin()
    return table(["", *header], lines) + (
        f"\n\nMean over the methods: labels of H as above are {overall.iloc[0]:.1f} points "
        f"from the published numbers. The smallest difference: {best[0]}, labels of {best[1]}, "
        f"{overall[best]:.1f} points."
    )


def plot(rows: pd.DataFrame) -> Any:
    """Plot a panel per method: two ways to derive labels, and the published numbers."""
    image, axes = panels(11, 3.6, len(METHODS), sharey=True)
    for ax, method in zip(axes, METHODS, strict=True):
        part = rows[rows["method"] == method]
        x = np.arange(len(part))
        for shift, label, alpha in ((-0.2, "H", 1.0), (0.2, "unit columns", 0.5)):
            ax.bar(x + shift, part[label], 0.4, color=COLORS[method], alpha=alpha, label=label)
        ax.plot(x, part["paper"], "_k", markersize=14, label="the paper")
        ax.set_title(method, fontsize=10)
        ax.set_xticks(x, part["set"], rotation=60, fontsize=8)
        ax.legend(fontsize=7)
    axes[0].set_ylabel("correct labels, %")
    axes[0].set_ylim(0, 90)  # space for the legends
    return image
