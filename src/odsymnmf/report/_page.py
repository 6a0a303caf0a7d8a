"""The page of a report."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf import plots
from odsymnmf.choose import NumberOfClusters
from odsymnmf.inputs import to_similarity_matrix
from odsymnmf.membership_view import MembershipView, as_view
from odsymnmf.memberships import overlapping_sets
from odsymnmf.persistence import atomic_write
from odsymnmf.plots import MAX_CLUSTERS, MatrixPicture, clean, count, matrix_picture
from odsymnmf.report import _pictures as pictures
from odsymnmf.report import _tables as tables
from odsymnmf.report._tables import Topics
from odsymnmf.similarity import as_similarity
from odsymnmf.utils import Array, plain_signature

STRENGTH_RULE = "for which it explains at least a fifth of what is explained of their similarities"
OTHER_RULE = "that belong to it as well as to their own cluster"


@plain_signature
def page(
    A: Any,
    H: Any,
    history: ArrayLike,
    *,
    names: Sequence[Any] | None,
    title: str,
    facts: Mapping[str, str],
    restarts: Sequence[int] = (),
    picture: MatrixPicture | None = None,
    sets: Sequence[Sequence[int]] | None = None,
    choice: NumberOfClusters | None = None,
    topics: Topics | None = None,
    settings: Mapping[str, str] | None = None,
) -> str:
    """Return a run as one HTML page that needs no network and no other file.

    It begins with the clusters. With more than 200 of them, the largest and the strongest are
    listed, all can be looked up by item and by number, and the matrix is not drawn.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, a similarity of n items, or a MatrixPicture
        What was clustered. The diagonal is ignored. With a picture alone, the page has no
        drawing of the graph.
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    history : array-like
        The objective of the initialization, after every iteration and accepted column restart.
    names : sequence of n names, or None
        Names of the items; numbers if None.
    title : str
        The heading.
    facts : mapping of str to str
        What was clustered and how, to be shown.
    restarts : sequence of int
        Which entries of ``history`` follow an accepted column restart.
    picture : MatrixPicture, optional
        ``matrix_picture(A, H)``, if it has been computed already.
    sets : list of r lists, optional
        The items of every cluster, the strongest first; ``overlapping_sets(H)`` if not given.
    choice : odsymnmf.choose.NumberOfClusters, optional
        How the number of clusters was chosen.
    topics : list of r lists of (word, weight), optional
        The top words of every cluster.
    settings : mapping of str to str, optional
        The values chosen for "auto".

    Returns
    -------
    str

    Examples
    --------
    >>> import odsymnmf as od
    >>> from odsymnmf.report import page
    >>> A, H = od.datasets.cliques([3, 3])
    >>> html = page(A, H, [30.0, 0.0], names=list("abcdef"), title="Two cliques", facts={})
    >>> html.splitlines()[0], "Two cliques" in html
    ('<!DOCTYPE html>', True)
    """
    view = as_view(H, A.n if isinstance(A, MatrixPicture) else None)
    checked = plots.check_names(names, view.n)
    members = overlapping_sets(view) if sets is None else sets
    matrix, graph, links = _matrix_and_graph(A, view, checked, picture)
    n_unassigned = int(np.sum(view.labels < 0))
    unassigned = f", {n_unassigned:,} unassigned" if n_unassigned else ""
    style, script = _file("page.css") + _colors(view.r), _file("page.js")
    return Template(_file("page.html")).substitute(
        # Nothing is loaded, and only this script runs.
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; "
        f"script-src {_hash(script)}; base-uri 'none'; form-action 'none'",
        style=style,
        script=script,
        title=escape(clean(title)),
        summary=f"{count(view.n, 'item')}, {count(view.r, 'cluster')}{unassigned}",
        rule=STRENGTH_RULE if sets is None else OTHER_RULE,
        clusters=tables.clusters(view, members, checked, topics),
        **_choice(choice),
        matrix=matrix,
        graph_hidden="" if graph else "hidden",
        graph=graph,
        links=links,
        overlap=tables.overlap(view, members, checked),
        chooser=tables.chooser(view),
        left_out_hidden="hidden" if view.n <= tables.MAX_ITEMS else "",
        n_listed=f"{tables.MAX_ITEMS:,}",
        items=tables.items(view, checked, topics),
        settings_hidden="" if settings else "hidden",
        settings=_facts(settings or {}),
        facts=_facts(facts),
        curve=_convergence(np.asarray(history, dtype=np.float64).ravel(), restarts),
    )


def write(model: Any, path: str | Path, *, title: str = "odsymnmf", A: Any = None) -> None:
    """Write the page of a fitted model.

    Parameters
    ----------
    model : ODSymNMF
        A fitted model.
    path : path
        The HTML file to write; an existing file is replaced.
    title : str
        The heading.
    A : array-like, scipy sparse matrix or array, graph or Dataset, optional
        The similarities to draw; by default ``model.similarity_``, those that were fitted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import odsymnmf as od
    >>> model = od.ODSymNMF(6).fit(od.datasets.les_miserables())
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory, "report.html")
    ...     od.report.write(model, path, title="Les Misérables")
    ...     "Valjean" in path.read_text(encoding="utf-8")
    True
    """
    if A is None and not hasattr(model, "similarity_"):
        raise ValueError(
            "the model has no similarities to draw: it is not fitted, or was loaded without them; "
            "pass A."
        )
    html = page(
        model.similarity_ if A is None else to_similarity_matrix(A).matrix,
        as_view(model),
        model.history_,
        names=model.item_names_,
        title=title,
        facts={"loss": model.loss, "objective": f"{model.objective_:.6g}", "ended": model.status_},
        restarts=model.restart_steps_.tolist(),
        choice=getattr(model, "n_clusters_search_", None),
        settings={key: str(value) for key, value in model.settings_.items()},
    )
    with atomic_write(path) as file:
        file.write(html.encode("utf-8", "backslashreplace"))


def _choice(found: NumberOfClusters | None) -> dict[str, str]:
    """Return the parts of the section on the number of clusters."""
    if found is None:
        return {"choice_hidden": "hidden", "n_clusters": "", "reason": "", "partitions": ""}
    return {
        "choice_hidden": "",
        "n_clusters": count(found.n_clusters, "cluster"),
        "reason": escape(clean(found.reason[:1].upper() + found.reason[1:], 2000)),
        "partitions": tables.partitions(found),
    }


def _matrix_and_graph(
    A: Any, view: MembershipView, names: list[str], picture: MatrixPicture | None
) -> tuple[str, str, str]:
    """Return the matrix, the graph and a note on its links, as far as they can be read."""
    if view.r > MAX_CLUSTERS:
        reason = f"more than {MAX_CLUSTERS} clusters cannot be seen in a picture of the matrix"
        return f'<p class="note">Not drawn: {reason}.</p>', "", ""
    if isinstance(A, MatrixPicture):
        return _matrix(A), "", ""
    S = as_similarity(A)
    picture = picture or matrix_picture(S, view)
    matrix, links = _matrix(picture), pictures.readable_links(S)
    if isinstance(links, str):
        return f'{matrix}<p class="note">The graph is not drawn: {links}.</p>', "", ""
    negative = pictures.has_negative(picture.values)
    note = count(len(links[0]), "link") + "; negative similarities are not drawn" * negative
    return matrix, pictures.graph(links, view, names), note


def _matrix(picture: MatrixPicture) -> str:
    p = len(picture.values)
    pixels = f"One pixel is the mean over about {(picture.n / p) ** 2:,.0f} pairs of items."
    if p == picture.n:
        pixels = "One pixel is one pair of items."
    label = "The similarities, sorted by cluster"
    heat_map = pictures.heat_map(picture, plots.shades(picture.values), label, "item")
    return (
        f'<p class="note">In each cluster the strongest member comes first. {pixels}</p>'
        f"{heat_map}{pictures.legend(picture.values)}"
    )


def _convergence(history: Array, restarts: Sequence[int]) -> str:
    """Return the objective by iteration and restart."""
    if not (history.size and np.isfinite(history).all()):
        return '<p class="muted">No history was kept.</p>'
    steps = np.arange(len(history))
    rings = {k for k in map(int, restarts) if 0 < k < len(history)}
    before = np.cumsum([k in rings for k in steps]).tolist()
    when = [
        f"after {count(k - before[k], 'iteration')}"
        + (f" and {count(before[k], 'restart')}" if before[k] else "")
        for k in steps.tolist()
    ]
    when[0] = "at the start"
    titles = [
        f"{'column restart, ' * (k in rings)}{when[k]}: {history[k]:.6g}" for k in steps.tolist()
    ]
    end = f", {history[-1]:.4g} {when[-1]}" if len(history) > 1 else ""
    label = f"Objective: {history[0]:.4g} at the start{end}."
    name = "iterations and restarts" if rings else "iterations"
    note = '<p class="note"><span class="ring"></span> accepted column restart</p>'
    return pictures.curve(steps, history, titles, rings, name, label) + note * bool(rings)


def _facts(facts: Mapping[str, str]) -> str:
    rows = (
        f"<div><dt>{escape(clean(str(key)))}</dt><dd><bdi>{escape(clean(str(value)))}</bdi></dd></div>"
        for key, value in facts.items()
    )
    return f'<dl class="facts">{"".join(rows)}</dl>'


def _colors(r: int) -> str:
    colors = enumerate(plots.palette(min(r, plots.MAX_COLORS)))
    rules = "".join(f".c{l}{{--c:{color}}}" for l, color in colors)
    root = f"--plus:{plots.POSITIVE};--minus:{plots.NEGATIVE}"
    return f"\n:root{{{root}}}.cx{{--c:{plots.UNASSIGNED}}}{rules}\n"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
