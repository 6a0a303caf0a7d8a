"""Similarities that are products of features, never formed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.similarity.base import (
    Similarity,
    SimilaritySummary,
    clear_diagonal,
    csr_of_dense_rows,
    pair_squares,
    row_squares,
    scale_rows,
)
from odsymnmf.similarity.products import DenseGramProducts, GramProducts
from odsymnmf.similarity.weights import EQUAL, PairWeights
from odsymnmf.utils import Array, blocks

# Largest number of items whose similarities are formed after all: 8 MB of them.
MAX_FORMED = 1024
# Number of items whose products are computed to estimate degrees where features have both signs.
N_SIGN_SAMPLES = 4096
# A sum is computed pair by pair where less than this fraction of its terms is left.
CANCELLED = 1e-8
# Multiply-adds above which that would take too long.
MAX_PAIRWISE = 1e13


@dataclass(frozen=True)
class Gram(Similarity):
    """A = X X^T, given by X (n items x m features, CSR or dense); A is never formed."""

    X: Any
    weights: PairWeights = EQUAL

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
    def max_value(self) -> float:
        """A bound on the entries off the diagonal: the largest |x_i|^2."""
        return float(self.diagonal.max())

    @property
    def max_abs(self) -> float:
        """A bound on |A_ij|."""
        return self.max_value

    @cached_property
    def pair_bound(self) -> float:
        """A bound on the entries off the diagonal: the product of the two largest |x_i|."""
        if self.n < 2:
            return 0.0
        return float(np.prod(np.sqrt(np.partition(self.diagonal, -2)[-2:], dtype=np.float64)))

    @cached_property
    def sum_of_squares(self) -> float:
        """sum_{i != j} A_ij^2; for sparse X from |X X^T|_F = |X^T X|_F, the cheaper, in pieces."""
        X = self.X
        if not sparse.issparse(X):
            return pair_squares(X)
        X = X.astype(np.float64, copy=False)  # or their squares would be rounded before they cancel
        Y = X.T.tocsr()
        few, many = X, Y
        if np.sum(np.diff(X.indptr) ** 2.0) > np.sum(np.diff(Y.indptr) ** 2.0):
            few, many = Y, X
        pieces = ((many[b] @ few).data for b in blocks(many.shape[0], 1024))
        total = sum(float(np.sum(np.square(piece))) for piece in pieces)
        left = total - float(np.sum(self.diagonal**2))
        if left >= CANCELLED * total or float(self.n) ** 2 > MAX_PAIRWISE:
            return max(0.0, left)
        return sum(_off_diagonal(X[b] @ Y, b.start) for b in blocks(self.n, 1024))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def diagonal_rounding(self) -> Array:
        """What cancels in a product for each item: |x_i|^2."""
        return self.diagonal

    def _matmul(self, V: Array) -> Array:
        own = self.diagonal.reshape((-1,) + (1,) * (V.ndim - 1))
        return np.asarray(self.X @ (self._transpose @ V)) - own * V

    def quadratic_form(self, h: Array) -> float:
        """Return sum_{i != j} A_ij h_i h_j; in single precision, the diagonal would drown it."""
        return float(h @ self._matmul(h))

    def products(self, H: Array) -> GramProducts:
        """Return the source of g_k = sum_{j != k} A_kj h_j, which follows changes of H."""
        kind = GramProducts if sparse.issparse(self.X) else DenseGramProducts
        return kind(self.X, self.diagonal, H)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        if self._formed is not None:
            return csr_of_dense_rows(self._formed[items], items)
        block = self.X[items] @ self.X.T
        return csr_of_dense_rows(block.toarray() if sparse.issparse(block) else block, items)

    @cached_property
    def _transpose(self) -> Any:
        """X^T, a view: scipy takes longer to make it than to use it."""
        return self.X.T

    @cached_property
    def _formed(self) -> Array | None:
        """All rows, of few items with a sparse X: single rows would cost overhead in scipy."""
        if self.n > MAX_FORMED or not sparse.issparse(self.X):
            return None
        return np.asarray((self.X @ self.X.T).toarray())

    def rows_among(self, items: Array, columns: Array, own: Array) -> Any:
        """Return some columns of the rows of the items; ``own`` are the items among them."""
        block = self.X[items] @ self.X[columns].T
        rows = block.toarray() if sparse.issparse(block) else block
        return csr_of_dense_rows(rows, own, columns)

    def dense_rows(self, items: Array) -> Array:
        """Return a copy of the rows of the items in float64, zero on the diagonal."""
        block = self.X[items].astype(np.float64) @ self.X.T
        return clear_diagonal(block.toarray() if sparse.issparse(block) else block, items)

    def scale(self, s: Array) -> "Gram":
        """Return the similarities s_i A_ij s_j."""
        s = s.astype(self.dtype)
        return Gram(scale_rows(self.X, s), self.weights.scale(s))

    def subset(self, items: Array) -> "Gram":
        """Return the similarities among some of the items."""
        return Gram(self.X[items], self.weights.subset(items))

    def group_sums(self, group: Array, count: int) -> Array:
        """Return sum of A_ij over the pairs i != j of groups g and h, for all g and h.

        With the rows of X summed per group, Y: Y Y^T less the diagonal of A.
        """
        pick = sparse.csr_array((np.ones(self.n), (group, np.arange(self.n))), (count, self.n))
        Y = pick @ self.X
        product = Y @ Y.T
        sums = product.toarray() if sparse.issparse(product) else np.asarray(product)
        sums[np.diag_indices(count)] -= np.bincount(group, self.diagonal, minlength=count)
        return sums

    def _summary(self) -> SimilaritySummary:
        values = self.X.data if sparse.issparse(self.X) else self.X
        if values.min(initial=0.0) >= 0:
            degrees = self.matmul(np.ones(self.n, dtype=self.dtype)).astype(np.float64)
            # |x_i|^2 - |x_i|^2 is rounding.
            degrees[degrees <= np.sqrt(np.finfo(self.dtype).eps) * self.diagonal] = 0.0
            return SimilaritySummary(degrees, False, 1.0, False)
        count = min(self.n, N_SIGN_SAMPLES)
        items = np.unique(np.linspace(0, self.n - 1, count).astype(np.intp))
        degrees, n_terms = np.zeros(self.n), np.full(self.n, len(items))
        n_terms[items] -= 1
        for b in self.item_blocks(len(items)):
            degrees += np.abs(self.dense_rows(items[b])).sum(axis=0)
        degrees *= (self.n - 1) / np.maximum(n_terms, 1)
        return SimilaritySummary(degrees, True, 1.0, False)


def _off_diagonal(rows: Any, first: int) -> float:
    """Return the sum of squares of some rows of a square matrix, without its diagonal."""
    rows = rows.tocoo()
    return float(np.sum(rows.data[rows.row + first != rows.col] ** 2))
