"""Sparse memberships: H by its non-zeros, as a log of rows that sweeps append to.

During a sweep a new row is written to the end of the log, and a table says where each row is
now; what it replaces stays behind until `Memberships.compact`. So rows may grow and shrink, and
nothing is ever moved while a sweep reads it.
"""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, as_csr
from odsymnmf.kernels import sparse_rows
from odsymnmf.kernels.sparse_arrays import SHORT, Log
from odsymnmf.members import as_members


def empty_log(n: int, r: int, room: int, dtype: Any = np.float64) -> Log:
    """Return a log of n empty rows, with room for so many entries."""
    # One record per entry: the column of a neighbour's membership comes with its value.
    record = np.dtype([("column", np.int32), ("value", dtype)], align=True)
    entries = np.zeros(room + SHORT, dtype=record)
    return Log(
        span=np.zeros((n, 2), dtype=np.int64),
        column=entries["column"],
        value=entries["value"],
        owner=np.empty(room, dtype=np.int32),
        link=np.empty(room, dtype=np.int64),
        head=np.full(r, -1, dtype=np.int64),
        top=np.zeros(1, dtype=np.int64),
    )


def with_log_room(rows: Log, entries: int, dtype: Any) -> Log:
    """Return a log that has room for so many entries more."""
    room, top = len(rows.owner), int(rows.top[0])
    if top + entries <= room:
        return rows
    new = empty_log(0, 0, top + entries + room // 2, dtype)
    for before, after in zip(rows[1:5], new[1:5], strict=True):
        after[:top] = before[:top]
    return new._replace(span=rows.span, head=rows.head, top=rows.top)


class Memberships:
    """H >= 0 (n x r), stored by rows; columns can be listed, tidied, merged and dropped.

    Parameters
    ----------
    H : scipy sparse array or matrix of shape (n, r), or array-like
        The memberships to begin with.
    dtype : dtype
        float64 or float32.

    Examples
    --------
    >>> import numpy as np
    >>> from odsymnmf.engine.many.memberships import Memberships
    >>> H = Memberships([[1.0, 0.0, 0.5], [4.0, 0.0, 0.0]])
    >>> H.nnz, H.tidy(), H.csr().toarray().tolist()
    (3, 1, [[2.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    >>> H.keep_columns([0])
    >>> H.r
    1
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
        self.rows: Log
        self._fill(_canonical(H), H.shape[1])

    @property
    def n(self) -> int:
        return len(self.rows.span)

    @property
    def r(self) -> int:
        return len(self.rows.head)

    @property
    def nnz(self) -> int:
        """The number of memberships."""
        return int((self.rows.span[:, 1] - self.rows.span[:, 0]).sum())

    def csr(self) -> sparse.csr_array:
        """Return H as a CSR array with sorted columns and no stored zero."""
        indptr = np.empty(self.n + 1, dtype=np.int64)
        indices, data = np.empty(self.nnz, dtype=np.int32), np.empty(self.nnz, dtype=self.dtype)
        sparse_rows.read_log(self.rows, indptr, indices, data)
        return sparse.csr_array((data, indices, indptr), shape=(self.n, self.r))

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.r

    def copy(self) -> "Memberships":
        """Return H as it is now. The log is shared: nobody does more than append to it."""
        other = Memberships.__new__(Memberships)
        other.dtype, other.rows = self.dtype, self.rows._replace(span=self.rows.span.copy())
        return other

    def compact(self) -> None:
        """Forget the rows that have been replaced."""
        rows = empty_log(self.n, self.r, 2 * self.nnz + 1024, self.dtype)
        sparse_rows.copy_log(self.rows, rows)
        self.rows = rows

    def reserve(self, entries: int) -> None:
        """Make room in the log for so many entries more."""
        self.rows = with_log_room(self.rows, entries, self.dtype)

    def take_out(self) -> tuple[Array, Array]:
        """Return the columns and values of the last row, and leave it empty."""
        rows = self.rows
        begin, end = rows.span[-1]
        rows.span[-1] = begin
        return rows.column[begin:end].copy(), rows.value[begin:end].astype(np.float64)

    def column_sizes(self) -> Array:
        """Return how many items each column has."""
        return np.bincount(self.csr().indices, minlength=self.r)

    def column_sums(self) -> Array:
        """Return sum_i H_il, added up in the order of the items."""
        H = self.csr()
        return np.bincount(H.indices, weights=H.data.astype(np.float64), minlength=self.r)

    def tidy(self) -> int:
        """Clear columns with one entry, balance those with two; return how many were cleared.

        Neither changes the objective over pairs: a lone entry meets only itself, and (s, t)
        explains one pair by s t, as (sqrt(s t), sqrt(s t)) does.
        """
        H = self.csr()
        counts = np.bincount(H.indices, minlength=self.r)
        two = np.flatnonzero(counts[H.indices] == 2)
        pairs = two[np.argsort(H.indices[two], kind="stable")].reshape(-1, 2)
        both = H.data[pairs].astype(np.float64)
        H.data[pairs] = np.sqrt(both[:, :1] * both[:, 1:])
        lone = counts[H.indices] == 1
        if len(pairs) or lone.any():
            H.data[lone] = 0
            self._fill(_canonical(H), self.r)
        return int(lone.sum())

    def keep_columns(self, columns: Any) -> None:
        """Drop all columns but these, which take the given order."""
        self._fill(_canonical(self.csr()[:, np.asarray(columns, dtype=np.intp)]), len(columns))

    def drop_empty(self) -> Array:
        """Drop the columns without an entry; return those that stay."""
        stay = np.flatnonzero(self.column_sizes() > 0)
        if len(stay) < self.r:
            self.keep_columns(stay)
        return stay

    def merge_repeated(self, likeness: float = 0.9) -> int:
        """Of columns whose cosine is at least ``likeness`` keep the heavier; return how many went.

        The heavier one takes the root of the sum of squares, so that the pairs of two equal
        columns stay explained.
        """
        H = self.csr().astype(np.float64)
        norms = np.sqrt(np.bincount(H.indices, weights=H.data**2, minlength=self.r))
        scaled = sparse.csr_array(
            (H.data / norms[H.indices], H.indices, H.indptr), shape=(self.n, self.r)
        )
        close = sparse.coo_array(sparse.triu(scaled.T @ scaled, k=1))
        alike = close.data >= likeness
        if not alike.any():
            return 0
        into = _heavier(close.row[alike], close.col[alike], norms)
        squares = sparse.coo_array(H)
        moved = sparse.csr_array(
            (squares.data**2, (squares.row, into[squares.col])), shape=(self.n, self.r)
        )
        moved.data = np.sqrt(moved.data)
        self._fill(_canonical(moved), self.r)
        gone = int((into != np.arange(self.r)).sum())
        self.keep_columns(np.flatnonzero(into == np.arange(self.r)))
        return gone

    def _fill(self, H: sparse.csr_array, r: int) -> None:
        rows = empty_log(H.shape[0], r, 2 * H.nnz + 1024, self.dtype)
        indptr = H.indptr.astype(np.int64, copy=False)
        indices = H.indices.astype(np.int32, copy=False)
        sparse_rows.fill_log(indptr, indices, H.data, rows)
        self.rows = rows  # only now: Ctrl-C before leaves the old ones


def column_sets(H: sparse.csr_array, fraction: float = 0.2, least: int = 1) -> list[Array]:
    """Return the items whose entry is at least ``fraction`` of their column's largest.

    Columns with fewer than ``least`` such items are left out.

    Examples
    --------
    >>> from scipy import sparse
    >>> from odsymnmf.engine.many.memberships import column_sets
    >>> H = sparse.csr_array([[1.0, 0.0], [0.9, 0.1], [0.1, 2.0]])
    >>> [items.tolist() for items in column_sets(H)]
    [[0, 1], [2]]
    """
    sets = as_members(H).column_sets(fraction) if H.shape[1] else []
    return [np.sort(items) for items in sets if len(items) >= least]


def _heavier(first: Array, second: Array, norms: Array) -> Array:
    """Return for each column the one it goes into: itself, or a heavier one that it repeats.

    From the heaviest pair on, and only into columns that stay: no chain of likenesses.
    """
    into = np.arange(len(norms))
    swap = norms[first] < norms[second]
    heavy, light = np.where(swap, second, first), np.where(swap, first, second)
    taken = np.zeros(len(norms), dtype=bool)
    for p in np.lexsort((light, heavy, -norms[heavy])):
        h, l = heavy[p], light[p]
        if into[h] == h and into[l] == l and not taken[l]:
            into[l] = h
            taken[h] = True
    return into


def _canonical(H: sparse.csr_array) -> sparse.csr_array:
    """Return H with summed duplicates, no stored zero, sorted columns."""
    H = sparse.csr_array(H)
    H.sum_duplicates()
    H.eliminate_zeros()
    H.sort_indices()
    return H
