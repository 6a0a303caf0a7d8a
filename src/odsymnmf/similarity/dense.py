"""Similarities stored as an array."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from odsymnmf.similarity.base import (
    Similarity,
    SimilaritySummary,
    clear_diagonal,
    csr_of_dense_rows,
)
from odsymnmf.similarity.products import DenseProducts, block_product, square
from odsymnmf.similarity.weights import EQUAL, PairWeights
from odsymnmf.utils import Array, blocks, check_memory


@dataclass(frozen=True)
class Dense(Similarity):
    """A stored as an array; its diagonal may hold anything."""

    A: Array
    weights: PairWeights = EQUAL

    @property
    def n(self) -> int:
        return len(self.A)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.A.dtype

    @property
    def diagonal(self) -> Array:
        return np.diagonal(self.A)

    @property
    def max_value(self) -> float:
        """The largest entry off the diagonal, at least 0."""
        return max(0.0, self._extremes[1])

    @property
    def max_abs(self) -> float:
        """The largest |A_ij| off the diagonal."""
        return max(map(abs, self._extremes))

    @cached_property
    def _extremes(self) -> tuple[float, float]:
        low = high = 0.0
        for b in blocks(self.n, 256):
            piece = self._off_diagonal(b)
            low, high = min(low, float(piece.min())), max(high, float(piece.max()))
        return low, high

    @cached_property
    def sum_of_squares(self) -> float:
        """sum_{i != j} A_ij^2"""
        pieces = (self._off_diagonal(b).astype(np.float64) for b in blocks(self.n, 256))
        return float(sum(np.einsum("ij,ij->", piece, piece) for piece in pieces))

    def _off_diagonal(self, rows: slice) -> Array:
        return clear_diagonal(self.A[rows].copy(), np.arange(rows.start, rows.stop))

    def _matmul(self, V: Array) -> Array:
        products = [block_product(self.A, V, b, square(self.A, b)) for b in blocks(self.n, 512)]
        return np.concatenate(products)

    def products(self, H: Array) -> DenseProducts:
        """Return the source of g_k = sum_{j != k} A_kj h_j, which follows changes of H."""
        return DenseProducts(self.A)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        return csr_of_dense_rows(self.A[items], items)

    def rows_among(self, items: Array, columns: Array, own: Array) -> Any:
        """Return some columns of the rows of the items; ``own`` are the items among them."""
        return csr_of_dense_rows(self.A[np.ix_(items, columns)], own, columns)

    def dense_rows(self, items: Array) -> Array:
        """Return a copy of the rows of the items in float64, zero on the diagonal."""
        return clear_diagonal(self.A[items].astype(np.float64), items)

    def scale(self, s: Array) -> "Dense":
        """Return the similarities s_i A_ij s_j."""
        check_memory(
            self.A.nbytes,
            f"a scaled copy of {self.n:,} x {self.n:,} similarities",
            "pass similarities that are scaled already (a memory map can be scaled block by block "
            "into another), or a sparse matrix",
        )
        s, scaled = s.astype(self.dtype), np.empty_like(self.A, subok=False)
        with np.errstate(invalid="ignore", over="ignore"):  # the diagonal may hold anything
            for b in blocks(self.n, 256):
                scaled[b] = self.A[b] * s[b, None] * s
        return Dense(scaled, self.weights.scale(s))

    def subset(self, items: Array) -> "Dense":
        """Return the similarities among some of the items."""
        return Dense(self.A[items][:, items], self.weights.subset(items))

    def group_sums(self, group: Array, count: int) -> Array:
        """Return sum of A_ij over the pairs i != j of groups g and h, for all g and h."""
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(count))
        sums = np.zeros((count, count))
        for b in self.item_blocks():  # no sorted copy of A
            items = order[b]
            piece = self.dense_rows(items)[:, order]
            np.add.at(sums, group[items], np.add.reduceat(piece, starts, axis=1))
        return sums

    def _summary(self) -> SimilaritySummary:
        degrees, smallest, count = np.zeros(self.n), np.inf, 0
        for b in blocks(self.n, 256):
            piece = self._off_diagonal(b)
            count += int(np.count_nonzero(piece))
            smallest = min(smallest, float(piece.min(initial=np.inf, where=piece > 0)))
            degrees[b] = np.abs(piece).sum(axis=1, dtype=np.float64)
        low, high = self._extremes
        density = count / max(self.n * (self.n - 1), 1)
        return SimilaritySummary(degrees, low < 0, density, low >= 0 and smallest == high > 0)
