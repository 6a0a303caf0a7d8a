"""The three kinds of similarities: stored in full, sparse, or products of features."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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
        return max(float(without_diagonal(self.A, b).max()) for b in blocks(self.n, 256))

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2"""
        pieces = (without_diagonal(self.A, b).astype(np.float64) for b in blocks(self.n, 256))
        return float(sum(np.vdot(piece, piece) for piece in pieces))

    def square(self, block: slice | Array) -> Array:
        """Return the block's own square of A, with a zero diagonal."""
        S = self.A[block][:, block].copy()
        np.fill_diagonal(S, 0)
        return S

    def product(self, V: Array) -> Array:
        """Return A @ V with the diagonal of A left out."""
        pieces = (self.block_product(V, b, self.square(b)) for b in blocks(self.n, 512))
        return np.concatenate(list(pieces))

    def block_product(self, V: Array, block: slice | Array, S: Array) -> Array:
        """Return (A @ V)[block], the diagonal of A left out, given S, the block's own square.

        The columns left and right of a block's own go to BLAS as they are; only the small
        square between them is a copy, with its diagonal cleared. Scattered rows are copied.
        """
        if not isinstance(block, slice):
            rows = self.A[block]
            rows[np.arange(len(rows)), block] = 0
            return rows @ V
        left, right = slice(0, block.start), slice(block.stop, None)
        G: Array = S @ V[block]
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
        return row_squares(self.X)

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


def row_squares(X: Any) -> Array:
    """Return |x_i|^2 for each row of X."""
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
        everything, own_squares = np.sum((X.T @ X) ** 2), np.sum(row_squares(X) ** 2)
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


def without_diagonal(A: Array, rows: slice) -> Array:
    """Return a copy of rows of A, with zeros on the diagonal."""
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
