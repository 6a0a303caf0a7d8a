"""From the bytes of a text file to `Fields`: encoding, line ends, comments, delimiter, quotes."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from odsymnmf.io._fields import Fields
from odsymnmf.io._items import Array, bad, reason
from odsymnmf.io._numbers import number

# Between fields, where quotes or blanks had to be taken away first: no text contains it.
UNIT = b"\x1f"
BLANKS = b" \t"
# A blank within quotes, while those around fields are taken away.
KEPT = "\x1e"
OTHER_FORMAT = "if it is of another format, name that (--format)"
COMMENTS = (b"#", b"%")
# As far as the delimiter is looked for.
LONGEST_ROW = 2**16
# Bytes that are looked at together: few enough for the cache.
BLOCK = 2**17


@dataclass(frozen=True)
class Cut:
    """Where fields end, which of them end a line, and whether all else belongs to fields.

    It does not where there are comments, empty lines or blanks around fields.
    """

    mark: bytes
    ends: Array
    is_last: Array
    is_regular: bool


def as_utf8(path: Path, data: bytes, remedy: str = OTHER_FORMAT) -> bytes:
    """Return the text without byte order mark and with plain line ends, or say what it is."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise bad(path, "is text in UTF-16; save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        raise bad(path, f"is not text; {remedy}")
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


def fields(path: Path, data: bytes, remedy: str = OTHER_FORMAT) -> Fields:
    """Split a text file into rows and columns.

    The delimiter is what the first line has of tab, semicolon and comma, in this order, else any
    blanks. Lines that are empty or begin with # or % are left out. ``remedy`` is for a file that
    is not text.
    """
    data = as_utf8(path, data, remedy).replace(UNIT, b" ")
    data += b"\n" * (not data.endswith(b"\n"))
    start, line = _first_row(path, data)
    body = data[start:]
    delimiter = _delimiter(body)
    lines = range(line, line + len(body))
    has_quotes = b'"' in body
    for text in _tidied(body, delimiter, has_quotes):
        cut = _cut(text, delimiter or b" ")
        if cut.is_regular and (not has_quotes or _quotes_are_around(text, cut.ends)):
            return _split(path, text, cut, lines, has_quotes)
    split = _unquoted(path, body, line, delimiter) if has_quotes else _plain(body, delimiter)
    rows = list(split)
    text = b"\n".join(row for row, _ in rows) + b"\n"
    return _split(path, text, _cut(text, UNIT), [line + at for _, at in rows])


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


def _delimiter(body: bytes) -> bytes | None:
    """Return what separates the fields of the first row, quoted ones apart; None for blanks."""
    bare = re.sub(rb'"[^"]*"', b"", body[:LONGEST_ROW])
    row = bare[: bare.find(b"\n")]
    return next((mark for mark in (b"\t", b";", b",") if mark in row), None)


def _tidied(body: bytes, delimiter: bytes | None, has_quotes: bool) -> Iterator[bytes]:
    """Yield the text, and then without some blanks; unless some may stand within quotes."""
    if delimiter or b"\t" not in body:
        yield body
    if not has_quotes:
        yield _tightened(body, delimiter)


