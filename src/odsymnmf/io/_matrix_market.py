"""Matrix Market files: the header is checked here, the numbers are read by SciPy."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.io import mmread

from odsymnmf.io._items import InputError, bad, quoted, reason
from odsymnmf.io._source import as_utf8, refuse_promise

HEADER = "%%MatrixMarket matrix coordinate real symmetric"
# The first line after the header that is no comment.
SIZES = re.compile(rb"\n[ \t]*[^ \t\n%]")
LAYOUTS = {"coordinate": 3, "array": 2}
FIELDS = {"real", "double", "integer", "unsigned-integer", "pattern"}
SYMMETRIES = {"general", "symmetric", "skew-symmetric"}


def read_mtx(path: Path, data: bytes) -> tuple[Any, list[str]]:
    """Return the matrix, sparse or dense as the file says, and what should be told."""
    data = as_utf8(path, data).rstrip() + b"\n"
    layout, start, line = _refuse_bad_header(path, data)
    try:
        # Without the comments between, of which there may be millions.
        matrix = mmread(io.BytesIO(data[: data.find(b"\n") + 1] + data[start:]))
    except (ValueError, OverflowError) as error:
        raise _translated(path, reason(error), line - 2) from None
    if layout == "array":
        return np.ascontiguousarray(matrix), []
    stored = matrix.nnz
    matrix = sparse.csr_array(matrix)
    matrix.sum_duplicates()
    repeated = stored - matrix.nnz
    told = f"{repeated} entries were given more than once: their values are summed"
    return matrix, [told] if repeated else []


def _sizes_at(data: bytes) -> tuple[int, int]:
    """Return where the line of sizes begins, after comments, and its number."""
    found = SIZES.search(data)
    start = found.start() + 1 if found else len(data)
    return start, 1 + data.count(b"\n", 0, start)


def _refuse_bad_header(path: Path, data: bytes) -> tuple[str, int, int]:
    """Refuse what is no real matrix, and sizes for which the file is too short.

    Returns the layout, where the sizes begin, and on which line.
    """
    words = data[: data.find(b"\n")].decode().lower().split()
    if len(words) != 5 or words[0] != "%%matrixmarket" or words[1] != "matrix":
        raise bad(path, f"the header should look like {HEADER!r}; add it", line=1)
    layout, field, symmetry = words[2:]
    if layout not in LAYOUTS or field not in FIELDS or symmetry not in SYMMETRIES:
        known = "coordinate or array; real, integer or pattern; general or symmetric"
        raise bad(path, f"the header says {quoted(' '.join(words[2:]))}, known are {known}", line=1)
    start, line = _sizes_at(data)
    end = data.find(b"\n", start)
    sizes = data[start:end].split() if end >= 0 else []
    if len(sizes) != LAYOUTS[layout] or not all(size.isdigit() for size in sizes):
        form = "rows, columns and entries" if layout == "coordinate" else "rows and columns"
        raise bad(path, f"the sizes should be {form}, as whole numbers; add them", line=line)
    if max(map(len, sizes)) > 18:
        raise bad(
            path,
            f"{quoted(max(sizes, key=len).decode())} is too large a size; correct it",
            line=line,
        )
    numbers = [int(size) for size in sizes]
    rows, columns = numbers[:2]
    room = len(data) - end - 1
    least = 2 if layout == "array" else 4
    half = layout == "array" and symmetry != "general"
    entries = numbers[2] if layout == "coordinate" else rows * columns // (2 if half else 1)
    if rows == 0 or columns == 0:
        raise bad(path, "the matrix has no rows or columns; give at least one of each", line=line)
    if symmetry != "general" and rows != columns:
        # SciPy would take the header at its word, and write beyond the matrix.
        problem = f"{rows} rows and {columns} columns, but the header says {symmetry}"
        raise bad(path, f"{problem}; write general there, or correct the sizes", line=line)
    refuse_promise(path, rows, columns, len(data))
    if entries * least > room + rows * least:
        promise = f"the header announces {entries} entries, but only {room} bytes follow"
        raise bad(path, f"{promise}; copy the file again", line=line)
    return layout, start, line


def _translated(path: Path, message: str, skipped: int) -> InputError:
    """Take the line out of SciPy's message, where it has one, and count the lines it never saw."""
    match = re.match(r"Line (\d+): (.*)", message, re.DOTALL)
    line, problem = (int(match[1]) + skipped, match[2]) if match else (None, message)
    return bad(path, f"{problem.rstrip('.')}; correct it, or save the matrix again", line=line)
