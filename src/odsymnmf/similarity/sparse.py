"""Similarities of which most are zero and not stored."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.similarity import base
from odsymnmf.similarity.base import Similarity, SimilaritySummary, row_squares, scale_rows
from odsymnmf.similarity.products import CsrProducts
from odsymnmf.similarity.weights import EQUAL, PairWeights, lookup_csr
from odsymnmf.utils import Array, blocks


@dataclass(frozen=True)
class Sparse(Similarity):
    """A in CSR form: sorted, without duplicates, zeros and diagonal, which is kept apart."""

    A: sparse.csr_array
    diagonal: Array
    weights: PairWeights = EQUAL

    @property
    def n(self) -> int:
        return int(self.A.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.A.dtype

    @cached_property
    def max_value(self) -> float:
        """The largest entry off the diagonal, at least 0."""
        return float(self.A.data.max(initial=0.0))

    @cached_property
    def max_abs(self) -> float:
        """The largest |A_ij| off the diagonal."""
        return max(self.max_value, -float(self.A.data.min(initial=0.0)))

    @cached_property
    def sum_of_squares(self) -> float:
        """sum_{i != j} A_ij^2"""
        return float(np.sum(row_squares(self.A)))

    @property
    def n_stored(self) -> int:
        """Number of pairs i < j that are stored."""
        return int(self.A.nnz // 2)

    @property
    def block_entries(self) -> int:
        """Number of entries in a block of rows that are computed when needed."""
        return 0

    def to_csr(self) -> sparse.csr_array:
        """Return the similarities that are not zero, without the diagonal."""
        return self.A

    def pair_values(self, i: Array, j: Array) -> Array:
        """Return A_ij of pairs i != j in float64."""
        return np.asarray(self.A[i, j], dtype=np.float64).ravel()

    def _matmul(self, V: Array) -> Array:
        return np.asarray(self.A @ V)

    def products(self, H: Array) -> CsrProducts:
        """Return the source of g_k = sum_{j != k} A_kj h_j, which follows changes of H."""
        return CsrProducts(self.A)

    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""
        from odsymnmf.kernels.rows import CsrRows

        return CsrRows(items, self.A.indptr, self.A.indices, self.A.data)

    def rows_among(self, items: Array, columns: Array, own: Array) -> Any:
        """Return the rows of the items: what is stored is little."""
        return self.rows(items)

    @property
    def row_entries(self) -> int:
        """Number of entries in a row of `rows`, on average."""
        return int(self.A.nnz // self.n)

    def row_lengths(self, items: Array) -> Array:
        """Return the number of entries in each row of ``rows(items)``."""
        return np.asarray(self.A.indptr[items + 1] - self.A.indptr[items])

    def dense_rows(self, items: Array) -> Array:
        """Return a copy of the rows of the items in float64, zero on the diagonal."""
        return self.A[items].toarray().astype(np.float64)

    @cached_property
    def _stored_weights(self) -> Array | None:
        if self.weights.excess is None:
            return None
        return self.weights.default + lookup_csr(self.A, self.weights.excess, missing=0.0)

    def row_weights(self, items: Array) -> Array | None:
        """Return the weights of the entries of ``rows(items)``, None if all are one."""
        return self._stored_weights

    def scale(self, s: Array) -> "Sparse":
        """Return the similarities s_i A_ij s_j."""
        s = s.astype(self.dtype)
        rows = scale_rows(self.A, s)
        rows.data *= s[rows.indices]
        return Sparse(rows, self.diagonal * s**2, self.weights.scale(s))

    def subset(self, items: Array) -> "Sparse":
        """Return the similarities among some of the items."""
        A = sparse.csr_array(self.A[items][:, items])
        A.sort_indices()
        return Sparse(A, self.diagonal[items], self.weights.subset(items))

    def group_sums(self, group: Array, count: int) -> Array:
        """Return sum of A_ij over the pairs i != j of groups g and h, for all g and h."""
        rows = np.repeat(group.astype(np.int32), np.diff(self.A.indptr))
        sums = np.zeros(count * count)
        for b in blocks(self.A.nnz, base.BLOCK_ENTRIES):
            places = rows[b].astype(np.intp) * count + group[self.A.indices[b]]
            sums += np.bincount(places, weights=self.A.data[b], minlength=count * count)
        return sums.reshape(count, count)

    def _summary(self) -> SimilaritySummary:
        data = self.A.data
        rows = np.repeat(np.arange(self.n), np.diff(self.A.indptr))
        degrees = np.bincount(rows, weights=np.abs(data), minlength=self.n)
        low, high = data.min(initial=np.inf), data.max(initial=-np.inf)
        density = len(data) / max(self.n * (self.n - 1), 1)
        return SimilaritySummary(degrees, bool(low < 0), density, bool(low == high > 0))
