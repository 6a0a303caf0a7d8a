"""Pictures of a result, drawn with matplotlib: ``ax=`` in, Axes out.

Install matplotlib with ``pip install "odsymnmf[plots]"``. Clusters have the same colours here and
on the page of `odsymnmf.report`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from odsymnmf.drawing import MatrixPicture, as_members, matrix_picture
from odsymnmf.drawing.colours import NEGATIVE, NOBODY, POSITIVE, palette
from odsymnmf.drawing.layout import layout, links
from odsymnmf.drawing.names import checked_names, shortened
from odsymnmf.drawing.pies import slices
from odsymnmf.drawing.shades import scale_top, shades
from odsymnmf.inputs import is_frame, similarities
from odsymnmf.problem import as_similarity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_convergence", "plot_graph", "plot_matrix", "plot_memberships"]


# More names than this along an axis, or in a graph, cover each other.
MOST_NAMES = 80
# Longer names would leave no room for the picture beside them.
LONGEST_NAME = 40
# As many memberships can be drawn as an array.
MOST_ENTRIES = 50_000_000
# As many numbers of clusters have room along an axis.
MOST_TICKS = 18
# Shades go from -1 to 1; every pixel is one number.
_COLOURS: dict[str, Any] = {"vmin": -1, "vmax": 1, "interpolation": "none"}


def plot_matrix(A: Any, H: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the similarities with the items sorted by cluster, and the borders of the clusters.

    Within its cluster the strongest member comes first; unassigned items come last. Large
    matrices are averaged (`odsymnmf.report.matrix_picture`). Colour is proportional to the square
    root of the similarity; negative similarities have another colour.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, a similarity of n items, or a MatrixPicture
        Symmetric similarities; the diagonal is ignored.
    H : array-like or scipy sparse array of shape (n, r)
        Memberships. Not needed with a MatrixPicture, which is sorted already.
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
    if isinstance(A, MatrixPicture):
        picture = A
    elif H is None:
        raise ValueError("the items are sorted by their memberships; pass H.")
    else:
        picture = matrix_picture(A, H)
    ax = _axes(ax)
    n, top = picture.n, scale_top(picture.values)
    shade = np.where(np.isnan(picture.values), np.nan, shades(picture.values))
    ax.imshow(shade, **_COLOURS, extent=(0, n, n, 0), cmap=_colour_map())
    bounds = [*picture.edges.tolist(), n]
    borders = {b for b in bounds if 0 < b < n}
    thin = 0.6 if len(borders) <= MOST_TICKS else 0.2
    for edge in borders:
        ax.axhline(edge, color="0.35", linewidth=thin)
        ax.axvline(edge, color="0.35", linewidth=thin)
    _cluster_ticks(ax, bounds)
    ax.set(xlabel="cluster", ylabel="cluster", title=f"{n:,} items; full colour from {top:.3g} on")
    return ax


def plot_convergence(
    history: ArrayLike, restarts: Sequence[int] = (), *, ax: "Axes | None" = None
) -> "Axes":
    """Draw the objective at the start, after every iteration and every accepted restart.

    Parameters
    ----------
    history : array-like
        ``Factorization.history`` or ``ODSymNMF.history_``.
    restarts : sequence of int, optional
        Which entries of ``history`` follow an accepted column restart: ``Factorization.restarts``
        or ``ODSymNMF.restarts_``. They are marked.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import odsymnmf as od
    >>> A, _ = od.datasets.cliques([3, 2])
    >>> ax = od.plots.plot_convergence(od.factorize(A, 2).history)
    >>> ax.get_xlabel()
    'iterations'
    """
    values = np.asarray(history, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"history must be a list of objectives; got shape {values.shape}.")
    marked = np.asarray(restarts, dtype=np.intp)
    if ((marked < 1) | (marked >= len(values))).any():
        raise ValueError(f"restarts must be entries 1 to {len(values) - 1} of history.")
    ax = _axes(ax)
    marker = "o" if len(values) <= 60 else ""
    ax.plot(np.arange(len(values)), values, color=POSITIVE, marker=marker, markersize=3)
    if marked.size:
        ring: dict[str, Any] = {
            "color": NEGATIVE,
            "marker": "o",
            "markerfacecolor": "white",
            "linestyle": "",
        }
        ax.plot(marked, values[marked], **ring, label="accepted column restart")
        ax.legend()
    if values.min() > 0 and values.max() > 10 * values.min():
        ax.set_yscale("log")
    _whole_numbers(ax)
    ax.grid(axis="y", color="0.9")
    ax.set(xlabel="iterations and restarts" if marked.size else "iterations", ylabel="objective")
    return ax


def plot_memberships(
    H: Any, names: Sequence[Any] | None = None, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw H: one line per item, sorted by cluster, and one column per cluster.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    names : sequence of n names, optional
        Written next to the lines if there are few enough; by default the index of a DataFrame.
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
    if names is None and is_frame(H):
        names = list(H.index)
    members = as_members(H)
    n, r = members.n, members.r
    if n * r > MOST_ENTRIES:
        raise ValueError(
            f"H has {n:,} x {r:,} entries, too many to draw; pass some of its columns, as in "
            "H[:, :50], or see the page of odsymnmf.report."
        )
    called = None if names is None else _called(names, n)
    named = called is not None and n <= MOST_NAMES
    ax = _axes(ax, height=max(4.8, 0.13 * n if named else 0.0))
    whole = (-0.5, r - 0.5, n - 0.5, -0.5)
    ax.imshow(
        shades(members.H[members.order].toarray()),
        **_COLOURS,
        extent=whole,
        aspect="auto",
        cmap=_colour_map(),
    )
    for edge in {int(e) for e in members.edges if 0 < e < n}:
        ax.axhline(edge - 0.5, color="0.35", linewidth=0.6)
    _whole_numbers(ax)
    if called is not None and named:
        ax.set_yticks(range(n), [called[i] for i in members.order], fontsize=7, parse_math=False)
    ax.set(xlabel="cluster", ylabel="" if named else "items, sorted by cluster")
    return ax


def plot_graph(
    A: Any, H: Any, names: Sequence[Any] | None = None, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw the items and their positive similarities, coloured by membership.

    An item in several clusters is a pie of its strengths (`memberships.strength`); one without any
    is grey. The layout is the same in
    every run.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities; the diagonal is ignored.
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    names : sequence of n names, optional
        Written next to the items if there are few enough; by default those of the graph, DataFrame
        or AnnData A.
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
    A, own = similarities(A)
    names = own if names is None else names
    S = as_similarity(A)
    members = as_members(H, S.n)
    called = None if names is None else _called(names, S.n)
    pairs = links(S)
    points = layout(pairs, members) * [1, -1]
    ax = _axes(ax, width=8, height=8)
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Wedge

    i, j, value = pairs
    widths = 0.3 + 1.2 * np.sqrt(value / value.max(initial=1e-300))
    ends = np.stack([points[i], points[j]], axis=1)
    ax.add_collection(LineCollection(list(ends), colors="0.75", linewidths=widths, zorder=1))
    colours, radius = palette(members.r), 0.25 / np.sqrt(S.n + 30)
    wedges, fills = [], []
    for item, point in enumerate(points):
        for l, _, start, end in slices(members, item) or [(-1, 0, 0.0, 1.0)]:
            wedges.append(Wedge(tuple(point), radius, 90 - 360 * end, 90 - 360 * start))
            fills.append(NOBODY if l < 0 else colours[l])
    ax.add_collection(PatchCollection(wedges, facecolors=fills, edgecolors="none", zorder=2))
    if called is not None and S.n <= MOST_NAMES:
        for (x, y), name in zip(points, called, strict=True):
            ax.text(x + 1.3 * radius, y, name, fontsize=7, va="center", parse_math=False)
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")
    ax.set_axis_off()
    return ax


def _called(names: Sequence[Any], n: int) -> list[str]:
    return [shortened(name, LONGEST_NAME) for name in checked_names(names, n)]


def _axes(ax: "Axes | None", width: float = 6.4, height: float = 4.8) -> "Axes":
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            'plots need matplotlib; install it with: pip install "odsymnmf[plots]"'
        ) from error
    if ax is not None:
        return ax
    return plt.figure(figsize=(width, height), layout="constrained").add_subplot()


def _whole_numbers(ax: "Axes") -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _colour_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("odsymnmf", [NEGATIVE, "white", POSITIVE])


def _cluster_ticks(ax: "Axes", bounds: list[int]) -> None:
    """Write the clusters' numbers in their colours beside their items, the largest first, where
    there is room."""
    r = len(bounds) - 2
    room = bounds[-1] / MOST_TICKS
    at: dict[int, float] = {}
    for l in sorted(range(r + 1), key=lambda l: bounds[l] - bounds[l + 1]):
        middle = (bounds[l] + bounds[l + 1]) / 2
        if bounds[l] < bounds[l + 1] and all(abs(middle - m) >= room for m in at.values()):
            at[l] = middle
    filled = sorted(at)
    middles = [at[l] for l in filled]
    words = [str(l) if l < r else "none" for l in filled]
    colours = [*palette(r), NOBODY]
    ax.set_xticks(middles, words)
    ax.set_yticks(middles, words)
    for axis in (ax.get_xticklabels(), ax.get_yticklabels()):
        for tick, l in zip(axis, filled, strict=True):
            tick.set(color=colours[l], fontweight="bold")
