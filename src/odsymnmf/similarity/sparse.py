"""Similarities of which most are zero and not stored."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.similarity.base import (
    CANCELLED,
    Similarity,
    indicator,
    pair_squares,
    row_squares,
)
from odsymnmf.similarity.products import CsrProducts
from odsymnmf.similarity.weights import (
    EQUAL,
    PairWeights,
    entry_rows,
    keep_entries,
    lookup_csr,
    with_data,
)
from odsymnmf.utils import Array


class Sparse(Similarity):
    """A in CSR form: sorted, without duplicates and zeros; the diagonal is stored separately."""

    def __init__(self, A: sparse.csr_array, diagonal: Array, weights: PairWeights = EQUAL):
        self.A, self.diagonal, self.weights = A, diagonal, weights
        self.n, self.dtype, self.stored = int(A.shape[0]), A.dtype, A
        self.row_entries = int(A.nnz // self.n)
        self.max_value = float(A.data.max(initial=0.0))
        self.max_abs = max(self.max_value, -float(A.data.min(initial=0.0)))

    @cached_property
    def sum_of_squares(self) -> float:
        return float(np.sum(row_squares(self.A)))

    def to_csr(self) -> sparse.csr_array:
        return self.A

    def _matmul(self, V: Array) -> Array:
        return np.asarray(self.A @ V)

    def products(self, H: Array) -> CsrProducts:
        return CsrProducts(self.A)

    def rows(self, items: Array) -> Any:
        from odsymnmf.kernels.rows import CsrRows

        return CsrRows(items, self.A.indptr, self.A.indices, self.A.data)

    def row_work(self, items: Array) -> int:
        return len(items) + int((self.A.indptr[items + 1] - self.A.indptr[items]).sum())

    def dense_rows(self, items: Array) -> Array:
        return self.A[items].toarray().astype(np.float64)

    @cached_property
    def _stored_weights(self) -> Array | None:
        if self.weights.excess is None:
            return None
        return self.weights.default + lookup_csr(self.A, self.weights.excess, missing=0.0)

    def row_weights(self, items: Array) -> Array | None:
        return self._stored_weights

    def scale(self, s: Array) -> "Sparse":
        s = s.astype(self.dtype)
        data = self.A.data * np.repeat(s, np.diff(self.A.indptr))
        data *= s[self.A.indices]
        A = with_data(self.A, data)
        return Sparse(A, self.diagonal * s**2, self.weights.scale(s))

    def subset(self, items: Array) -> "Sparse":
        A = sparse.csr_array(self.A[items][:, items])
        A.sort_indices()
        return Sparse(A, self.diagonal[items], self.weights.subset(items))

    def with_weights(self, weights: PairWeights) -> "Sparse":
        """Return the similarities with other weights; unknown pairs are not stored."""
        w0, v = weights.default, weights.excess
        if v is None:
            A = keep_entries(self.A, np.full(self.A.nnz, w0 > 0))
            return Sparse(A, self.diagonal, weights)
        A = keep_entries(self.A, lookup_csr(self.A, weights.listed(), missing=w0) != 0)
        values = lookup_csr(v, A, missing=0.0)
        return Sparse(A, self.diagonal, PairWeights(w0, v, values))

    def to_arrays(self) -> dict[str, Any]:
        return {"A": self.A, "diagonal": self.diagonal, **self.weights.to_arrays()}

    def group_sums(self, group: Array, count: int) -> Array:
        groups = indicator(group, count)
        return np.asarray((groups @ self.A @ groups.T).toarray())

    def _summarize(self) -> tuple[Array, bool, float, bool]:
        data = self.A.data
        degrees = np.bincount(entry_rows(self.A), weights=np.abs(data), minlength=self.n)
        low, high = data.min(initial=np.inf), data.max(initial=-np.inf)
        density = len(data) / max(self.n * (self.n - 1), 1)
        return degrees, bool(low < 0), density, bool(low == high > 0)

    def squared_error(self, H: Array) -> float:
        # p^2 over all pairs, and (A - p)^2 - p^2 over the stored ones
        all_pairs = pair_squares(H)
        sums = self.stored_sums(np.arange(self.n), H)
        stored, squares = np.sum(sums[:, 1]), np.sum(sums[:, 3])
        value, terms = float(all_pairs + stored - squares), float(all_pairs + stored)
        return self.recompute(H, value) if value < CANCELLED * terms else value
