"""SVG pictures of the report: the sorted matrix and the graph."""

import base64
import struct
import zlib
from collections.abc import Collection
from html import escape
from itertools import pairwise

import numpy as np

from odsymnmf import plots
from odsymnmf.membership_view import MembershipView
from odsymnmf.plots import Edges, MatrixPicture, count, full_color, shorten
from odsymnmf.similarity import Similarity
from odsymnmf.utils import Array

# The matrix, in SVG units: its side, the width of the strips of cluster colors and their distance
# to it, and the smallest cluster with a number.
SIDE, STRIP, GAP, MIN_NUMBERED = 480, 9, 4, 34
# Values below this fraction of the full color are invisible (half of one of 127 shades).
INVISIBLE = (0.5 / 127) ** 2
# Graphs with more items or links are not drawn, nor those with a larger density, unless they have
# at most FEW_LINKS links.
MAX_ITEMS, MAX_LINKS, MAX_DENSITY, FEW_LINKS = 500, 6000, 0.3, 200
# The graph, in SVG units.
GRAPH_SIDE, MARGIN = 520, 22
# Items with this fraction of the largest degree are labeled first, in a larger font.
HUB_FRACTION, MAX_HUBS = 0.3, 30
# Font sizes in SVG units, the line height relative to them, and the characters of a label.
SMALL_FONT, LARGE_FONT, LINE_HEIGHT, LABEL_LENGTH = 11.5, 15.5, 1.1, 22


def css(l: int) -> str:
    """Return the class with the color of a cluster, -1 for unassigned."""
    return "cx" if l < 0 else f"c{l % len(plots.COLORS)}"


def number(x: float) -> str:
    """Return x with three significant digits."""
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e6 else f"{x:.3g}"


def matrix(picture: MatrixPicture) -> str:
    """Return the sorted similarities with the clusters along the sides, and a color scale."""
    start, scale, p = STRIP + GAP, SIDE / picture.n, len(picture.values)
    marks = []
    for l, (a, b) in enumerate(pairwise([*picture.edges.tolist(), picture.n])):
        if a == b:
            continue
        unassigned = l == len(picture.edges) - 1
        name = "unassigned" if unassigned else f"cluster {l}"
        title = f"<title>{name}: {count(b - a, 'item')}</title></rect>"
        x, size, strip = start + a * scale, (b - a) * scale, max((b - a) * scale - 1, 0.6)
        text = f'<text x="{x + 5:.1f}" y="{x + 16:.1f}">{"none" if unassigned else l}</text>'
        marks.append(
            f'<g class="{css(-1 if unassigned else l)}">'
            f'<rect class="strip" x="{x:.2f}" width="{strip:.2f}" height="{STRIP}">{title}'
            f'<rect class="strip" y="{x:.2f}" width="{STRIP}" height="{strip:.2f}">{title}'
            f'<rect class="block" x="{x:.2f}" y="{x:.2f}" width="{size:.2f}" height="{size:.2f}">'
            f"{title}{text if size >= MIN_NUMBERED else ''}</g>"
        )
    pixels = f"One pixel is the mean over about {(picture.n / p) ** 2:,.0f} pairs of items."
    if p == picture.n:
        pixels = "One pixel is one pair of items."
    full = full_color(picture.values)
    ramp = f'<span>0</span><span class="ramp"></span><span>{number(full)} or more</span>'
    if has_negative(picture.values):
        ramp = f'<span>{number(-full)} or less</span><span class="ramp down"></span>{ramp}'
    return (
        f'<p class="note">In each cluster the strongest member comes first. {pixels}</p>'
        f'<svg class="heat" viewBox="0 0 {SIDE + start} {SIDE + start}" role="img" '
        f'aria-label="The similarities, sorted by cluster">'
        f'<image href="{png(plots.shades(picture.values))}" x="{start}" y="{start}" '
        f'width="{SIDE}" height="{SIDE}" preserveAspectRatio="none"/>{"".join(marks)}</svg>'
        f'<p class="scale">{ramp}</p>'
    )


