"""Tables: one row per item; columns are the items again (similarities) or features."""

from itertools import islice

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.io._header import has_ends
from odsymnmf.io._items import Items, Remedy, number, numbered, quoted
from odsymnmf.io._sheet import MISSING, DoubtError, Sheet
from odsymnmf.io._symmetry import FEATURES, finite_features, similarities

NOT_A_TABLE = (
    "a table needs one there; if this is an edge list, keep only source, target and weight (for "
    "example with cut -d, -f1-3), or name these columns in its first line"
)
NOT_SQUARE = (
    "an edge list has source, target and weight only, and for a table of items x features, use "
)
# Headings of a column of names.
CORNERS = {"", "id", "ids", "index", "item", "label", "name", "names", "node"}


def looks_like_table(sheet: Sheet, *, features: bool) -> bool:
    """Whether a text file is a table rather than an edge list.

    It is one if its columns and rows have the same names, and none if its first line says source
    and target. Else it is one if it has more than three columns, if it is a single number, or if it
    is a symmetric matrix of 3 x 3 numbers. With ``features``, also if the names of an edge list
    would be numbers such as 1.5 or -2.
    """
    top, width = sheet.top, sheet.width
    if has_ends(top):
        return _has_names_of_columns(sheet)
    # More rows than are looked at are more than a small table has.
    rows = len(sheet.head)
    if features and 1 < width <= 3:
        ids = sheet.head[-1][:2]
        if any(number(text) is not None and not text.isdecimal() for text in ids):
            return True
    if width == 1 or width > 3:
        return width > 3 or (rows == 1 and number(top[0]) is not None)
    # Of two rows, the names alone would also fit "a,b" above "b,c".
    is_corner = top[0].lower() in CORNERS or (width == 3 and number(top[0]) is None)
    if is_corner and _has_names_of_columns(sheet):
        return True
    if width == 2:
        return False
    first = rows - 3
    if first not in (0, 1) or (first and any(number(text) is not None for text in top)):
        return False
    values = [[number(text) for text in row] for row in sheet.head[first:]]
    if any(value is None for row in values for value in row):
        return False
    matrix = np.array(values, dtype=np.float64)
    return bool(np.array_equal(matrix, matrix.T, equal_nan=True))


def _has_names_of_columns(sheet: Sheet) -> bool:
    """Whether the rows have the same names as the columns."""
    left = [row[0] for row, _ in islice(sheet.rows(), 1, sheet.width + 1)]
    return sheet.top[1:] == left


def read_table(sheet: Sheet, *, features: bool, symmetrize: str | None) -> Items:
    """Return a table with or without names of rows and columns.

    The first line is a header, and the first column holds names, if they are all text, or if the
    corner is empty; a column below "id", "name" or the like holds names too. Similarities are
    square, so that names which are numbers can be told by the shape. Cells of similarities may be
    empty: those pairs are unknown.
    """
    try:
        return _read(sheet, features, symmetrize)
    except DoubtError:
        return _read(sheet.tidied(), features, symmetrize)


def _read(sheet: Sheet, features: bool, symmetrize: str | None) -> Items:
    header, left, values, named = _cells(sheet, features)
    if 0 in values.shape:
        raise sheet.error(0, "names, but no numbers; give at least one row and column of numbers")
    names = left if named else None
    columns = sheet.top[named:] if header else None
    notes = [] if header else ["no header found: the first line holds numbers"]
    if features:
        names = names or numbered(len(values))
        matrix = finite_features(sheet.path, values, names, columns)
        return Items(matrix, names, "table", notes, features=columns)
    if names and columns and names != columns and len(names) == len(columns):
        k = next(k for k, pair in enumerate(zip(names, columns, strict=True)) if len({*pair}) > 1)
        problem = f"row {k + 1} is called {quoted(names[k])}, column {k + 1} {quoted(columns[k])}"
        raise sheet.error(header + k, problem, "put rows and columns in the same order")
    names = names or columns or numbered(len(values))
    if values.shape[0] != values.shape[1]:
        rows, width = values.shape
        problem = f"{rows} rows and {width} columns of numbers, but similarities are square"
        raise sheet.error(0, problem, Remedy(*(NOT_SQUARE + way for way in FEATURES)))

    def line(i: int, j: int) -> int:
        return sheet.line_of(header + i)

    matrix, more = similarities(sheet.path, values, names, symmetrize, line)
    return Items(matrix, names, "table", notes + more)


def _cells(sheet: Sheet, features: bool) -> tuple[int, list[str], Array, int]:
    """Return whether there is a header, the first column, the numbers, and whether it has names.

    The first column is read as text, because only the whole of it tells whether it holds names.
    """
    top, width = sheet.top, sheet.width
    header = int(_are_texts(top[1:] or top))
    is_framed = not header and width > 1 and sheet.has_more and not top[0]
    is_framed = is_framed and (features or _are_names(sheet))
    first = int(header or is_framed)
    others = list(range(1, width))
    values, left = sheet.numbers(first, others, 0, may_miss=not features, remedy=NOT_A_TABLE)
    named = width > 1 and _are_texts(left)
    if is_framed:
        return 1, left, values, 1
    if header and width > 1:
        named = named or top[0].lower() in CORNERS or top[1:] == left
    elif not header and not features and not named:
        # Names that are numbers: only the shape tells.
        rows = len(left)
        if rows == width - 1:
            return 0, left, values, 1
        if rows == width + 1:
            first, header, left, values = 1, 1, left[1:], values[1:]
    if named:
        return header, left, values, 1
    column = sheet.floats(first, left, may_miss=not features, remedy=NOT_A_TABLE)
    return header, left, np.column_stack([column, values]), 0


def _are_texts(texts: list[str]) -> bool:
    """Whether none is a number, and not all are missing."""
    return all(number(text) is None for text in texts) and not {*texts} <= {*MISSING}


def _are_names(sheet: Sheet) -> bool:
    """Whether the line with an empty corner holds names, not values and an empty diagonal."""
    others = sheet.top[1:]
    are_values = len({*others}) < len(others) or any("." in text for text in others)
    return bool(sheet.head[1][1]) or not are_values
