"""A small graph as SVG: nodes coloured by membership, mixed ones as pies."""

from itertools import pairwise

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.drawing import Members
from odsymnmf.drawing.layout import Links, layout, links
from odsymnmf.drawing.names import count, shortened
from odsymnmf.drawing.pies import slices
from odsymnmf.problem import Similarity
from odsymnmf.report._html import css, escape

# What can still be read: beyond it, the page shows the matrix alone.
MOST_ITEMS, MOST_LINKS, MOST_SHARE, ALWAYS = 500, 6000, 0.3, 200
SIZE, MARGIN = 520, 22
LONGEST_LABEL = 22
# Sizes of letters; large items keep room for the larger, bold ones of a phone.
SMALL, LARGE = 11.5, 15.5
LINE = 1.1
# Items with this share of the most links are drawn large, and have their names beside them.
LARGE_SHARE, MOST_LARGE = 0.3, 30


def readable_links(A: Similarity) -> Links | str:
    """Return the links of A if they make a readable drawing, else why they do not."""
    if A.n > MOST_ITEMS:
        return f"more than {MOST_ITEMS} items cannot be told apart"
    if A.n_features is not None:
        return "nearly all pairs of documents are similar"
    pairs = links(A)
    if not len(pairs[0]):
        return "it has no links"
    if len(pairs[0]) > min(MOST_LINKS, max(ALWAYS, MOST_SHARE * A.n * (A.n - 1) / 2)):
        return f"{count(len(pairs[0]), 'link')} are too dense to be told apart"
    return pairs


def graph(pairs: Links, members: Members, names: list[str]) -> str:
    """Return the drawing, nodes in the order of the clusters."""
    n = members.n
    at = MARGIN + (layout(pairs, members) + 1) / 2 * (SIZE - 2 * MARGIN)
    degree = np.bincount(np.concatenate(pairs[:2]), minlength=n)
    radius = (3.5 + 4.5 * np.sqrt(degree / max(degree.max(), 1))) * min(1.0, (150 / n) ** 0.3)
    nodes = "".join(_node(at[i], radius[i], members, i, names[i]) for i in members.order.tolist())
    first = {int(members.order[a]) for a, b in pairwise(members.edges) if a < b}
    return (
        f'<svg class="graph" id="graph" viewBox="0 0 {SIZE} {SIZE}" role="group" '
        f'aria-label="Drawing of the graph; arrow keys move from item to item">'
        f"{_lines(pairs, at, members.label)}{nodes}"
        f"{_labels(at, radius, names, first | large(degree), degree)}</svg>"
    )


def large(degree: Array) -> set[int]:
    """Return the items that stand out by their number of links, the largest first."""
    least = max(LARGE_SHARE * degree.max(), 1.5 * np.median(degree))
    ranked = np.argsort(-degree, kind="stable")[:MOST_LARGE]
    return {int(i) for i in ranked if degree[i] >= least}


def _lines(pairs: Links, at: Array, label: Array) -> str:
    """Links inside a cluster in its colour; one path for all alike keeps the page small."""
    i, j, value = pairs
    inside = np.where(label[i] == label[j], label[i], -1)
    weight = np.minimum(2, (3 * np.sqrt(value / value.max())).astype(int))
    paths = []
    for kind in np.unique(np.stack([inside, weight]), axis=1).T:
        chosen = np.flatnonzero((inside == kind[0]) & (weight == kind[1]))
        d = "".join(
            f"M{at[i[e], 0]:.0f} {at[i[e], 1]:.0f}L{at[j[e], 0]:.0f} {at[j[e], 1]:.0f}"
            for e in chosen
        )
        paths.append(f'<path class="link w{kind[1]} {css(int(kind[0]))}" d="{d}"/>')
    return "".join(paths)


