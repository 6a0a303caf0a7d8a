"""H stored by its nonzeros, as a log of rows, and D = H^T H as a table of pairs of columns.

A sweep appends new rows to the log, and a table has the current position of each row; outdated rows
remain until `SparseH.compact`. So rows can grow and shrink, and no row moves while it is read.
"""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.kernels import sparse_h as kernels
from odsymnmf.kernels.sparse_h import EMPTY, SHORT, Links, Log, Pairs
from odsymnmf.membership_view import as_view, nonzeros
from odsymnmf.similarity.weights import without_diagonal
from odsymnmf.utils import Array, as_csr

# Capacity of a log per nonzero of H: unused pages take no memory, and a longer log needs a copy.
CAPACITY_PER_ENTRY = 3
# Up to this many columns, D is stored in full, 16 bytes a pair; else in a table of 2^MIN_BITS slots
# that grows.
FULL_SIDE, MIN_BITS = 1024, 12


def links(A: Any) -> Links:
    """Return the arrays of a symmetric CSR array, with sorted indices and no diagonal."""
    A = without_diagonal(sparse.csr_array(A))
    if not A.has_sorted_indices:
        A = A.sorted_indices()
    data = A.data if A.data.dtype in (np.float64, np.float32) else A.data.astype(np.float64)
    return Links(A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False), data)


def empty_log(n: int, r: int, capacity: int, dtype: Any = np.float64) -> Log:
    """Return a log of n empty rows with capacity for this many entries."""
    # Columns next to values: one memory access for both.
    record = np.dtype([("column", np.int32), ("value", dtype)], align=True)
    entries = np.zeros(capacity + SHORT, dtype=record)
    return Log(
        span=np.zeros((n, 2), dtype=np.int64),
        column=entries["column"],
        value=entries["value"],
        owner=np.empty(capacity, dtype=np.int32),
        link=np.empty(capacity, dtype=np.int64),
        head=np.full(r, -1, dtype=np.int64),
        top=np.zeros(1, dtype=np.int64),
    )