def _cut(body: bytes, mark: bytes) -> Cut:
    # Short numbers and short blocks: a large file is limited by memory, not by arithmetic.
    ends = np.empty(len(body) // 2 + 1, dtype=np.int32 if len(body) < 2**31 else np.int64)
    is_last = np.empty(len(ends), dtype=bool)
    count, is_regular = 0, not body.startswith(b" ")
    has_blanks, has_comments = b" " in body, any(mark in body for mark in COMMENTS)
    for start in range(0, len(body), BLOCK):
        text = np.frombuffer(body, np.uint8, min(BLOCK + 1, len(body) - start), start)
        is_newline = text == ord("\n")
        is_end = is_newline | (text == ord(mark))
        places = np.flatnonzero(is_end[:BLOCK])
        if count + len(places) > len(ends):  # for many fields are empty
            ends, is_last = np.resize(ends, len(body)), np.resize(is_last, len(body))
        found = slice(count, count + len(places))
        is_last[found] = is_newline[places]
        np.add(places, start, out=ends[found], casting="unsafe")
        count = found.stop
        is_skipped = is_newline
        if has_comments:
            is_skipped = is_newline | (text == ord("#")) | (text == ord("%"))
        odd = is_newline[:-1] & is_skipped[1:]
        if has_blanks:
            is_blank = text == ord(" ")
            odd |= (is_end[:-1] & is_blank[1:]) | (is_blank[:-1] & is_end[1:])
        is_regular = is_regular and not odd.any()
    return Cut(mark, ends[:count], is_last[:count], is_regular)


def _starts(ends: Array) -> Array:
    starts = np.empty_like(ends)
    starts[0] = 0
    np.add(ends[:-1], 1, out=starts[1:])
    return starts


def _tightened(body: bytes, delimiter: bytes | None) -> bytes:
    """Return the text with blanks taken away around fields, up to a few each."""
    mark = delimiter or b" "
    body = body.lstrip(b" ") if delimiter else body.replace(b"\t", b" ").lstrip(b" ")
    for _ in range(3):
        for end in (mark, b"\n"):
            body = body.replace(b" " + end, end).replace(end + b" ", end)
    return body


def _quotes_are_around(body: bytes, ends: Array) -> bool:
    """Whether quotes stand before and after whole fields, and nowhere else."""
    text = np.frombuffer(body, dtype=np.uint8)
    starts = _starts(ends)
    opens, closes = text[starts] == ord('"'), text[ends - 1] == ord('"')
    is_around = np.array_equal(opens, closes) and not (opens & (ends - starts < 2)).any()
    return is_around and body.count(b'"') == 2 * np.count_nonzero(opens)


def _plain(body: bytes, delimiter: bytes | None) -> Iterator[tuple[bytes, int]]:
    for offset, row in enumerate(body.split(b"\n")):
        if not _is_skipped(row):
            yield UNIT.join(piece.strip(BLANKS) for piece in row.split(delimiter)), offset


def _unquoted(
    path: Path, body: bytes, line: int, delimiter: bytes | None
) -> Iterator[tuple[bytes, int]]:
    """Read as CSV: names in quotes may hold delimiters, quotes (twice) and line ends."""

    def rows() -> Iterator[str]:
        is_open = False
        for row in body.split(b"\n"):
            text = "" if _is_skipped(row) else row.decode()
            is_whole = not is_open and text.count('"') % 2 == 0
            is_open ^= text.count('"') % 2 == 1
            if is_whole:
                text = re.sub('"[^"]*"', lambda name: name[0].replace(" ", KEPT), text)
            yield (text if delimiter else text.replace("\t", " ").strip()) + "\n"

    reader = csv.reader(
        rows(), delimiter=(delimiter or b" ").decode(), skipinitialspace=True, strict=True
    )
    before = 0
    try:
        for row in reader:
            if row:
                fields = [piece.strip(" \t").replace(KEPT, " ").encode() for piece in row]
                yield UNIT.join(fields).replace(b"\n", b" "), before
            before = reader.line_num
    except csv.Error as error:
        line += reader.line_num - 1
        remedy = 'put a name in quotes as a whole, and a quote in it twice ("")'
        raise bad(path, f"the quotes do not match ({reason(error)}); {remedy}", line=line) from None


def _split(
    path: Path, body: bytes, cut: Cut, lines: Sequence[int], has_quotes: bool = False
) -> Fields:
    """Return the fields of a regular text; all rows must have as many as the first."""
    ends, width = cut.ends, int(cut.is_last.argmax()) + 1
    if not _is_even(cut.is_last, width):
        widths = np.diff(np.flatnonzero(cut.is_last), prepend=-1)
        odd = int((widths != width).argmax())
        words = body[: ends[width - 1]].split(cut.mark)
        is_text = all(number(word.decode()) is None for word in words)
        if odd == 1 and widths[1] == width + 1 and is_text:
            body = cut.mark + body
            framed = _split(path, body, _cut(body, cut.mark), lines, has_quotes)
            return replace(framed, corner_added=True)
        raise bad(
            path,
            f"{widths[odd]} fields where the lines above have {width}; "
            "give every line the same number, and put names with blanks in quotes",
            line=lines[odd],
        )
    starts = _starts(ends)
    if has_quotes:
        is_quoted = np.frombuffer(body, dtype=np.uint8)[starts] == ord('"')
        starts, ends = starts + is_quoted, ends - is_quoted
    return Fields(path, body, starts.reshape(-1, width), ends.reshape(-1, width), lines)


def _is_even(is_last: Array, width: int) -> bool:
    rows = np.count_nonzero(is_last)
    return len(is_last) == rows * width and bool(is_last[width - 1 :: width].all())
