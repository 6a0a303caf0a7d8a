"""The page of a report."""

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from scipy.sparse import issparse

from odsymnmf import plots
from odsymnmf.choose import NumberOfClusters
from odsymnmf.factorization import objective
from odsymnmf.inputs import to_similarity_matrix
from odsymnmf.membership_view import MembershipView, as_matrix, as_view, names_of
from odsymnmf.memberships import overlapping_sets
from odsymnmf.persistence import atomic_write
from odsymnmf.plots import MAX_CLUSTERS, MatrixPicture, clean, count, matrix_picture
from odsymnmf.report import _pictures as pictures
from odsymnmf.report import _tables as tables
from odsymnmf.report._tables import Topics
from odsymnmf.similarity import Similarity, as_similarity
from odsymnmf.solvers.losses import loss_class
from odsymnmf.utils import plain_signature


@plain_signature
def page(
    result: Any,
    A: Any = None,
    *,
    names: Sequence[Any] | None = None,
    title: str = "odsymnmf",
    facts: Mapping[str, str] | None = None,
    topics: Topics | None = None,
    picture: MatrixPicture | None = None,
) -> str:
    """Return a result as one HTML page without external resources.

    With more than 200 clusters, the page lists only the largest ones and does not draw the matrix;
    the others can be found by number or item.

    Parameters
    ----------
    result : ODSymNMF, Factorization, or array of shape (n, r)
        A result, or its memberships.
    A : array-like, scipy sparse matrix or array, graph or Dataset, optional
        The similarities to draw; by default ``result.similarity_``, those that were fitted.
    names : sequence of n names, optional
        Names of the items; by default those of the result or of A.
    title : str, default="odsymnmf"
        The heading.
    facts : mapping of str to str, optional
        Further facts to show, such as the source of the data.
    topics : list of r lists of (word, weight), optional
        The top words of every cluster.
    picture : MatrixPicture, optional
        ``matrix_picture(A, result)``, if it has been computed already.

    Returns
    -------
    str

    Examples
    --------
    >>> import odsymnmf as od
    >>> from odsymnmf.report import page
    >>> A, H = od.datasets.cliques([3, 3])
    >>> html = page(H, A, names=list("abcdef"), title="Two cliques")
    >>> html.splitlines()[0], "Two cliques" in html
    ('<!DOCTYPE html>', True)
    """
    if A is None and not hasattr(result, "similarity_"):
        raise ValueError(
            "the result has no similarities to draw: it is not a fitted model, or was loaded "
            "without them; pass A."
        )
    data = to_similarity_matrix(result.similarity_ if A is None else A)
    S = as_similarity(data.matrix)
    view = as_view(result, S.n)
    names = names_of(result) if names is None else names
    names = plots.check_names(data.names if names is None else names, view.n)
    sets, rule = overlapping(result, view)
    sets = members(view, sets)
    n_unassigned = int(np.sum(view.labels < 0))
    unassigned = f", {n_unassigned:,} unassigned" if n_unassigned else ""
    style, script = _file("page.css") + _colors(view.r), _file("page.js")
    settings = getattr(result, "settings_", {})
    return Template(_file("page.html")).substitute(
        # Content security policy: only this script and style, no external resources.
        policy=f"default-src 'none'; img-src data:; style-src {_hash(style)}; "
        f"script-src {_hash(script)}; base-uri 'none'; form-action 'none'",
        style=style,
        script=script,
        title=escape(clean(title)),
        summary=f"{count(view.n, 'item')}, {count(view.r, 'cluster')}{unassigned}",
        rule=rule,
        clusters=tables.clusters(view, sets, names, topics),
        **_n_clusters(getattr(result, "n_clusters_search_", None)),
        **_matrix_and_graph(S, view, names, picture),
        overlap=tables.overlap(view, sets, names),
        chooser=tables.chooser(view),
        left_out_hidden="hidden" if view.n <= tables.MAX_ITEMS else "",
        n_listed=f"{tables.MAX_ITEMS:,}",
        items=tables.items(view, names, topics),
        settings_hidden="" if settings else "hidden",
        settings=_facts({name: as_text(value) for name, value in settings.items()}),
        facts=_facts({**fit_facts(result, S), **(facts or {})}),
        curve=_convergence(result),
    )


