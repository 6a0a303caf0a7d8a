"""Rows and columns of a text file, parsed by pandas.

pandas is quick, and forgiving: it pads short lines, takes 007 for 7 and ``"a"b`` for ab. So what
it reads is looked at for signs of that. Where there is one, or where pandas refuses, `DoubtError`
is raised, and the caller reads again from `Sheet.tidied`: the same rows, cut by Python, which
either are regular or raise an error that names the line.
"""

import csv
import io
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.io import _arrow, _rows
from odsymnmf.io._items import InputError, Remedy, bad, number, quoted
from odsymnmf.io._signs import (
    Quotes,
    has_comments,
    has_padded_numbers,
    quotes,
    without_comments,
)
from odsymnmf.io._source import OTHER_FORMAT, as_utf8

# Between the fields of tidied rows: no text contains it.
UNIT = b"\x1f"
# Rows that are looked at to see what a file is.
HEAD = 5
# Cells without a value, besides the ways to write NaN; R writes NA.
MISSING = ["", "NA"]
NANS = ["nan", "NaN", "NAN"]
LONGEST_NAME = 1000
# An id such as 007 is a name, and one of 19 digits may not fit.
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}|-0", re.ASCII)
LARGEST_ID = 10**18
GIVE = "give a number there, or leave the column out"
# A cell of so many words is a text.
SENTENCE = 4
TEXTS = Remedy("texts are read by io.read_texts", "to cluster texts, use --text")


class DoubtError(Exception):
    """What pandas read may not be what stands there."""


