"""Graphs as networkx writes them in text: adjacency lists, and edges with a dictionary of data."""

import ast
import re
from itertools import repeat
from pathlib import Path

import numpy as np

from odsymnmf.io import _rows
from odsymnmf.io._graph import UNWEIGHTED, from_list
from odsymnmf.io._items import Items, bad, quoted
from odsymnmf.io._sheet import LONGEST_NAME
from odsymnmf.io._source import as_utf8

# An edge and its data: what stands before the braces, and between them.
DATA = re.compile(rb"[^{}\n]*[\s,;]\{[^\n]*\}\s*$")
# A dictionary of data that is plain: the weight alone, or nothing.
PLAIN = re.compile(r"\{\s*(?:['\"]weight['\"]\s*:\s*([-+.0-9eE]+)\s*)?\}")
LONGEST_DATA = 10_000
# What a text that is no literal can raise, and a literal that is no dictionary.
LITERAL_ERRORS = (
    AttributeError,
    MemoryError,
    OverflowError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)


def read_adjlist(path: Path, data: bytes, symmetrize: str | None) -> Items:
    """Return the graph of an adjacency list: an item, and those it is linked to, on each line."""
    text = as_utf8(path, data) + b"\n"
    start, line = _rows.first_row(path, text)
    body = text[start:]
    index: dict[str, int] = {}
    sources: list[int] = []
    targets: list[int] = []
    first_lines: dict[int, int] = {}
    for row, number in _rows.rows(path, body, _mark(body), line):
        names = [name for name in row if name]
        if not names or max(map(len, names)) > LONGEST_NAME:
            what = "a huge name" if names else "no name"
            raise bad(path, f"{what} where one is needed; correct it", line=number)
        item, *others = (index.setdefault(name, len(index)) for name in names)
        first_lines.setdefault(item, number)
        sources.extend(repeat(item, len(others)))
        targets.extend(others)
    names = list(index)
    edges = np.array(sources, np.int64), np.array(targets, np.int64), np.ones(len(sources))

    def line_of(i: int, j: int) -> int | None:
        return first_lines.get(i)

    matrix, notes = from_list(path, edges, names, symmetrize, line_of)
    return Items(matrix, names, "adjlist", [*([UNWEIGHTED] if sources else []), *notes])


def _mark(body: bytes) -> bytes | None:
    """Return the delimiter of the first line that has one; an item may stand alone on others."""
    for start, end, _ in _rows.lines(body[: _rows.LONGEST_ROW]):
        mark = _rows.delimiter(body[start : end + 1])
        if mark or len(body[start:end].split()) > 1:
            return mark
    return None


def has_data(data: bytes) -> bool:
    """Whether the first line of a text is an edge with a dictionary of data."""
    for start, end, _ in _rows.lines(data[: _rows.LONGEST_ROW]):
        return DATA.match(data[start:end]) is not None
    return False


def without_data(path: Path, data: bytes) -> bytes:
    """Return an edge list with weights in place of dictionaries; lines stay where they are."""
    text = as_utf8(path, data)
    rows: list[bytes] = []
    at = 1
    weighted: list[bool] = []
    for start, end, line in _rows.lines(text):
        rows.extend(repeat(b"", line - at))
        row, at = text[start:end], line + 1
        if DATA.match(row) is None:
            problem = "no dictionary of data, unlike the lines above"
            raise bad(path, f"{problem}; write one, or {{}}, on every line", line=line)
        before, _, after = row.partition(b"{")
        weight = _weight(path, "{" + after.decode().strip(), line)
        weighted.append(weight is not None)
        names = before.rstrip(b" \t,;")
        # The delimiter between the dictionary and what is before it, which names may not hold.
        mark = next((m for m in (b"\t", b",", b";") if m in before[len(names) :]), b" ")
        rows.append(names if weight is None else names + mark + weight.encode())
        if weighted[-1] != weighted[0]:
            problem = "some edges have a weight and some have none"
            raise bad(path, f"{problem}; give every edge a number", line=line)
    return b"\n".join(rows) + b"\n"


def _weight(path: Path, text: str, line: int) -> str | None:
    """Return the weight in a dictionary; it is parsed as a literal, and never run."""
    plain = PLAIN.fullmatch(text)
    if plain:
        return plain[1]
    try:
        if len(text) > LONGEST_DATA:
            raise ValueError
        found = ast.literal_eval(text)
        value = found.get("weight")
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError
        return None if value is None else repr(float(value))
    except (
        ValueError,
        SyntaxError,
        TypeError,
        AttributeError,
        MemoryError,
        RecursionError,
        OverflowError,
    ):
        problem = f"{quoted(text)} is not a dictionary of plain data with a number as weight"
        raise bad(path, f"{problem}; correct it", line=line) from None
