"""Edge lists and tables in delimited text, parsed by pandas."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from reprlib import repr as short_repr
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.inputs import find_ends
from odsymnmf.io.symmetrize import EdgeList, check_finite, to_symmetric
from odsymnmf.utils import Array

# Number of first rows that determine the format, the header and the columns.
N_HEAD = 20
NANS = ["nan", "NaN", "NAN", "NA"]
MISSING = {"", "NA"}
NOT_WEIGHTS = {"id", "label", "type", "timeset"}
# Headings of the column of names in a table.
CORNERS = {"", "id", "ids", "index", "item", "label", "name", "names", "node"}
COMMENT = re.compile(rb"\n[ \t]*[#%][^\n]*")
# An id such as 007 is a name, and one of 19 digits may not fit into 64 bits.
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# The digits come first, because they are searched fastest.
PADDED_INTEGER = re.compile(rb'0[0-9](?<=[\s,;"]0[0-9])')


@dataclass(frozen=True)
class DelimitedText:
    """A text with its delimiter (None for blanks) and its first rows; comments are blank lines."""

    data: bytes
    separator: str | None
    head: list[list[str]]
    # The first row has one field less than the others, as in tables of R.
    corner_added: bool

    def parse(
        self, header: bool, dtype: dict[int, Any], numbers: Sequence[int], missing: list[str]
    ) -> Any:
        """Return all rows below the header as a DataFrame with columns 0, 1, ..."""
        import pandas

        try:
            return pandas.read_csv(
                io.BytesIO(self.data),
                sep=self.separator or r"\s+",
                header=0 if header else None,
                names=range(len(self.head[0])),
                index_col=False,
                dtype=dtype,
                keep_default_na=False,
                na_values=dict.fromkeys(numbers, missing),
                skipinitialspace=True,
            )
        except pandas.errors.ParserError as error:
            raise parser_error(error) from None

    def line_of(self, row: int) -> int:
        """Return the number of the line with a row."""
        lines = (k for k, line in enumerate(self.data.splitlines(), 1) if line.strip())
        return next(islice(lines, row, None))

    def to_float(self, column: Any, first_row: int) -> Array:
        """Return a column of numbers; ``first_row`` is the row of its first value."""
        import pandas

        values = pandas.to_numeric(column, errors="coerce").astype(np.float64)
        wrong = np.flatnonzero(values.isna() & column.notna())
        if len(wrong):
            cell, line = short_repr(str(column.iloc[wrong[0]])), self.line_of(first_row + wrong[0])
            raise ValueError(
                f"line {line}: {cell} is not a number; write one with a decimal point, choose "
                "other columns, or use --text for texts"
            )
        return np.array(values)


def open_text(data: bytes) -> DelimitedText:
    """Find the delimiter in the first row (tab, semicolon, comma or blanks) and the first rows."""
    if b"\0" in data:
        raise ValueError("is not text in UTF-8; if it is of another format, pass format=")
    if b"#" in data or b"%" in data:
        data = COMMENT.sub(b"\n", b"\n" + data)[1:]
    lines = (line for line in io.TextIOWrapper(io.BytesIO(data), "utf-8") if line.strip())
    first = next(lines, None)
    if first is None:
        raise ValueError("holds no rows but comments; give a file with items in it")
    separator = find_separator(first)
    beginning: Iterable[str] = chain([first], lines)
    if separator is None:
        beginning = (line.replace("\t", " ").strip() for line in beginning)
    reader = csv.reader(beginning, delimiter=separator or " ", skipinitialspace=True)
    try:
        head = [[cell.strip() for cell in row] for row in islice(reader, N_HEAD)]
    except csv.Error as error:
        raise ValueError(f"a quote is not closed ({error}); close it") from None
    corner = len(head[0]) + 1 == len(head[-1]) and not any(map(is_number, head[0]))
    head[0] = [""] * corner + head[0]
    text = DelimitedText(data, separator, head, corner)
    for k, row in enumerate(head):
        if len(row) != len(head[0]):
            raise _unequal_width(text.line_of(k), len(row), len(head[0]))
    return text


def _unequal_width(line: Any, width: Any, expected: Any) -> ValueError:
    return ValueError(
        f"line {line}: {width} fields where the lines above have {expected}; give every line the "
        "same number, and put names with spaces in quotes (texts: io.read_texts or --text)"
    )


def parser_error(error: Exception) -> ValueError:
    """Return an error of pandas with a remedy."""
    reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
    return ValueError(
        f"cannot be split into columns ({reason}); give every line the same number of fields, and "
        "put names with spaces in quotes"
    )


def find_separator(line: str) -> str | None:
    """Return the delimiter of a row, None for blanks."""
    bare = re.sub('"[^"]*"', "", line)
    return next((mark for mark in "\t;," if mark in bare), None)


def is_number(cell: str) -> bool:
    """Whether a cell is a number; 1_000 is one in Python only."""
    try:
        return "_" not in cell and float(cell) is not None
    except ValueError:
        return False


# --- edge lists ------------------------------------------------------------------------------


class EdgeColumns(NamedTuple):
    """The columns of the two ends of an edge, of its weight and of its type."""

    ends: list[int]
    weight: int | None
    type: int | None


def edge_columns(
    names: Sequence[str],
    numeric: Sequence[bool],
    columns: Sequence[str | int] | None = None,
    weight_column: str | int | None = None,
) -> EdgeColumns:
    """Choose columns by their names, or numbers from 1; see `odsymnmf.io.read` for the defaults."""
    lower = [name.strip().lower() for name in names]
    weight: int | None = None
    if columns is not None:
        if not 2 <= len(columns) <= 3:
            raise ValueError(f"columns={tuple(columns)} must name source, target and maybe weight")
        ends = [_index(names, column) for column in columns]
        weight = ends.pop() if len(ends) == 3 else None
    else:
        start = int(lower[0] == "" and len(names) > 2)  # names of the rows
        ends = find_ends(names) or [start, start + 1]
        others = [k for k in range(start, len(names)) if k not in ends]
        if "weight" in lower:
            weight = lower.index("weight")
        elif len(others) == 1 and numeric[others[0]] and lower[others[0]] not in NOT_WEIGHTS:
            weight = others[0]
    if weight_column is not None:
        weight = _index(names, weight_column)
    return EdgeColumns(ends, weight, lower.index("type") if "type" in lower else None)


def shorten(names: Sequence[str]) -> str:
    """Return the first eight names that are not empty, quoted."""
    quoted = [short_repr(name) for name in names if name.strip()]
    return ", ".join(quoted[:8]) + f" and {len(quoted) - 8} more" * (len(quoted) > 8)


def _index(names: Sequence[str], column: str | int) -> int:
    if column in names:
        return names.index(str(column))
    if str(column).isdecimal() and 1 <= int(column) <= len(names):
        return int(column) - 1
    raise ValueError(f"there is no column {column!r}; it has {shorten(names)}")


def column_messages(names: Sequence[str], used: EdgeColumns, *, typed: bool = False) -> list[str]:
    """Return messages about columns that are ignored, and about weights under another name."""
    known = {*used.ends, used.weight, used.type if typed else None}
    ignored = shorten([name for k, name in enumerate(names) if k not in known])
    messages = []
    if ignored:
        ends = "" if find_ends(names) else f"edges link {shorten([names[k] for k in used.ends])}; "
        messages.append(
            f"columns ignored: {ignored} ({ends}choose others with columns= or weight_column=)"
        )
    if used.weight is not None and names[used.weight].strip().lower() not in ("weight", "3"):
        messages.append(f"the weights are in column {short_repr(names[used.weight])}")
    return messages


def read_edges(
    text: DelimitedText,
    header: bool | None,
    columns: Sequence[str | int] | None,
    weight_column: str | int | None,
    *,
    bipartite: bool,
) -> EdgeList:
    """Return the edges of a list; if bipartite, targets are numbered separately.

    Without ``header``, `_has_header` decides; if it cannot, the first row is a header if none of
    its names occurs below.
    """
    top, *body = text.head
    width = len(top)
    if width < 2:
        raise ValueError("one column only, but an edge has two names; separate them by commas")
    if text.corner_added and columns is None and find_ends(top) is None:
        raise _unequal_width(2, width, width - 1)
    is_header = header if header is not None else _has_header(top, body, columns)
    if is_header and not body:
        raise ValueError("a header, but no edges below it; give at least one")
    numbers = [str(k + 1) for k in range(width)]
    rows, names = (text.head, numbers) if is_header is False else (body, top)
    numeric = [any(is_number(row[k].replace(",", ".")) for row in rows) for k in range(width)]
    used = edge_columns(names, numeric, columns, weight_column)
    frame = _parse_columns(text, is_header, used)
    codes, items = number_items([frame[k] for k in used.ends])
    if is_header is None:
        n_first = int(codes[:, 0].max()) + 1  # the items of the first row are numbered first
        is_header = bool(codes[:, 1:].min() >= n_first)
        if is_header:
            frame, codes, items = frame.iloc[1:], codes[:, 1:] - n_first, items[n_first:]
        else:
            names = numbers
    if "" in items:
        row = int(np.argmax((codes == items.index("")).any(axis=0)))
        line = text.line_of(is_header + row)
        raise ValueError(f"line {line}: no name where one is needed; fill it in or drop the line")
    directed = None
    if is_header and used.type is not None:
        kinds = {str(kind).strip().lower() for kind in frame[used.type].unique()}
        directed = True if "directed" in kinds else False if "undirected" in kinds else None
    messages = []
    if header is None and not is_header:
        messages.append("no header: the first row is an edge")
    elif header is None and find_ends(top) is None:
        messages.append(f"the first row is taken as a header: {shorten(top)}")
    messages += column_messages(names, used, typed=directed is not None)
    texts = [name for k, name in enumerate(names) if any(len(r[k].split()) > 9 for r in rows)]
    if texts:
        messages.append(
            f"{shorten(texts)} seems to hold texts; read them with io.read_texts (--text)"
        )
    weights = None if used.weight is None else text.to_float(frame[used.weight], int(is_header))
    if not bipartite:
        return EdgeList(codes[0], codes[1], weights, items, messages, directed)
    (sources, i), (targets, j) = (np.unique(ends, return_inverse=True) for ends in codes)
    features = [items[k] for k in targets]
    return EdgeList(i, j, weights, [items[k] for k in sources], messages, True, features)


def _has_header(
    top: list[str], body: list[list[str]], columns: Sequence[str | int] | None
) -> bool | None:
    """Whether the first row is a header; None if that depends on the names below.

    It is one if it names columns, or if a column below it is numeric and the first entry is not.
    """
    if find_ends(top) or (columns and {*columns} <= {*top}):
        return True
    numeric = [k for k in range(len(top)) if body and all(is_number(row[k]) for row in body)]
    if any(not is_number(top[k]) for k in numeric):
        return True
    return False if not body or any(map(is_number, top)) else None


def _parse_columns(text: DelimitedText, header: bool | None, used: EdgeColumns) -> Any:
    """Parse the rows below the header; both ends are integers, or strings if some are not."""
    numbers = [] if used.weight is None else [used.weight]
    cells = [row[k] for row in text.head[bool(header) :] for k in used.ends]
    if all(map(INTEGER.fullmatch, cells)) and not PADDED_INTEGER.search(text.data):
        with suppress(ValueError, OverflowError):
            dtype = dict.fromkeys(used.ends, np.int64) | dict.fromkeys(numbers, np.float64)
            return text.parse(bool(header), dtype, numbers, NANS)
    return text.parse(bool(header), dict.fromkeys(used.ends, str), numbers, NANS)


def number_items(columns: list[Any]) -> tuple[Array, list[str]]:
    """Number the items in columns jointly; return the numbers in each column, and the names.

    The columns are all integers or all strings. Integers are sorted; names keep the order in which
    they appear, row by row.
    """
    import pandas

    if all(column.dtype.kind in "iu" for column in columns):
        values = np.concatenate([column.to_numpy() for column in columns])
        if values.min() < 0:
            raise ValueError(
                f"the id {values.min()} is negative; number the items from 0 or 1, or give names"
            )
        if values.max() > 4 * len(values):
            codes, ids = pandas.factorize(values, sort=True)
        else:  # several times faster than hashing
            present = np.bincount(values) > 0
            codes, ids = (np.cumsum(present, dtype=np.int32) - 1)[values], np.flatnonzero(present)
        return codes.reshape(len(columns), -1), [str(k) for k in ids.tolist()]
    codes, names = pandas.factorize(pandas.concat(columns))
    merged, names = pandas.factorize(names.str.strip())
    codes, order = pandas.factorize(merged[codes].reshape(len(columns), -1).T.ravel())
    return codes.reshape(-1, len(columns)).T, names[order].tolist()


def frame_edges(
    frame: Any, columns: Sequence[str | int] | None, weight_column: str | int | None
) -> EdgeList:
    """Return the edges in a DataFrame, whose columns are chosen as those of a text."""
    names = [str(name) for name in frame.columns]
    if len(names) < 2 or not len(frame):
        raise ValueError("has no edges; give at least one, in columns source and target")
    numeric = [kind.kind in "biuf" for kind in frame.dtypes]
    used = edge_columns(names, numeric, columns, weight_column)
    ends = [frame.iloc[:, k] for k in used.ends]
    if any(column.isna().any() for column in ends):
        raise ValueError("an edge has no name in one of its columns; drop such rows")
    if any(column.dtype.kind not in "iu" for column in ends):
        ends = [column.astype(str) for column in ends]
    weights = None
    if used.weight is not None:
        if not numeric[used.weight]:
            raise ValueError(
                f"the column {names[used.weight]!r} holds no numbers; choose another weight_column"
            )
        weights = frame.iloc[:, used.weight].to_numpy(dtype=np.float64)
    (i, j), items = number_items(ends)
    return EdgeList(i, j, weights, items, column_messages(names, used))


# --- tables ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """A matrix with the names of its rows and columns, if there are any."""

    values: Any
    row_names: list[str] | None = None
    feature_names: list[str] | None = None
    messages: list[str] = field(default_factory=list)

    def features(self, *, graph_allowed: bool) -> tuple[Any, list[str]]:
        """Return the matrix of items x features, and the names of the items."""
        names = self.row_names or [str(k) for k in range(self.values.shape[0])]
        check_finite(self.values, names, self.feature_names)
        return self.values, names

    def similarities(self, symmetrize: str | None) -> tuple[Any, list[str]]:
        """Return the symmetric matrix, and the names of the items."""
        rows, columns = self.row_names, self.feature_names
        if rows and columns and len(rows) == len(columns) and rows != columns:
            k = next(k for k in range(len(rows)) if rows[k] != columns[k])
            raise ValueError(
                f"row {k + 1} is called {short_repr(rows[k])}, but column {k + 1} "
                f"{short_repr(columns[k])}; put rows and columns in the same order"
            )
        names = rows or columns or [str(k) for k in range(self.values.shape[0])]
        return to_symmetric(self.values, names, symmetrize, self.messages), names


def is_table(text: DelimitedText, *, features: bool) -> bool:
    """Whether a text is a table rather than an edge list; see `odsymnmf.io.read`.

    With ``features``, it is also one if the names of an edge list would be numbers such as 1.5.
    """
    top, *body = text.head
    if find_ends(top):
        return False
    if len(top) > 3:
        is_list = "weight" in map(str.lower, top) or not any(
            is_number(row[1]) or row[1] in MISSING for row in body
        )
        return features or not (body and is_list)
    if features and any(is_number(cell) and not cell.isdecimal() for cell in text.head[-1][:2]):
        return True
    if len(top) < 3 or [row[0] for row in body] == top[1:]:
        return len(top) == 3
    values = body if len(body) == 3 and _are_names(top) else text.head
    if len(values) != 3 or not all(is_number(x) for row in values for x in row):
        return False
    matrix = np.array(values, dtype=np.float64)
    return bool(np.array_equal(matrix, matrix.T, equal_nan=True))


def read_table(text: DelimitedText, header: bool | None, *, features: bool) -> Table:
    """Return a table with or without names of rows and columns.

    The first row is a header, and the first column holds names, if they are all text, or if the
    corner is empty; a column below "id", "name" or the like holds names, too. Similarities are
    square, so that names which are numbers follow from the shape.
    """
    import pandas

    top, width = text.head[0], len(text.head[0])
    is_open = header is None and not features
    if header is None:
        cells = top[1:] or top
        is_framed = top[0] == "" and "" not in cells and len({*cells}) == len(cells) > 0
        header = _are_names(cells) or (is_framed and len(text.head) > 1)
    missing = NANS if features or text.separator is None else ["", *NANS]
    frame = text.parse(header, {0: str}, range(1, width), missing)
    first_column = frame[0].str.strip().tolist()
    for k in range(1, width):
        if frame[k].dtype.kind not in "biuf":
            frame[k] = text.to_float(frame[k], int(header))
    values: Array = frame.drop(columns=0).to_numpy(dtype=np.float64)
    named = width > 1 and _are_names(first_column)
    if header and width > 1:
        named = named or top[0].lower() in CORNERS or top[1:] == first_column
    elif is_open and not named:
        named = len(first_column) == width - 1
        if len(first_column) == width + 1:
            header, first_column, values = True, first_column[1:], values[1:]
    if not named:
        column = pandas.Series(first_column, dtype=object)
        first = text.to_float(column.mask(column.isin(missing)), int(header))
        values = np.column_stack([first, values])
    if 0 in values.shape:
        raise ValueError("has names, but no numbers; give at least one row and column of numbers")
    return Table(values, first_column if named else None, top[named:] if header else None)


def _are_names(cells: list[str]) -> bool:
    """Whether none is a number, and not all are missing."""
    return not any(map(is_number, cells)) and not MISSING.issuperset(cells)
