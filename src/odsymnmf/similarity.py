"""What the sweeps may ask of A: its size, its rows, its products. Never its diagonal.

`as_similarity` turns an array or a sparse matrix into `Dense` or `Sparse`; `cosine` and `gram`
make a `Gram` of documents, whose n x n matrix is never formed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf import kernels

Array = NDArray[Any]
# Rows in CSR form: row rows[p] of (indptr, indices, data) belongs to the p-th item asked for.
Rows = tuple[Array, Array, Array, Array]

# Rows of a dense block: enough for BLAS, few enough that corrections inside it stay cheap.
BLOCK = 128
# Entries that a block of computed rows may hold.
BLOCK_ENTRIES = 2**22


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


@dataclass(frozen=True)
class Dense:
    """A stored in full; its diagonal may hold anything."""

    A: Array

    @property
    def n(self) -> int:
        return len(self.A)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.A.dtype

    @property
    def diagonal(self) -> Array:
        return np.diagonal(self.A)

    @cached_property
    def scale(self) -> float:
        """The largest off-diagonal entry, at least 0."""
        return max(float(_without_diagonal(self.A, b).max()) for b in blocks(self.n, 256))

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2"""
        pieces = (_without_diagonal(self.A, b).astype(np.float64) for b in blocks(self.n, 256))
        return float(sum(np.vdot(piece, piece) for piece in pieces))

    def square(self, block: slice | Array) -> Array:
        """Return the block's own square of A, with a zero diagonal."""
        S = self.A[block][:, block].copy()
        np.fill_diagonal(S, 0)
        return S

    def product(self, V: Array, block: slice | Array = slice(None)) -> Array:
        """Return (A @ V)[block] with the diagonal of A left out.

        The columns left and right of a block's own go to BLAS as they are; only the small
        square between them is copied, to clear the diagonal. Scattered rows are copied.
        """
        if not isinstance(block, slice):
            rows = self.A[block]
            rows[np.arange(len(rows)), block] = 0
            return rows @ V
        if block == slice(None):
            return np.concatenate([self.product(V, b) for b in blocks(self.n, 512)])
        left, right = slice(0, block.start), slice(block.stop, None)
        G: Array = self.square(block) @ V[block]
        G += self.A[block, left] @ V[left]
        G += self.A[block, right] @ V[right]
        return G

    def rows(self, items: Array) -> Rows:
        return _full_rows(self.A[items], items)

    def item_blocks(self) -> Iterator[slice]:
        return blocks(self.n, max(1, BLOCK_ENTRIES // self.n))

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return BLOCK * self.n * r


@dataclass(frozen=True)
class Sparse:
    """A in CSR form: sorted, no duplicates, no zeros, no diagonal (that is kept apart)."""

    A: sparse.csr_array
    diagonal: Array

    @property
    def n(self) -> int:
        return int(self.A.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.A.dtype

    @cached_property
    def scale(self) -> float:
        """The largest off-diagonal entry, at least 0."""
        return float(self.A.data.max(initial=0.0))

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2"""
        return float(sum(np.sum(self.A.data[b].astype(np.float64) ** 2) for b in self._chunks()))

    def _chunks(self) -> Iterator[slice]:
        return blocks(self.A.nnz, BLOCK_ENTRIES)

    def product(self, V: Array) -> Array:
        """Return A @ V with the diagonal of A left out."""
        return self.A @ V

    def rows(self, items: Array) -> Rows:
        return items, self.A.indptr, self.A.indices, self.A.data

    def item_blocks(self) -> Iterator[slice]:
        # Short enough for Ctrl-C to be heard.
        per_row = max(1, self.A.nnz // self.n)
        return blocks(self.n, max(1, BLOCK_ENTRIES // per_row))

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return 0


@dataclass(frozen=True)
class Gram:
    """A = X X^T, given by X (n items x m features, CSR or dense); A is never formed."""

    X: Any

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    @cached_property
    def diagonal(self) -> Array:
        """|x_i|^2"""
        return _row_squares(self.X)

    @cached_property
    def scale(self) -> float:
        """A bound on the off-diagonal entries: the largest |x_i|^2."""
        return float(self.diagonal.max())

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2; of a sparse X from |X X^T|_F = |X^T X|_F, the cheaper, in pieces."""
        X = self.X
        if not sparse.issparse(X):
            return pair_squares(X)
        Y = X.T.tocsr()
        if np.sum(np.diff(X.indptr) ** 2.0) > np.sum(np.diff(Y.indptr) ** 2.0):
            X, Y = Y, X
        pieces = ((Y[b] @ X).data for b in blocks(Y.shape[0], 1024))
        total = sum(float(np.sum(np.square(piece, dtype=np.float64))) for piece in pieces)
        return float(max(0.0, total - np.sum(np.square(self.diagonal, dtype=np.float64))))

    def product(self, V: Array) -> Array:
        """Return A @ V with the diagonal of A left out."""
        own = self.diagonal.reshape((-1,) + (1,) * (V.ndim - 1))
        result: Array = self.X @ (self.X.T @ V) - own * V
        return result

    def block_product(self, Z: Array, V: Array, block: slice | Array) -> Array:
        """Return (A @ H)[block] from Z = X^T H and V = H[block], the diagonal of A left out."""
        return self.X[block] @ Z - self.diagonal[block, None] * V

    def square(self, block: slice | Array) -> Array:
        """Return the block's own square of A, with a zero diagonal."""
        S = self.X[block] @ self.X[block].T
        np.fill_diagonal(S, 0)
        return S

    def rows(self, items: Array) -> Rows:
        block = self.X[items] @ self.X.T
        return _full_rows(block.toarray() if sparse.issparse(block) else block, items)

    def item_blocks(self) -> Iterator[slice]:
        return blocks(self.n, max(1, BLOCK_ENTRIES // self.n))

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return 0 if sparse.issparse(self.X) else BLOCK * int(self.X.shape[1]) * r


Similarity = Dense | Sparse | Gram


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


def cosine(X: Any) -> Gram:
    """Return the similarities x_i . x_j / (|x_i| |x_j|) of the rows of X, never formed.

    A row without entries is similar to nothing.

    Parameters
    ----------
    X : array-like or sparse of shape (n items, m features)
        For example word counts or tf-idf weights of documents.

    Returns
    -------
    Gram

    Examples
    --------
    >>> import numpy as np
    >>> A = cosine([[3, 4], [6, 8], [0, 0]])
    >>> A.product(np.eye(3)).round(6).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    X = _features(X)
    lengths = np.sqrt(_row_squares(X))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return Gram(_scaled_rows(X, inverse.astype(X.dtype)))


def gram(X: Any) -> Gram:
    """Return the similarities x_i . x_j of the rows of X, never formed.

    Parameters
    ----------
    X : array-like or sparse of shape (n items, m features)

    Returns
    -------
    Gram

    Examples
    --------
    >>> gram([[3, 4], [6, 8]]).rows(np.array([0]))[3].tolist()
    [0.0, 50.0]
    """
    return Gram(_features(X))


def degree_normalized(A: Any) -> Similarity:
    """Return the similarities A_ij / sqrt(d_i d_j), with d_i = sum_{j != i} A_ij.

    An item without similarities stays without.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Symmetric similarities with nonnegative sums.

    Returns
    -------
    Dense, Sparse or Gram

    Examples
    --------
    >>> A = degree_normalized([[5, 4, 0], [4, 5, 0], [0, 0, 5]])
    >>> A.product(np.ones(3)).tolist()
    [1.0, 1.0, 0.0]
    """
    A = as_similarity(A)
    return scaled(A, inverse_root_degrees(A))


def inverse_root_degrees(A: Similarity) -> Array:
    """Return d_i^(-1/2), d_i = sum_{j != i} A_ij; 0 where d_i = 0."""
    degrees = A.product(np.ones(A.n, dtype=A.dtype)).astype(np.float64)
    if isinstance(A, Gram):
        # What is left of |x_i|^2 - |x_i|^2 is rounding; its root would blow up the item.
        degrees[np.abs(degrees) <= np.sqrt(np.finfo(A.dtype).eps) * A.diagonal] = 0.0
    return inverse_roots(degrees)


def inverse_roots(degrees: Array) -> Array:
    """Return d^(-1/2) for each degree d, 0 where d = 0."""
    if degrees.min(initial=0.0) < 0:
        i = int(np.argmin(degrees))
        raise ValueError(
            f"the similarities of item {i} sum to {degrees[i]:.6g}; degrees must be >= 0 for "
            'normalize="degree". Leave it out, or cut off negative similarities.'
        )
    roots = np.sqrt(degrees)
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)


def scaled(A: Similarity, s: Array) -> Similarity:
    """Return the similarities s_i A_ij s_j."""
    s = s.astype(A.dtype)
    if isinstance(A, Dense):
        with np.errstate(invalid="ignore", over="ignore"):  # the diagonal may hold anything
            return Dense(A.A * s[:, None] * s)
    if isinstance(A, Gram):
        return Gram(_scaled_rows(A.X, s))
    rows = _scaled_rows(A.A, s)
    rows.data *= s[rows.indices]
    return Sparse(rows, A.diagonal * s**2)


def _scaled_rows(X: Any, s: Array) -> Any:
    if not sparse.issparse(X):
        return X * s[:, None]
    data = X.data * np.repeat(s, np.diff(X.indptr))
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


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
        peak = max(float(np.abs(_without_diagonal(A, b)).max()) for b in blocks(len(A), 256))
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


def _features(X: Any) -> Any:
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


def _row_squares(X: Any) -> Array:
    if sparse.issparse(X):
        squares = X.data.astype(np.float64) ** 2
        items = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(items, weights=squares, minlength=X.shape[0])
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def pair_squares(X: Array) -> float:
    """Return sum_{i != j} (x_i . x_j)^2 of the rows of X: |X^T X|_F^2 - sum_i |x_i|^4.

    Where that would cancel, |x_i|^4 is left out from the beginning: block by block, pair by pair
    or through D = sum of x_i x_i^T over the rows before, whichever costs less. (einsum, because
    BLAS would add up long vectors in as many parts as it has threads.)
    """
    n, m = X.shape
    X = X.astype(np.float64, copy=False)
    if m < n:
        everything, own_squares = np.sum((X.T @ X) ** 2), np.sum(_row_squares(X) ** 2)
        if 2.0 * own_squares <= everything:
            return float(everything - own_squares)
    total, D = 0.0, np.zeros((m, m) if m < n else 0)
    for b in blocks(n, 128):
        Y = X[b]
        own = Y @ Y.T
        np.fill_diagonal(own, 0)
        if m < n:
            square = Y.T @ Y
            total += 2.0 * float(np.einsum("ij,ij->", D, square))
            D += square
        else:
            total += 2.0 * float(np.sum((Y @ X[: b.start].T) ** 2))
        total += float(np.einsum("ij,ij->", own, own))
    return total


def _without_diagonal(A: Array, rows: slice) -> Array:
    piece = A[rows].copy()
    piece[np.arange(len(piece)), np.arange(rows.start, rows.stop)] = 0
    return piece


def _full_rows(block: Array, items: Array) -> Rows:
    """Return freshly computed full rows in CSR form, with the items' own entries cleared."""
    B, n = block.shape
    block[np.arange(B), items] = 0
    indptr = np.arange(B + 1) * n
    indices = np.tile(np.arange(n, dtype=np.int32), B)
    return np.arange(B), indptr, indices, np.ascontiguousarray(block).ravel()


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
