"""The first line of an edge list, and the columns that it points to, as Gephi and others write it.

Such a list may have many columns in any order: Source, Target, Type, Id, Label, Weight. What names
no end, weight or type is left out, and told.
"""

from typing import NamedTuple

import numpy as np

from odsymnmf.io._items import quoted
from odsymnmf.io._sheet import Sheet

ENDS = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("fromnodeid", "tonodeid"),
    ("item1", "item2"),
)
# Columns of Gephi that are no weight, even if there is no other.
NO_WEIGHT = {"id", "label", "type", "timeset"}


class Columns(NamedTuple):
    """Which columns hold the ends of edges, their weights, and their types."""

    ends: list[int]
    weight: list[int]
    type: int | None


def has_ends(top: list[str]) -> bool:
    """Whether the first line says source and target, or the like."""
    return _ends(_lower(top)) is not None


def edge_columns(top: list[str]) -> Columns | None:
    """Return the columns that the first line names; None if they are the first two or three."""
    lower = _lower(top)
    ends, width = _ends(lower), len(top)
    if ends is None:
        return None
    if ends == [0, 1] and (width == 2 or (width == 3 and lower[2] not in NO_WEIGHT)):
        return None
    weight = [lower.index("weight")] if "weight" in lower else []
    kind = lower.index("type") if "type" in lower else None
    return Columns(ends, weight, kind)


def left_out(top: list[str], used: set[int | None]) -> list[str]:
    """Return what is told of columns that are not read."""
    names = [quoted(name) for j, name in enumerate(top) if j not in used and name.strip()]
    shown = ", ".join(names[:8]) + f" and {len(names) - 8} more" * (len(names) > 8)
    return [f"columns left out: {shown}"] if names else []


def direction(sheet: Sheet, column: int) -> str | None:
    """Return whether the edges are directed or undirected; None if the column says neither."""
    (codes,), names, _ = sheet.read(1, [column], [])
    kinds = [kind.strip().lower() for kind in names]
    found = {"directed", "undirected"} & {*kinds}
    if len(found) == 2:
        problem = "some edges are Directed and some Undirected"
        remedy = "write an undirected edge as two directed ones, one in each direction"
        is_other = np.array([kind == "undirected" for kind in kinds])[codes]
        raise sheet.error(1 + int(is_other.argmax()), problem, remedy)
    return next(iter(found), None)


def _lower(top: list[str]) -> list[str]:
    return [text.strip().lower() for text in top]


def _ends(lower: list[str]) -> list[int] | None:
    """Return the columns of the two ends of an edge."""
    return next(
        ([lower.index(a), lower.index(b)] for a, b in ENDS if a in lower and b in lower), None
    )
