"""Plots of a result with matplotlib. Every function draws into ``ax`` and returns it.

Install matplotlib with ``pip install "odsymnmf[plots]"``. The colors of the clusters are those of
`odsymnmf.report`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from odsymnmf.inputs import to_similarity_matrix
from odsymnmf.membership_view import MembershipView, as_view, names_of
from odsymnmf.similarity import Similarity, as_similarity
from odsymnmf.utils import Array, optional_import

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_convergence", "plot_graph", "plot_matrix", "plot_memberships", "plot_n_clusters"]

SIGNS = NEGATIVE, POSITIVE = "#d9622b", "#2f62d9"
UNASSIGNED = "#8a8f98"
# Colors of clusters, with a contrast of about 3 to white and to near-black. They repeat, because
# more colors could not be distinguished.
COLORS = (
    "#3b6fd4", "#d2691e", "#2e9e6b", "#b0409c", "#a9851c", "#d6455d", "#2793ab", "#7a5fd0",
    "#986000", "#8c7bff", "#478c00", "#a94986", "#6296a1", "#817d55", "#b300e1", "#00a362",
    "#ee2d00", "#496da3", "#819562", "#ba55ae", "#007a70", "#b18800", "#9f4eff", "#4b7649",
)  # fmt: skip
# Largest problems that are drawn: clusters of a matrix, items of a graph, entries of H.
MAX_CLUSTERS = 200
MAX_GRAPH_ITEMS = 2000
MAX_ENTRIES = 50_000_000
# More names along an axis or in a graph, or more cluster numbers along an axis, would overlap.
MAX_NAMES, MAX_TICKS = 80, 18
# Characters of a name in a plot, and of any name.
MAX_LABEL_LENGTH, MAX_NAME_LENGTH = 40, 300
# Steps of the force-directed layout, and the relative force towards the center.
LAYOUT_STEPS, GRAVITY = 150, 0.04
# Smaller slices of a pie, in percent, are not drawn.
MIN_SLICE = 8
# Directional formatting characters: they could make "gnp.exe" look like "exe.png".
DIRECTIONAL = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])

Edges = tuple[Array, Array, Array]


def plot_matrix(A: Any, H: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the similarities with the items sorted by cluster, and the borders of the clusters.

    In each cluster the strongest member comes first; unassigned items come last. Large matrices
    are averaged (`odsymnmf.report.matrix_picture`). The intensity is proportional to the square
    root of the similarity; negative similarities have another color.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, a similarity of n items, or a MatrixPicture
        Similarities or a graph; the diagonal is ignored.
    H : ODSymNMF, Factorization, or array of shape (n, r)
        A result, or its memberships. Not needed with a MatrixPicture, which is sorted already.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import odsymnmf as od
    >>> A, H = od.datasets.cliques([3, 2])
    >>> ax = od.plots.plot_matrix(A, H)
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['0', '1']
    """
    picture = A if isinstance(A, MatrixPicture) else matrix_picture(A, H)
    ax = _axes(ax)
    n = picture.n
    shade = np.where(np.isnan(picture.values), np.nan, shades(picture.values))
    _show(ax, shade, (0, n, n, 0))
    bounds = [*picture.edges.tolist(), n]
    borders = {b for b in bounds if 0 < b < n}
    width = 0.6 if len(borders) <= MAX_TICKS else 0.2
    for border in borders:
        ax.axhline(border, color="0.35", linewidth=width)
        ax.axvline(border, color="0.35", linewidth=width)
    _cluster_ticks(ax, bounds)
    title = f"{n:,} items; full color from {full_color(picture.values):.3g} on"
    ax.set(xlabel="cluster", ylabel="cluster", title=title)
    return ax


