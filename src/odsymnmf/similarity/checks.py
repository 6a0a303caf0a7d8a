"""What comes in: checked, and wrapped without a copy where none is needed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf import kernels
from odsymnmf.similarity.kinds import Dense, Gram, Similarity, Sparse, blocks, without_diagonal

Array = NDArray[Any]


def as_similarity(A: Any) -> Similarity:
    """Check A and wrap it, without a copy where none is needed.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity already
        Symmetric, n x n. float32 and float64 are kept, bool and whole numbers become float64.
        The diagonal is not looked at.

    Returns
    -------
    Dense, Sparse or Gram

    Examples
    --------
    >>> as_similarity([[0, 1], [1, 0]]).n
    2
    """
    if isinstance(A, Dense | Sparse | Gram):
        return A
    refuse_other_kinds(A)
    shape = np.shape(A)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"A must be a square matrix of similarities (n x n); got shape {shape}. "
            "For a table of items x features, make similarities first: similarity.cosine(X)."
        )
    if shape[0] == 0:
        raise ValueError("A is empty (0 x 0); there is nothing to factorize.")
    return _as_sparse(A) if sparse.issparse(A) else _as_dense(A)


def refuse_other_kinds(A: Any) -> None:
    """Say what to pass instead of a graph object or the name of a file."""
    if hasattr(A, "adjacency") and hasattr(A, "nodes"):
        raise ValueError(
            "A is a networkx graph; pass its matrix, networkx.to_scipy_sparse_array(G), whose rows "
            "are in the order of list(G)."
        )
    if isinstance(A, str | bytes):
        raise ValueError(
            f"A is text ({A[:40]!r}), not similarities; read the file first, for example with "
            "scipy.sparse.load_npz, numpy.load or pandas.read_csv."
        )


def _as_dense(A: Any) -> Dense:
    A = _floats(np.asarray(A), "A")
    if not (A.flags.c_contiguous or A.flags.f_contiguous):
        A = np.ascontiguousarray(A)
    worst, where = 0.0, (0, 0)
    for rows in blocks(len(A), 512):
        for columns in blocks(rows.stop, 512):
            here, there = A[rows, columns], A[columns, rows].T
            if rows == columns:
                here = here.copy()
                np.fill_diagonal(here, 0)
                there = here.T
            with np.errstate(invalid="ignore"):  # inf - inf: what is not finite shows below
                difference = np.abs(here - there)
            largest = float(difference.max())
            if not np.isfinite(largest):
                _refuse_nonfinite(here, rows.start, columns.start)
                _refuse_nonfinite(there.T, columns.start, rows.start)
            if largest > worst:
                worst = largest
                i, j = np.unravel_index(np.argmax(difference), difference.shape)
                where = (int(i) + rows.start, int(j) + columns.start)
    if worst > 0.0:
        peak = max(float(np.abs(without_diagonal(A, b)).max()) for b in blocks(len(A), 256))
        _refuse_asymmetry(worst, where, peak, A.dtype, lambda i, j: A[i, j])
    # A symmetric matrix is its own transpose: rows that lie together are had for nothing.
    return Dense(A if A.flags.c_contiguous else A.T)


def _as_sparse(A: Any) -> Sparse:
    A = sparse.csr_array(A)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    data = _floats(A.data, "A")
    A = sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)
    n = A.shape[0]
    items = np.repeat(np.arange(n, dtype=A.indices.dtype), np.diff(A.indptr))
    drop = items == A.indices
    diagonal = np.zeros(n, dtype=data.dtype)
    diagonal[items[drop]] = data[drop]
    drop |= data == 0
    if drop.any():
        keep = ~drop
        ends = np.cumsum(np.bincount(items[keep], minlength=n))
        indptr = np.concatenate([[0], ends]).astype(A.indptr.dtype)
        A = sparse.csr_array((data[keep], A.indices[keep], indptr), shape=A.shape)
    del items, drop
    bad = np.flatnonzero(~np.isfinite(A.data))
    if bad.size:
        i = int(np.searchsorted(A.indptr, bad[0], side="right")) - 1
        _refuse_value(A.data[bad[0]], i, int(A.indices[bad[0]]))
    worst, i, j = kernels.checks.worst_asymmetry(A.indptr, A.indices, A.data, A.indptr.copy())
    peak = float(np.abs(A.data).max(initial=0.0))
    _refuse_asymmetry(worst, (i, j), peak, A.dtype, lambda i, j: A[i, j])
    return Sparse(A, diagonal)


def features(X: Any) -> Any:
    """Return X as finite CSR or C-ordered floats."""
    if len(np.shape(X)) != 2 or 0 in np.shape(X):
        raise ValueError(f"X must be a table (items x features); got shape {np.shape(X)}.")
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        X = sparse.csr_array((_floats(X.data, "X"), X.indices, X.indptr), shape=X.shape)
        values = X.data
    else:
        values = X = np.ascontiguousarray(_floats(np.asarray(X), "X"))
    if not np.isfinite(values).all():
        raise ValueError("X holds NaN or infinite values; remove or fill them first.")
    return X


def _floats(values: Array, name: str) -> Array:
    """Keep float32 and float64, convert other real numbers, refuse the rest."""
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype.kind == "c":
        raise ValueError(f"{name} holds complex numbers; similarities must be real.")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; got dtype {values.dtype}: {error}.") from None


def _refuse_nonfinite(piece: Array, row: int, column: int) -> None:
    if not np.isfinite(piece).all():
        i, j = np.argwhere(~np.isfinite(piece))[0]
        _refuse_value(piece[i, j], row + int(i), column + int(j))


def _refuse_value(value: Any, i: int, j: int) -> None:
    raise ValueError(
        f"A[{i}, {j}] is {value}; NaN and infinite similarities cannot be factorized "
        "(only on the diagonal are they ignored). Replace them, for example by 0."
    )


def _refuse_asymmetry(
    worst: float, where: tuple[int, int], peak: float, dtype: Any, entry: Any
) -> None:
    """Rounding may differ between A_ij and A_ji; more than that is not a similarity."""
    if worst > np.sqrt(np.finfo(dtype).eps) * peak:
        i, j = where
        raise ValueError(
            f"A must be symmetric, but A[{i}, {j}] = {entry(i, j)} and A[{j}, {i}] = "
            f"{entry(j, i)} differ by {worst:.6g}, the largest difference. "
            "Use (A + A.T) / 2; for links in either direction, A.maximum(A.T) if A is sparse and "
            "np.maximum(A, A.T) if not. (Are rows and columns in the same order?)"
        )
