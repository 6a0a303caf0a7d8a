"""Similarities that are products of features, as an implicit matrix."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.similarity.base import (
    CANCELLED,
    MAX_PAIRWISE,
    Similarity,
    clear_diagonal,
    csr_of_dense_rows,
    indicator,
    pair_squares,
    row_squares,
    scale_rows,
)
from odsymnmf.similarity.products import DenseGramProducts, GramProducts, feature_sums
from odsymnmf.similarity.weights import EQUAL, PairWeights, entry_rows
from odsymnmf.utils import Array, blocks

# Largest number of items whose similarities are formed (8 MB).
MAX_FORMED = 1024
# Number of items whose products are computed to estimate degrees where features have both signs.
N_SIGN_SAMPLES = 4096


class Gram(Similarity):
    """A = X X^T, given by X (n items x m features, CSR or dense); A is never formed."""

    def __init__(self, X: Any, weights: PairWeights = EQUAL):
        self.X, self.weights, self.dtype = X, weights, X.dtype
        self.n, self.n_features = X.shape
        self.row_entries = self.n
        self.diagonal = self.diagonal_rounding = row_squares(X)

    @cached_property
    def max_value(self) -> float:
        return float(self.diagonal.max())

    @property
    def max_abs(self) -> float:
        return self.max_value

    @cached_property
    def pair_bound(self) -> float:
        """The product of the two largest |x_i|."""
        if self.n < 2:
            return 0.0
        return float(np.prod(np.sqrt(np.partition(self.diagonal, -2)[-2:], dtype=np.float64)))

    @cached_property
    def sum_of_squares(self) -> float:
        """For a sparse X, the cheaper one of |X X^T|_F^2 and |X^T X|_F^2, in pieces."""
        X = self.X
        if not sparse.issparse(X):
            return pair_squares(X)
        X = X.astype(np.float64, copy=False)  # squares in float32 would not cancel exactly
        Y = X.T.tocsr()
        left, right = Y, X
        if np.sum(np.diff(X.indptr) ** 2.0) > np.sum(np.diff(Y.indptr) ** 2.0):
            left, right = X, Y
        pieces = ((left[b] @ right).data for b in blocks(left.shape[0], 1024))
        total = sum(float(np.sum(np.square(piece))) for piece in pieces)
        value = total - float(np.sum(self.diagonal**2))
        if value >= CANCELLED * total or float(self.n) ** 2 > MAX_PAIRWISE:
            return max(0.0, value)
        return sum(_off_diagonal(X[b] @ Y, b.start) for b in blocks(self.n, 1024))

    def _matmul(self, V: Array) -> Array:
        diagonal = self.diagonal.reshape((-1,) + (1,) * (V.ndim - 1))
        return np.asarray(self.X @ (self._transpose @ V)) - diagonal * V

    def products(self, H: Array) -> GramProducts:
        kind = GramProducts if sparse.issparse(self.X) else DenseGramProducts
        return kind(self.X, self.diagonal, feature_sums(self.X, H))

    def rows(self, items: Array) -> Any:
        if self._formed is not None:
            return csr_of_dense_rows(self._formed[items], items)
        block = self.X[items] @ self.X.T
        return csr_of_dense_rows(block.toarray() if sparse.issparse(block) else block, items)

    @cached_property
    def _transpose(self) -> Any:
        """X^T, a view; cached, because its construction in scipy is slow."""
        return self.X.T

    @cached_property
    def _formed(self) -> Array | None:
        """All rows for few items with a sparse X, because products of single rows are slow."""
        if self.n > MAX_FORMED or not sparse.issparse(self.X):
            return None
        return np.asarray((self.X @ self.X.T).toarray())

    def rows_among(self, items: Array, columns: Array, positions: Array) -> Any:
        block = self.X[items] @ self.X[columns].T
        rows = block.toarray() if sparse.issparse(block) else block
        return csr_of_dense_rows(rows, positions, columns)

    def dense_rows(self, items: Array) -> Array:
        block = self.X[items].astype(np.float64) @ self.X.T
        return clear_diagonal(block.toarray() if sparse.issparse(block) else block, items)

    def scale(self, s: Array) -> "Gram":
        s = s.astype(self.dtype)
        return Gram(scale_rows(self.X, s), self.weights.scale(s))

    def subset(self, items: Array) -> "Gram":
        return Gram(self.X[items], self.weights.subset(items))

    def with_weights(self, weights: PairWeights) -> "Gram":
        v, values = weights.excess, None
        if v is not None:
            values, rows = np.empty(v.nnz), entry_rows(v)
            for b in blocks(v.nnz, 2**16):
                X, Y = self.X[rows[b]], self.X[v.indices[b]]
                product = X.multiply(Y) if sparse.issparse(X) else X * Y
                values[b] = np.asarray(product.sum(axis=1, dtype=np.float64)).ravel()
        return Gram(self.X, PairWeights(weights.default, v, values))

    def to_arrays(self) -> dict[str, Any]:
        return {"X": self.X, **self.weights.to_arrays()}

    def group_sums(self, group: Array, count: int) -> Array:
        """Return Y Y^T less the diagonal of A, with Y the rows of X summed per group."""
        Y = indicator(group, count) @ self.X
        product = Y @ Y.T
        sums = product.toarray() if sparse.issparse(product) else np.asarray(product)
        sums[np.diag_indices(count)] -= np.bincount(group, self.diagonal, minlength=count)
        return sums

    def _summarize(self) -> tuple[Array, bool, float, bool]:
        values = self.X.data if sparse.issparse(self.X) else self.X
        if values.min(initial=0.0) >= 0:
            degrees = self.matmul(np.ones(self.n, dtype=self.dtype)).astype(np.float64)
            return self.without_rounding(degrees), False, 1.0, False
        count = min(self.n, N_SIGN_SAMPLES)
        items = np.unique(np.linspace(0, self.n - 1, count).astype(np.intp))
        degrees, n_terms = np.zeros(self.n), np.full(self.n, len(items))
        n_terms[items] -= 1
        for b in blocks(len(items), width=self.row_entries):
            degrees += np.abs(self.dense_rows(items[b])).sum(axis=0)
        degrees *= (self.n - 1) / np.maximum(n_terms, 1)
        return degrees, True, 1.0, False

    def squared_error(self, H: Array) -> float:
        H = H.astype(np.float64, copy=False)
        inner, squares = float(np.einsum("ij,ij->", H, self.matmul(H))), pair_squares(H)
        value = self.sum_of_squares - 2.0 * inner + squares
        # matmul subtracts the diagonal, which is a term that may cancel.
        diagonal = float(self.diagonal @ np.einsum("ij,ij->i", H, H))
        terms = self.sum_of_squares + squares + 2 * diagonal
        return self.recompute(H, value) if value < CANCELLED * terms else value


def _off_diagonal(rows: Any, first: int) -> float:
    """Return the sum of squares of some rows of a square matrix, without its diagonal."""
    rows = rows.tocoo()
    return float(np.sum(rows.data[rows.row + first != rows.col] ** 2))
