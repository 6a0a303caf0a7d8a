"""The interface of similarity matrices. The diagonal is never read."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.similarity.weights import PairWeights, entry_rows, with_data
from odsymnmf.utils import Array, blocks, squared

# Rows whose errors are computed at a time, pair by pair.
N_ERROR_ROWS = 16
# A sum is computed pair by pair where less than this fraction of its terms is left.
CANCELLED = 1e-8
# Multiply-adds above which that would take too long.
MAX_PAIRWISE = 1e13
# Similarities with a larger fraction of nonzero pairs are not a graph, dense or sparse.
MAX_GRAPH_DENSITY = 0.5

Kind = Literal["graph", "kernel", "documents", "signed"]


class SimilaritySummary(NamedTuple):
    """Statistics of A that the defaults depend on.

    Attributes
    ----------
    degrees : ndarray of shape (n,)
        d_i = sum_{j != i} w_ij |A_ij|.
    has_negative : bool
        Whether some similarity is negative.
    density : float
        The fraction of pairs that are not zero.
    is_binary : bool
        Whether all similarities that are not zero are the same positive number.
    kind : {"graph", "kernel", "documents", "signed"}
        A sparse graph; similarities of most pairs; products of features that are >= 0;
        similarities of both signs. It does not depend on the storage except for features.
    """

    degrees: Array
    has_negative: bool
    density: float
    is_binary: bool
    kind: Kind


class Similarity(ABC):
    """Symmetric similarities of n items, and the weights of their pairs.

    The methods of this class compute all pairs; `Sparse` overrides some of them.

    Attributes
    ----------
    max_value : float
        The largest entry off the diagonal, at least 0; a bound on it for `Gram`.
    max_abs : float
        The largest |A_ij| off the diagonal; a bound on it for `Gram`.
    pair_bound : float
        A bound on the entries off the diagonal.
    sum_of_squares : float
        sum_{i != j} A_ij^2
    diagonal_rounding : float or ndarray of shape (n,)
        The term of each item that cancels in a product: |x_i|^2 for `Gram`.
    stored : csr_array or None
        A, if it is sparse.
    row_entries : int
        Number of entries in a row of `rows`, on average.
    n_features : int or None
        Number of features, None where similarities are given.
    """

    n: int
    dtype: np.dtype[Any]
    weights: PairWeights
    diagonal: Any
    max_value: Any
    max_abs: Any
    sum_of_squares: Any
    diagonal_rounding: Any = 0.0
    row_entries: int
    stored: Any = None
    n_features: int | None = None

    @property
    def pair_bound(self) -> float:
        return float(self.max_value)

    # Products

    def matmul(self, V: Array, weighted: bool = False) -> Array:
        """Return A @ V without the diagonal of A; with weights, sum_{j != i} w_ij A_ij V_j."""
        product = self._matmul(V)
        if weighted and self.weights.excess is not None:
            product = self.weights.default * product + self.weights.excess_values @ V
        return product

    @abstractmethod
    def _matmul(self, V: Array) -> Array: ...

    def degrees(self) -> Array:
        """Return d_i = sum_{j != i} w_ij A_ij."""
        return self.matmul(np.ones(self.n, dtype=self.dtype), weighted=True).astype(np.float64)

    def inverse_sqrt_degrees(self) -> Array:
        """Return d_i^(-1/2), 0 where d_i = 0."""
        return inverse_sqrt(self.without_rounding(self.degrees()))

    def without_rounding(self, degrees: Array) -> Array:
        """Return degrees, with zero for the rounding of |x_i|^2 - |x_i|^2."""
        limit = np.sqrt(np.finfo(self.dtype).eps) * self.diagonal_rounding
        return np.where(np.abs(degrees) <= limit, 0.0, degrees)

    @abstractmethod
    def products(self, H: Array) -> Any:
        """Return the source of g_k = sum_{j != k} A_kj h_j, which is updated with H."""

    # Rows

    @abstractmethod
    def rows(self, items: Array) -> Any:
        """Return the rows of the items in CSR form, without the diagonal."""

    def rows_among(self, items: Array, columns: Array, positions: Array) -> Any:
        """Return some columns of the rows of the items, whose positions in them are given."""
        raise NotImplementedError  # a sparse A has `stored` instead

    @abstractmethod
    def dense_rows(self, items: Array) -> Array:
        """Return a copy of the rows of the items in float64, zero on the diagonal."""

    def row_weights(self, items: Array) -> Array | None:
        """Return the weights of the entries of ``rows(items)``, None if all are one."""
        if self.weights.excess is None:
            return None
        return self.weights.dense_rows(items, self.n).ravel()

    def row_work(self, items: Array) -> int:
        """Return the cost of visiting the rows of the items: their entries, plus one per row."""
        return len(items) * (self.n + 1)

    def row_blocks(self, items: Array) -> Iterator[tuple[Array, Any]]:
        """Yield blocks of the items with their rows."""
        for b in blocks(len(items), width=self.row_entries):
            yield items[b], self.rows(items[b])

    def to_csr(self) -> sparse.csr_array:
        """Return the similarities that are not zero, without the diagonal."""
        pieces = []
        for b in blocks(self.n, width=self.row_entries):
            pieces.append(sparse.csr_array(self.dense_rows(np.arange(b.start, b.stop))))
        return sparse.vstack(pieces, format="csr")

    # Other similarities

    @abstractmethod
    def scale(self, s: Array) -> "Similarity":
        """Return the similarities s_i A_ij s_j."""

    @abstractmethod
    def subset(self, items: Array) -> "Similarity":
        """Return the similarities among some of the items."""

    @abstractmethod
    def with_weights(self, weights: PairWeights) -> "Similarity":
        """Return the similarities with other weights; their ``values`` are set."""

    @abstractmethod
    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays that `from_arrays` takes."""

    # Statistics

    def group_sums(self, group: Array, count: int) -> Array:
        """Return sum of A_ij over the pairs i != j of groups g and h, for all g and h."""
        sums, groups = np.zeros((count, count)), indicator(group, count)
        for b in blocks(self.n, width=self.row_entries):
            rows = self.dense_rows(np.arange(b.start, b.stop))
            sums += groups[:, b] @ (groups @ rows.T).T
        return sums

    @cached_property
    def summary(self) -> SimilaritySummary:
        """Degrees, signs, density and kind, computed in one pass."""
        degrees, has_negative, density, is_binary = self._summarize()
        weights = self.weights
        if weights.excess is not None:
            absolute = with_data(
                weights.excess, weights.excess.data * np.abs(np.asarray(weights.values))
            )
            degrees = weights.default * degrees + np.asarray(absolute.sum(axis=1)).ravel()
            degrees = np.maximum(degrees, 0.0)
        kind: Kind = "graph" if density <= MAX_GRAPH_DENSITY else "kernel"
        if has_negative or self.n_features is not None:
            kind = "signed" if has_negative else "documents"
        return SimilaritySummary(degrees, has_negative, density, is_binary, kind)

    @abstractmethod
    def _summarize(self) -> tuple[Array, bool, float, bool]:
        """Return sum_j |A_ij|, and has_negative, density and is_binary of the summary."""

    # Errors; p_ij = h_i . h_j.

    @abstractmethod
    def squared_error(self, H: Array) -> float:
        """Return sum_{i != j} (A_ij - p_ij)^2."""

    def absolute_error(self, H: Array) -> float:
        """Return sum_{i != j} |A_ij - p_ij|: p_ij, and |A_ij - p_ij| - p_ij over stored pairs."""
        sums = self.stored_sums(np.arange(self.n), H)
        return pair_products(H) + float(np.sum(sums[:, 0] - sums[:, 2]))

    def stored_sums(self, items: Array, H: Array) -> Array:
        """Return for each item the sums of |A - p|, (A - p)^2, p and p^2 over its stored pairs."""
        from odsymnmf.kernels.objective import pair_sums

        sums = np.empty((len(items), 4))
        for b in blocks(len(items), width=self.row_entries):
            pair_sums(items[b], self.rows(items[b]), None, H, sums[b])
        return sums

    def exception_sums(self, items: Array, H: Array) -> Array:
        """Return the same sums over the exceptions of the items, times v_ij."""
        from odsymnmf.kernels.objective import pair_sums
        from odsymnmf.kernels.rows import CsrRows

        E, sums = self.weights.exceptions, np.empty((len(items), 4))
        pair_sums(items, CsrRows(items, E.indptr, E.indices, E.a), E.v, H, sums)
        return sums

    def pairwise_errors(self, items: Array, H: Array) -> Array:
        """Return sum_{j != i} (A_ij - p_ij)^2 of each item, pair by pair."""
        H, errors = H.astype(np.float64, copy=False), np.empty(len(items))
        for b in blocks(len(items), N_ERROR_ROWS):
            residual = self.dense_rows(items[b])
            residual -= clear_diagonal(H[items[b]] @ H.T, items[b])
            np.einsum("ij,ij->i", residual, residual, out=errors[b])
        return errors

    def recompute(self, H: Array, value: float) -> float:
        """Return a squared error pair by pair, because its terms cancel; ``value`` for large n."""
        if float(self.n) ** 2 * H.shape[1] > MAX_PAIRWISE:
            return max(value, 0.0)
        return float(np.sum(self.pairwise_errors(np.arange(self.n), H)))

    def explained(self, H: Array) -> tuple[float, float]:
        """Return sum_{i != j} w_ij A_ij p_ij and sum_{i != j} w_ij p_ij^2."""
        inner = inner_product(H, self.matmul(H, weighted=True))
        squares = pair_squares(H)
        if self.weights.excess is not None:
            listed = self.exception_sums(np.arange(self.n), H)[:, 3]
            squares = self.weights.default * squares + float(np.sum(listed))
        return inner, squares