@dataclass(frozen=True)
class Sheet:
    """The rows of a text file; ``line`` is that of the first row."""

    path: Path
    body: bytes
    line: int
    delimiter: bytes | None
    # The first row had one field less, and an empty one was put before it (as R writes tables).
    corner_added: bool = False
    # The line of every row, of rows that Python has cut.
    lines: "array[int] | None" = None

    @cached_property
    def head(self) -> list[list[str]]:
        """The first rows, all of one width."""
        return [row for row, _ in islice(self.rows(), HEAD)]

    @property
    def top(self) -> list[str]:
        return self.head[0]

    @property
    def width(self) -> int:
        return len(self.top)

    @property
    def has_more(self) -> bool:
        """Whether there is more than one row."""
        return len(self.head) > 1

    def rows(self) -> Iterator[_rows.Row]:
        """Yield all rows, by Python; all must have as many fields as the first."""
        if self.lines is not None:
            cells = (row[:-1].decode().split(UNIT.decode()) for row in io.BytesIO(self.body))
            yield from zip(cells, self.lines, strict=True)
            return
        width = None
        for row, line in _rows.rows(self.path, self.body, self.delimiter, self.line):
            if width is None:
                row = [""] * self.corner_added + row
                width = len(row)
            if len(row) != width:
                problem = f"{len(row)} fields where the lines above have {width}"
                remedy = "give every line the same number, and put names with spaces in quotes"
                raise bad(self.path, problem, remedy, line=line)
            yield row, line

    def tidied(self) -> "Sheet":
        """Return the same rows, cut by Python; an error names the line that is not regular."""
        if self.lines is not None:
            return self
        text, lines = io.BytesIO(), array("q")
        for row, line in self.rows():
            text.write(UNIT.join(cell.encode() for cell in row) + b"\n")
            lines.append(line)
        body = text.getvalue()
        return replace(self, body=body, delimiter=UNIT, lines=lines, corner_added=False)

    def error(self, row: int, problem: str, remedy: str | Remedy = "") -> InputError:
        return bad(self.path, problem, remedy, line=self.line_of(row))

    def line_of(self, row: int) -> int:
        """Return the line of the file on which a row begins."""
        return next(line for _, line in islice(self.rows(), row, None))

    # --- pandas ------------------------------------------------------------------------------

    def _frame(self, first: int, dtype: Any, columns: list[int], **how: Any) -> Any:
        """Return pandas' reading of some columns, from row ``first`` (0 or 1) on."""
        pandas = import_pandas(self.path)
        start = self._start(first)
        if start == len(self._regular):
            return pandas.DataFrame({k: [] for k in columns})
        stream = io.BytesIO(self._regular)
        stream.seek(start)
        if self.lines is None:
            how["skipinitialspace"] = True
        else:
            how |= {"quoting": csv.QUOTE_NONE, "skip_blank_lines": False}
        if not _is_exact(pandas):
            how["float_precision"] = "round_trip"
        try:
            with np.errstate(invalid="raise"):  # a number too large for the type that was asked for
                frame = pandas.read_csv(
                    stream,
                    sep=self.delimiter.decode() if self.delimiter else r"\s+",
                    header=None,
                    names=range(self.width),
                    usecols=columns,
                    dtype=dtype,
                    engine="c",
                    **how,
                )
        except (ValueError, ArithmeticError) as error:  # a ParserError is a ValueError
            raise DoubtError from error
        if not isinstance(frame.index, pandas.RangeIndex):
            raise DoubtError  # all lines are longer than the first
        return frame

    def _start(self, first: int) -> int:
        """Return where row ``first`` (0 or 1) begins."""
        start = self._regular.find(b"\n") + 1 if first else 0
        if self._regular.count(b'"', 0, start) % 2 and self.lines is None:
            raise DoubtError  # the first row goes over several lines
        return start

    @cached_property
    def _regular(self) -> bytes:
        """The text without comments, if its quotes stand around whole fields."""
        if self.lines is not None:
            return self.body
        is_commented = has_comments(self.body)
        if not self._quotes.around or (is_commented and b'"' in self.body):
            raise DoubtError
        return without_comments(self.body) if is_commented else self.body

    @cached_property
    def _quotes(self) -> Quotes:
        return quotes(self.body, self.delimiter)

    def read(
        self,
        first: int,
        texts: list[int],
        numbers: list[int],
        *,
        ids: bool = False,
        may_miss: bool = False,
        remedy: str | Remedy = GIVE,
    ) -> tuple[list[Array], list[str], Array]:
        """Read all in one pass; return columns of texts, their names, and the numbers as floats.

        A column of texts holds indices of names, or integers if they are ``ids``. Names stand in
        the order in which they appear, line by line. A cell of ``numbers`` that is empty or says
        NA is NaN if it ``may_miss``.
        """
        try:
            return self._quick(first, texts, numbers, (MISSING if may_miss else []) + NANS, ids)
        except DoubtError:
            if self.lines is None or not numbers:
                raise
        found, names, _ = self._quick(first, texts, [], [], ids)
        values = array("d")
        for row, line in islice(self.rows(), first, None):
            values.extend(self._float(row[j], line, may_miss, remedy) for j in numbers)
        return found, names, np.array(values).reshape(-1, len(numbers))

    def _quick(
        self, first: int, texts: list[int], numbers: list[int], missing: list[str], ids: bool
    ) -> tuple[list[Array], list[str], Array]:
        if self.lines is None:
            where = (self._regular, self._start(first), self.delimiter, self.width)
            over_lines = self._quotes.over_lines
            quick = _arrow.columns(*where, texts, numbers, missing, ids=ids, over_lines=over_lines)
            if quick is not None:
                return quick
        dtype = dict.fromkeys(texts, np.int64 if ids else "str") | dict.fromkeys(numbers, float)
        how: dict[str, Any] = {"na_filter": False}
        if numbers:
            how = {"keep_default_na": False, "na_values": dict.fromkeys(numbers, missing)}
        frame = self._frame(first, dtype, [*texts, *numbers], **how)
        values = frame[numbers].to_numpy(dtype=np.float64)
        values = values if values.flags.writeable else values.copy()
        self._check_numbers(first, numbers, values)
        if ids:
            return [frame[j].to_numpy() for j in texts], [], values
        codes, names = import_pandas(self.path).factorize(frame[texts].to_numpy().ravel())
        codes = codes.reshape(-1, len(texts)).T.astype(np.int32, order="C")
        return [*codes], names.tolist(), values

    # --- names -------------------------------------------------------------------------------

    def codes(
        self, first: int, ends: list[int], weight: list[int]
    ) -> tuple[list[Array], list[str], Array]:
        """Number the distinct names in some columns, in order of appearance.

        Returns the numbers, the names, and the columns ``weight``.
        """
        columns, names, weights = self.read(first, ends, weight)
        return *self._bare(first, columns, names), weights

    def _bare(
        self, first: int, columns: list[Array], names: list[str]
    ) -> tuple[list[Array], list[str]]:
        """Take away spaces around names, if all are valid; some may then be the same."""
        if not all(names) or max(map(len, names), default=1) > LONGEST_NAME:
            self._refuse_names(first, columns, names)
        joined = "\n".join(["", *names, ""]).replace("\t", " ")
        # Each search is for one fixed text, because a pattern would take many times as long.
        is_bare = "\n " not in joined and " \n" not in joined
        if self.lines is not None or (is_bare and joined.count("\n") == len(names) + 1):
            return columns, names
        names = self._stripped(names)
        if not all(names):
            raise DoubtError
        index = {name: k for k, name in enumerate(dict.fromkeys(names))}
        place = np.array([index[name] for name in names], dtype=np.int32)
        return [place[codes] for codes in columns], [*index]

    def _stripped(self, names: list[str]) -> list[str]:
        """Take away blanks around names; in quotes they would belong to them."""
        bare = [name.strip(_rows.BLANKS) for name in names]
        if bare != names and b'"' in self.body:
            raise DoubtError
        return [name.replace("\n", " ") for name in bare]

    def _refuse_names(self, first: int, columns: list[Array], names: list[str]) -> None:
        if self.lines is None:
            raise DoubtError
        k = next(k for k, name in enumerate(names) if not 0 < len(name) <= LONGEST_NAME)
        row = first + min(int((codes == k).argmax()) for codes in columns if k in codes)
        problem = f"{'a huge name' if names[k] else 'no name'} where one is needed"
        raise self.error(row, problem, "fill it in or drop the line")

    def integers(
        self, first: int, ends: list[int], weight: list[int]
    ) -> tuple[list[Array], Array] | None:
        """Return columns of ids, and ``weight``; None if an id is no integer, or begins with 0."""
        if not all(INTEGER.fullmatch(row[j]) for row in self.head[first:] for j in ends):
            return None
        try:
            if has_padded_numbers(self._regular, self.delimiter):
                return self._slow_integers(first, ends, weight)
            values, _, weights = self.read(first, ends, weight, ids=True)
        except DoubtError:
            return None
        fits = all(
            part.min(initial=0) > -LARGEST_ID and part.max(initial=0) < LARGEST_ID
            for part in values
        )
        return (values, weights) if fits else None

    def _slow_integers(
        self, first: int, ends: list[int], weight: list[int]
    ) -> tuple[list[Array], Array] | None:
        """A number that begins with 0 stands somewhere; perhaps it is a weight."""
        columns, names, weights = self.read(first, ends, weight)
        texts = [text.strip(_rows.BLANKS) for text in names]
        if not all(INTEGER.fullmatch(text) for text in texts):
            return None
        ids = np.array([int(text) for text in texts], dtype=np.int64)
        return [ids[codes] for codes in columns], weights

    # --- numbers -----------------------------------------------------------------------------

    def numbers(
        self, first: int, columns: list[int], text: int, **how: Any
    ) -> tuple[Array, list[str]]:
        """Return columns as floats, and the column ``text`` as text; ``how`` as in `read`."""
        (codes,), names, values = self.read(first, [text], columns, **how)
        texts = [names[k] for k in codes.tolist()]
        return values, texts if self.lines is not None else self._stripped(texts)

    def _check_numbers(self, first: int, columns: list[int], values: Array) -> None:
        for row in self.head[first:]:
            if any(number(row[j]) is None and row[j] not in MISSING for j in columns):
                raise DoubtError  # such as True, which pandas takes for 1
        if self.lines is not None or not values.size or columns[-1] != self.width - 1:
            return
        # A short line ends with cells that are missing, as an empty cell does.
        if np.isnan(values[:, -1]).any():
            mark = self.delimiter or b" "
            marks = self._regular.count(mark, self._regular.find(b"\n") + 1 if first else 0)
            if b'"' in self.body or marks != len(values) * (self.width - 1):
                raise DoubtError

    def floats(self, first: int, texts: list[str], may_miss: bool, remedy: str | Remedy) -> Array:
        """Return a column that has been read as text."""
        try:
            return np.array([self._float(text, 0, may_miss, remedy) for text in texts])
        except InputError:
            lines = [line for _, line in islice(self.rows(), first, None)]
            cells = zip(texts, lines, strict=True)
            return np.array([self._float(text, line, may_miss, remedy) for text, line in cells])

    def _float(self, cell: str, line: int, may_miss: bool, remedy: str | Remedy) -> float:
        value = float("nan") if may_miss and cell in MISSING else number(cell)
        if value is None:
            is_comma = number(cell.replace(",", ".")) is not None
            if is_comma:
                remedy = "write numbers with a decimal point"
            elif len(cell.split()) >= SENTENCE:
                remedy = TEXTS
            raise bad(self.path, f"{quoted(cell)} is not a number", remedy, line=line)
        return value


