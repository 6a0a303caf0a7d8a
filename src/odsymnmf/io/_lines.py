"""From the bytes of a text file to `Fields`: encoding, line ends, comments, delimiter, quotes."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from odsymnmf.io._fields import Fields
from odsymnmf.io._items import Array, bad, reason
from odsymnmf.io._numbers import number

# Between fields, where quotes or blanks had to be taken away first: no text contains it.
UNIT = b"\x1f"
COMMENTS = (b"#", b"%")


def as_utf8(path: Path, data: bytes) -> bytes:
    """Return the text without byte order mark and with plain line ends, or say what it is."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise bad(path, "is text in UTF-16; save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        raise bad(path, "is not a text file; if it is of another format, name that (--format)")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = 1 + data.count(b"\n", 0, error.start)
            byte = f"byte {error.start + 1} (0x{data[error.start]:02x})"
            remedy = "save the file as UTF-8 (it may be Latin-1: iconv -f latin1 -t utf8)"
            raise bad(path, f"{byte} is not UTF-8; {remedy}", line=line) from None
    return data


def fields(path: Path, data: bytes) -> Fields:
    """Split a text file into rows and columns.

    The delimiter is what the first line has of tab, semicolon and comma, in this order, else any
    blanks. Lines that are empty or begin with # or % are left out.
    """
    data = as_utf8(path, data).replace(UNIT, b" ")
    data += b"\n" * (not data.endswith(b"\n"))
    start, line = _first_row(path, data)
    body = data[start:]
    delimiter = _delimiter(body[: body.index(b"\n")])
    found = _separators(body, delimiter)
    if found is not None:
        return _split(path, body, delimiter or b" ", found, range(line, line + len(found)))
    rows = _unquoted(path, body, line, delimiter) if b'"' in body else _plain(body, delimiter)
    pairs = [(UNIT.join(row), line + offset) for row, offset in rows]
    body = b"\n".join(row for row, _ in pairs) + b"\n"
    return _split(path, body, UNIT, _ends(body, UNIT), [at for _, at in pairs])


def _first_row(path: Path, data: bytes) -> tuple[int, int]:
    """Return where the first row begins, and on which line."""
    start = 0
    for line in count(1):
        end = data.find(b"\n", start)
        if end < 0:
            raise bad(path, "holds nothing but comments; give a file with items in it")
        if not _is_skipped(data[start:end]):
            return start, line
        start = end + 1
    raise AssertionError


def _is_skipped(row: bytes) -> bool:
    row = row.strip()
    return not row or row.startswith(COMMENTS)


def _delimiter(row: bytes) -> bytes | None:
    bare = re.sub(rb'"[^"]*"', b"", row)
    return next((mark for mark in (b"\t", b";", b",") if mark in bare), None)


def _separators(body: bytes, delimiter: bytes | None) -> Array | None:
    """Return where fields end; None if something must be taken away from the text first.

    That is: quotes, comments, empty lines, blanks around fields.
    """
    if b'"' in body or (not delimiter and b"\t" in body) or body.startswith(b" "):
        return None
    text = np.frombuffer(body, dtype=np.uint8)
    ends = _ends(body, delimiter or b" ")
    before, after = text[ends - 1], text[ends[:-1] + 1]
    after_line = after[text[ends[:-1]] == ord("\n")]
    if (before == ord(" ")).any() or (after == ord(" ")).any():
        return None
    if any((after_line == mark).any() for mark in b"\n#%"):
        return None
    return ends


def _ends(body: bytes, delimiter: bytes) -> Array:
    text = np.frombuffer(body, dtype=np.uint8)
    return np.flatnonzero((text == ord(delimiter)) | (text == ord("\n")))


def _plain(body: bytes, delimiter: bytes | None) -> Iterator[tuple[list[bytes], int]]:
    for offset, row in enumerate(body.split(b"\n")):
        if not _is_skipped(row):
            yield [piece.strip() for piece in row.split(delimiter)], offset


def _unquoted(
    path: Path, body: bytes, line: int, delimiter: bytes | None
) -> Iterator[tuple[list[bytes], int]]:
    """Read as CSV: names in quotes may hold delimiters, quotes (twice) and line ends."""

    def rows() -> Iterator[str]:
        for row in body.split(b"\n"):
            text = "" if _is_skipped(row) else row.decode()
            yield (text if delimiter else text.replace("\t", " ").strip()) + "\n"

    mark = (delimiter or b" ").decode()
    reader = csv.reader(rows(), delimiter=mark, skipinitialspace=True, strict=True)
    before = 0
    try:
        for row in reader:
            if row:
                yield [piece.strip(" \t").replace("\n", " ").encode() for piece in row], before
            before = reader.line_num
    except csv.Error as error:
        line += reader.line_num - 1
        remedy = 'put a name in quotes as a whole, and a quote in it twice ("")'
        raise bad(path, f"the quotes do not match ({reason(error)}); {remedy}", line=line) from None


def _split(path: Path, body: bytes, delimiter: bytes, ends: Array, lines: Sequence[int]) -> Fields:
    """Return the fields of a regular text; all rows must have as many as the first."""
    is_last = np.frombuffer(body, dtype=np.uint8)[ends] == ord("\n")
    width = int(is_last.argmax()) + 1
    if not _is_even(is_last, width):
        widths = np.diff(np.flatnonzero(is_last), prepend=-1)
        odd = int((widths != width).argmax())
        words = body[: ends[width - 1]].split(delimiter)
        is_text = all(number(word.decode()) is None for word in words)
        if odd == 1 and widths[1] == width + 1 and is_text:
            body = delimiter + body
            framed = _split(path, body, delimiter, _ends(body, delimiter), lines)
            return replace(framed, corner_added=True)
        raise bad(
            path,
            f"{widths[odd]} fields where the lines above have {width}; "
            "give every line the same number, and put names with blanks in quotes",
            line=lines[odd],
        )
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    return Fields(path, body, starts.reshape(-1, width), ends.reshape(-1, width), lines)


def _is_even(is_last: Array, width: int) -> bool:
    if len(is_last) % width:
        return False
    rows = is_last.reshape(-1, width)
    return bool(rows[:, -1].all()) and not rows[:, :-1].any()