def has_negative(values: Array) -> bool:
    """Return True if a negative value is visible, not just round-off."""
    return bool(np.nanmin(values, initial=0.0) < -INVISIBLE * full_color(values))


def png(shade: Array) -> str:
    """Return shades from -1 to 1 as a PNG (data URI) whose opacity is the absolute value."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        crc = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", crc)

    height, width = shade.shape
    negative, positive = (np.frombuffer(bytes.fromhex(c[1:]), np.uint8) for c in plots.SIGNS)
    rgba = np.empty((height, width, 4), dtype=np.uint8)
    rgba[..., :3] = np.where(shade[..., None] < 0, negative, positive)
    rgba[..., 3] = np.round(255 * np.abs(shade))
    rows = np.pad(rgba.reshape(height, 4 * width), ((0, 0), (1, 0)))  # each row without a filter
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    data = b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")


def readable_links(A: Similarity) -> Edges | str:
    """Return the links of a graph that can be drawn, else the reason why it cannot."""
    if A.n > MAX_ITEMS:
        return f"more than {MAX_ITEMS} items cannot be distinguished"
    if A.n_features is not None:
        return "nearly all pairs of documents are similar"
    links = plots.positive_links(A)
    if not len(links[0]):
        return "it has no links"
    if len(links[0]) > min(MAX_LINKS, max(FEW_LINKS, MAX_DENSITY * A.n * (A.n - 1) / 2)):
        return f"{count(len(links[0]), 'link')} are too dense to be distinguished"
    return links


def graph(links: Edges, view: MembershipView, names: list[str]) -> str:
    """Return the graph with nodes in the order of the clusters."""
    points = MARGIN + (plots.graph_layout(links, view) + 1) / 2 * (GRAPH_SIDE - 2 * MARGIN)
    degree = np.bincount(np.concatenate(links[:2]), minlength=view.n)
    radius = 3.5 + 4.5 * np.sqrt(degree / max(degree.max(), 1))
    radius *= min(1.0, (150 / view.n) ** 0.3)
    nodes = [_node(points[i], radius[i], view, i, names[i]) for i in view.order.tolist()]
    low = max(HUB_FRACTION * degree.max(), 1.5 * np.median(degree))
    hubs = {int(i) for i in np.argsort(-degree, kind="stable")[:MAX_HUBS] if degree[i] >= low}
    hubs |= {int(view.order[a]) for a, b in pairwise(view.edges) if a < b}
    order = sorted(range(view.n), key=lambda i: (i not in hubs, -degree[i], i))
    labels = _labels(points, radius, names, order, hubs)
    return (
        f'<svg class="graph" id="graph" viewBox="0 0 {GRAPH_SIDE} {GRAPH_SIDE}" role="group" '
        f'aria-label="Drawing of the graph; arrow keys move from item to item">'
        f"{_lines(links, points, view.labels)}{''.join(nodes)}"
        f'<g class="names" aria-hidden="true">{labels}</g></svg>'
    )


def _lines(links: Edges, points: Array, labels: Array) -> str:
    """Return one path for all links of the same color and width."""
    i, j, value = links
    inside = np.where(labels[i] == labels[j], labels[i], -1)
    width = np.minimum(2, (3 * np.sqrt(value / value.max())).astype(int))
    segments: dict[str, list[str]] = {}
    for (a, b), (c, d), l, w in zip(points[i], points[j], inside, width, strict=True):
        name = f"link w{w} {css(int(l))}"
        segments.setdefault(name, []).append(f"M{a:.0f} {b:.0f}L{c:.0f} {d:.0f}")
    return "".join(f'<path class="{k}" d="{"".join(d)}"/>' for k, d in sorted(segments.items()))


def _node(point: Array, radius: float, view: MembershipView, item: int, name: str) -> str:
    """Return a circle in the color of the label, with wedges for the other clusters."""
    x, y = point
    slices = plots.pie_slices(view, item)
    words = ", ".join(f"cluster {l} ({percent} %)" for l, percent, _, _ in slices) or "unassigned"
    wedges = []
    for l, _, start, end in slices[1:]:
        xs = x + radius * np.sin([2 * np.pi * start, 2 * np.pi * end])
        ys = y - radius * np.cos([2 * np.pi * start, 2 * np.pi * end])
        wedges.append(
            f'<path class="{css(l)}" d="M{x:.1f} {y:.1f}L{xs[0]:.1f} {ys[0]:.1f}A{radius:.1f} '
            f'{radius:.1f} 0 {int(end - start > 0.5)} 1 {xs[1]:.1f} {ys[1]:.1f}z"/>'
        )
    return (
        f'<g class="node" tabindex="-1" role="img"><title>{escape(name)}: {words}</title>'
        f'<circle class="{css(slices[0][0] if slices else -1)}" cx="{x:.1f}" cy="{y:.1f}" '
        f'r="{radius:.1f}"/>{"".join(wedges)}</g>'
    )


def _labels(
    points: Array, radius: Array, names: list[str], order: list[int], hubs: Collection[int]
) -> str:
    """Return the names of all hubs, and of other items where they overlap nothing."""
    nodes = np.concatenate([points - radius[:, None], points + radius[:, None]], axis=1)
    placed = np.empty((0, 4))
    texts = []
    for i in order:
        name = shorten(names[i], LABEL_LENGTH)
        font = LARGE_FONT if i in hubs else SMALL_FONT
        boxes = _label_boxes(points[i], radius[i] + 3, font * _width(name), font * LINE_HEIGHT)
        outside = np.maximum(0, -boxes[:, :2]) + np.maximum(0, boxes[:, 2:] - GRAPH_SIDE)
        cost = 100 * outside.sum(axis=1) + 10 * _overlap(boxes, placed) + _overlap(boxes, nodes)
        k = int(np.argmin(cost))
        if i not in hubs and cost[k] > 0:
            continue
        placed = np.concatenate([placed, boxes[k : k + 1]])
        x0, y0, x1, y1 = boxes[k].tolist()
        x, anchor = [(x0, ""), (x1, " end"), ((x0 + x1) / 2, " mid")][min(k // 3, 2)]
        texts.append(
            f'<text class="{"major" if i in hubs else "minor"}{anchor}" x="{x:.1f}" '
            f'y="{(y0 + y1) / 2 + 4:.1f}">{escape(name)}</text>'
        )
    return "".join(texts)


def _width(name: str) -> float:
    """Return the approximate width of a name, relative to the font size."""
    narrow, upper = sum(c in "iljtfrI.,:;'|!() " for c in name), sum(map(str.isupper, name))
    wide = sum(c in "mwMW@%" or c > "\u2e80" for c in name)
    return 0.62 * len(name) - 0.22 * narrow + 0.11 * upper + 0.35 * wide


def _label_boxes(point: Array, gap: float, width: float, line: float) -> Array:
    """Return (x0, y0, x1, y1) of the possible labels: 3 right, 3 left, below, above."""
    x, y = point.tolist()
    aside, level = 0.75 * gap, 0.75 * gap + line / 2
    right = [(x + gap, y), (x + aside, y + level), (x + aside, y - level)]
    left = [(2 * x - a - width, b) for a, b in right]
    middle = [(x - width / 2, y + sign * (gap + line / 2)) for sign in (1, -1)]
    starts = np.array(right + left + middle) - [0, line / 2]
    return np.concatenate([starts, starts + np.array([width, line])], axis=1)


def _overlap(boxes: Array, others: Array) -> Array:
    """Return the area that each box shares with all the others."""
    ends = np.minimum(boxes[:, None, 2:], others[:, 2:])
    starts = np.maximum(boxes[:, None, :2], others[:, :2])
    return np.asarray(np.maximum(ends - starts, 0).prod(axis=2).sum(axis=1))
