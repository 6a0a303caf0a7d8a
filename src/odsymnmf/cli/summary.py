"""What is said of a run: on the terminal, on its page, and in run.json."""

import datetime
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import odsymnmf
from odsymnmf.cli.info import PACKAGES, installed
from odsymnmf.cli.text import plain, table

if TYPE_CHECKING:
    from odsymnmf import ODSymNMF
    from odsymnmf.io import Items

# How many clusters, and members of each, are shown on the terminal; the page shows all.
CLUSTERS, MEMBERS = 20, 5
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

    @property
    def title(self) -> str:
        """What was clustered, by name."""
        more = f" and {len(self.inputs) - 1} more" if len(self.inputs) > 1 else ""
        return plain(Path(self.inputs[0]).resolve().name, 100) + more

    @cached_property
    def scores(self) -> dict[str, float] | None:
        """Accuracy, NMI and ARI, where the input came with known groups."""
        if self.items.truth is None:
            return None
        from odsymnmf.metrics import scores

        return scores(self.model.labels_, self.items.truth)

    @property
    def end(self) -> str:
        """How the fit ended."""
        sweeps = f"{self.model.n_iter_} sweep" + "s" * (self.model.n_iter_ != 1)
        if self.interrupted:
            return f"interrupted after {sweeps}"
        return f"{'converged' if self.model.converged_ else 'not converged'} after {sweeps}"


def doubtful_names(names: Sequence[str]) -> list[str]:
    """Warn of names that a spreadsheet would compute. They are written as they are: changed
    names would match nothing any more."""
    found = [name for name in names if FORMULA.match(name)]
    if not found:
        return []
    return [
        f"{len(found)} names look like formulas, such as {plain(found[0])!r}; in a spreadsheet, "
        "import the names in labels.csv and membership.csv as text"
    ]


def summary(outcome: Outcome, folder: Path) -> str:
    """Return what is printed at the end."""
    import numpy as np

    model, names = outcome.model, outcome.items.names
    H, labels = model.membership_, model.labels_
    sizes = np.bincount(labels[labels >= 0], minlength=H.shape[1])
    rows = [["cluster", "items", "strongest members"]]
    for l in range(min(CLUSTERS, H.shape[1])):
        members = np.flatnonzero(labels == l)
        best = members[np.argsort(-H[members, l], kind="stable")[:MEMBERS]]
        rows.append([str(l), str(sizes[l]), ", ".join(plain(names[i]) for i in best)])
    lines = [
        f"{outcome.title}: {len(names)} items in {H.shape[1]} clusters, {outcome.end} "
        f"({outcome.seconds['fit']:.1f} s), objective {model.objective_:.6g}",
        "",
        table(rows),
    ]
    if H.shape[1] > CLUSTERS:
        lines.append(f"and {H.shape[1] - CLUSTERS} more clusters")
    unassigned = int((labels < 0).sum())
    if unassigned:
        lines.append(f"{unassigned} items belong to no cluster")
    if outcome.scores:
        lines.append("beside the known groups: " + _joined(outcome.scores))
    lines += [
        "",
        f"wrote {folder}",
        f"open {folder / 'report.html'} in a browser",
    ]
    return "\n".join(lines)


def advice(outcome: Outcome, folder: Path) -> list[str]:
    """Return what to know of a fit that did not come to its end."""
    if outcome.interrupted:
        return [f"interrupted: the last complete sweep ({outcome.model.n_iter_}) is in {folder}"]
    if outcome.model.converged_ or outcome.parameters["max_iter"] == 0:
        return []
    return [f"{outcome.end}; the result is usable. Raise --max-iter, or --tol, to get there"]


def facts(outcome: Outcome) -> dict[str, str]:
    """Return what the page says of the run."""
    from odsymnmf.similarity import Sparse

    p, A = outcome.parameters, outcome.model.similarity_
    found = {"items": f"{A.n:,}", "clusters": str(p["n_clusters"]), "format": outcome.items.format}
    if isinstance(A, Sparse):
        found["linked pairs"] = f"{A.A.nnz // 2:,}"
    found["result"] = f"{outcome.end}, objective {outcome.model.objective_:.6g}"
    for name in ("loss", "affinity", "normalize", "upper", "init", "n_init", "restarts"):
        if p[name] is not None:
            found[name] = str(p[name])
    found["seed"] = str(p["random_state"])
    found["time"] = (
        f"{outcome.seconds['read']:.1f} s to read, {outcome.seconds['fit']:.1f} s to fit"
    )
    if outcome.scores:
        found["beside known groups"] = _joined(outcome.scores)
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
        },
        "parameters": outcome.parameters,
        "fit": {
            "objective": model.objective_,
            "sweeps": model.n_iter_,
            "converged": model.converged_,
            "interrupted": outcome.interrupted,
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


def _joined(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
