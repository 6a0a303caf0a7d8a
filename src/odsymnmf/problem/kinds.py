"""The three kinds of similarities: stored in full, sparse, or products of features.

All have the same methods, so that nobody else asks which it is. A pair that is not known holds a
zero here, and its weight says the rest (`Weights`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.problem.following import (
    BLOCK,
    FeatureBlocks,
    FeatureSums,
    Neighbouring,
    Streaming,
    block_product,
    square,
)
from odsymnmf.problem.picks import NeighbourPicks, ProductPicks
from odsymnmf.problem.weights import ORDINARY, Weights, looked_up

# Entries that a block of computed rows may hold.
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True)
class Dense:
    """A stored in full; its diagonal may hold anything."""

    A: Array
    weights: Weights = ORDINARY

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
    def largest(self) -> float:
        """The largest off-diagonal entry, at least 0."""
        return max(float(without_diagonal(self.A, b).max()) for b in blocks(self.n, 256))

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2"""
        pieces = (without_diagonal(self.A, b).astype(np.float64) for b in blocks(self.n, 256))
        return float(sum(np.vdot(piece, piece) for piece in pieces))

    def product(self, V: Array) -> Array:
        """Return A @ V with the diagonal of A left out."""
        pieces = (block_product(self.A, V, b, square(self.A, b)) for b in blocks(self.n, 512))
        return np.concatenate(list(pieces))

    def quadratic(self, h: Array) -> float:
        """Return sum_{i != j} A_ij h_i h_j."""
        return float(h @ self.product(h.astype(self.dtype, copy=False)))

    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} (A_ij - h_i . h_j)^2, pair by pair: nothing cancels."""
        return _pairwise(self, H)

    def following(self, H: Array) -> Streaming:
        """Return the products A @ H that follow changes of H."""
        return Streaming(self.A)

    def picks(self, own: float, H: Array, columns: int) -> ProductPicks:
        """Return the scores of items that follow what is picked."""
        return ProductPicks(self, own, H, columns)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        return _full_rows(self.A[items], items)

    def full_rows(self, items: Array) -> Array:
        """Return a copy of the rows of the items, zeros on the diagonal, in float64."""
        return _cleared(self.A[items].astype(np.float64), items)

    def row_weights(self, items: Array) -> Array | None:
        """Return what the entries of ``rows(items)`` weigh, None if each weighs one."""
        return _full_weights(self, items)

    @property
    def rounding(self) -> Any:
        """What cancels in a product for each item: nothing here."""
        return 0.0

    def item_blocks(self, count: int | None = None) -> Iterator[slice]:
        """Cut the first ``count`` items (all, if None) into pieces whose rows can be held."""
        return blocks(self.n if count is None else count, max(1, BLOCK_ENTRIES // self.n))

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return BLOCK * self.n * r

    def reweighted(self, weights: Weights) -> "Dense":
        return Dense(self.A, weights)

    def scaled_by(self, s: Array) -> "Dense":
        """Return the similarities s_i A_ij s_j."""
        s = s.astype(self.dtype)
        with np.errstate(invalid="ignore", over="ignore"):  # the diagonal may hold anything
            return Dense(self.A * s[:, None] * s, scaled_weights(self.weights, s))


@dataclass(frozen=True)
class Sparse:
    """A in CSR form: sorted, no duplicates, no zeros, no diagonal (that is kept apart)."""

    A: sparse.csr_array
    diagonal: Array
    weights: Weights = ORDINARY

    @property
    def n(self) -> int:
        return int(self.A.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.A.dtype

    @cached_property
    def largest(self) -> float:
        """The largest off-diagonal entry, at least 0."""
        return float(self.A.data.max(initial=0.0))

    @cached_property
    def energy(self) -> float:
        """sum_{i != j} A_ij^2"""
        pieces = (self.A.data[b].astype(np.float64) for b in blocks(self.A.nnz, BLOCK_ENTRIES))
        return float(sum(np.sum(piece**2) for piece in pieces))

    def product(self, V: Array) -> Array:
        """Return A @ V with the diagonal of A left out."""
        return self.A @ V

    def quadratic(self, h: Array) -> float:
        """Return sum_{i != j} A_ij h_i h_j."""
        return float(h @ self.product(h.astype(self.dtype, copy=False)))

    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} (A_ij - h_i . h_j)^2.

        With p_ij = h_i . h_j that is sum of p^2 over all pairs plus (A - p)^2 - p^2 over the stored
        ones.
        """
        from odsymnmf import kernels

        everywhere = pair_squares(H)
        stored, squares = kernels.pairs.stored_squares(
            self.A.indptr, self.A.indices, self.A.data, H
        )
        return _unless_cancelled(self, H, everywhere + stored - squares, everywhere + stored)

    def following(self, H: Array) -> Neighbouring:
        """Return the products A @ H that follow changes of H."""
        return Neighbouring(self.A)

    def picks(self, own: float, H: Array, columns: int) -> NeighbourPicks:
        """Return the scores of items that follow what is picked."""
        return NeighbourPicks(self.A, own, H, columns)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        from odsymnmf.kernels.l1 import Rows

        return Rows(items, self.A.indptr, self.A.indices, self.A.data)

    def full_rows(self, items: Array) -> Array:
        """Return the rows of the items, zeros on the diagonal, in float64."""
        return self.A[items].toarray().astype(np.float64)

    @cached_property
    def _stored_weights(self) -> Array | None:
        P = self.weights.pattern
        if P is None:
            return None
        return self.weights.background + looked_up(self.A, P, missing=0.0)

    def row_weights(self, items: Array) -> Array | None:
        """Return what the entries of ``rows(items)`` weigh, None if each weighs one."""
        return self._stored_weights

    @property
    def rounding(self) -> Any:
        """What cancels in a product for each item: nothing here."""
        return 0.0

    def item_blocks(self, count: int | None = None) -> Iterator[slice]:
        """Cut the first ``count`` items (all, if None) into pieces whose rows can be held."""
        per_row = max(1, self.A.nnz // self.n)
        return blocks(self.n if count is None else count, max(1, BLOCK_ENTRIES // per_row))

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return 0

    def reweighted(self, weights: Weights) -> "Sparse":
        return Sparse(self.A, self.diagonal, weights)

    def scaled_by(self, s: Array) -> "Sparse":
        """Return the similarities s_i A_ij s_j."""
        s = s.astype(self.dtype)
        rows = scaled_rows(self.A, s)
        rows.data *= s[rows.indices]
        return Sparse(rows, self.diagonal * s**2, scaled_weights(self.weights, s))


@dataclass(frozen=True)
class Gram:
    """A = X X^T, given by X (n items x m features, CSR or dense); A is never formed."""

    X: Any
    weights: Weights = ORDINARY

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
    def largest(self) -> float:
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

    def quadratic(self, h: Array) -> float:
        """Return sum_{i != j} A_ij h_i h_j; in single precision, the diagonal would drown it."""
        return float(h @ self.product(h))

    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} (A_ij - h_i . h_j)^2 as |A|^2 - 2 <A, H H^T> + |H H^T|^2."""
        H = H.astype(np.float64, copy=False)
        inner = float(np.einsum("ij,ij->", H, self.product(H)))
        squares = pair_squares(H)
        value = self.energy - 2.0 * inner + squares
        return _unless_cancelled(self, H, value, self.energy + squares)

    def following(self, H: Array) -> FeatureSums:
        """Return the products A @ H that follow changes of H."""
        kind = FeatureSums if sparse.issparse(self.X) else FeatureBlocks
        return kind(self.X, self.diagonal, H)

    def picks(self, own: float, H: Array, columns: int) -> ProductPicks:
        """Return the scores of items that follow what is picked."""
        return ProductPicks(self, own, H, columns)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        block = self.X[items] @ self.X.T
        return _full_rows(block.toarray() if sparse.issparse(block) else block, items)

    def full_rows(self, items: Array) -> Array:
        """Return the rows of the items, zeros on the diagonal, in float64."""
        block = self.X[items].astype(np.float64) @ self.X.T
        return _cleared(block.toarray() if sparse.issparse(block) else block, items)

    def row_weights(self, items: Array) -> Array | None:
        """Return what the entries of ``rows(items)`` weigh, None if each weighs one."""
        return _full_weights(self, items)

    @property
    def rounding(self) -> Any:
        """What cancels in a product for each item: |x_i|^2."""
        return self.diagonal

    def item_blocks(self, count: int | None = None) -> Iterator[slice]:
        """Cut the first ``count`` items (all, if None) into pieces whose rows can be held."""
        return blocks(self.n if count is None else count, max(1, BLOCK_ENTRIES // self.n))

    def blas_work(self, r: int) -> int:
        """Multiply-adds of the products that a sweep leaves to BLAS."""
        return 0 if sparse.issparse(self.X) else BLOCK * int(self.X.shape[1]) * r

    def reweighted(self, weights: Weights) -> "Gram":
        return Gram(self.X, weights)

    def scaled_by(self, s: Array) -> "Gram":
        """Return the similarities s_i A_ij s_j."""
        s = s.astype(self.dtype)
        return Gram(scaled_rows(self.X, s), scaled_weights(self.weights, s))


Similarity = Dense | Sparse | Gram

# Where less than this share of the terms is left, a sum is made again, pair by pair.
CANCELLED = 1e-8
# Multiply-adds beyond which that would take too long.
TOO_MANY = 1e13


def _unless_cancelled(A: Similarity, H: Array, value: float, terms: float) -> float:
    """Return the value of a closed form, or the same pair by pair where its terms cancel."""
    if value < CANCELLED * terms and float(A.n) ** 2 * H.shape[1] <= TOO_MANY:
        return _pairwise(A, H)
    return 0.0 if value < 0.0 else value


def _pairwise(A: Similarity, H: Array) -> float:
    """Return sum_{i != j} (A_ij - h_i . h_j)^2, pair by pair."""
    H, total = H.astype(np.float64, copy=False), 0.0
    for b in blocks(A.n, max(1, min(512, BLOCK_ENTRIES // A.n))):
        items = np.arange(b.start, b.stop)
        residual = A.full_rows(items)
        residual -= _cleared(H[b] @ H.T, items)
        total += float(np.einsum("ij,ij->", residual, residual))
    return total


def weighted_product(A: Similarity, V: Array) -> Array:
    """Return sum_{j != i} w_ij A_ij V_j, the product with what every pair weighs."""
    if A.weights.pattern is None:
        return A.product(V)
    total: Array = A.weights.background * A.product(V) + A.weights.correction @ V
    return total


def explained(A: Similarity, H: Array) -> tuple[float, float]:
    """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2, with p_ij = h_i . h_j."""
    H64 = H.astype(np.float64, copy=False)
    inner = float(np.einsum("ij,ij->", H64, weighted_product(A, H), dtype=np.float64))
    squares = pair_squares(H64)
    if A.weights.pattern is not None:
        from odsymnmf import kernels

        P = A.weights.pattern
        listed = kernels.weights.squares(P.indptr, P.indices, P.data, H64)
        squares = A.weights.background * squares + listed
    return inner, squares


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
    return _cleared(A[rows].copy(), np.arange(rows.start, rows.stop))


def scaled_rows(X: Any, s: Array) -> Any:
    """Return X with row i multiplied by s_i."""
    if not sparse.issparse(X):
        return X * s[:, None]
    data = X.data * np.repeat(s, np.diff(X.indptr))
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def scaled_weights(weights: Weights, s: Array) -> Weights:
    """Return the weights of the similarities s_i A_ij s_j: the same, with other values."""
    P = weights.pattern
    if P is None:
        return weights
    values = weights.values * np.repeat(s, np.diff(P.indptr)) * s[P.indices]
    return Weights(weights.background, P, values)


def _cleared(rows: Array, items: Array) -> Array:
    """Clear the items' own entries in their rows."""
    rows[np.arange(len(rows)), items] = 0
    return rows


def _full_rows(block: Array, items: Array) -> Any:
    """Return freshly computed full rows in CSR form, with the items' own entries cleared."""
    from odsymnmf.kernels.l1 import Rows

    B, n = block.shape
    data = np.ascontiguousarray(_cleared(block, items)).ravel()
    indices = np.tile(np.arange(n, dtype=np.int32), B)
    return Rows(np.arange(B), np.arange(B + 1) * n, indices, data)


def _full_weights(A: Similarity, items: Array) -> Array | None:
    return None if A.weights.pattern is None else A.weights.of(items, A.n).ravel()
