"""Similarities have no direction: check, make symmetric on request, and clear the diagonal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, asymmetry
from odsymnmf.io._items import Remedy, bad, quoted

SYMMETRIZE = ("max", "mean", "sum")
REMEDY = Remedy(
    'choose how to make it symmetric: symmetrize="max", "mean" or "sum"',
    "choose how to make it symmetric: --symmetrize max|mean|sum",
)
# What to do with a table of items x features.
FEATURES = Remedy("features=True", "--affinity cosine")
SQUARE = "if its rows are items and its columns features, use "
# Rows of a dense matrix that are compared with its columns at a time.
ROWS = 256
# The line of the file on which entry (i, j) stands, None where lines mean nothing.
Line = Callable[[int, int], int | None]


def floats(path: Path, matrix: Any) -> Any:
    """Keep float32 and float64, convert other real numbers, refuse the rest."""
    refuse_other_types(path, matrix)
    wanted = np.float32 if matrix.dtype.itemsize <= 4 and matrix.dtype.kind == "f" else np.float64
    return matrix.astype(wanted, copy=False)


def refuse_other_types(path: Path, matrix: Any) -> None:
    """Refuse values that are no real numbers."""
    if matrix.dtype.kind not in "buif":
        raise bad(path, f"holds values of type {matrix.dtype}; save it with real numbers")


def similarities(
    path: Path,
    matrix: Any,
    names: list[str],
    symmetrize: str | None,
    line: Line = lambda i, j: None,
) -> tuple[Any, list[str]]:
    """Return the matrix, symmetric and without diagonal, and what the user should be told.

    What differs between A_ij and A_ji by no more than rounding is averaged. ``line`` tells on
    which line of the file an entry stands, where that is known.
    """
    n, m = matrix.shape
    if n != m:
        problem = f"has {n} rows and {m} columns, but a table of similarities is square"
        raise bad(path, problem, Remedy(*(SQUARE + way for way in FEATURES)))
    notes = []
    diagonal = matrix.diagonal()
    if np.count_nonzero(diagonal[~np.isnan(diagonal)]):
        notes.append("the diagonal is ignored: its values are left out")
    matrix = without_diagonal(matrix)
    refuse_infinite(path, matrix, names, line)
    matrix, unknown = _known(matrix)
    matrix, more = _symmetric(path, matrix, names, symmetrize, line)
    return with_unknown(path, matrix, unknown, notes + more)


def _symmetric(
    path: Path, matrix: Any, names: list[str], symmetrize: str | None, line: Line
) -> tuple[Any, list[str]]:
    gap, i, j = _worst_pair(matrix)
    if gap == 0:
        return matrix, []
    how: str | None = "mean"
    notes = []
    if gap > asymmetry(matrix.dtype) * float(abs(matrix).max()):
        if symmetrize is None:
            a, b = quoted(names[i]), quoted(names[j])
            values = f"{a} to {b} is {matrix[i, j]:.6g}, but {b} to {a} is {matrix[j, i]:.6g}"
            raise bad(path, f"{values} (the largest difference)", REMEDY, line=line(i, j))
        how = symmetrize
        notes.append(f"made symmetric: the {how} of both directions")
    matrix = combined(matrix, how)
    refuse_infinite(path, matrix, names)
    return matrix, notes


# --- unknown pairs ---------------------------------------------------------------------------


def _known(matrix: Any) -> tuple[Any, tuple[Array, Array]]:
    """Return the matrix without NaN, and the pairs of which neither direction is known.

    Where only one direction is, it stands for both.
    """
    i, j = entries_that(matrix, np.isnan)
    if not len(i):
        return matrix, (i, j)
    if isinstance(matrix, np.ndarray):
        other = matrix[j, i]
        matrix[i, j] = np.nan_to_num(other)
        unknown = np.isnan(other)
        return matrix, (i[unknown], j[unknown])
    coo = matrix.tocoo()
    is_nan = np.isnan(coo.data)
    key = coo.row.astype(np.int64) * matrix.shape[1] + coo.col
    known, mirror = key[~is_nan], j.astype(np.int64) * matrix.shape[1] + i
    is_known = np.isin(mirror, known)
    known_entries = coo.data[~is_nan], (coo.row[~is_nan], coo.col[~is_nan])
    matrix = sparse.csr_array(known_entries, shape=matrix.shape)
    a, b = i[is_known], j[is_known]
    filled = (np.asarray(matrix[b, a]).ravel(), (a, b)) if len(a) else (np.empty(0), (a, b))
    filled_in = sparse.csr_array(filled, shape=matrix.shape, dtype=matrix.dtype)
    return matrix + filled_in, (i[~is_known], j[~is_known])


def with_unknown(
    path: Path, matrix: Any, unknown: tuple[Array, Array], notes: list[str]
) -> tuple[Any, list[str]]:
    """Put NaN for unknown pairs, both ways, into a symmetric matrix, and tell how many."""
    i, j = np.concatenate(unknown), np.concatenate(unknown[::-1])
    if not len(i):
        return matrix, notes
    n = matrix.shape[0]
    if isinstance(matrix, np.ndarray):
        matrix[i, j] = np.nan
        count = len(entries_that(matrix, np.isnan)[0]) // 2
    else:
        key = np.unique(i.astype(np.int64) * n + j)
        count = len(key) // 2
        entries = (np.full(len(key), np.nan, dtype=matrix.dtype), (key // n, key % n))
        matrix = matrix + sparse.csr_array(entries, shape=matrix.shape)
    if 2 * count == n * (n - 1):
        raise bad(path, "no pair has a known value; give at least one")
    pairs = "1 pair is" if count == 1 else f"{count} pairs are"
    return matrix, [*notes, f"{pairs} unknown (no value given)"]


def tell_unknown(path: Path, matrix: Any, notes: list[str]) -> tuple[Any, list[str]]:
    """Tell how many pairs of a symmetric matrix are unknown."""
    return with_unknown(path, matrix, entries_that(matrix, np.isnan), notes)


def finite_features(path: Path, matrix: Any, names: list[str], columns: list[str] | None) -> Any:
    """Return items x features, in which every value must be finite."""
    rows, cells = entries_that(matrix, lambda values: ~np.isfinite(values))
    if not len(rows):
        return matrix
    i, j = int(rows[0]), int(cells[0])
    where = f"row {quoted(names[i])}, column {quoted(columns[j] if columns else str(j))}"
    raise bad(path, f"the value in {where} is {matrix[i, j]}; replace it, for example by 0")


def combined(matrix: Any, how: str | None) -> Any:
    """Return the max, mean or sum of A and A^T; what is not stored counts as 0."""
    is_dense = isinstance(matrix, np.ndarray)
    other = matrix.T if is_dense else matrix.T.tocsr()
    with np.errstate(over="ignore"):
        if how == "max":
            return np.maximum(matrix, other) if is_dense else matrix.maximum(other)
        # Halved first, so that the mean of two huge values is no infinity.
        return matrix + other if how == "sum" else matrix * 0.5 + other * 0.5


def without_diagonal(matrix: Any) -> Any:
    """Clear the diagonal; of a sparse matrix, also drop stored zeros."""
    if isinstance(matrix, np.ndarray):
        np.fill_diagonal(matrix, 0)
        return matrix
    coo = matrix.tocoo()
    stays = (coo.row != coo.col) & (coo.data != 0)
    if stays.all():
        return matrix
    entries = (coo.data[stays], (coo.row[stays], coo.col[stays]))
    return sparse.csr_array(entries, shape=matrix.shape)


def refuse_infinite(
    path: Path, matrix: Any, names: list[str], line: Line = lambda i, j: None
) -> None:
    """Infinity cannot be factorized, unless it stands on the diagonal."""
    rows, columns = entries_that(matrix, np.isinf)
    if not len(rows):
        return
    i, j = int(rows[0]), int(columns[0])
    pair = f"{quoted(names[i])} and {quoted(names[j])}"
    raise bad(
        path,
        f"the value of {pair} is {matrix[i, j]}; replace it, for example by 0",
        line=line(i, j),
    )


def entries_that(matrix: Any, test: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return where the entries stand that pass a test; of a sparse matrix, the stored ones."""
    if isinstance(matrix, np.ndarray):
        i, j = np.nonzero(test(matrix))
        return i, j
    found = test(matrix.data)
    if not found.any():
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    coo = matrix.tocoo()
    return coo.row[found], coo.col[found]


def _worst_pair(matrix: Any) -> tuple[float, int, int]:
    """Return the largest |A_ij - A_ji|, with i and j."""
    worst = (0.0, 0, 0)
    if isinstance(matrix, np.ndarray):
        for start in range(0, len(matrix), ROWS):
            with np.errstate(over="ignore"):
                gap = abs(matrix[start : start + ROWS] - matrix[:, start : start + ROWS].T)
            i, j = np.unravel_index(int(gap.argmax()), gap.shape)
            worst = max(worst, (float(gap[i, j]), start + int(i), int(j)), key=lambda w: w[0])
        return worst
    gap = abs(matrix - matrix.T.tocsr()).tocoo()
    if gap.nnz:
        k = int(gap.data.argmax())
        worst = float(gap.data[k]), int(gap.row[k]), int(gap.col[k])
    return worst
