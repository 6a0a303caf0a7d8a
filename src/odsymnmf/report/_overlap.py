"""What every two clusters have in common."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.drawing import MOST_CLUSTERS, MatrixPicture, Members
from odsymnmf.drawing.names import count
from odsymnmf.report._heatmap import heat_map, ramp
from odsymnmf.report._html import chip, listed

# A table with more columns than this does not fit; a picture does.
TABLE_COLUMNS = 16
PAIRS, MANY_PAIRS = 6, 15
# Pairs of clusters per item, in all: more would take longer to count than anybody waits.
MOST_COUNTED = 50_000_000


def overlap(members: Members, sets: Sequence[Array], names: list[str]) -> str:
    """Return what every two clusters share: their members, and the cosine of their columns."""
    r = members.r
    if r == 1:
        return "<p>There is one cluster only: nothing to overlap with.</p>"
    belongs = _belongs(members.n, sets)
    if r > MOST_CLUSTERS:
        return _of_many(members, belongs, sets, names)
    cosine = _cosines(members.H)
    shared = (belongs.T @ belongs).toarray()
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
    a, b = np.nonzero(np.triu((shared > 0) | (cosine >= 0.005), 1))
    order = np.lexsort((-shared[a, b], -cosine[a, b]))[:PAIRS]
    pairs = [
        (l, m, float(cosine[l, m]), int(shared[l, m]))
        for l, m in zip(a[order].tolist(), b[order].tolist(), strict=True)
    ]
    listed = _strongest(pairs, members.H, sets, names)
    return f'<p class="note">{note}</p><div class="pair">{shown}{listed}</div>'


def _of_many(
    members: Members, belongs: sparse.csr_array, sets: Sequence[Array], names: list[str]
) -> str:
    """Return the pairs of clusters with most members in common."""
    clusters_of = np.diff(belongs.indptr).astype(np.float64)
    if float(clusters_of @ clusters_of) > MOST_COUNTED:
        return "<p>Items are in so many clusters that pairs of clusters were not counted.</p>"
    shared = sparse.triu(belongs.T @ belongs, 1).tocoo()
    l, m = shared.row, shared.col
    order = np.lexsort((m, l, -shared.data))[:MANY_PAIRS]
    columns = members.H.tocsc()
    pairs = [
        (a, b, _cosine(columns, a, b), k)
        for a, b, k in zip(
            l[order].tolist(), m[order].tolist(), shared.data[order].tolist(), strict=True
        )
    ]
    note = "The pairs of clusters whose sets share the most members."
    return f'<p class="note">{note}</p>{_strongest(pairs, members.H, sets, names)}'


def _belongs(n: int, sets: Sequence[Array]) -> sparse.csr_array:
    ends = np.cumsum([0, *map(len, sets)])
    items = np.concatenate(sets)
    ones = np.ones(len(items), dtype=np.int32)
    return sparse.csc_array((ones, items, ends), shape=(n, len(sets))).tocsr()


def _cosines(H: sparse.csr_array) -> Array:
    D = (H.T @ H).toarray().astype(np.float64)
    lengths = np.sqrt(np.diagonal(D))
    scale = np.outer(lengths, lengths)
    return np.divide(D, scale, out=np.zeros_like(D), where=scale > 0)


def _cosine(H: sparse.csc_array, l: int, m: int) -> float:
    a, b = H[:, [l]], H[:, [m]]
    lengths = np.sqrt((a.data @ a.data) * (b.data @ b.data))
    return float((a.T @ b).toarray()[0, 0] / lengths) if lengths > 0 else 0.0


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


def _strongest(
    pairs: list[tuple[int, int, float, int]],
    H: sparse.csr_array,
    sets: Sequence[Array],
    names: list[str],
) -> str:
    """Name who stands between the clusters that overlap most."""
    if not pairs:
        return "<p>The clusters do not overlap: no item is in two of them.</p>"
    items = []
    for l, m, cosine, shared in pairs:
        both = np.intersect1d(sets[l], sets[m])
        if len(both):
            weaker = H[both][:, [l, m]].toarray().min(axis=1)
            both = both[np.argsort(-weaker, kind="stable")]
        who = listed(names[i] for i in both[:4])
        items.append(
            f"<li>{chip(l)} {chip(m)} <span>cosine {cosine:.2f}, {count(shared, 'shared member')}"
            f"{': ' + who if who else ''}{' …' if len(both) > 4 else ''}</span></li>"
        )
    return f'<div><h3>Largest overlaps</h3><ul class="plain">{"".join(items)}</ul></div>'
