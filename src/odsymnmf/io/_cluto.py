"""CLUTO matrices: "n m nonzeros" and rows of "column value ..."; or "n m" and full rows.

Beside ``docs.mat`` may lie ``docs.mat.rclass`` (or ``docs.rclass``) with the class of each row,
``.rlabel`` with the names of the rows and ``.clabel`` with those of the columns, one per line.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.io._filters import filtered
from odsymnmf.io._items import Items, bad, number, quoted
from odsymnmf.io._source import as_utf8, load, refuse_promise


def read_cluto(path: Path, data: bytes) -> Items:
    """Return the matrix with its names and classes, if there are such files next to it."""
    if data.startswith(b"MATLAB"):
        remedy = "save the matrix with scipy.io.mmwrite or scipy.sparse.save_npz"
        raise bad(path, f"is a MATLAB file, not a CLUTO matrix; {remedy}")
    head, *rows = as_utf8(path, data).removesuffix(b"\n").split(b"\n")
    sizes = [int(word) for word in head.split() if word.isdigit() and len(word) < 19]
    if len(sizes) not in (2, 3) or len(sizes) != len(head.split()) or min(sizes[:2]) == 0:
        form = "rows, columns and, if it is sparse, nonzeros"
        raise bad(path, f"the first line of a CLUTO matrix says {form}; add it", line=1)
    n, m = sizes[:2]
    refuse_promise(path, n, m, len(data))
    while len(rows) > n and not rows[-1].strip():
        rows.pop()
    if len(rows) != n:
        problem = f"the first line announces {n} rows, but {len(rows)} follow"
        raise bad(path, f"{problem}; correct it or copy the file again", line=1)
    counts = np.array([len(row.split()) for row in rows])
    if len(sizes) == 2:
        matrix: Any = _full(path, rows, counts, m)
        notes: list[str] = []
    else:
        matrix, notes = _sparse(path, rows, counts, m, sizes[2])
    classes = _next_to(path, ".rclass", n)
    return Items(
        matrix,
        _next_to(path, ".rlabel", n) or [],
        "cluto",
        notes,
        truth=_truth(classes) if classes else None,
        features=_next_to(path, ".clabel", m),
    )


def _full(path: Path, rows: list[bytes], counts: Array, m: int) -> Array:
    for row in np.flatnonzero(counts != m):
        problem = f"{counts[row]} values, but the first line announces {m} columns"
        raise bad(path, f"{problem}; give every row as many", line=int(row) + 2)
    return _values(path, rows, counts).reshape(-1, m)


def _sparse(
    path: Path, rows: list[bytes], counts: Array, m: int, nonzeros: int
) -> tuple[Any, list[str]]:
    for row in np.flatnonzero(counts % 2):
        problem = f"{counts[row]} values, but a row is made of pairs: column and value"
        raise bad(path, f"{problem}; add what is missing", line=int(row) + 2)
    values = _values(path, rows, counts)
    columns = values[0::2]
    wrong = ~((columns >= 1) & (columns <= m) & (columns == np.floor(columns)))
    if wrong.any():
        k = int(wrong.argmax())
        line = 2 + int(np.searchsorted(np.cumsum(counts), 2 * k, side="right"))
        raise bad(
            path,
            f"{columns[k]:g} is not a column: they are numbered 1 to {m}; correct it",
            line=line,
        )
    if len(columns) != nonzeros:
        problem = f"the first line announces {nonzeros} nonzeros, but {len(columns)} follow"
        raise bad(path, f"{problem}; correct it or copy the file again", line=1)
    starts = np.concatenate([[0], np.cumsum(counts // 2)])
    entries = (values[1::2], columns.astype(np.int64) - 1, starts)
    matrix = sparse.csr_array(entries, shape=(len(rows), m))
    matrix.sum_duplicates()
    repeated = nonzeros - matrix.nnz
    told = f"{repeated} entries were given more than once: their values are summed"
    return matrix, [told] if repeated else []


def _values(path: Path, rows: list[bytes], counts: Array) -> Array:
    # Text in the middle is a deprecated way to end the numbers, in a later NumPy an error.
    with filtered("error", DeprecationWarning):
        try:
            values: Array = np.fromstring(b" ".join(rows) + b" ", dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            values = np.empty(0)
    if len(values) == counts.sum():
        return values
    numbers = []
    for line, row in enumerate(rows, start=2):
        for word in row.split():
            value = number(word.decode())
            if value is None:
                problem = f"{quoted(word.decode())} is not a number; give one"
                raise bad(path, problem, line=line)
            numbers.append(value)
    return np.array(numbers)


def _next_to(path: Path, ending: str, count: int) -> list[str] | None:
    """Return the lines of the file with this ending next to the matrix, None without one."""
    whole = path.with_name(path.name.removesuffix(".gz"))
    for other in (whole.with_name(whole.name + ending), whole.with_suffix(ending)):
        if other.exists():
            lines = as_utf8(other, load(other)).decode().removesuffix("\n").split("\n")
            if len(lines) != count:
                problem = f"has {len(lines)} lines, but {path.name} needs {count}"
                raise bad(other, f"{problem}; give one line each, or move it away")
            return [line.strip() for line in lines]
    return None


def _truth(classes: list[str]) -> Array:
    """Classes that are all integers stay integers, so that -1 means unknown."""
    if all(name.removeprefix("-").isdecimal() and len(name) < 19 for name in classes):
        return np.array([int(name) for name in classes])
    # As objects: in an array of strings, one long name would make all of them long.
    return np.array(classes, dtype=object)
