"""Results of a run for run.json, the report and the terminal."""

import datetime
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import odsymnmf
from odsymnmf.cli.options import plain

if TYPE_CHECKING:
    from odsymnmf import ODSymNMF
    from odsymnmf.io import Dataset
    from odsymnmf.membership_view import MembershipView

# Clusters, and members or words of each, that are shown on the terminal; the report shows all.
N_CLUSTERS, N_MEMBERS, N_WORDS = 20, 5, 8


def record(
    model: "ODSymNMF",
    data: "Dataset",
    inputs: Sequence[str],
    parameters: dict[str, Any],
    seconds: dict[str, float],
    **details: Any,
) -> dict[str, Any]:
    """Return the content of run.json."""
    from importlib.metadata import version  # slow to import

    from odsymnmf import metrics
    from odsymnmf.report._page import ending, explained_fraction

    A, search = getattr(model, "similarity_", None), getattr(model, "n_clusters_search_", None)
    target = data.target
    return {
        "input": {
            "paths": [plain(path, 10_000) for path in inputs],
            "format": data.format,
            "items": len(data.names),
            "messages": list(data.messages),
            **details.pop("input"),
        },
        "parameters": parameters,
        **details,
        "settings": model.settings_,
        "choice": search
        and {
            **{name: getattr(search, name) for name in ("n_clusters", "evidence", "reason")},
            "resolution": search.resolution,
            "table": {name: column.tolist() for name, column in search.table.items()},
        },
        "fit": {
            "objective": model.objective_,
            "explained": None if A is None else explained_fraction(model, A),
            "clusters": model.membership_.shape[1],
            "unassigned": model.n_unassigned_,
            "sweeps": model.n_iter_,
            "converged": model.converged_,
            "interrupted": model.status_ == "interrupted",
            "end": ending(model),
            "history": model.history_.tolist(),
            "restarts": model.restart_steps_.tolist(),
        },
        "scores": None if target is None else metrics.scores(model.labels_, target),
        "seconds": {part: round(t, 3) for part, t in seconds.items()},
        "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {
            "odsymnmf": odsymnmf.__version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        },
    }


def facts(record: dict[str, Any]) -> dict[str, str]:
    """Return what the report and the terminal state about the input, from run.json."""
    fields, seconds = record["input"], record["seconds"]
    lines = {"format": fields["format"], "input": "; ".join(fields["messages"])}
    lines["weights"] = fields.get("weights", "")
    lines |= {name: str(value) for name, value in record.get("words", {}).items()}
    scores = record["scores"] or {}
    known = ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
    lines["compared with the known groups"] = known
    lines["time"] = f"{seconds['read']:.1f} s to read, {seconds['fit']:.1f} s to fit"
    lines["odsymnmf"] = record["versions"]["odsymnmf"]
    return {name: text for name, text in lines.items() if text}


def summary(
    record: dict[str, Any],
    facts: dict[str, str],
    model: "ODSymNMF",
    table: str,
    folder: Path,
) -> str:
    """Return the text that is printed after the fit."""
    from odsymnmf.plots import count

    fit = record["fit"]
    title = f"{input_name(record['input']['paths'])}: {count(record['input']['items'], 'item')}"
    lines = [f"{title} in {count(fit['clusters'], 'cluster')}, {facts['result']}"]
    if record["choice"]:
        lines.append(f"number of clusters: {record['choice']['reason']}")
    shown = ("explained", "input", "compared with the known groups")
    lines += [f"{name}: {facts[name]}" for name in shown if name in facts]
    lines += ["", table]
    if fit["unassigned"]:
        reason = model.settings_.get("unassigned")
        lines.append(
            f"{count(fit['unassigned'], 'item')} in no cluster" + (f": {reason}" if reason else "")
        )
    page = f"open {folder / 'report.html'} in a browser"
    if not hasattr(model, "similarity_"):
        page = "no report.html, because the matrix stays on the cluster"
    return "\n".join([*lines, "", f"wrote {folder}", page])


def advice(model: "ODSymNMF", record: dict[str, Any], folder: Path) -> list[str]:
    """Return hints, and advice if the fit has not converged."""
    if record["fit"]["interrupted"]:
        return [f"interrupted: the result so far ({record['fit']['end']}) is in {folder}"]
    hints = [f"hint: {model.settings_['hint']}"] if "hint" in model.settings_ else []
    if model.converged_ or model.max_iter == 0:
        return hints
    return [*hints, "the result is usable; to reach convergence, increase --max-iter or --tol"]


def cluster_table(
    view: "MembershipView", members: list[list[int]], names: list[str], topics: Any
) -> str:
    """Return the sizes and the top members or words of the clusters."""
    rows = [["cluster", "items", "top words" if topics else "top members, including overlaps"]]
    for l in range(min(N_CLUSTERS, view.r)):
        top = [names[i] for i in members[l][:N_MEMBERS]]
        if topics:
            top = [word for word, _ in topics[l][:N_WORDS]]
        rows.append([str(l), f"{view.sizes[l]:,}", ", ".join(map(plain, top))])
    widths = [max(len(row[c]) for row in rows) for c in range(2)]
    lines = [f"{a:{widths[0]}}  {b:{widths[1]}}  {c}" for a, b, c in rows]
    if view.r > N_CLUSTERS:
        lines.append(f"and {view.r - N_CLUSTERS:,} more")
    return "\n".join(lines)


def input_name(paths: Sequence[str]) -> str:
    """Return the name of the input."""
    suffix = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return plain(Path(paths[0]).resolve().name, 100) + suffix
