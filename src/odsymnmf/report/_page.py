"""The page, put together."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odsymnmf import memberships
from odsymnmf.report._clusters import clusters, overlap
from odsymnmf.report._colours import NEGATIVE, NOBODY, POSITIVE, palette
from odsymnmf.report._curve import curve
from odsymnmf.report._graph import graph, readable_links
from odsymnmf.report._heatmap import heat_map, legend, shades
from odsymnmf.report._picture import MatrixPicture, as_memberships, matrix_picture
from odsymnmf.report._text import checked_names, clean, count, escape, to_json
from odsymnmf.similarity import as_similarity

Array = NDArray[Any]

# Memberships per item that the table shows.
TOP = 4


def page(
    A: Any,
    H: ArrayLike,
    history: ArrayLike,
    *,
    names: Sequence[Any] | None,
    title: str,
    facts: Mapping[str, str],
    restarts: Sequence[int] = (),
) -> str:
    """Return a run as one HTML page that needs nothing else: no network, no other file.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, a similarity of n items, or a MatrixPicture
        What was clustered. The diagonal is not looked at. With a picture alone, the page has no
        drawing of the graph.
    H : array-like of shape (n, r)
        Memberships.
    history : array-like
        The objective at the start, after every sweep and after every accepted column restart.
    names : sequence of n names, or None
        None: the items go by their numbers.
    title : str
        The heading.
    facts : mapping of str to str
        What was clustered and how, as it is to be shown.
    restarts : sequence of int
        Which entries of ``history`` follow an accepted column restart.

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
    H = as_memberships(H, A.n if isinstance(A, MatrixPicture) else None)
    label = memberships.labels(H)
    called = checked_names(names, len(H))
    picture, drawing, why_not = _pictures(A, H, called)
    sets = memberships.overlapping_sets(H, 0.5)
    style = _file("page.css") + _colours(H.shape[1])
    script = _file("page.js")
    return Template(_file("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        title=escape(clean(title)),
        summary=_summary(label, H.shape[1]),
        facts=_facts(facts),
        curve=_curve(history, restarts),
        matrix=heat_map(
            picture, shades(picture.values), "The similarities, sorted by cluster", "item"
        ),
        legend=legend(picture.values),
        pixels=_pixels(picture),
        graph=drawing,
        undrawn=why_not,
        clusters=clusters(H, label, sets, called),
        overlap=overlap(H, sets, called),
        choices=_choices(label, H.shape[1]),
        items=_items(H, label, called),
    )


def _pictures(A: Any, H: Array, names: list[str]) -> tuple[MatrixPicture, str, str]:
    """Return the picture of the matrix, and the drawing of the graph or why there is none."""
    if isinstance(A, MatrixPicture):
        return A, "", ""
    S = as_similarity(A)
    picture = matrix_picture(S, H)
    pairs = readable_links(S)
    if isinstance(pairs, str):
        return picture, "", f'<p class="note">The graph is not drawn: {pairs}.</p>'
    shown = count(len(pairs[0]), "link")
    if np.nanmin(picture.values) < 0:
        shown += "; negative similarities are not drawn"
    drawing = graph(pairs, H, names)
    return picture, Template(_file("graph.html")).substitute(graph=drawing, links=shown), ""


def _summary(label: Array, r: int) -> str:
    nobody = int(np.sum(label < 0))
    parts = [count(len(label), "item"), count(r, "cluster")]
    return ", ".join(parts) + (f", {nobody:,} unassigned" if nobody else "")


def _facts(facts: Mapping[str, str]) -> str:
    rows = (
        f"<div><dt>{escape(clean(str(key)))}</dt><dd><bdi>{escape(clean(str(value)))}</bdi></dd></div>"
        for key, value in facts.items()
    )
    return f'<dl class="facts">{"".join(rows)}</dl>'


def _curve(history: ArrayLike, restarts: Sequence[int]) -> str:
    values = np.asarray(history, dtype=np.float64).ravel()
    if not (values.size and np.isfinite(values).all()):
        return '<p class="muted">No history was kept.</p>'
    note = '<p class="note"><span class="ring"></span> accepted column restart</p>'
    return curve(values, restarts) + (note if len(restarts) else "")


def _pixels(picture: MatrixPicture) -> str:
    p = len(picture.values)
    if p == picture.n:
        return "One pixel is one pair of items."
    return f"One pixel is the mean over about {(picture.n / p) ** 2:,.0f} pairs of items."


def _choices(label: Array, r: int) -> str:
    options = [f'<option value="{l}">cluster {l}</option>' for l in range(r)]
    if (label < 0).any():
        options.append('<option value="-1">unassigned</option>')
    return "".join(options)


def _items(H: Array, label: Array, names: list[str]) -> str:
    """Return the items as JSON: flat arrays, and only the largest memberships of each."""
    k = min(TOP, H.shape[1])
    top = np.argpartition(-H, k - 1, axis=1)[:, :k]
    largest_first = np.argsort(-np.take_along_axis(H, top, axis=1), axis=1, kind="stable")
    top = np.take_along_axis(top, largest_first, axis=1)
    values = np.take_along_axis(H, top, axis=1)
    own = memberships.strength(H)[np.arange(len(H)), np.maximum(label, 0)]
    others = np.maximum(0, np.count_nonzero(H, axis=1) - k)
    rest = np.where(others > 0, H.sum(axis=1) - values.sum(axis=1), 0)
    return to_json(
        {
            "names": names,
            "cluster": label.tolist(),
            "strength": [round(x, 3) for x in own.tolist()],
            "k": k,
            "top": top.ravel().tolist(),
            "values": [float(f"{x:.3g}") for x in values.ravel().tolist()],
            "others": others.tolist(),
            "rest": [float(f"{x:.3g}") for x in rest.tolist()],
        }
    )


def _colours(r: int) -> str:
    rules = "".join(f".c{l}{{--c:{colour}}}" for l, colour in enumerate(palette(r)))
    return f"\n:root{{--plus:{POSITIVE};--minus:{NEGATIVE}}}.cx{{--c:{NOBODY}}}{rules}\n"


def _policy(style: str, script: str) -> str:
    """Return a policy under which nothing is loaded, and nothing but our own script runs."""
    return (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
