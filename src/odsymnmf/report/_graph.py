"""A small graph as SVG: nodes coloured by membership, mixed ones as pies."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odsymnmf.report._layout import Links, layout, links
from odsymnmf.report._picture import cluster_order
from odsymnmf.report._text import count, escape, shortened
from odsymnmf.similarity import Gram, Similarity

Array = NDArray[Any]

# What can still be read: beyond it, the page shows the matrix alone.
MOST_ITEMS, MOST_LINKS, MOST_SHARE, ALWAYS = 500, 6000, 0.3, 200
SIZE, MARGIN, LETTER, LINE = 520, 22, 6.3, 13
LONGEST_LABEL = 22
# A smaller part of a membership is not drawn.
SMALLEST_SHARE = 0.08


def readable_links(A: Similarity) -> Links | str:
    """Return the links of A if they make a readable drawing, else why they do not."""
    if A.n > MOST_ITEMS:
        return f"more than {MOST_ITEMS} items cannot be told apart"
    if isinstance(A, Gram):
        return "nearly all pairs of documents are similar"
    pairs = links(A)
    if not len(pairs[0]):
        return "it has no links"
    if len(pairs[0]) > min(MOST_LINKS, max(ALWAYS, MOST_SHARE * A.n * (A.n - 1) / 2)):
        return f"{count(len(pairs[0]), 'link')} are too dense to be told apart"
    return pairs


def graph(pairs: Links, H: Array, names: list[str]) -> str:
    """Return the drawing, nodes in the order of the clusters."""
    at = MARGIN + (layout(pairs, H) + 1) / 2 * (SIZE - 2 * MARGIN)
    order, edges = cluster_order(H)
    degree = np.bincount(np.concatenate(pairs[:2]), minlength=len(H))
    radius = (3.5 + 4.5 * np.sqrt(degree / max(degree.max(), 1))) * min(1.0, (150 / len(H)) ** 0.3)
    shares = shares_of(H)
    nodes = "".join(_node(at[i], radius[i], shares[i], names[i]) for i in order)
    first = {int(order[a]) for a, b in pairwise(edges) if a < b}
    return (
        f'<svg class="graph" id="graph" viewBox="0 0 {SIZE} {SIZE}" role="group" '
        f'aria-label="Drawing of the graph; arrow keys move from item to item">'
        f"{_lines(pairs, at, shares)}{nodes}{_labels(at, radius, degree, names, first)}</svg>"
    )


def shares_of(H: Array) -> Array:
    """Return H_il / sum_l H_il, zero for an item without memberships."""
    total = H.sum(axis=1, keepdims=True)
    return np.divide(H, total, out=np.zeros(H.shape), where=total > 0)


def slices_of(shares: Array) -> list[tuple[int, float, float]]:
    """Return (cluster, from, to) for the parts worth drawing, from 0 to 1, the largest first."""
    parts = [int(l) for l in np.argsort(-shares, kind="stable") if shares[l] >= SMALLEST_SHARE]
    ends = np.cumsum(shares[parts])
    return [
        (l, float(end - shares[l]) / float(ends[-1]), float(end / ends[-1]))
        for l, end in zip(parts, ends, strict=True)
    ]


def _lines(pairs: Links, at: Array, shares: Array) -> str:
    """Links inside a cluster in its colour; one path for all alike keeps the page small."""
    i, j, value = pairs
    label = np.where(shares.any(axis=1), shares.argmax(axis=1), -1)
    inside = np.where(label[i] == label[j], label[i], -1)
    weight = np.minimum(2, (3 * np.sqrt(value / value.max())).astype(int))
    paths = []
    for kind in np.unique(np.stack([inside, weight]), axis=1).T:
        chosen = np.flatnonzero((inside == kind[0]) & (weight == kind[1]))
        d = "".join(
            f"M{at[i[e], 0]:.0f} {at[i[e], 1]:.0f}L{at[j[e], 0]:.0f} {at[j[e], 1]:.0f}"
            for e in chosen
        )
        colour = f"c{kind[0]}" if kind[0] >= 0 else "cx"
        paths.append(f'<path class="link w{kind[1]} {colour}" d="{d}"/>')
    return "".join(paths)


def _node(at: Array, radius: float, shares: Array, name: str) -> str:
    x, y = at
    parts = slices_of(shares)
    words = ", ".join(f"cluster {l} ({shares[l]:.0%})" for l, _, _ in parts) or "unassigned"
    base = f"c{parts[0][0]}" if parts else "cx"
    wedges = "".join(_wedge(x, y, radius, *part) for part in parts[1:])
    return (
        f'<g class="node" tabindex="-1" role="img"><title>{escape(name)}: {words}</title>'
        f'<circle class="{base}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>{wedges}</g>'
    )


def _wedge(x: float, y: float, radius: float, l: int, start: float, end: float) -> str:
    a, b = 2 * np.pi * start, 2 * np.pi * end
    large = int(end - start > 0.5)
    return (
        f'<path class="c{l}" d="M{x:.1f} {y:.1f}L{x + radius * np.sin(a):.1f} '
        f"{y - radius * np.cos(a):.1f}A{radius:.1f} {radius:.1f} 0 {large} 1 "
        f'{x + radius * np.sin(b):.1f} {y - radius * np.cos(b):.1f}z"/>'
    )


def _labels(at: Array, radius: Array, degree: Array, names: list[str], first: set[int]) -> str:
    """Names where there is room: the strongest of each cluster, then those with most links."""
    reach = radius[:, None]
    nodes = [tuple(box) for box in np.concatenate([at - reach, at + reach], axis=1)]
    taken: list[tuple[float, ...]] = []
    parts = []
    for i in sorted(range(len(names)), key=lambda i: (i not in first, -degree[i], i)):
        major = i in first
        name = shortened(names[i], LONGEST_LABEL)
        (x, y), width, gap = at[i], LETTER * len(name), radius[i] + 3
        for start, anchor in ((x + gap, ""), (x - gap - width, " end")):
            box = (start, y - LINE / 2, start + width, y + LINE / 2)
            inside = box[0] >= 0 and box[2] <= SIZE
            if inside and not any(_overlap(box, other) for other in taken + nodes * (not major)):
                taken.append(box)
                edge = box[2] if anchor else start
                kind = "major" if major else "minor"
                parts.append(
                    f'<text class="{kind}{anchor}" x="{edge:.1f}" y="{y + 4:.1f}">'
                    f"{escape(name)}</text>"
                )
                break
    return f'<g class="names" aria-hidden="true">{"".join(parts)}</g>'


def _overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
