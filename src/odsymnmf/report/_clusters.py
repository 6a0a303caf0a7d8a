"""The clusters as tables: sizes, strongest members, overlap."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf.report._heatmap import heat_map, ramp
from odsymnmf.report._picture import MatrixPicture
from odsymnmf.report._text import bdi, count, number

Array = NDArray[Any]

MEMBERS = 8
# A table with more columns than this does not fit; a picture does.
TABLE_COLUMNS = 16
PAIRS = 6


def clusters(H: Array, label: Array, sets: list[Array], names: list[str]) -> str:
    """Return one row per cluster: size, and strongest members by name."""
    sizes = np.bincount(label[label >= 0], minlength=H.shape[1])
    nobody = int(np.sum(label < 0))
    largest = max(1, nobody, int(sizes.max()))
    rows = []
    for l, size in enumerate(sizes.tolist()):
        who = ", ".join(
            f'{bdi(names[i])} <span class="value">{number(H[i, l])}</span>'
            for i in sets[l][:MEMBERS]
        )
        rest = len(sets[l]) - MEMBERS
        more = f' <span class="muted">and {rest:,} more</span>' if rest > 0 else ""
        rows.append(
            f'<tr><th scope="row"><button type="button" class="pick" data-cluster="{l}">{chip(l)}'
            f'</button></th><td class="num">{size:,}</td><td class="wide">{_bar(l, size / largest)}'
            f'</td><td class="num set">{len(sets[l]):,}</td>'
            f"<td>{who or '<span class=muted>nobody</span>'}{more}</td></tr>"
        )
    if nobody:
        rows.append(
            '<tr><th scope="row"><button type="button" class="pick" data-cluster="-1">'
            f'<span class="chip cx">unassigned</span></button></th><td class="num">{nobody:,}</td>'
            f'<td class="wide">{_bar(-1, nobody / largest)}</td><td class="set"></td>'
            '<td class="muted">without any membership</td></tr>'
        )
    return (
        '<table class="clusters"><thead><tr><th scope="col">Cluster</th>'
        '<th scope="col" class="num">Items</th><td class="wide"></td>'
        '<th scope="col" class="num set">In the set</th><th scope="col">Strongest members</th></tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>"
    )


def chip(l: int) -> str:
    """Return the cluster's number beside its colour."""
    return f'<span class="chip c{l}">{l}</span>'


def _bar(l: int, share: float) -> str:
    colour = "cx" if l < 0 else f"c{l}"
    width = max(0.6, 100 * share) if share else 0
    return (
        f'<svg class="bar {colour}" viewBox="0 0 100 8" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect width="{width:.1f}" height="8"/></svg>'
    )


def overlap(H: Array, sets: list[Array], names: list[str]) -> str:
    """Return what every two clusters share: their members, and the cosine of their columns."""
    r = H.shape[1]
    if r == 1:
        return "<p>There is one cluster only: nothing to overlap with.</p>"
    cosine = _cosines(H)
    shared = _shared(len(H), sets)
    label = "Overlap between clusters: cosine of their memberships"
    if r <= TABLE_COLUMNS:
        note = (
            "Numbers are shared members of the sets; the shade is the cosine of the columns of H."
        )
        shown = f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        shown += f"{_table(cosine, shared)}</div>"
    else:
        note = "The shade is the cosine of the columns of H, cluster by cluster."
        off = np.where(np.eye(r), 0, cosine).astype(np.float32)
        picture = MatrixPicture(off, np.arange(r + 1), r)
        # From 0 to 1 in all runs: faint overlaps look faint.
        shown = f"<div>{heat_map(picture, off, label)}{ramp('0', '1')}</div>"
    listed = _strongest(cosine, shared, H, sets, names)
    return f'<p class="note">{note}</p><div class="pair">{shown}{listed}</div>'


def _cosines(H: Array) -> Array:
    D = (H.T @ H).astype(np.float64)
    lengths = np.sqrt(np.diagonal(D))
    scale = np.outer(lengths, lengths)
    return np.divide(D, scale, out=np.zeros_like(D), where=scale > 0)


def _shared(n: int, sets: list[Array]) -> Array:
    ends = np.cumsum([0, *map(len, sets)])
    items = np.concatenate(sets)
    belongs = sparse.csc_array((np.ones(len(items), dtype=int), items, ends), shape=(n, len(sets)))
    return (belongs.T @ belongs).toarray()


def _table(cosine: Array, shared: Array) -> str:
    r = len(cosine)
    head = "".join(f'<th scope="col">{chip(l)}</th>' for l in range(r))
    rows = []
    for l in range(r):
        cells = "".join(_cell(l, m, cosine[l, m], int(shared[l, m])) for m in range(r))
        rows.append(f'<tr><th scope="row">{chip(l)}</th>{cells}</tr>')
    return (
        '<table class="overlap"><caption class="hidden">Shared members of every two clusters'
        f"</caption><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _cell(l: int, m: int, cosine: float, shared: int) -> str:
    if l == m:
        return f'<td class="own">{shared:,}</td>'
    words = f"clusters {l} and {m}: {count(shared, 'shared member')}, cosine {cosine:.2f}"
    quiet = "" if shared else " muted"
    return f'<td class="s{round(10 * cosine)}{quiet}" title="{words}">{shared:,}</td>'


def _strongest(cosine: Array, shared: Array, H: Array, sets: list[Array], names: list[str]) -> str:
    """Name who stands between the clusters that overlap most."""
    a, b = np.nonzero(np.triu((shared > 0) | (cosine >= 0.005), 1))
    order = np.lexsort((-shared[a, b], -cosine[a, b]))[:PAIRS]
    items = []
    for l, m in zip(a[order].tolist(), b[order].tolist(), strict=True):
        both = np.intersect1d(sets[l], sets[m])
        both = both[np.argsort(-np.minimum(H[both, l], H[both, m]), kind="stable")]
        who = ", ".join(bdi(names[i]) for i in both[:4])
        items.append(
            f"<li>{chip(l)} {chip(m)} <span>cosine {cosine[l, m]:.2f}, "
            f"{count(int(shared[l, m]), 'shared member')}"
            f"{': ' + who if who else ''}{' …' if len(both) > 4 else ''}</span></li>"
        )
    if not items:
        return "<p>The clusters do not overlap: no item is in two of them.</p>"
    return f'<div><h3>Largest overlaps</h3><ul class="plain">{"".join(items)}</ul></div>'
