"""Similarities have no direction: check, make symmetric on request, and clear the diagonal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.io._items import bad, quoted

SYMMETRIZE = ("max", "mean", "sum")
REMEDY = "choose how to make it symmetric: --symmetrize max|mean|sum (in Python symmetrize=)"
# Rows of a dense matrix that are compared with its columns at a time.
ROWS = 256
# The line of the file on which entry (i, j) stands, None where lines mean nothing.
Line = Callable[[int, int], int | None]


def floats(path: Path, matrix: Any) -> Any:
    """Keep float32 and float64, convert other real numbers, refuse the rest."""
    if matrix.dtype.kind not in "buif":
        raise bad(path, f"holds values of type {matrix.dtype}; save it with real numbers")
    wanted = np.float32 if matrix.dtype.itemsize <= 4 and matrix.dtype.kind == "f" else np.float64
    return matrix.astype(wanted, copy=False)


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
        raise bad(
            path,
            f"has {n} rows and {m} columns, but a table of similarities is square; "
            "if its rows are items and its columns features, use --affinity cosine",
        )
    notes = []
    if np.count_nonzero(matrix.diagonal()):
        notes.append("the diagonal is never looked at: its values are left out")
    matrix = without_diagonal(matrix)
    refuse_nonfinite(path, matrix, names, line)
    gap, i, j = _worst_pair(matrix)
    if gap == 0:
        return matrix, notes
    how: str | None = "mean"
    if gap > np.sqrt(np.finfo(matrix.dtype).eps) * float(abs(matrix).max()):
        if symmetrize is None:
            a, b = quoted(names[i]), quoted(names[j])
            raise bad(
                path,
                f"{a} to {b} is {matrix[i, j]:.6g}, but {b} to {a} is {matrix[j, i]:.6g} "
                f"(the largest difference); {REMEDY}",
                line=line(i, j),
            )
        how = symmetrize
        notes.append(f"made symmetric: the {how} of both directions")
    matrix = combined(matrix, how)
    refuse_nonfinite(path, matrix, names)
    return matrix, notes


def finite_features(path: Path, matrix: Any, names: list[str], columns: list[str] | None) -> Any:
    """Return items x features, in which every value must be finite."""
    broken = _nonfinite(matrix)
    if broken is None:
        return matrix
    i, j = broken
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


def refuse_nonfinite(
    path: Path, matrix: Any, names: list[str], line: Line = lambda i, j: None
) -> None:
    """NaN and infinity cannot be factorized, unless they stand on the diagonal."""
    broken = _nonfinite(matrix)
    if broken is None:
        return
    i, j = broken
    pair = f"{quoted(names[i])} and {quoted(names[j])}"
    problem = f"the value of {pair} is {matrix[i, j]}; replace it, for example by 0"
    raise bad(path, problem, line=line(i, j))


def _nonfinite(matrix: Any) -> tuple[int, int] | None:
    """Return where the first value stands that is NaN or infinite."""
    is_dense = isinstance(matrix, np.ndarray)
    broken = ~np.isfinite(matrix if is_dense else matrix.data)
    if not broken.any():
        return None
    if is_dense:
        i, j = np.unravel_index(int(broken.argmax()), matrix.shape)
    else:
        coo, k = matrix.tocoo(), int(broken.argmax())
        i, j = coo.row[k], coo.col[k]
    return int(i), int(j)


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
