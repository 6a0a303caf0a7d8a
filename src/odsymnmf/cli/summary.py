"""What is said of a run: on the terminal, on its page, and in run.json."""

import datetime
import math
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import odsymnmf
from odsymnmf.cli.info import PACKAGES, installed
from odsymnmf.cli.text import plain, table
from odsymnmf.cli.wording import in_options
from odsymnmf.drawing.names import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from odsymnmf import ODSymNMF
    from odsymnmf.cli.fit import PairWeights
    from odsymnmf.drawing import MatrixPicture, Members
    from odsymnmf.io import Items
    from odsymnmf.report import Choice, Topics

# How many clusters, and members of each, are shown on the terminal; the page shows all.
CLUSTERS, MEMBERS, WORDS = 20, 5, 8
# Numbers may begin so; anything else that does, a spreadsheet takes for a formula.
FORMULA = re.compile(r"[=+\-@\t\r](?!\d*\.?\d*(e[+-]?\d+)?$)", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """A finished fit and what led to it."""

    inputs: Sequence[str]
    items: "Items"
    fingerprint: str
    parameters: dict[str, Any]
    model: "ODSymNMF"
    interrupted: bool
    seconds: dict[str, float]
    topics: "Topics | None" = None
    words: Mapping[str, Any] | None = None
    weights: "PairWeights | None" = None

    @property
    def title(self) -> str:
        """What was clustered, by name."""
        more = f" and {len(self.inputs) - 1} more" if len(self.inputs) > 1 else ""
        return plain(Path(self.inputs[0]).resolve().name, 100) + more

    @property
    def settings(self) -> Mapping[str, str]:
        """What "auto" stood for, in words; a hint names options, not arguments."""
        from odsymnmf.cli.cluster import cluster

        found = {name: _in_words(value) for name, value in self.model.settings_.items()}
        found |= {name: in_options(found[name], cluster) for name in found if name == "hint"}
        return {"kind of input" if name == "kind" else name: value for name, value in found.items()}

    @cached_property
    def choice(self) -> "Choice | None":
        """How the number of clusters was chosen, if it was."""
        found = getattr(self.model, "choice_", None)
        if found is None:
            return None
        from odsymnmf.choose.result import MEASURES
        from odsymnmf.report import Choice

        values = found.values.tolist()
        measure = MEASURES[found.measure]
        return Choice(found.candidates.tolist(), values, found.n_clusters, found.reason, measure)

    @cached_property
    def members(self) -> "Members":
        """H as the page and the terminal show it."""
        from odsymnmf.drawing import as_members

        return as_members(self.model.membership_, None, self.model.labels_)

    @cached_property
    def sets(self) -> "list[NDArray[Any]]":
        """The items of every cluster: an item may be in several, but counts in one.

        Where memberships are sparse, those with a fifth of the cluster's largest membership: that
        agrees best with the known groups of planted graphs (docs/many_clusters.md).
        """
        from scipy.sparse import issparse

        many = issparse(self.model.membership_)
        return self.members.column_sets() if many else self.members.sets()

    @cached_property
    def picture(self) -> "MatrixPicture | None":
        """The matrix, unless there are more clusters than can be seen."""
        from odsymnmf.drawing import MOST_CLUSTERS, matrix_picture

        if self.members.r > MOST_CLUSTERS:
            return None
        return matrix_picture(self.similarity, self.members)

    @cached_property
    def similarity(self) -> Any:
        """What was fitted; None if it stays on the cluster."""
        return getattr(self.model, "similarity_", None)

    @cached_property
    def scores(self) -> dict[str, float] | None:
        """Accuracy, NMI and ARI, where the input came with known groups."""
        if self.items.truth is None:
            return None
        from odsymnmf.metrics import scores

        return scores(self.model.labels_, self.items.truth)

    @cached_property
    def explained(self) -> float | None:
        """1 - f(H) / f(0), the share of the similarities that H explains."""
        import numpy as np

        A = self.similarity
        if A is None:
            return None
        try:
            options = {name: self.parameters[name] for name in ("loss", "l1_ratio")}
            nothing = odsymnmf.objective(A, np.zeros((A.n, 1)), **options)
        except MemoryError:  # the result is worth more than this number
            return None
        return 1 - self.model.objective_ / nothing if nothing > 0 else None

    @property
    def fit(self) -> str:
        """How good the fit is, in words."""
        if self.explained is None:
            elsewhere = self.similarity is None
            why = "the matrix is on a cluster" if elsewhere else "all similarities are zero, or"
            return f"not known: {why}" + " there was too little memory" * (not elsewhere)
        from odsymnmf.engine.losses import loss_class

        loss = loss_class(self.parameters["loss"], l1_ratio=self.parameters["l1_ratio"])
        return f"{100 * self.explained:.1f} % of the {loss.explains}"

    @property
    def end(self) -> str:
        """How the fit ended."""
        sweeps = f"after {count(self.model.n_iter_, 'iteration')}"
        if self.interrupted and not self.several:
            return f"interrupted {sweeps}"
        end = f"{'converged' if self.model.converged_ else 'not converged'} {sweeps}"
        return f"interrupted; the best start so far {end}" if self.interrupted else end

    @property
    def several(self) -> bool:
        """Whether there is more than one start."""
        return bool(self.parameters["n_init"] > 1)

    @property
    def kept(self) -> str:
        """What an interrupted fit leaves."""
        if self.several:
            return "the best of the starts so far"
        return f"the last complete iteration ({self.model.n_iter_})"


def notes(items: "Items", r: Any) -> list[str]:
    """Return what to know before the fit."""
    found = list(items.notes)
    # Such names are written as they are: changed names would match nothing any more.
    formulas = [name for name in items.names if FORMULA.match(name)]
    if formulas:
        look = "name looks like a formula" if len(formulas) == 1 else "names look like formulas"
        found.append(
            f"{len(formulas)} {look}, such as {plain(formulas[0])!r}; in a spreadsheet, "
            "import the names in labels.csv and membership.csv as text"
        )
    if isinstance(r, int) and r > len(items.names):
        found.append(f"-r {r} is more than the {len(items.names)} items: clusters will be empty")
    return found


def summary(outcome: Outcome, folder: Path, *, page: bool = True) -> str:
    """Return what is printed at the end."""
    model, names = outcome.model, outcome.items.names
    H, labels = model.membership_, model.labels_
    lines = [
        f"{outcome.title}: {count(len(names), 'item')} in {count(H.shape[1], 'cluster')}, "
        f"{outcome.end} ({outcome.seconds['fit']:.1f} s), objective {model.objective_:.6g}",
        f"explained: {outcome.fit}",
        *([f"number of clusters: {outcome.choice.reason}"] if outcome.choice else []),
        "",
        *_clusters(outcome),
    ]
    unassigned = int((labels < 0).sum())
    if unassigned:
        verb = "belongs" if unassigned == 1 else "belong"
        why = model.settings_.get("unassigned")
        lines.append(
            f"{count(unassigned, 'item')} {verb} to no cluster" + (f": {why}" if why else "")
        )
    if outcome.scores:
        lines.append("compared with the known groups: " + _joined(outcome.scores))
    lines += [
        "",
        f"wrote {folder}",
        *([f"open {folder / 'report.html'} in a browser"] if page else []),
    ]
    return "\n".join(lines)


def _clusters(outcome: Outcome) -> list[str]:
    names = outcome.items.names
    try:
        members, sets = outcome.members, outcome.sets
    except MemoryError:
        return []
    topics = outcome.topics
    shown = "strongest members, shared ones too" if topics is None else "top words"
    rows = [["cluster", "items", shown]]
    for l in range(min(CLUSTERS, members.r)):
        who = [names[i] for i in sets[l][:MEMBERS]]
        best = who if topics is None else [word for word, _ in topics[l][:WORDS]]
        rows.append([str(l), str(members.sizes[l]), ", ".join(map(plain, best))])
    more = members.r - CLUSTERS
    return [table(rows)] + ([f"and {count(more, 'more cluster')}"] if more > 0 else [])


def advice(outcome: Outcome, folder: Path) -> list[str]:
    """Return what to know of a fit that did not come to its end, or what to try."""
    if outcome.interrupted:
        return [f"interrupted: {outcome.kept} is in {folder}"]
    hint = outcome.settings.get("hint")
    hints = [] if hint is None else [f"hint: {hint}"]
    if outcome.model.converged_ or outcome.parameters["max_iter"] == 0:
        return hints
    return [*hints, "the result is usable; to reach convergence, increase --max-iter or --tol"]


def facts(outcome: Outcome) -> dict[str, str]:
    """Return what the page says of the run."""
    p, A = outcome.parameters, outcome.similarity
    r = outcome.model.n_clusters_
    found = {"items": f"{A.n:,}", "clusters": f"{r:,}", "format": outcome.items.format}
    if A.stored < A.n * (A.n - 1) // 2:
        found["linked pairs"] = f"{A.stored:,}"
    found["result"] = f"{outcome.end}, objective {outcome.model.objective_:.6g}"
    found["explained"] = outcome.fit
    shown = ("loss", "affinity", "normalize", "upper", "zero_weight", "init", "n_init", "restarts")
    for name in shown:
        if p[name] is not None:
            found[name] = str(p[name])
    if outcome.weights is not None:
        listed = outcome.weights.matrix.nnz // 2
        found["weights"] = f"{plain(outcome.weights.path, 100)}, {count(listed, 'pair')}"
    for name, value in (outcome.words or {}).items():
        found[name] = str(value)
    found["seed"] = str(p["random_state"])
    found["time"] = (
        f"{outcome.seconds['read']:.1f} s to read, {outcome.seconds['fit']:.1f} s to fit"
    )
    if outcome.scores:
        found["compared with known groups"] = _joined(outcome.scores)
    for i, note in enumerate(outcome.items.notes):
        found[f"note {i + 1}"] = note
    found["odsymnmf"] = odsymnmf.__version__
    found["SHA-256 of the input"] = outcome.fingerprint
    return found


def record(outcome: Outcome) -> dict[str, Any]:
    """Return run.json: what is needed to run it again, and to trust the result."""
    model, items = outcome.model, outcome.items
    return {
        "input": {
            "paths": [plain(path, 10_000) for path in outcome.inputs],
            "format": items.format,
            "sha256": outcome.fingerprint,
            "items": len(items.names),
            "notes": list(items.notes),
            **_weights(outcome),
        },
        "parameters": outcome.parameters,
        **({} if outcome.words is None else {"words": dict(outcome.words)}),
        "settings": model.settings_,
        "choice": _choice(model),
        "fit": {
            "objective": model.objective_,
            "explained": outcome.explained,
            "clusters": model.membership_.shape[1],
            "unassigned": model.n_unassigned_,
            "sweeps": model.n_iter_,
            "converged": model.converged_,
            "interrupted": outcome.interrupted,
            "end": outcome.end,
            "history": model.history_.tolist(),
            "restarts": model.restarts_.tolist(),
        },
        "scores": outcome.scores,
        "seconds": {part: round(t, 3) for part, t in outcome.seconds.items()},
        "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {
            "odsymnmf": odsymnmf.__version__,
            "python": platform.python_version(),
            **{name: installed(name) for name in PACKAGES},
        },
    }


def _weights(outcome: Outcome) -> dict[str, Any]:
    """Return the file of weights, if there is one."""
    found = outcome.weights
    if found is None:
        return {}
    return {"weights": {"path": plain(found.path, 10_000), "sha256": found.fingerprint}}


def _choice(model: "ODSymNMF") -> dict[str, Any] | None:
    """Return how the number of clusters was chosen, with null where nothing was measured."""
    found = getattr(model, "choice_", None)
    if found is None:
        return None
    table = {
        name: [value if math.isfinite(value) else None for value in column.tolist()]
        for name, column in found.table.items()
    }
    return {
        "n_clusters": found.n_clusters,
        "reason": found.reason,
        "measure": found.measure,
        "bethe_hessian": found.bethe_hessian,
        "table": table,
    }


def _in_words(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _joined(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
