"""The page, put together."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.arrays import Array
from odsymnmf.drawing import MOST_CLUSTERS, MatrixPicture, Members, as_members, matrix_picture
from odsymnmf.drawing.colours import DISTINCT, NEGATIVE, NOBODY, POSITIVE, palette
from odsymnmf.drawing.names import checked_names, clean, count
from odsymnmf.drawing.shades import has_negative, shades
from odsymnmf.problem import as_similarity
from odsymnmf.report._choice import Choice, choice_card
from odsymnmf.report._clusters import Topics, checked_topics, chooser, clusters
from odsymnmf.report._curve import convergence
from odsymnmf.report._graph import graph, readable_links
from odsymnmf.report._heatmap import heat_map, legend
from odsymnmf.report._html import escape
from odsymnmf.report._items import items, left_out
from odsymnmf.report._overlap import overlap

FIFTH = "for which it explains at least a fifth of what is explained of their similarities"


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
    sets: Sequence[Array] | None = None,
    choice: Choice | None = None,
    topics: Topics | None = None,
    settings: Mapping[str, str] | None = None,
) -> str:
    """Return a run as one HTML page that needs nothing else: no network, no other file.

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
        The objective at the start, after every iteration and after every accepted column restart.
    names : sequence of n names, or None
        None: the items go by their numbers.
    title : str
        The heading.
    facts : mapping of str to str
        What was clustered and how, as it is to be shown.
    restarts : sequence of int
        Which entries of ``history`` follow an accepted column restart.
    picture : MatrixPicture, optional
        ``matrix_picture(A, H)``, if it has been computed already.
    sets : list of r arrays, optional
        The items of every cluster, the strongest first; ``overlapping_sets(H)`` if not given.
    choice : Choice, optional
        How the number of clusters was chosen.
    topics : list of r lists of (word, weight), optional
        The top words of every cluster.
    settings : mapping of str to str, optional
        What was decided for the user: the setting, and what it became.

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
    members = as_members(H, A.n if isinstance(A, MatrixPicture) else None)
    called = checked_names(names, members.n)
    words = checked_topics(topics, members.r)
    belong = members.sets() if sets is None else sets
    style, script = _file("page.css") + _colours(members.r), _file("page.js")
    return Template(_file("page.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        title=escape(clean(title)),
        summary=_summary(members),
        rule=FIFTH if sets is None else "that belong to it as well as to their own cluster",
        clusters=clusters(members, belong, called, words),
        choice=choice_card(choice),
        pictures=_pictures(A, members, called, picture),
        overlap=overlap(members, belong, called),
        chooser=chooser(members),
        left_out=left_out(members),
        items=items(members, called, words),
        settings=_settings(settings),
        facts=_facts(facts),
        curve=convergence(history, restarts),
    )


def _pictures(A: Any, members: Members, names: list[str], picture: MatrixPicture | None) -> str:
    """Return the matrix and the graph, as far as they can be read."""
    if members.r > MOST_CLUSTERS:
        missing = f"more than {MOST_CLUSTERS} clusters cannot be seen in a picture of the matrix"
        return _fill("matrix.html", content=f'<p class="note">Not drawn: {missing}.</p>')
    if isinstance(A, MatrixPicture):
        return _fill("matrix.html", content=_matrix(A))
    S = as_similarity(A)
    if S.n != members.n:
        raise ValueError(f"A is of {S.n} items, but H has {members.n} rows.")
    shown = picture or matrix_picture(S, members)
    pairs = readable_links(S)
    if isinstance(pairs, str):
        note = f'<p class="note">The graph is not drawn: {pairs}.</p>'
        return _fill("matrix.html", content=_matrix(shown) + note)
    links = count(len(pairs[0]), "link")
    if has_negative(shown.values):
        links += "; negative similarities are not drawn"
    drawn = _fill("graph.html", graph=graph(pairs, members, names), links=links)
    return _fill("matrix.html", content=_matrix(shown)) + drawn


def _matrix(picture: MatrixPicture) -> str:
    p = len(picture.values)
    pixels = f"One pixel is the mean over about {(picture.n / p) ** 2:,.0f} pairs of items."
    if p == picture.n:
        pixels = "One pixel is one pair of items."
    label = "The similarities, sorted by cluster"
    return (
        f'<p class="note">In each cluster the strongest member comes first. {pixels}</p>'
        f"{heat_map(picture, shades(picture.values), label, 'item')}{legend(picture.values)}"
    )


def _summary(members: Members) -> str:
    nobody = int(np.sum(members.label < 0))
    parts = [count(members.n, "item"), count(members.r, "cluster")]
    return ", ".join(parts) + (f", {nobody:,} unassigned" if nobody else "")


def _settings(settings: Mapping[str, str] | None) -> str:
    if not settings:
        return ""
    return f"<h3>Decided from the input</h3>{_facts(settings)}<h3>The run</h3>"


def _facts(facts: Mapping[str, str]) -> str:
    rows = (
        f"<div><dt>{escape(clean(str(key)))}</dt><dd><bdi>{escape(clean(str(value)))}</bdi></dd></div>"
        for key, value in facts.items()
    )
    return f'<dl class="facts">{"".join(rows)}</dl>'


def _colours(r: int) -> str:
    colours = palette(min(r, DISTINCT))
    rules = "".join(f".c{l}{{--c:{colour}}}" for l, colour in enumerate(colours))
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


def _fill(name: str, **parts: str) -> str:
    return Template(_file(name)).substitute(parts)


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
