"""Similarities stored as an array."""

from functools import cached_property
from typing import Any

import numpy as np

from odsymnmf.similarity.base import (
    Similarity,
    clear_diagonal,
    csr_of_dense_rows,
)
from odsymnmf.similarity.products import DenseProducts, block_product
from odsymnmf.similarity.weights import EQUAL, PairWeights, entry_rows
from odsymnmf.utils import Array, blocks, check_memory


class Dense(Similarity):
    """A stored as an array, whose diagonal may contain any values.

    ``extremes`` are the smallest and the largest entry, computed by default.
    """

    def __init__(
        self, A: Array, weights: PairWeights = EQUAL, extremes: tuple[float, float] | None = None
    ):
        self.A, self.weights = A, weights
        self.n = self.row_entries = len(A)
        self.dtype = A.dtype
        low, high = extremes or (0.0, 0.0)
        for b in blocks(self.n if extremes is None else 0, 256):
            piece = self.dense_rows(np.arange(b.start, b.stop), self.dtype)
            low, high = min(low, float(piece.min())), max(high, float(piece.max()))
        self.max_value, self.max_abs = max(0.0, high), max(abs(low), abs(high))

    @property
    def diagonal(self) -> Array:
        return np.diagonal(self.A)

    @cached_property
    def sum_of_squares(self) -> float:
        pieces = (self.dense_rows(np.arange(b.start, b.stop)) for b in blocks(self.n, 256))
        return float(sum(np.einsum("ij,ij->", piece, piece) for piece in pieces))

    def _matmul(self, V: Array) -> Array:
        products = []
        for b in blocks(self.n, 512):
            products.append(block_product(self.A, V, np.arange(b.start, b.stop))[0])
        return np.concatenate(products)

    def products(self, H: Array) -> DenseProducts:
        return DenseProducts(self.A)

    def rows(self, items: Array) -> Any:
        return csr_of_dense_rows(self.A[items], items)

    def rows_among(self, items: Array, columns: Array, positions: Array) -> Any:
        return csr_of_dense_rows(self.A[np.ix_(items, columns)], positions, columns)

    def dense_rows(self, items: Array, dtype: Any = np.float64) -> Array:
        return clear_diagonal(self.A[items].astype(dtype, copy=False), items)

    def scale(self, s: Array) -> "Dense":
        check_memory(
            self.A.nbytes,
            f"a scaled copy of {self.n:,} x {self.n:,} similarities",
            "pass similarities that are scaled already (a memory map can be scaled block by block "
            "into another), or a sparse matrix",
        )
        s, scaled = s.astype(self.dtype), np.empty_like(self.A, subok=False)
        with np.errstate(invalid="ignore", over="ignore"):  # on the diagonal
            for b in blocks(self.n, 256):
                scaled[b] = self.A[b] * s[b, None] * s
        return Dense(scaled, self.weights.scale(s))

    def subset(self, items: Array) -> "Dense":
        return Dense(self.A[items][:, items], self.weights.subset(items))

    def with_weights(self, weights: PairWeights) -> "Dense":
        """Return the similarities with other weights, and zeros for unknown pairs, in a copy."""
        w0, v = weights.default, weights.excess
        if v is None and w0 > 0:
            return Dense(self.A, weights)
        A = self.A.copy(order="K")
        for b in blocks(self.n, 512):
            items = np.arange(b.start, b.stop)
            unknown = weights.dense_rows(items, self.n) == 0
            A[b][clear_diagonal(unknown, items)] = 0
        values = None if v is None else A[entry_rows(v), v.indices].astype(np.float64)
        return Dense(A, PairWeights(w0, v, values))

    def to_arrays(self) -> dict[str, Any]:
        return {"A": self.A, **self.weights.to_arrays()}

    def _summarize(self) -> tuple[Array, bool, float, bool]:
        degrees, smallest, lowest, count = np.zeros(self.n), np.inf, 0.0, 0
        for b in blocks(self.n, 256):
            piece = self.dense_rows(np.arange(b.start, b.stop), self.dtype)
            count += int(np.count_nonzero(piece))
            lowest = min(lowest, float(piece.min()))
            smallest = min(smallest, float(piece.min(initial=np.inf, where=piece > 0)))
            degrees[b] = np.abs(piece).sum(axis=1, dtype=np.float64)
        density = count / max(self.n * (self.n - 1), 1)
        is_binary = lowest >= 0 and smallest == self.max_value > 0
        return degrees, lowest < 0, density, is_binary

    def squared_error(self, H: Array) -> float:
        return float(np.sum(self.pairwise_errors(np.arange(self.n), H)))