def _node(at: Array, radius: float, members: Members, item: int, name: str) -> str:
    x, y = at
    parts = slices(members, item)
    words = ", ".join(f"cluster {l} ({percent} %)" for l, percent, _, _ in parts) or "unassigned"
    base = css(parts[0][0] if parts else -1)
    wedges = "".join(_wedge(x, y, radius, l, a, b) for l, _, a, b in parts[1:])
    return (
        f'<g class="node" tabindex="-1" role="img"><title>{escape(name)}: {words}</title>'
        f'<circle class="{base}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>{wedges}</g>'
    )


def _wedge(x: float, y: float, radius: float, l: int, start: float, end: float) -> str:
    a, b = 2 * np.pi * start, 2 * np.pi * end
    large = int(end - start > 0.5)
    return (
        f'<path class="{css(l)}" d="M{x:.1f} {y:.1f}L{x + radius * np.sin(a):.1f} '
        f"{y - radius * np.cos(a):.1f}A{radius:.1f} {radius:.1f} 0 {large} 1 "
        f'{x + radius * np.sin(b):.1f} {y - radius * np.cos(b):.1f}z"/>'
    )


def _labels(at: Array, radius: Array, names: list[str], major: set[int], degree: Array) -> str:
    """Names beside the major items, all of them, and beside others where there is room."""
    reach = radius[:, None]
    nodes = np.concatenate([at - reach, at + reach], axis=1)
    taken = np.empty((0, 4))
    parts = []
    for i in sorted(range(len(names)), key=lambda i: (i not in major, -degree[i], i)):
        name = shortened(names[i], LONGEST_LABEL)
        size = LARGE if i in major else SMALL
        places = _places(at[i], radius[i] + 3, size * _width(name), size * LINE)
        costs = _costs(places, taken, nodes)
        k = int(np.argmin(costs))
        if i not in major and costs[k] > 0:
            continue
        x0, y0, x1, y1 = places[k].tolist()
        taken = np.concatenate([taken, places[k : k + 1]])
        x, anchor = [(x0, ""), (x1, " end"), ((x0 + x1) / 2, " mid")][k // 3 if k < 6 else 2]
        kind = "major" if i in major else "minor"
        parts.append(
            f'<text class="{kind}{anchor}" x="{x:.1f}" y="{(y0 + y1) / 2 + 4:.1f}">'
            f"{escape(name)}</text>"
        )
    return f'<g class="names" aria-hidden="true">{"".join(parts)}</g>'


def _width(name: str) -> float:
    """Return about how wide a name is, relative to the size of its letters."""
    return sum(
        1.0 if c in "mwMW@%" or c > "\u2e80" else 0.4 if c in "iljtfrI.,:;'|!() " else
        0.73 if c.isupper() else 0.62
        for c in name
    )  # fmt: skip


def _places(at: Array, gap: float, width: float, line: float) -> Array:
    """Return the boxes where a name may stand: three to the right, three to the left, below, above.

    Those to the right begin at the item, and those to the left end there, however large letters
    are; the others have it in the middle.
    """
    x, y = at.tolist()
    aside, level = 0.75 * gap, 0.75 * gap + line / 2  # for the corners, which are farther away
    right = [(x + gap, y), (x + aside, y + level), (x + aside, y - level)]
    left = [(2 * x - a - width, b) for a, b in right]
    middle = [(x - width / 2, y + sign * (gap + line / 2)) for sign in (1, -1)]
    corners, size = np.array(right + left + middle), np.array([width, line])
    starts = corners - [0, line / 2]
    return np.concatenate([starts, starts + size], axis=1)


def _costs(places: Array, names: Array, nodes: Array) -> Array:
    """Return how much a name would hide at each place: other names count most."""
    outside = np.maximum(0, -places[:, :2]).sum(axis=1)
    outside += np.maximum(0, places[:, 2:] - SIZE).sum(axis=1)
    return np.asarray(100 * outside + 10 * _common(places, names) + _common(places, nodes))


def _common(boxes: Array, others: Array) -> Array:
    """Return the area that each box shares with all the others."""
    ends = np.minimum(boxes[:, None, 2:], others[:, 2:])
    starts = np.maximum(boxes[:, None, :2], others[:, :2])
    return np.asarray(np.maximum(ends - starts, 0).prod(axis=2).sum(axis=1))
