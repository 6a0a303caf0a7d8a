"""Edge lists: two names on each line, with or without a weight."""

import numpy as np

from odsymnmf.io._fields import Fields
from odsymnmf.io._graph import directed, from_list
from odsymnmf.io._header import edge_columns, has_ends
from odsymnmf.io._items import Array, Items, bad, quoted
from odsymnmf.io._numbers import number
from odsymnmf.io._symmetry import finite_features

PAIR = slice(0, 2)
# The items at both ends of every edge.
Ends = tuple[Array, Array]
# What stands above the first column of item, feature and value, and never above that of a graph.
ITEMS = {"doc", "docid", "doc_id", "document", "document_id", "item", "user", "userid", "user_id"}


def read_edges(
    fields: Fields, *, features: bool, symmetrize: str | None, is_sure: bool = False
) -> Items:
    """Return the graph of an edge list; with ``features``, a matrix of item, feature, value.

    Ids that are all integers (without leading zeros) are sorted by number; names keep the order
    in which they appear. The first line is a header if it says source and target or the like, if
    its third field is not a number, or if all ids below it are integers and it has words. With
    ``features``, what looks like a graph is refused unless the user is sure.
    """
    fields, is_directed, notes = edge_columns(fields)
    _refuse_wrong_width(fields)
    first, ids = _ids(fields, features)
    if fields.shape[0] == first:
        raise fields.error(0, "a header, but no edges below it; give at least one")
    weights = (
        fields.numbers(slice(2, 3), first).ravel()
        if fields.shape[1] == 3
        else np.ones(fields.shape[0] - first)
    )
    notes += [] if first else ["no header found: the first line is an edge"]
    if fields.shape[1] == 2:
        notes.append("no weights found: every edge has weight 1")
    if features:
        return _triples(fields, first, weights, notes, is_sure)
    (i, j), names = _named(fields, first) if ids is None else _compact(fields, *ids, first)

    def line(a: int, b: int) -> int:
        return fields.lines[first + int(np.flatnonzero((i == a) & (j == b))[0])]

    edges = i, j, weights
    matrix, more = from_list(fields.path, edges, names, symmetrize, line, is_directed=is_directed)
    return Items(matrix, names, "edges", notes + more)


def _refuse_wrong_width(fields: Fields) -> None:
    width = fields.shape[1]
    if fields.corner_added:
        problem = f"{width} fields where the line above has {width - 1}"
        raise fields.error(1, f"{problem}; give a weight on every line, or on none")
    if width not in (2, 3):
        fault = f"{width} field{'s' * (width != 1)}, but an edge has two names and perhaps a weight"
        raise fields.error(0, f"{fault}; separate them by commas, tabs or blanks")


def _ids(fields: Fields, features: bool) -> tuple[int, Ends | None]:
    """Return 1 if the first row is a header, else 0; and the ids below it if all are integers."""
    top = fields.row(0)
    rows = fields.shape[0]
    known = has_ends(fields) or (features and _has_items(fields))
    if known or (len(top) == 3 and rows > 1 and number(top[2]) is None):
        return 1, _integers(fields, 1) if rows > 1 else None
    ids = _integers(fields, 0)
    if ids is None and rows > 1 and number(top[0]) is None and number(top[1]) is None:
        ids = _integers(fields, 1)
        return int(ids is not None), ids
    return 0, ids


def _integers(fields: Fields, first: int) -> Ends | None:
    i = fields.integers(slice(0, 1), first)
    j = None if i is None else fields.integers(slice(1, 2), first)
    return None if i is None or j is None else (i.ravel(), j.ravel())


def _named(fields: Fields, first: int) -> tuple[Ends, list[str]]:
    pairs, names = fields.codes(PAIR, first)
    i, j = pairs.astype(np.int32).T
    return (i, j), names


def _compact(fields: Fields, i: Array, j: Array, first: int) -> tuple[Ends, list[str]]:
    """Number the ids that occur, in order of size, and return their names."""
    if min(i.min(), j.min()) < 0:
        row = int(((i < 0) | (j < 0)).argmax())
        problem = f"the id {i[row] if i[row] < 0 else j[row]} is negative"
        remedy = "number the items from 0 or 1, or give them names"
        raise fields.error(first + row, f"{problem}; {remedy}")
    top = max(int(i.max()), int(j.max()))
    if top > 4 * len(i):
        kept, both = np.unique(np.concatenate([i, j]), return_inverse=True)
        i, j = both.astype(np.int32).reshape(2, -1)
    else:
        occurs = np.bincount(i, minlength=top + 1) + np.bincount(j, minlength=top + 1) > 0
        kept = np.flatnonzero(occurs)
        if len(kept) <= top:
            places = np.cumsum(occurs, dtype=np.int32) - 1
            i, j = places[i], places[j]
    return (i, j), [f"{id}" for id in kept.tolist()]


def _triples(fields: Fields, first: int, weights: Array, notes: list[str], is_sure: bool) -> Items:
    i, items = fields.codes(slice(0, 1), first)
    j, columns = fields.codes(slice(1, 2), first)
    if not is_sure:
        _refuse_graph(fields, items, columns)
    matrix, more = directed(i.ravel(), j.ravel(), weights, items, columns)
    matrix = finite_features(fields.path, matrix, items, columns)
    notes = [*notes, "rows are the names of the first column, columns those of the second", *more]
    return Items(matrix, items, "edges", notes, features=columns)


def _refuse_graph(fields: Fields, items: list[str], columns: list[str]) -> None:
    """Half of a graph would be lost: items that are only targets, and links the other way."""
    shared = len({*items} & {*columns})
    if has_ends(fields):
        a, b = (quoted(fields.text(0, k)) for k in (0, 1))
        why = f"its first line says {a} and {b}"
    elif 2 * shared >= min(len(items), len(columns)) and not _has_items(fields):
        why = f"{shared} names stand in both columns"
    else:
        return
    remedy = "leave the affinity out, or, if it has, say how they are written"
    ways = "--format edges (item, feature, value) or --format table"
    raise bad(fields.path, f"is a graph ({why}), and has no features; {remedy}: {ways}")


def _has_items(fields: Fields) -> bool:
    return fields.text(0, 0).lower() in ITEMS
