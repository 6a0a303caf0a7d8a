"""Edge lists: two names on each line, with or without a weight."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.io._graph import UNWEIGHTED, directed, from_list
from odsymnmf.io._header import direction, edge_columns, has_ends, left_out
from odsymnmf.io._items import Items, Remedy, bad, number, quoted
from odsymnmf.io._sheet import SENTENCE, DoubtError, Sheet, import_pandas
from odsymnmf.io._symmetry import finite_features

# What stands above the first column of item, feature and value, and never above that of a graph.
ITEMS = {"doc", "docid", "doc_id", "document", "document_id", "item", "user", "userid", "user_id"}


TEXTS_THERE = (
    "the second column holds sentences: if they are to be clustered, use --text or io.read_texts"
)
HEADERLESS = "no header found: the first line is an edge"
NO_GRAPH = Remedy(
    'leave features out, or, if it has, say how they are written: format="edges" (item, feature, '
    'value) or format="table"',
    "leave the affinity out, or, if it has, say how they are written: --format edges (item, "
    "feature, value) or --format table",
)


def read_edges(
    sheet: Sheet, *, features: bool, symmetrize: str | None, is_sure: bool = False
) -> Items:
    """Return the graph of an edge list; with ``features``, a matrix of item, feature, value.

    Ids that are all integers (without leading zeros) are sorted by number; names keep the order
    in which they appear. The first line is a header if it says source and target or the like, if
    its third field is not a number, or if all ids below it are integers and it has words. With
    ``features``, what looks like a graph is refused unless the user is sure.
    """
    try:
        return _read(sheet, features, symmetrize, is_sure)
    except DoubtError:
        return _read(sheet.tidied(), features, symmetrize, is_sure)


def _read(sheet: Sheet, features: bool, symmetrize: str | None, is_sure: bool) -> Items:
    if features:
        return _read_features(sheet, is_sure)
    found = entries(sheet)
    kind = found.direction

    def line(a: int, b: int) -> int:
        return found.line_of(sheet, int(np.flatnonzero((found.i == a) & (found.j == b))[0]))

    edges = (found.i, found.j, found.values)
    matrix, more = from_list(
        sheet.path, edges, found.names, symmetrize, line, is_directed=kind == "directed"
    )
    return Items(matrix, found.names, "edges", found.notes + more)


@dataclass(frozen=True)
class Entries:
    """The edges of a list as they stand there: i to j, with values unless there is no column."""

    i: Array
    j: Array
    names: list[str]
    values: Array | None
    notes: list[str]
    direction: str | None
    first: int

    def line_of(self, sheet: Sheet, edge: int) -> int:
        """Return the line of the file on which an edge stands."""
        return sheet.line_of(self.first + edge)


def entries(sheet: Sheet) -> Entries:
    """Return the edges of a list between items of one kind."""
    columns = _columns(sheet, features=False)
    if columns.ids is None:
        (i, j), names, values = sheet.codes(columns.first, columns.ends, columns.weight)
    else:
        (i, j), values = columns.ids
        _refuse_negative(sheet, i, j, columns.first)
        i, j, names = compact(sheet.path, i, j)
    weights = values.ravel() if columns.weight else None
    columns.notes.extend(_about_texts(sheet, columns))
    return Entries(i, j, names, weights, columns.notes, columns.direction, columns.first)


def _about_texts(sheet: Sheet, columns: "Columns") -> list[str]:
    """Tell if the second column looks like texts with their ids before them."""
    rows = sheet.head[1:] or sheet.head  # the first may be a header that was not recognised
    pairs = [[row[k].split() for k in columns.ends] for row in rows]
    if all(len(a) < SENTENCE <= len(b) for a, b in pairs):
        return [TEXTS_THERE]
    return []


def _read_features(sheet: Sheet, is_sure: bool) -> Items:
    columns = _columns(sheet, features=True)
    ends, weight = columns.ends, columns.weight
    (i,), names, values = sheet.codes(columns.first, ends[:1], weight)
    (j,), others, _ = sheet.codes(columns.first, ends[1:], [])
    if not is_sure:
        _refuse_graph(sheet, ends, names, others)
    weights = values.ravel() if weight else np.ones(len(i))
    return _triples(sheet, (i, j, weights), names, others, columns.notes)


class Columns(NamedTuple):
    """Where the names and the weight stand, from which row on, and the ids if all are integers."""

    ends: list[int]
    weight: list[int]
    first: int
    ids: tuple[list[Array], Array] | None
    direction: str | None
    notes: list[str]


def _columns(sheet: Sheet, features: bool) -> Columns:
    named = edge_columns(sheet.top)
    if named is None:
        _refuse_wrong_width(sheet)
    ends, weight = (named.ends, named.weight) if named else ([0, 1], [2][: sheet.width - 2])
    first, ids = _ids(sheet, ends, weight, features)
    if first and not sheet.has_more:
        raise sheet.error(0, "a header, but no edges below it; give at least one")
    kind = direction(sheet, named.type) if named and named.type is not None else None
    notes = [] if first else [HEADERLESS]
    if named:
        notes = left_out(sheet.top, {*named.ends, *weight, *([named.type] if kind else [])})
    notes += [] if weight else [UNWEIGHTED]
    return Columns(ends, weight, first, ids, kind, notes)


def _refuse_wrong_width(sheet: Sheet) -> None:
    width = sheet.width
    if sheet.corner_added:
        problem = f"{width} fields where the line above has {width - 1}"
        raise sheet.error(1, problem, "give a weight on every line, or on none")
    if width not in (2, 3):
        fields = f"{width} field{'s' * (width != 1)}"
        fault = f"{fields}, but an edge has two names and, optionally, a weight"
        raise sheet.error(0, fault, "separate them by commas, tabs or spaces")


def _ids(
    sheet: Sheet, ends: list[int], weight: list[int], features: bool
) -> tuple[int, tuple[list[Array], Array] | None]:
    """Return 1 if the first row is a header, else 0; and the ids below it if all are integers."""
    top = sheet.top
    known = has_ends(top) or (features and _has_items(sheet, ends))
    is_word = [number(top[k]) is None for k in ends + weight]
    if known or (sheet.has_more and weight and is_word[2]):
        return 1, sheet.integers(1, ends, weight) if sheet.has_more else None
    ids = sheet.integers(0, ends, weight)
    if ids is None and sheet.has_more and is_word[0] and is_word[1]:
        ids = sheet.integers(1, ends, weight)
        return int(ids is not None), ids
    return 0, ids


def _refuse_negative(sheet: Sheet, i: Array, j: Array, first: int) -> None:
    if min(i.min(), j.min()) < 0:
        row = int(((i < 0) | (j < 0)).argmax())
        problem = f"the id {i[row] if i[row] < 0 else j[row]} is negative"
        remedy = "number the items from 0 or 1, or give them names"
        raise sheet.error(first + row, problem, remedy)


def compact(path: Path, i: Array, j: Array) -> tuple[Array, Array, list[str]]:
    """Number the ids that occur, in order of size, and return their names."""
    top = max(int(i.max()), int(j.max()))
    if top > 4 * len(i):
        both, kept = import_pandas(path).factorize(np.concatenate([i, j]), sort=True)
        i, j = both.reshape(2, -1)
    else:
        occurs = np.bincount(i, minlength=top + 1) + np.bincount(j, minlength=top + 1) > 0
        kept = np.flatnonzero(occurs)
        if len(kept) <= top:
            places = np.cumsum(occurs, dtype=np.int32) - 1
            i, j = places[i], places[j]
    return (
        i.astype(np.int32, copy=False),
        j.astype(np.int32, copy=False),
        [f"{k}" for k in kept.tolist()],
    )


def _triples(
    sheet: Sheet,
    entries: tuple[Array, Array, Array],
    items: list[str],
    columns: list[str],
    notes: list[str],
) -> Items:
    matrix, more = directed(*entries, items, columns)
    matrix = finite_features(sheet.path, matrix, items, columns)
    notes = [*notes, "rows are the names of the first column, columns those of the second", *more]
    return Items(matrix, items, "edges", notes, features=columns)


def _refuse_graph(sheet: Sheet, ends: list[int], items: list[str], columns: list[str]) -> None:
    """Half of a graph would be lost: items that are only targets, and links the other way."""
    shared = len({*items} & {*columns})
    if has_ends(sheet.top):
        a, b = (quoted(sheet.top[k]) for k in ends)
        why = f"its first line says {a} and {b}"
    elif 2 * shared >= min(len(items), len(columns)) and not _has_items(sheet, ends):
        why = f"{shared} names are in both columns"
    else:
        return
    raise bad(sheet.path, f"is a graph ({why}), and has no features", NO_GRAPH)


def _has_items(sheet: Sheet, ends: list[int]) -> bool:
    return sheet.top[ends[0]].lower() in ITEMS