def plot_convergence(history: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the objective after the initialization, every iteration and every accepted restart.

    Parameters
    ----------
    history : ODSymNMF, Factorization or array-like
        A result, or its objectives.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import odsymnmf as od
    >>> A, _ = od.datasets.cliques([3, 2])
    >>> ax = od.plots.plot_convergence(od.factorize(A, 2))
    >>> ax.get_xlabel()
    'iterations'
    """
    values, steps = history_of(history) or (history, ())
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"history must be a list of objectives; got shape {values.shape}.")
    marked = np.asarray(steps, dtype=np.intp)
    ax = _axes(ax)
    marker = "o" if len(values) <= 60 else ""
    ax.plot(np.arange(len(values)), values, color=POSITIVE, marker=marker, markersize=3)
    if marked.size:
        label = "accepted column restart"
        ax.plot(marked, values[marked], "o", color=NEGATIVE, markerfacecolor="white", label=label)
        ax.legend(frameon=False)
    if values.min() > 0 and values.max() > 10 * values.min():
        ax.set_yscale("log")
    _integer_ticks(ax)
    ax.grid(axis="y", color="0.5", alpha=0.25)
    ax.set(xlabel="iterations and restarts" if marked.size else "iterations", ylabel="objective")
    return ax


def plot_n_clusters(search: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the stability of all partitions that were compared, and the chosen number of clusters.

    For graphs, the description length is drawn on a second axis.

    Parameters
    ----------
    search : odsymnmf.choose.NumberOfClusters or ODSymNMF
        The result of a search, or a model fitted with ``n_clusters="auto"`` or a range.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import odsymnmf as od
    >>> A, _ = od.datasets.planted_partition([30] * 4, 0.4, 0.02, random_state=0)
    >>> ax = od.plots.plot_n_clusters(od.choose.n_clusters(A))
    >>> ax.get_title()
    '4 clusters, evidence: clear'
    """
    search_result = getattr(search, "n_clusters_search_", search)
    if not hasattr(search_result, "partitions"):
        raise ValueError('the number of clusters was given; use n_clusters="auto" to compare.')
    ax, table = _axes(ax), search_result.table
    k = table["n_clusters"]
    ax.plot(k, table["stability"], "o-", color=POSITIVE, markersize=4, label="stability")
    ax.axvline(search_result.n_clusters, color="0.6", linestyle="--", zorder=0)
    title = f"{count(search_result.n_clusters, 'cluster')}, evidence: {search_result.evidence}"
    ax.set(xlabel="number of clusters", ylabel="stability", title=title)
    if k.size and k.max() > 40:
        ax.set_xscale("log", subs=[2, 5])
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("{x:g}")
    if "description_length" in table:
        length_ax = ax.twinx()
        length = table["description_length"]
        length_ax.plot(k, length, "s-", color=NEGATIVE, markersize=3, linewidth=0.8)
        length_ax.set_ylabel("description length (nats)", color=NEGATIVE)
        ax.yaxis.label.set_color(POSITIVE)
    return ax


def plot_memberships(
    H: Any, names: Sequence[Any] | None = None, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw H: one line per item, sorted by cluster, and one column per cluster.

    Parameters
    ----------
    H : ODSymNMF, Factorization, or array of shape (n, r)
        A result, or its memberships.
    names : sequence of n names, optional
        Written next to the lines if there are few enough; by default those of the result, or
        the index of a DataFrame.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import odsymnmf as od
    >>> ax = od.plots.plot_memberships([[0, 1], [1, 0], [2, 0]], ["a", "b", "c"])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['c', 'b', 'a']
    """
    view = as_view(H)
    n, r = view.n, view.r
    if n * r > MAX_ENTRIES:
        raise ValueError(
            f"H has {n:,} x {r:,} entries, too many to draw; pass some of its columns, as in "
            "H[:, :50], or use odsymnmf.report."
        )
    shown = _labels(names_of(H) if names is None else names, n)
    ax = _axes(ax, height=max(4.8, 0.13 * len(shown)))
    _show(ax, shades(view.H[view.order].toarray()), (-0.5, r - 0.5, n - 0.5, -0.5), aspect="auto")
    for edge in {int(e) for e in view.edges if 0 < e < n}:
        ax.axhline(edge - 0.5, color="0.35", linewidth=0.6)
    _integer_ticks(ax)
    if shown:
        ax.set_yticks(range(n), [shown[i] for i in view.order], fontsize=7, parse_math=False)
    ax.set(xlabel="cluster", ylabel="" if shown else "items, sorted by cluster")
    return ax


def plot_graph(
    A: Any, H: Any, names: Sequence[Any] | None = None, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw the items and their positive similarities, colored by membership.

    An item in several clusters is a pie of its strengths (`memberships.strength`); unassigned
    items are gray. The layout is the same in every run.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Similarities or a graph; the diagonal is ignored.
    H : ODSymNMF, Factorization, or array of shape (n, r)
        A result, or its memberships.
    names : sequence of n names, optional
        Written next to the items if there are few enough; by default those of the result, else
        those of A.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import odsymnmf as od
    >>> A, H = od.datasets.cliques([3, 2])
    >>> ax = od.plots.plot_graph(A, H, list("abcde"))
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b', 'c', 'd', 'e']
    """
    data = to_similarity_matrix(A)
    S = as_similarity(data.matrix)
    view = as_view(H, S.n)
    names = names_of(H) if names is None else names
    shown = _labels(data.names if names is None else names, S.n)
    if S.n > MAX_GRAPH_ITEMS:
        raise ValueError(
            f"a drawing of {S.n} items would be unreadable ({MAX_GRAPH_ITEMS} is the limit); "
            "plot_matrix shows any number of items."
        )
    i, j, value = links = positive_links(S)
    points = graph_layout(links, view) * [1, -1]
    ax = _axes(ax, width=8, height=8)
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Wedge

    widths = 0.3 + 1.2 * np.sqrt(value / value.max(initial=1e-300))
    ends = np.stack([points[i], points[j]], axis=1)
    ax.add_collection(LineCollection(list(ends), colors="0.75", linewidths=widths, zorder=1))
    colors, radius = palette(view.r), 0.25 / np.sqrt(S.n + 30)
    wedges, fills = [], []
    for item, point in enumerate(points):
        for l, _, start, end in pie_slices(view, item) or [(-1, 0, 0.0, 1.0)]:
            wedges.append(Wedge(tuple(point), radius, 90 - 360 * end, 90 - 360 * start))
            fills.append(UNASSIGNED if l < 0 else colors[l])
    ax.add_collection(PatchCollection(wedges, facecolors=fills, edgecolors="none", zorder=2))
    for (x, y), name in zip(points, shown, strict=False):
        ax.text(x + 1.3 * radius, y, name, fontsize=7, va="center", parse_math=False)
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    ax.set_axis_off()
    return ax


def _axes(ax: "Axes | None", width: float = 6.4, height: float = 4.8) -> "Axes":
    plt = optional_import("matplotlib.pyplot", "odsymnmf.plots", '"odsymnmf[plots]"')
    if ax is not None:
        return ax
    return plt.figure(figsize=(width, height), layout="constrained").add_subplot()


def _integer_ticks(ax: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _show(ax: "Axes", shade: Array, extent: tuple[float, ...], **options: Any) -> None:
    """Draw values from -1 to 1."""
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("odsymnmf", [NEGATIVE, "white", POSITIVE])
    options |= {"vmin": -1, "vmax": 1, "interpolation": "none", "extent": extent, "cmap": colors}
    ax.imshow(shade, **options)


def _labels(names: Sequence[Any] | None, n: int) -> list[str]:
    """Return the names to draw: none if there are too many."""
    checked = [] if names is None else check_names(names, n)
    return [shorten(name, MAX_LABEL_LENGTH) for name in checked] if n <= MAX_NAMES else []


def _cluster_ticks(ax: "Axes", bounds: list[int]) -> None:
    """Label the clusters in their colors as long as labels do not overlap."""
    r = len(bounds) - 2
    middles: dict[int, float] = {}
    for l, (start, end) in enumerate(pairwise(bounds)):
        previous = next(reversed(middles.values()), -np.inf)
        if start < end and (start + end) / 2 - previous >= bounds[-1] / MAX_TICKS:
            middles[l] = (start + end) / 2
    colors = [*palette(r), UNASSIGNED]
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([*middles.values()], [str(l) if l < r else "none" for l in middles])
        for tick, l in zip(axis.get_ticklabels(), middles, strict=True):
            tick.set(color=colors[l], fontweight="bold")


@dataclass(frozen=True)
class MatrixPicture:
    """The similarities of n items, sorted by cluster and averaged to at most p x p pixels.

    Attributes
    ----------
    values : ndarray of shape (p, p), float32
        Means over the pairs i != j of a pixel; NaN where a pixel contains no such pair.
    edges : ndarray of shape (r + 1,)
        In the sorted order, cluster l consists of the items ``edges[l]`` up to ``edges[l + 1]``;
        those from ``edges[r]`` on are unassigned.
    n : int
        Number of items.
    """

    values: NDArray[np.float32]
    edges: NDArray[np.intp]
    n: int


def matrix_picture(A: Any, H: Any, pixels: int = 400) -> MatrixPicture:
    """Return the mean of A_ij over the pairs i != j of every pixel, items sorted by cluster.

    In each cluster the strongest member comes first; unassigned items come last. The cost is
    proportional to the stored entries of a sparse A; for documents (``similarity.cosine``), it is
    that of a p x p Gram matrix.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities. The diagonal is ignored.
    H : ODSymNMF, Factorization, or array of shape (n, r)
        A result, or its memberships.
    pixels : int
        Maximum number of pixels along one side.

    Returns
    -------
    MatrixPicture

    Examples
    --------
    >>> from odsymnmf.report import matrix_picture
    >>> A = [[0, 0, 4, 0], [0, 0, 0, 2], [4, 0, 0, 0], [0, 2, 0, 0]]
    >>> picture = matrix_picture(A, [[1, 0], [0, 1], [1, 0], [0, 1]], pixels=2)
    >>> picture.values.tolist(), picture.edges.tolist()
    ([[4.0, 0.0], [0.0, 2.0]], [0, 2, 4])
    """
    if pixels < 1:
        raise ValueError(f"pixels must be at least 1; got {pixels}.")
    S = as_similarity(A)
    view = as_view(H, S.n)
    p = min(S.n, pixels)
    pixel = np.empty(S.n, dtype=np.intp)
    pixel[view.order] = np.arange(S.n) * p // S.n
    sizes = np.bincount(pixel, minlength=p).astype(np.float64)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    means = np.divide(S.group_sums(pixel, p), pairs, out=np.full((p, p), np.nan), where=pairs > 0)
    return MatrixPicture(means.astype(np.float32), view.edges, S.n)


def palette(r: int) -> list[str]:
    """Return r colors "#rrggbb"."""
    return [COLORS[l % len(COLORS)] for l in range(r)]


def full_color(values: Array) -> float:
    """Return the value drawn in full color: the 0.99 quantile of the nonzero absolute values."""
    size = np.abs(values[np.isfinite(values) & (values != 0)])
    return float(np.quantile(size, 0.99)) if size.size else 1.0


def shades(values: Array) -> Array:
    """Return sign(v) sqrt(|v| / full_color) from -1 to 1; the root keeps small values visible."""
    clipped = np.clip(np.nan_to_num(values.astype(np.float64)) / full_color(values), -1, 1)
    return np.sign(clipped) * np.sqrt(np.abs(clipped))


def pie_slices(view: MembershipView, item: int) -> list[tuple[int, int, float, float]]:
    """Return (cluster, percent, from, to) of the slices to draw, the cluster of the label first.

    From and to are fractions of the circle. An unassigned item has no slices.
    """
    entries = view.ranked[view.H.indptr[item] : view.H.indptr[item + 1]]
    parts = [(int(view.H.indices[e]), int(view.percent[e])) for e in entries.tolist()]
    parts = parts[:1] + [part for part in parts[1:] if part[1] >= MIN_SLICE]
    total = sum(percent for _, percent in parts)
    if not total:  # the item shares no cluster with another
        return [(l, percent, 0.0, 1.0) for l, percent in parts]
    ends = np.cumsum([0] + [percent for _, percent in parts]) / total
    return [(*part, *ends[k : k + 2].tolist()) for k, part in enumerate(parts)]


def positive_links(A: Similarity) -> Edges:
    """Return the pairs i < j with a positive similarity, and their similarities."""
    upper = sparse.triu(A.to_csr(), 1).tocoo()
    positive = upper.data > 0
    return upper.row[positive], upper.col[positive], upper.data[positive]


def graph_layout(links: Edges, view: MembershipView) -> Array:
    """Return a point in [-1, 1]^2 for every item, by a force-directed layout.

    Links attract, all items repel each other. The items start on a ring, sorted by cluster, so that
    few have to pass others.
    """
    n = view.n
    i, j, value = links
    weight = np.sqrt(value / value.max(initial=1e-300))
    W = sparse.coo_array((weight, (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    total = np.asarray(W.sum(axis=1))
    # Items with many links repel more, so that hubs are separated.
    mass = 1 + np.sqrt(total)
    angle = np.empty(n)
    angle[view.order] = np.linspace(0, 2 * np.pi, n, endpoint=False)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points *= np.random.default_rng(0).uniform(0.5, 1, (n, 1))
    for step in range(LAYOUT_STEPS):
        K = mass / np.maximum(cdist(points, points, "sqeuclidean"), 1e-6)
        repulsion = 4 / n * mass[:, None] * (K.sum(axis=1)[:, None] * points - K @ points)
        attraction = W @ points - total[:, None] * points
        # Gravity keeps components together.
        force = repulsion + attraction - GRAVITY * np.sqrt(n) * mass[:, None] * points
        length = np.linalg.norm(force, axis=1, keepdims=True)
        longest = 0.2 * (1 - step / LAYOUT_STEPS) ** 1.5
        points = points + force * np.minimum(longest / np.maximum(length, 1e-12), 0.1)
    points -= (points.max(axis=0) + points.min(axis=0)) / 2
    return points / max(float(np.abs(points).max()), 1e-9)


def history_of(result: Any) -> tuple[Array, Array] | None:
    """Return the objectives of a result, and which of them follow a restart."""
    if hasattr(result, "fit"):
        check_is_fitted(result)
        return result.history_, result.restart_steps_
    return (result.history, result.restart_steps) if hasattr(result, "history") else None


def check_names(names: Sequence[Any] | None, n: int) -> list[str]:
    """Return one printable name per item, its number by default."""
    if names is None:
        return [str(i) for i in range(n)]
    if len(names) != n:
        raise ValueError(f"there are {len(names)} names for {n} items; give one name per item.")
    return [clean(str(name)) for name in names]


def clean(text: str, length: int = MAX_NAME_LENGTH) -> str:
    """Return text without lone surrogates, control and directional characters."""
    text = shorten(text, length).encode("utf-8", "replace").decode("utf-8")
    if not text.isprintable():
        text = "".join(" " if c < " " or "\x7f" <= c <= "\x9f" else c for c in text)
        text = text.translate(DIRECTIONAL)
    return text.strip() or "(no name)"


def shorten(text: str, length: int) -> str:
    """Return text of at most ``length`` characters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def count(k: int, noun: str) -> str:
    """Return "1 item", "2 items"."""
    return f"{k:,} {noun}" + ("" if k == 1 else "s")
