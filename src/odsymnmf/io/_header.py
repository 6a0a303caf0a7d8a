"""The first line of an edge list, and the columns that it points to, as Gephi and others write it.

Such a list may have many columns in any order: Source, Target, Type, Id, Label, Weight. What names
no end, weight or type is left out, and told.
"""

from dataclasses import replace

import numpy as np

from odsymnmf.io._fields import Fields
from odsymnmf.io._items import quoted

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


def has_ends(fields: Fields) -> bool:
    """Whether the first line says source and target, or the like."""
    return _ends(fields) is not None


def edge_columns(fields: Fields) -> tuple[Fields, bool, list[str]]:
    """Return the ends and weights of edges, whether they are directed, and what should be told."""
    ends, width = _ends(fields), fields.shape[1]
    if ends is None:
        return fields, False, []
    top = _first_line(fields)
    if ends == [0, 1] and (width == 2 or (width == 3 and top[2] not in NO_WEIGHT)):
        return fields, False, []
    weight = [top.index("weight")] if "weight" in top else []
    kind = _kind(fields, top.index("type")) if "type" in top else None
    used = {*ends, *weight, *([top.index("type")] if kind else [])}
    rest = [quoted(fields.text(0, j)) for j in range(width) if j not in used and top[j]]
    shown = ", ".join(rest[:8]) + f" and {len(rest) - 8} more" * (len(rest) > 8)
    notes = [f"columns left out: {shown}"] if rest else []
    chosen = np.array(ends + weight)
    starts, stops = fields.starts[:, chosen], fields.ends[:, chosen]
    return replace(fields, starts=starts, ends=stops, corner_added=False), kind == "directed", notes


def _first_line(fields: Fields) -> list[str]:
    return [text.strip().lower() for text in fields.row(0)]


def _ends(fields: Fields) -> list[int] | None:
    """Return the columns of the two ends of an edge."""
    top = _first_line(fields)
    return next(([top.index(a), top.index(b)] for a, b in ENDS if a in top and b in top), None)


def _kind(fields: Fields, column: int) -> str | None:
    """Return whether the edges are directed or undirected; None if the column says neither."""
    kinds = [kind.lower() for kind in fields.column(column, 1)]
    found = {"directed", "undirected"} & {*kinds}
    if len(found) == 2:
        problem = "some edges are Directed and some Undirected"
        remedy = "write an undirected one as two directed ones, there and back"
        raise fields.error(1 + kinds.index("undirected"), f"{problem}; {remedy}")
    return next(iter(found), None)