def reserve_log(rows: Log, entries: int, dtype: Any) -> Log:
    """Return a log with capacity for this many more entries."""
    capacity, top = len(rows.owner), int(rows.top[0])
    if top + entries <= capacity:
        return rows
    new = empty_log(0, 0, top + entries + capacity // 2, dtype)
    for before, after in zip(rows[1:5], new[1:5], strict=True):
        after[:top] = before[:top]
    return new._replace(span=rows.span, head=rows.head, top=rows.top)


class SparseH:
    """H >= 0 (n x r), stored by rows; columns can be cleaned and dropped.

    Parameters
    ----------
    H : scipy sparse array or matrix of shape (n, r), or array-like
        The initial memberships.
    dtype : dtype
        float64 or float32.
    """

    def __init__(self, H: Any, dtype: Any = np.float64):
        if not sparse.issparse(H):
            H = sparse.csr_array(np.atleast_2d(H))
        H = as_csr(H, "H")
        if not np.all(np.isfinite(H.data)) or H.data.min(initial=0.0) < 0:
            bad = np.flatnonzero(~(H.data >= 0) | ~np.isfinite(H.data))[0]
            i = int(np.searchsorted(H.indptr, bad, side="right")) - 1
            raise ValueError(
                f"H[{i}, {H.indices[bad]}] is {H.data[bad]}; memberships must be finite and not "
                "negative. Replace it by zero or a positive number."
            )
        self.dtype = np.dtype(dtype)
        self.log: Log
        self._fill(nonzeros(H), H.shape[1])

    @property
    def n(self) -> int:
        return len(self.log.span)

    @property
    def r(self) -> int:
        return len(self.log.head)

    @property
    def nnz(self) -> int:
        """The number of memberships."""
        return int((self.log.span[:, 1] - self.log.span[:, 0]).sum())

    def csr(self) -> sparse.csr_array:
        """Return H as a CSR array with sorted columns and no stored zero."""
        indptr = np.empty(self.n + 1, dtype=np.int64)
        indices, data = np.empty(self.nnz, dtype=np.int32), np.empty(self.nnz, dtype=self.dtype)
        kernels.read_log(self.log, indptr, indices, data)
        return sparse.csr_array((data, indices, indptr), shape=(self.n, self.r))

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.r

    def copy(self) -> "SparseH":
        """Return H as it is now. The log is shared: sweeps only append to it."""
        result = SparseH.__new__(SparseH)
        result.dtype, result.log = self.dtype, self.log._replace(span=self.log.span.copy())
        return result

    def compact(self) -> None:
        """Remove outdated rows from the log."""
        self._fill(self.csr(), self.r)

    def reserve(self, entries: int) -> None:
        """Reserve capacity in the log for this many more entries."""
        self.log = reserve_log(self.log, entries, self.dtype)

    def column_sums(self) -> Array:
        """Return sum_i H_il, added up in the order of the items."""
        H = self.csr()
        return np.bincount(H.indices, weights=H.data.astype(np.float64), minlength=self.r)

    def clean_columns(self) -> None:
        """Clear columns with one entry, balance those with two.

        Neither changes the objective: one entry explains no pair, and (s, t) explains one pair by
        s t, as (sqrt(s t), sqrt(s t)) does.
        """
        H = self.csr()
        counts = np.bincount(H.indices, minlength=self.r)
        two = np.flatnonzero(counts[H.indices] == 2)
        pairs = two[np.argsort(H.indices[two], kind="stable")].reshape(-1, 2)
        values = H.data[pairs].astype(np.float64)
        H.data[pairs] = np.sqrt(values[:, :1] * values[:, 1:])
        single = counts[H.indices] == 1
        if len(pairs) or single.any():
            H.data[single] = 0
            self._fill(nonzeros(H), self.r)

    def keep_columns(self, columns: Any) -> None:
        """Drop all columns but these, which take the given order."""
        self._fill(nonzeros(self.csr()[:, np.asarray(columns, dtype=np.intp)]), len(columns))

    def drop_empty(self) -> None:
        """Drop the columns without an entry."""
        self.keep_columns(np.unique(self.csr().indices))

    def _fill(self, H: sparse.csr_array, r: int) -> None:
        log = empty_log(H.shape[0], r, CAPACITY_PER_ENTRY * H.nnz + 1024, self.dtype)
        indptr = H.indptr.astype(np.int64, copy=False)
        indices = H.indices.astype(np.int32, copy=False)
        kernels.fill_log(indptr, indices, H.data.astype(self.dtype, copy=False), log)
        self.log = log  # last, so that the old log remains after Ctrl-C


def column_sets(H: sparse.csr_array, fraction: float = 0.2, min_size: int = 1) -> list[Array]:
    """Return for each column the items with at least ``fraction`` of its largest entry.

    Columns with fewer than ``min_size`` such items are left out.
    """
    if not H.shape[1]:
        return []
    view = as_view(H)
    columns = view.H.indices
    large = view.H.data >= fraction * view.column_peaks[columns]
    order = np.argsort(columns[large], kind="stable")
    ends = np.cumsum(np.bincount(columns[large], minlength=view.r))
    sets = np.split(view.rows[large][order], ends[:-1])
    return [items for items in sets if len(items) >= min_size]


def empty_pairs(r: int, bits: int | None = None) -> Pairs:
    """Return D = 0: a hash table of 2^bits slots, without ``bits`` a full table if r is small."""
    full = bits is None and r <= FULL_SIDE
    # Keys next to values: one memory access for both.
    size = max(r * r, 2) if full else 1 << (bits or MIN_BITS)
    table = np.zeros(size, dtype=[("key", "i8"), ("value", "f8")])
    table["key"] = 0 if full else EMPTY
    return Pairs(
        diagonal=np.zeros(r),
        peak=np.zeros(r),
        side=r if full else 0,
        key=table["key"],
        value=table["value"],
        used=np.zeros(1, dtype=np.int64),
    )


def reserve_pairs(D: Pairs, pairs: int) -> Pairs:
    """Return D in a table with capacity for this many more pairs."""
    needed = 2 * (int(D.used[0]) + pairs)
    if D.side > 0 or needed <= len(D.key):
        return D
    new = empty_pairs(len(D.diagonal), int(needed).bit_length())
    kernels.add_pairs(D, new)
    return new._replace(diagonal=D.diagonal, peak=D.peak)


def gram(H: sparse.csr_array) -> tuple[Pairs, float]:
    """Return D = H^T H and sum_{i != j} (h_i . h_j)^2, at the cost of the pairs in the rows."""
    D = empty_pairs(H.shape[1])
    indptr: Any = H.indptr.astype(np.int64, copy=False)
    row, squares = 0, 0.0
    while True:
        row, increase = kernels.add_gram(row, indptr, H.indices, H.data, D)
        squares += increase
        if row == H.shape[0]:
            return D, float(squares)
        m = int(indptr[row + 1] - indptr[row])
        D = reserve_pairs(D, m * (m - 1) // 2)
