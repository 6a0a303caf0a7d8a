"""Results of a run for the terminal, the report and run.json."""

import datetime
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import odsymnmf
from odsymnmf.cli.options import plain, table
from odsymnmf.cli.tools import PACKAGES, installed
from odsymnmf.plots import count

if TYPE_CHECKING:
    from odsymnmf import ODSymNMF
    from odsymnmf.choose import NumberOfClusters
    from odsymnmf.io import Dataset
    from odsymnmf.membership_view import MembershipView
    from odsymnmf.plots import MatrixPicture
    from odsymnmf.report import Topics

# How many clusters, and members of each, are shown on the terminal; the page shows all.
CLUSTERS, MEMBERS, WORDS = 20, 5, 8
# A spreadsheet reads names with these beginnings as formulas, unless they are numbers.
FORMULA = re.compile(r"[=+\-@\t\r](?!\d*\.?\d*(e[+-]?\d+)?$)", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """A finished fit and what led to it."""

    inputs: Sequence[str]
    data: "Dataset"
    parameters: dict[str, Any]
    model: "ODSymNMF"
    seconds: dict[str, float]
    words: Mapping[str, Any] | None = None
    weights_path: str | None = None
    weights: Any = None
    reading: Mapping[str, Any] | None = None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C or SIGTERM ended the fit."""
        return bool(self.model.status_ == "interrupted")

    @cached_property
    def topics(self) -> "Topics | None":
        """The top words of every cluster, for texts."""
        if self.words is None:
            return None
        from odsymnmf.memberships import top_features

        return top_features(self.model.membership_, self.data.matrix, self.data.feature_names)

    @property
    def title(self) -> str:
        """The name of the input."""
        more = f" and {len(self.inputs) - 1} more" if len(self.inputs) > 1 else ""
        return plain(Path(self.inputs[0]).resolve().name, 100) + more

    @property
    def settings(self) -> Mapping[str, str]:
        """The values chosen for "auto", as text."""
        words = {"kind": "kind of input"}
        settings = self.model.settings_.items()
        return {words.get(name, name): _in_words(value) for name, value in settings}

    @property
    def search(self) -> "NumberOfClusters | None":
        """How the number of clusters was chosen, if it was."""
        return getattr(self.model, "n_clusters_search_", None)

    @cached_property
    def members(self) -> "MembershipView":
        """Memberships with labels and strengths."""
        from odsymnmf.membership_view import as_view

        return as_view(self.model.membership_, labels=self.model.labels_)

    @cached_property
    def sets(self) -> list[list[int]]:
        """The items of every cluster; an item may be in several.

        For sparse H, items with at least a fifth of the cluster's largest entry
        (docs/many_clusters.md).
        """
        from scipy.sparse import issparse

        from odsymnmf.memberships import overlapping_sets

        if issparse(self.model.membership_):
            return overlapping_sets(self.members, 0.2, rule="column")
        return overlapping_sets(self.members)

    @cached_property
    def picture(self) -> "MatrixPicture | None":
        """The picture of the matrix; None with more than MAX_CLUSTERS clusters."""
        from odsymnmf.plots import MAX_CLUSTERS, matrix_picture

        if self.members.r > MAX_CLUSTERS:
            return None
        return matrix_picture(self.similarity, self.members)

    @cached_property
    def similarity(self) -> Any:
        """The fitted similarities; None if they are on a Dask cluster."""
        return getattr(self.model, "similarity_", None)

    @cached_property
    def scores(self) -> dict[str, float] | None:
        """Accuracy, NMI and ARI; None if the input has no known groups."""
        if self.data.target is None:
            return None
        from odsymnmf.metrics import scores

        return scores(self.model.labels_, self.data.target)

    @cached_property
    def explained(self) -> float | None:
        """1 - f(H) / f(0), the share of the similarities that H explains."""
        import numpy as np

        A = self.similarity
        if A is None:
            return None
        options = {name: self.parameters[name] for name in ("loss", "l1_ratio")}
        zero = odsymnmf.objective(A, np.zeros((A.n, 1)), **options)
        return 1 - self.model.objective_ / zero if zero > 0 else None

    @property
    def fit(self) -> str:
        """The explained fraction, as text."""
        if self.explained is None:
            on_cluster = self.similarity is None
            reason = "the matrix is on a cluster" if on_cluster else "all similarities are zero"
            return f"not known: {reason}"
        from odsymnmf.solvers.losses import loss_class

        loss = loss_class(self.parameters["loss"], l1_ratio=self.parameters["l1_ratio"])
        return f"{100 * self.explained:.1f} % of the {loss.explained_name}"

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
        """Whether there are several initializations."""
        return bool(self.parameters["n_init"] > 1)

    @property
    def kept(self) -> str:
        """What an interrupted fit returns."""
        if self.several:
            return "the best of the starts so far"
        return f"the last complete iteration ({self.model.n_iter_})"


def notes(data: "Dataset", r: Any) -> list[str]:
    """Return the messages to print before the fit."""
    messages = list(data.messages)
    # Names are written unchanged, so that they match those of the input.
    formulas = [name for name in data.names if FORMULA.match(name)]
    if formulas:
        verb = "name looks like a formula" if len(formulas) == 1 else "names look like formulas"
        messages.append(
            f"{len(formulas)} {verb}, such as {plain(formulas[0])!r}; in a spreadsheet, "
            "import the names in labels.csv and membership.csv as text"
        )
    if isinstance(r, int) and r > len(data.names):
        messages.append(f"-r {r} is more than the {len(data.names)} items: clusters will be empty")
    return messages


def summary(outcome: Outcome, folder: Path) -> str:
    """Return the text that is printed after the fit."""
    model, names = outcome.model, outcome.data.names
    H, labels = model.membership_, model.labels_
    lines = [
        f"{outcome.title}: {count(len(names), 'item')} in {count(H.shape[1], 'cluster')}, "
        f"{outcome.end} ({outcome.seconds['fit']:.1f} s), objective {model.objective_:.6g}",
        f"explained: {outcome.fit}",
        *([f"number of clusters: {outcome.search.reason}"] if outcome.search else []),
        *([f"input: {'; '.join(outcome.data.messages)}"] if outcome.data.messages else []),
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
        "no report.html, because the matrix stays on the cluster"
        if outcome.similarity is None
        else f"open {folder / 'report.html'} in a browser",
    ]
    return "\n".join(lines)


def _clusters(outcome: Outcome) -> list[str]:
    names = outcome.data.names
    members, sets, topics = outcome.members, outcome.sets, outcome.topics
    shown = "top members, including overlaps" if topics is None else "top words"
    rows = [["cluster", "items", shown]]
    for l in range(min(CLUSTERS, members.r)):
        strongest = [names[i] for i in sets[l][:MEMBERS]]
        listed = strongest if topics is None else [word for word, _ in topics[l][:WORDS]]
        rows.append([str(l), str(members.sizes[l]), ", ".join(map(plain, listed))])
    more = members.r - CLUSTERS
    return [table(rows)] + ([f"and {count(more, 'more cluster')}"] if more > 0 else [])


def advice(outcome: Outcome, folder: Path) -> list[str]:
    """Return hints, and what to do if the fit has not converged."""
    if outcome.interrupted:
        return [f"interrupted: {outcome.kept} is in {folder}"]
    hint = outcome.settings.get("hint")
    hints = [] if hint is None else [f"hint: {hint}"]
    if outcome.model.converged_ or outcome.parameters["max_iter"] == 0:
        return hints
    return [*hints, "the result is usable; to reach convergence, increase --max-iter or --tol"]


def facts(outcome: Outcome) -> dict[str, str]:
    """Return the facts shown in the report."""
    p, A = outcome.parameters, outcome.similarity
    r = outcome.model.n_clusters_
    lines = {"items": f"{A.n:,}", "clusters": f"{r:,}", "format": outcome.data.format}
    if A.n_stored < A.n * (A.n - 1) // 2:
        lines["linked pairs"] = f"{A.n_stored:,}"
    lines["result"] = f"{outcome.end}, objective {outcome.model.objective_:.6g}"
    lines["explained"] = outcome.fit
    shown = ("loss", "affinity", "normalize", "upper", "zero_weight", "init", "n_init", "restarts")
    for name in shown:
        if p[name] is not None:
            lines[name] = str(p[name])
    if outcome.weights is not None:
        pairs = count(outcome.weights.nnz // 2, "pair")
        lines["weights"] = f"{plain(outcome.weights_path or '', 100)}, {pairs}"
    for name, value in (outcome.words or {}).items():
        lines[name] = str(value)
    lines["random_state"] = str(p["random_state"])
    lines["time"] = (
        f"{outcome.seconds['read']:.1f} s to read, {outcome.seconds['fit']:.1f} s to fit"
    )
    if outcome.scores:
        lines["compared with known groups"] = _joined(outcome.scores)
    if outcome.data.messages:
        lines["input"] = "; ".join(outcome.data.messages)
    lines["odsymnmf"] = odsymnmf.__version__
    return lines


def record(outcome: Outcome) -> dict[str, Any]:
    """Return the content of run.json."""
    model, data, weights_path = outcome.model, outcome.data, outcome.weights_path
    weights = {} if weights_path is None else {"weights": {"path": plain(weights_path, 10_000)}}
    return {
        "input": {
            "paths": [plain(path, 10_000) for path in outcome.inputs],
            "format": data.format,
            "items": len(data.names),
            "messages": list(data.messages),
            "options": dict(outcome.reading or {}),
            **weights,
        },
        "parameters": outcome.parameters,
        **({} if outcome.words is None else {"words": dict(outcome.words)}),
        "settings": model.settings_,
        "choice": _choice(outcome.search),
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
            "restarts": model.restart_steps_.tolist(),
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


def _choice(found: "NumberOfClusters | None") -> dict[str, Any] | None:
    """Return how the number of clusters was chosen."""
    if found is None:
        return None
    table = {name: column.tolist() for name, column in found.table.items()}
    fields = ("n_clusters", "evidence", "reason", "resolution")
    return {**{name: getattr(found, name) for name in fields}, "table": table}


def _in_words(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _joined(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