def clear_diagonal(rows: Array, items: Array) -> Array:
    """Set the items' own entries in their rows to zero, in place."""
    rows[np.arange(len(rows)), items] = 0
    return rows


def csr_of_dense_rows(block: Array, items: Array, columns: Array | None = None) -> Any:
    """Return full rows in CSR form, with the diagonal set to zero; overwrites the block.

    The block has these columns of A, by default all; ``items`` are the positions of the diagonal.
    """
    from odsymnmf.kernels.rows import CsrRows

    n_rows, n = block.shape
    data = np.ascontiguousarray(clear_diagonal(block, items)).ravel()
    columns = np.arange(n, dtype=np.int32) if columns is None else columns.astype(np.int32)
    # Same types as in a sparse matrix, so that kernels are compiled once.
    indptr = np.arange(n_rows + 1) * n
    indptr = indptr.astype(np.int32) if len(data) < 2**31 else indptr
    return CsrRows(np.arange(n_rows), indptr, np.tile(columns, n_rows), data)


def indicator(group: Array, count: int) -> sparse.csr_array:
    """Return the matrix of groups x items that is one where the item is in the group."""
    n = len(group)
    return sparse.csr_array((np.ones(n), (group, np.arange(n))), shape=(count, n))


def row_squares(X: Any) -> Array:
    """Return |x_i|^2 for each row of X."""
    if sparse.issparse(X):
        squares = X.data.astype(np.float64) ** 2
        return np.bincount(entry_rows(X), weights=squares, minlength=X.shape[0])
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def scale_rows(X: Any, s: Array) -> Any:
    """Return X with row i multiplied by s_i."""
    return with_data(X, X.data * s[entry_rows(X)]) if sparse.issparse(X) else X * s[:, None]


