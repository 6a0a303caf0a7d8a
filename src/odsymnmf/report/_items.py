"""The items as compact data for the table of the page."""

from collections.abc import Sequence

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.drawing import MOST_CLUSTERS, Members
from odsymnmf.drawing.colours import DISTINCT
from odsymnmf.drawing.names import count
from odsymnmf.drawing.pies import SMALLEST
from odsymnmf.report._clusters import Topics, words_of
from odsymnmf.report._html import to_json

# Memberships per item that the table shows, however small.
TOP = 4
# A page with more items would be slow to open; it then holds the strongest of every cluster.
MOST_ITEMS = 250_000


def items(members: Members, names: Sequence[str], topics: Topics | None) -> str:
    """Return the items as JSON, cluster after cluster, with their largest memberships.

    An item's memberships are the next ``counts[i]`` entries of ``top`` and ``percent``, its own
    cluster first; ``others[i]`` further ones are left out, with what is missing to 100 per cent.
    """
    shown = _kept(members)
    label = members.label[shown]
    at = members.ranked
    place = np.arange(len(at)) - members.H.indptr[members.rows]
    # What the drawing shows is told; half a per cent is not, but in an item's own cluster.
    percent = members.percent[at]
    told = (place == 0) | (percent >= SMALLEST) | ((place < TOP) & (percent > 0))
    counts = np.bincount(members.rows[told], minlength=members.n)[shown]
    others = np.diff(members.H.indptr)[shown] - counts
    ends = np.concatenate([[0], np.cumsum(told)])
    starts = ends[members.H.indptr[shown]]
    entries = at[told]
    entries = entries[_ranges(starts, counts)]
    many = members.r > MOST_CLUSTERS
    return to_json(
        {
            "names": [names[i] for i in shown.tolist()],
            "sizes": np.bincount(label[label >= 0], minlength=members.r).tolist(),
            "counts": counts.tolist(),
            "top": members.H.indices[entries].tolist(),
            "percent": members.percent[entries].tolist(),
            "others": others.tolist(),
            "colours": DISTINCT,
            # Where a list to choose from is too long, a cluster is looked up by its number.
            "totals": members.sizes.tolist() if many else [],
            "words": [words_of(topic) for topic in topics] if many and topics is not None else [],
        }
    )


def left_out(members: Members) -> str:
    """Return what the table does not hold, in words."""
    if members.n <= MOST_ITEMS:
        return ""
    return (
        f'<p class="note">The table holds {count(MOST_ITEMS, "item")} of {members.n:,}, the '
        "strongest of every cluster; labels.csv holds all.</p>"
    )


def _kept(members: Members) -> Array:
    """Return the items to show, in order: if not all, then as many of every cluster's first."""
    order = members.order
    if members.n <= MOST_ITEMS:
        return order
    place = np.where(members.label < 0, members.r, members.label)[order]
    starts = np.append(members.edges, members.n)
    rank = np.arange(members.n) - starts[place]
    return order[np.sort(np.argsort(rank, kind="stable")[:MOST_ITEMS])]


def _ranges(starts: Array, counts: Array) -> Array:
    """Return starts[i], ..., starts[i] + counts[i] - 1 for every i, one after the other."""
    before = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.arange(counts.sum()) + np.repeat(starts - before, counts)