@plain_signature
def write(result: Any, path: str | Path, A: Any = None, **options: Any) -> None:
    """Write the page of a result to a file.

    Parameters
    ----------
    result : ODSymNMF, Factorization, or array of shape (n, r)
        A result, or its memberships.
    path : path
        The HTML file to write; an existing file is replaced.
    A : array-like, scipy sparse matrix or array, graph or Dataset, optional
        The similarities to draw; by default ``result.similarity_``, those that were fitted.
    **options
        As for `page`: ``names``, ``title``, ``facts``, ``topics``.

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
    html = page(result, A, **options)
    with atomic_write(path) as file:
        file.write(html.encode("utf-8", "backslashreplace"))


def overlapping(result: Any, view: MembershipView) -> tuple[list[list[int]], str]:
    """Return the overlapping sets of a result, and the rule for membership in words."""
    if issparse(as_matrix(result)):  # docs/many_clusters.md
        rule = "that have at least a fifth of its largest membership"
        return overlapping_sets(view, 0.2, rule="column"), rule
    rule = "for which it explains at least a fifth of their explained similarity"
    return overlapping_sets(view), rule


def members(view: MembershipView, sets: list[list[int]]) -> list[list[int]]:
    """Return the items of every cluster: the union of its set and the items with its label."""
    labeled = np.split(view.order, view.edges[1:])  # the last part is unassigned
    return [list(dict.fromkeys([*items, *labeled[l].tolist()])) for l, items in enumerate(sets)]


def explained_fraction(model: Any, A: Similarity) -> float | None:
    """Return 1 - f(H) / f(0), or None if f(0) = 0."""
    at_zero = objective(A, np.zeros((A.n, 1)), loss=model.loss, l1_ratio=model.l1_ratio)
    return 1 - model.objective_ / at_zero if at_zero > 0 else None


def ending(model: Any) -> str:
    """Return the status and number of iterations of a fit as text."""
    end = f"{'' if model.converged_ else 'not '}converged after {count(model.n_iter_, 'iteration')}"
    return ("interrupted, " if model.status_ == "interrupted" else "") + end


def fit_facts(model: Any, A: Similarity | None) -> dict[str, str]:
    """Return status, objective, fraction explained and parameters that are not the defaults."""
    if not hasattr(model, "objective_"):
        return {}
    facts = {"result": f"{ending(model)}, objective {model.objective_:.6g}", "loss": model.loss}
    fraction = None if A is None else explained_fraction(model, A)
    if fraction is not None:
        name = loss_class(model.loss, l1_ratio=model.l1_ratio).explained_name
        facts["explained"] = f"{100 * fraction:.1f} % of the {name}"
    defaults = type(model)().get_params()
    for name, value in model.get_params().items():
        is_shown = isinstance(value, str | int | float | None) and name != "verbose"
        if is_shown and value != defaults[name]:
            facts[name] = as_text(value)
    return facts


def as_text(value: Any) -> str:
    """Return a value as text; numbers have four significant digits."""
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _n_clusters(search: NumberOfClusters | None) -> dict[str, str]:
    """Return the template values of the section on the number of clusters."""
    if search is None:
        return {"choice_hidden": "hidden", "n_clusters": "", "reason": "", "partitions": ""}
    return {
        "choice_hidden": "",
        "n_clusters": count(search.n_clusters, "cluster"),
        "reason": escape(clean(search.reason[:1].upper() + search.reason[1:], 2000)),
        "partitions": tables.partitions(search),
    }


def _matrix_and_graph(
    A: Similarity, view: MembershipView, names: list[str], picture: MatrixPicture | None
) -> dict[str, str]:
    """Return the template values of the matrix and the graph, or why they are not drawn."""
    parts = {"graph": "", "graph_hidden": "hidden", "links": ""}
    if view.r > MAX_CLUSTERS:
        reason = f"more than {MAX_CLUSTERS} clusters cannot be distinguished in the matrix"
        return {**parts, "matrix": f'<p class="note">Not drawn: {reason}.</p>'}
    picture = picture or matrix_picture(A, view)
    matrix, links = pictures.matrix(picture), pictures.readable_links(A)
    if isinstance(links, str):
        note = f'<p class="note">The graph is not drawn: {links}.</p>'
        return {**parts, "matrix": matrix + note}
    negative = pictures.has_negative(picture.values)
    return {
        "matrix": matrix,
        "graph_hidden": "",
        "graph": pictures.graph(links, view, names),
        "links": count(len(links[0]), "link") + "; negative similarities are not drawn" * negative,
    }


def _convergence(result: Any) -> str:
    """Return the objective by iteration as an image."""
    history = plots.history_of(result)
    if history is None or not (len(history[0]) and np.isfinite(history[0]).all()):
        return '<p class="muted">No history was recorded.</p>'
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        return '<p class="muted">Not drawn: matplotlib is not installed.</p>'
    names = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    style: dict[Any, Any] = dict.fromkeys(names, plots.UNASSIGNED)  # on white and on black
    style |= {"svg.fonttype": "none", "svg.hashsalt": "odsymnmf"}
    svg = io.BytesIO()
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(4.6, 2.8), layout="constrained")
        ax = plots.plot_convergence(result, ax=figure.add_subplot())
        ax.spines[["top", "right"]].set_visible(False)
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None})
    data = base64.b64encode(svg.getvalue()).decode("ascii")
    label = f"Objective: {history[0][0]:.6g} at the start, {history[0][-1]:.6g} at the end"
    return f'<img class="curve" alt="{label}" src="data:image/svg+xml;base64,{data}">'


def _facts(facts: Mapping[str, str]) -> str:
    """Return a definition list in HTML."""
    rows = (
        f"<div><dt>{escape(clean(str(key)))}</dt>"
        f"<dd><bdi>{escape(clean(str(value)))}</bdi></dd></div>"
        for key, value in facts.items()
    )
    return f'<dl class="facts">{"".join(rows)}</dl>'


def _colors(r: int) -> str:
    """Return CSS rules with the colors of r clusters."""
    rules = "".join(f".c{l}{{--c:{color}}}" for l, color in enumerate(plots.COLORS[:r]))
    root = f"--plus:{plots.POSITIVE};--minus:{plots.NEGATIVE}"
    return f"\n:root{{{root}}}.cx{{--c:{plots.UNASSIGNED}}}{rules}\n"


def _hash(text: str) -> str:
    """Return the hash of a style or script for the content security policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
