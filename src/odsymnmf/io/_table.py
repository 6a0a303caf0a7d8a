"""Tables: one row per item; columns are the items again (similarities) or features."""

from dataclasses import replace

import numpy as np

from odsymnmf.io._fields import Fields
from odsymnmf.io._header import has_ends
from odsymnmf.io._items import Items, numbered, quoted
from odsymnmf.io._numbers import number
from odsymnmf.io._symmetry import finite_features, similarities

NOT_A_TABLE = (
    "taken for a table, it needs one there; of an edge list keep source, target and weight only "
    "(for example with cut -d, -f1-3), or name these columns in its first line"
)
# What stands above a column of names.
CORNERS = {"", "id", "ids", "index", "item", "label", "name", "names", "node"}


def looks_like_table(fields: Fields, *, features: bool) -> bool:
    """Whether a text file is a table rather than an edge list.

    It is one if its columns and rows have the same names, and none if its first line says source
    and target. Else it is one if it has more than three columns, if it is a single number, or if it
    is a symmetric matrix of 3 x 3 numbers. With ``features``, also if the names of an edge list
    would be numbers such as 1.5 or -2.
    """
    rows, width = fields.shape
    top = fields.row(0)
    if has_ends(fields):
        return rows == width and top[1:] == fields.column(0, 1)
    if features and 1 < width <= 3:
        ids = fields.row(rows - 1)[:2]
        if any(number(text) is not None and not text.isdecimal() for text in ids):
            return True
    if width == 1 or width > 3:
        return width > 3 or (rows == 1 and number(top[0]) is not None)
    # Of two rows, the names alone would also fit "a,b" above "b,c".
    is_corner = top[0].lower() in CORNERS or (width == 3 and number(top[0]) is None)
    if rows == width and is_corner and top[1:] == fields.column(0, 1):
        return True
    if width == 2:
        return False
    first = rows - 3
    if first not in (0, 1) or (first and any(number(text) is not None for text in top)):
        return False
    values = [[number(text) for text in fields.row(i)] for i in range(first, rows)]
    if any(value is None for row in values for value in row):
        return False
    matrix = np.array(values, dtype=np.float64)
    return bool(np.array_equal(matrix, matrix.T, equal_nan=True))


def read_table(fields: Fields, *, features: bool, symmetrize: str | None) -> Items:
    """Return a table with or without names of rows and columns.

    The first line is a header, and the first column holds names, if they are all text, or if the
    corner is empty; a column below "id", "name" or the like holds names too. Similarities are
    square, so that names which are numbers can be told by the shape.
    """
    header, named = _frame(fields, features)
    rows, width = fields.shape
    if rows == header or width == named:
        raise fields.error(0, "names, but no numbers; give at least one row and column of numbers")
    if not features:
        fields = _with_diagonal(fields, header, named)
    values = fields.numbers(slice(named, None), header, NOT_A_TABLE)
    names = fields.column(0, header) if named else None
    columns = fields.row(0)[named:] if header else None
    notes = [] if header else ["no header found: the first line holds numbers"]
    if features:
        names = names or numbered(len(values))
        matrix = finite_features(fields.path, values, names, columns)
        return Items(matrix, names, "table", notes, features=columns)
    if names and columns and names != columns and len(names) == len(columns):
        k = next(k for k, pair in enumerate(zip(names, columns, strict=True)) if len({*pair}) > 1)
        problem = f"row {k + 1} is called {quoted(names[k])}, column {k + 1} {quoted(columns[k])}"
        raise fields.error(header + k, f"{problem}; put rows and columns in the same order")
    names = names or columns or numbered(len(values))
    if values.shape[0] != values.shape[1]:
        raise fields.error(
            0,
            f"{values.shape[0]} rows and {values.shape[1]} columns of numbers, but similarities "
            "are square; an edge list has source, target and weight only, and a table of items x "
            "features needs --affinity cosine",
        )

    def line(i: int, j: int) -> int:
        return fields.lines[header + i]

    matrix, more = similarities(fields.path, values, names, symmetrize, line)
    return Items(matrix, names, "table", notes + more)


def _with_diagonal(fields: Fields, header: int, named: int) -> Fields:
    """Put zeros into empty cells of the diagonal, which is never looked at."""
    k = np.arange(min(fields.shape[0] - header, fields.shape[1] - named))
    cells = header + k, named + k
    is_empty = fields.starts[cells] == fields.ends[cells]
    if not is_empty.any():
        return fields
    starts, ends, zero = fields.starts.copy(), fields.ends.copy(), len(fields.data)
    starts[cells] = np.where(is_empty, zero, starts[cells])
    ends[cells] = np.where(is_empty, zero + 1, ends[cells])
    return replace(fields, data=fields.data + b"0\n", starts=starts, ends=ends)


def _frame(fields: Fields, features: bool) -> tuple[int, int]:
    """Return whether there is a header, and whether there is a column of names, as 0 or 1."""
    rows, width = fields.shape
    top, corner = fields.row(0), fields.text(0, 0)
    header = all(number(text) is None for text in top[1:] or top)
    left = fields.column(0, int(header))
    named = width > 1 and all(number(text) is None for text in left)
    if header and width > 1:
        named = named or corner.lower() in CORNERS or top[1:] == left
    elif rows > 1 and width > 1 and not corner and (features or _are_names(fields)):
        header, named = True, True
    elif not features and not named:
        # Names that are numbers: only the shape tells.
        return int(rows == width + 1), int(rows == width - 1)
    return int(header), int(named)


def _are_names(fields: Fields) -> bool:
    """Whether the line beside an empty corner holds names, not values beside an empty diagonal."""
    others = fields.row(0)[1:]
    are_values = len({*others}) < len(others) or any("." in text for text in others)
    return bool(fields.text(1, 1)) or not are_values
