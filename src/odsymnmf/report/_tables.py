"""Tables of the report: clusters, their overlap, and the data of the items."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from odsymnmf.choose.result import NumberOfClusters, header
from odsymnmf.membership_view import MembershipView
from odsymnmf.plots import COLORS, MAX_CLUSTERS, MIN_SLICE, clean, count, shorten
from odsymnmf.report._pictures import css, number
from odsymnmf.utils import Array

Topics = Sequence[Sequence[tuple[str, float]]]

# Names and words per cluster, and their lengths.
N_MEMBERS, N_WORDS, NAME_LENGTH, WORD_LENGTH = 8, 10, 60, 40
# Clusters that are listed if there are more than MAX_CLUSTERS.
N_LISTED = 50
# Clusters in the table of overlaps, and pairs that are listed.
TABLE_COLUMNS, N_PAIRS = 40, 10
# Memberships per item in the table of items, however small.
N_TOP = 4
# Maximum number of items on the page, for speed: the strongest of every cluster.
MAX_ITEMS = 250_000


def chip(l: int) -> str:
    """Return a cluster's number next to its color."""
    return f'<span class="chip {css(l)}">{l if l >= 0 else "unassigned"}</span>'


def listed(names: Iterable[str]) -> str:
    """Return names separated by commas, without a line break before a comma."""
    parts = [f"<bdi>{escape(shorten(name, NAME_LENGTH))}</bdi>" for name in names]
    closed = [f"{part}," for part in parts[:-1]] + parts[-1:]
    return " ".join(f'<span class="name">{part}</span>' for part in closed)


def top_words(topic: Sequence[tuple[str, float]]) -> list[str]:
    """Return the words of a topic to show."""
    return [shorten(clean(str(word)), WORD_LENGTH) for word, _ in topic[:N_WORDS]]


