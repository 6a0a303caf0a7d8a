"""The slow and sure way to cut a text into rows and fields: one line of Python at a time.

`odsymnmf.io._sheet` lets pandas read what is regular. Where pandas refuses, or could mean something
else, the rows come from here, each with the line of the file on which it stands.
"""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from odsymnmf.io._items import bad, reason

COMMENTS = (b"#", b"%")
BLANKS = " \t"
# A blank within quotes, while those around fields are taken away.
KEPT = "\x1e"
# As far as the delimiter is looked for.
LONGEST_ROW = 2**16
# The beginning of a line that is neither empty nor a comment.
NEXT = re.compile(rb"\n[ \t\v\f]*[^ \t\v\f\n#%]")

# The fields of a row, and its line in the file.
Row = tuple[list[str], int]


def is_skipped(row: bytes) -> bool:
    """Whether a line is empty or a comment."""
    row = row.strip()
    return not row or row.startswith(COMMENTS)


def lines(body: bytes, start: int = 0, line: int = 1) -> Iterator[tuple[int, int, int]]:
    """Yield where lines begin and end, and their numbers; comments are passed over in bulk."""
    while start < len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        if is_skipped(body[start:end]):
            found = NEXT.search(body, end)
            if found is None:
                return
            line += body.count(b"\n", start, found.start() + 1)
            start = found.start() + 1
        else:
            yield start, end, line
            start, line = end + 1, line + 1


def first_row(path: Path, data: bytes) -> tuple[int, int]:
    """Return where the first row begins, and on which line."""
    for start, _, line in lines(data):
        return start, line
    raise bad(path, "holds nothing but comments; give a file with items in it")


def delimiter(body: bytes) -> bytes | None:
    """Return what separates the fields of the first row, quoted ones apart; None for blanks."""
    bare = re.sub(rb'"[^"]*"', b"", body[:LONGEST_ROW])
    row = bare[: bare.find(b"\n")]
    return next((mark for mark in (b"\t", b";", b",") if mark in row), None)


def rows(path: Path, body: bytes, delimiter: bytes | None, line: int) -> Iterator[Row]:
    """Yield the rows of a text that begins on ``line``; without a delimiter, blanks separate."""
    if b'"' in body:
        return _unquoted(path, body, delimiter, line)
    return _plain(body, delimiter, line)


def _plain(body: bytes, delimiter: bytes | None, line: int) -> Iterator[Row]:
    # As bytes: Python takes other characters for blanks of a text, and none might be left.
    for start, end, number in lines(body, 0, line):
        pieces = body[start:end].split(delimiter)
        yield [piece.decode().strip(BLANKS) for piece in pieces], number


def _unquoted(path: Path, body: bytes, delimiter: bytes | None, line: int) -> Iterator[Row]:
    """Read as CSV: names in quotes may hold delimiters, quotes (twice) and line ends."""
    reader = csv.reader(
        _marked(body, delimiter),
        delimiter=(delimiter or b" ").decode(),
        skipinitialspace=True,
        strict=True,
    )
    before = 0
    try:
        for row in reader:
            if row:
                cut = [piece.strip(BLANKS).replace(KEPT, " ").replace("\n", " ") for piece in row]
                yield cut, line + before
            before = reader.line_num
    except csv.Error as error:
        remedy = 'put a name in quotes as a whole, and a quote in it twice ("")'
        problem = f"the quotes do not match ({reason(error)})"
        raise bad(path, problem, remedy, line=line + max(reader.line_num - 1, 0)) from None


def _marked(body: bytes, delimiter: bytes | None) -> Iterator[str]:
    """Yield the lines, with the blanks in quotes marked, so that they are not taken away."""
    is_open = False
    for row in io.BytesIO(body):
        text = "" if is_skipped(row) else row.decode().rstrip("\n")
        is_odd = text.count('"') % 2 == 1
        if not is_open and not is_odd:
            text = re.sub('"[^"]*"', lambda name: name[0].replace(" ", KEPT), text)
        is_open ^= is_odd
        yield (text if delimiter else text.replace("\t", " ").strip(" ")) + "\n"