def sheet(path: Path, data: bytes, remedy: str | Remedy = OTHER_FORMAT) -> Sheet:
    """Return the rows of a text file.

    The delimiter is what the first line has of tab, semicolon and comma, in this order, else any
    blanks. Lines that are empty or begin with # or % are left out. ``remedy`` is for a file that
    is not text.
    """
    data = as_utf8(path, data, remedy).replace(UNIT, b" ")
    data += b"\n" * (not data.endswith(b"\n"))
    start, line = _rows.first_row(path, data)
    body = data[start:]
    found = Sheet(path, body, line, _rows.delimiter(body))
    cut = _rows.rows(path, body, found.delimiter, line)
    (top, _), *more = islice(cut, 2)
    if more and len(more[0][0]) == len(top) + 1 and all(number(word) is None for word in top):
        return replace(found, corner_added=True)
    return found


def import_pandas(path: Path) -> Any:
    """Return pandas, or say how to install it."""
    try:
        import pandas
    except ImportError:
        raise bad(path, "needs pandas; install it with pip install 'odsymnmf[cli]'") from None
    return pandas


def _is_exact(pandas: Any) -> bool:
    """Whether pandas reads numbers to the last bit by default (and warns of the option)."""
    return tuple(int(part) for part in pandas.__version__.split(".")[:2]) >= (3, 1)