def clusters(
    view: MembershipView, sets: Sequence[Sequence[int]], names: list[str], topics: Topics | None
) -> str:
    """Return one row per cluster, the largest of very many, and one for unassigned items."""
    shown, title = np.arange(view.r), ""
    if view.r > MAX_CLUSTERS:
        shown = np.argsort(-view.sizes, kind="stable")[:N_LISTED]
        title = f"<h3>The {N_LISTED} largest of {view.r:,}</h3>"
    sizes = {l: int(view.sizes[l]) for l in shown.tolist()}
    if n_unassigned := int(np.sum(view.labels < 0)):
        sizes[-1] = n_unassigned
    rows = []
    for l, size in sizes.items():
        items = sets[l] if l >= 0 else []
        top = listed(names[i] for i in items[:N_MEMBERS]) or '<span class="muted">none</span>'
        if len(items) > N_MEMBERS:
            top += f' <span class="muted">and {len(items) - N_MEMBERS:,} more</span>'
        shared = f"{len(items) - size:,}" if l >= 0 else ""
        words = listed(top_words(topics[l])) if topics and l >= 0 else ""
        words = f'<td class="words-cell">{words}</td>' if topics else ""
        rows.append(
            f'<tr><th scope="row"><button type="button" class="pick" data-cluster="{l}">{chip(l)}'
            f'</button></th><td class="num">{size:,}<span class="unit"> item{"s" * (size != 1)}'
            f'</span></td><td class="wide"><svg class="bar {css(l)}" viewBox="0 0 100 8" '
            f'preserveAspectRatio="none" aria-hidden="true">'
            f'<rect width="{100 * size / max(1, *sizes.values()):.1f}" height="8"/></svg></td>'
            f'<td class="num set">{shared}</td>{words}<td class="top">{top}</td></tr>'
        )
    heading = '<th scope="col">Top words</th>' if topics else ""
    return (
        f'{title}<table class="clusters"><thead><tr><th scope="col">Cluster</th>'
        '<th scope="col" class="num">Items</th><td class="wide"></td>'
        f'<th scope="col" class="num set">Shared</th>{heading}'
        '<th scope="col">Strongest members</th></tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def partitions(search: NumberOfClusters) -> str:
    """Return the partitions that were compared; the chosen one is marked."""
    head = "".join(f'<th scope="col" class="num">{header(name)}</th>' for name in search.table)
    rows = []
    for i, row in enumerate(zip(*search.table.values(), strict=True)):
        cells = "".join(f'<td class="num">{number(round(x, 6))}</td>' for x in row)
        mark = ' class="chosen"' if i == search.row else ""
        rows.append(f"<tr{mark}>{cells}<td>{'chosen' if mark else ''}</td></tr>")
    return (
        f'<table class="partitions"><thead><tr>{head}<td></td></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def chooser(view: MembershipView) -> str:
    """Return a list to choose a cluster from; its number if there are very many."""
    if view.r > MAX_CLUSTERS:
        return (
            f'<label>Cluster <input type="number" id="cluster" min="-1" max="{view.r - 1}" '
            f'step="1" inputmode="numeric" placeholder="0 to {view.r - 1}"></label>'
        )
    options = [f'<option value="{l}">cluster {l}</option>' for l in range(view.r)]
    if (view.labels < 0).any():
        options.append('<option value="-1">unassigned</option>')
    return (
        '<label>Show <select id="cluster"><option value="">all clusters</option>'
        f"{''.join(options)}</select></label>"
    )


def overlap(view: MembershipView, sets: Sequence[Sequence[int]], names: list[str]) -> str:
    """Return the shared members of clusters, and the cosines of their columns."""
    r = view.r
    members, ends = np.array([*chain(*sets)], dtype=np.intp), np.cumsum([0, *map(len, sets)])
    ones = np.ones(len(members), dtype=np.int32)
    belongs = sparse.csc_array((ones, members, ends), shape=(view.n, r)).tocsr()
    shared = belongs.T @ belongs
    pairs = sparse.triu(shared, 1).tocoo()
    unit = normalize(view.H.astype(np.float64), axis=0).tocsc()
    cosines = np.asarray(unit[:, pairs.row].multiply(unit[:, pairs.col]).sum(axis=0)).ravel()
    order = np.lexsort((pairs.col, pairs.row, -cosines))
    rows = []
    for k in order[:N_PAIRS].tolist():
        l, m = int(pairs.row[k]), int(pairs.col[k])
        common = np.intersect1d(sets[l], sets[m])
        weaker = view.H[common][:, [l, m]].toarray().min(axis=1)
        top = listed(names[i] for i in common[np.argsort(-weaker, kind="stable")][:4])
        rows.append(
            f"<li>{chip(l)} {chip(m)} <span>cosine {cosines[k]:.2f}, "
            f"{count(len(common), 'shared member')}: {top}{' …' * (len(common) > 4)}</span></li>"
        )
    listing = f'<div><h3>Largest overlaps</h3><ul class="plain">{"".join(rows)}</ul></div>'
    if not rows:
        listing = "<p>The clusters do not overlap: no item is in two of them.</p>"
    if r == 1 or r > TABLE_COLUMNS:
        return listing
    table = _overlap_table(shared.toarray(), (unit.T @ unit).toarray())
    return (
        '<p class="note">Numbers are shared members, on the diagonal all members; the shade is the '
        f'cosine of the columns of H.</p><div class="pair">{table}{listing}</div>'
    )


def _overlap_table(shared: Array, cosine: Array) -> str:
    """Return the shared members of all pairs of clusters."""
    r = len(shared)
    rows = ["<td></td>" + "".join(f'<th scope="col">{chip(l)}</th>' for l in range(r))]
    for l in range(r):
        cells = [f'<th scope="row">{chip(l)}</th>']
        for m in range(r):
            k, c = int(shared[l, m]), cosine[l, m]
            kind = "own" if l == m else f"s{round(10 * c)}" + " muted" * (k == 0)
            title = f"clusters {l} and {m}: {count(k, 'shared member')}, cosine {c:.2f}"
            cells.append(f'<td class="{kind}" title="{title}">{k:,}</td>')
        rows.append("".join(cells))
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Overlap between clusters">'
        '<table class="overlap"><caption class="hidden">Shared members of every two clusters'
        f"</caption><thead><tr>{rows[0]}</tr></thead><tbody>"
        f"{''.join(f'<tr>{row}</tr>' for row in rows[1:])}</tbody></table></div>"
    )


def items(view: MembershipView, names: Sequence[str], topics: Topics | None) -> str:
    """Return the items as JSON, cluster by cluster, with their largest memberships.

    The memberships of item i are the next ``counts[i]`` entries of ``top`` and ``percent``, the
    cluster of its label first; ``others[i]`` further ones are left out.
    """
    order = view.order
    if view.n > MAX_ITEMS:  # as many of every cluster
        cluster = np.where(view.labels < 0, view.r, view.labels)[order]
        rank = np.arange(view.n) - np.append(view.edges, view.n)[cluster]
        order = order[np.sort(np.argsort(rank, kind="stable")[:MAX_ITEMS])]
    position = np.full(view.n, -1)
    position[order] = np.arange(len(order))
    place = position[view.rows]
    rank = np.arange(len(view.ranked)) - view.H.indptr[view.rows]
    percent = view.percent[view.ranked]
    is_listed = (rank == 0) | (percent >= MIN_SLICE) | ((rank < N_TOP) & (percent > 0))
    entries = np.flatnonzero(is_listed & (place >= 0))
    entries = entries[np.argsort(place[entries], kind="stable")]
    counts = np.bincount(place[entries], minlength=len(order))
    labels = view.labels[order]
    many = view.r > MAX_CLUSTERS
    data = {
        "names": [names[i] for i in order.tolist()],
        "sizes": np.bincount(labels[labels >= 0], minlength=view.r).tolist(),
        "counts": counts.tolist(),
        "top": view.H.indices[view.ranked[entries]].tolist(),
        "percent": percent[entries].tolist(),
        "others": (np.diff(view.H.indptr)[order] - counts).tolist(),
        "colors": len(COLORS),
        "totals": view.sizes.tolist() if many else [],
        "words": [top_words(topic) for topic in topics] if many and topics is not None else [],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # nothing can end the script element