def inner_product(H: Array, V: Array) -> float:
    """Return <H, V> in double precision, in pieces: Ctrl-C is handled between them."""
    total = 0.0
    for b in blocks(len(H), width=H.shape[1]):
        total += float(np.einsum("ij,ij->", H[b], V[b], dtype=np.float64))
    return total


def pair_products(H: Array) -> float:
    """Return sum_{i != j} h_i . h_j: 2 sum_i h_i . (sum of the rows before i)."""
    total, passed = 0.0, np.zeros(H.shape[1])
    for b in blocks(len(H), width=H.shape[1]):
        before = np.cumsum(H[b], axis=0, dtype=np.float64) + passed
        total += float(H[b.start] @ passed) + float(np.einsum("ij,ij->", H[b][1:], before[:-1]))
        passed = before[-1]
    return 2.0 * total


def pair_squares(X: Array) -> float:
    """Return sum_{i != j} (x_i . x_j)^2 of the rows of X: |X^T X|_F^2 - sum_i |x_i|^4.

    If that would cancel, the pairs are summed block by block instead: one by one, or through D, the
    sum of x_i x_i^T over the rows before, whichever costs less. (einsum, because the sums of BLAS
    depend on the number of threads.)
    """
    n, m = X.shape
    if m < n:
        lengths = np.einsum("ij,ij->i", X, X, dtype=np.float64)
        total_squares, fourths = np.sum(squared(X) ** 2), np.sum(lengths**2)
        if 2.0 * fourths <= total_squares:
            return float(total_squares - fourths)
    total, D = 0.0, np.zeros((m, m) if m < n else 0)
    X = X.astype(np.float64, copy=False)
    for b in blocks(n, 128):
        Y = X[b]
        products = Y @ Y.T
        np.fill_diagonal(products, 0)
        if m < n:
            square = Y.T @ Y
            total += 2.0 * float(np.einsum("ij,ij->", D, square))
            D += square
        else:
            total += 2.0 * float(np.sum((Y @ X[: b.start].T) ** 2))
        total += float(np.einsum("ij,ij->", products, products))
    return total


def inverse_sqrt(degrees: Array) -> Array:
    """Return d^(-1/2) for each degree d, 0 where d = 0."""
    if degrees.min(initial=0.0) < 0:
        i = int(np.argmin(degrees))
        raise ValueError(
            f"the similarities of item {i} sum to {degrees[i]:.6g}; degrees must be >= 0 for "
            'normalize="degree". Leave it out, or set negative similarities to zero.'
        )
    roots = np.sqrt(degrees)
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
