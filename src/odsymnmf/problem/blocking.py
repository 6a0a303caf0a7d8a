"""Rows and blocks of rows, without the diagonal."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.signals import check

# Entries that a block of computed rows may hold.
BLOCK_ENTRIES = 2**22
# Entries of A times columns of H in a block of rows: kernels hear no Ctrl-C.
WORK = 2**25


def without_diagonal(A: Array, rows: slice) -> Array:
    """Return a copy of rows of A, with zeros on the diagonal."""
    return cleared(A[rows].copy(), np.arange(rows.start, rows.stop))


def cleared(rows: Array, items: Array) -> Array:
    """Clear the items' own entries in their rows."""
    rows[np.arange(len(rows)), items] = 0
    return rows


def full_csr(block: Array, items: Array, columns: Array | None = None) -> Any:
    """Return freshly computed full rows in CSR form, with the items' own entries cleared.

    ``columns`` says which columns of A the block has, where these are not all; ``items`` are then
    the places of the items among them.
    """
    from odsymnmf.kernels.l1 import Rows

    B, n = block.shape
    data = np.ascontiguousarray(cleared(block, items)).ravel()
    columns = np.arange(n, dtype=np.int32) if columns is None else columns.astype(np.int32)
    indices = np.tile(columns, B)
    # The same types as those of a sparse matrix, lest kernels are compiled for others, too.
    indptr = np.arange(B + 1) * n
    indptr = indptr.astype(np.int32) if len(data) < 2**31 else indptr
    return Rows(np.arange(B), indptr, indices, data)


def links_of(A: Any) -> Any:
    """Return the similarities that are not zero as CSR, made from blocks of rows."""
    pieces = (A.full_rows(np.arange(b.start, b.stop)) for b in A.item_blocks())
    return sparse.vstack([sparse.csr_array(piece) for piece in pieces], format="csr")


def values_of(A: Any, rows: Array, columns: Array) -> Array:
    """Return A_ij of pairs, from the rows that they lie in."""
    values, order = np.empty(len(rows)), np.argsort(rows, kind="stable")
    for b in A.item_blocks():
        first, last = np.searchsorted(rows[order], (b.start, b.stop))
        some = order[first:last]
        full = A.full_rows(np.arange(b.start, b.stop))
        values[some] = full[rows[some] - b.start, columns[some]]
    return values


def row_squares(X: Any) -> Array:
    """Return |x_i|^2 for each row of X."""
    if sparse.issparse(X):
        squares = X.data.astype(np.float64) ** 2
        items = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(items, weights=squares, minlength=X.shape[0])
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)


def scaled_rows(X: Any, s: Array) -> Any:
    """Return X with row i multiplied by s_i."""
    if not sparse.issparse(X):
        return X * s[:, None]
    data = X.data * np.repeat(s, np.diff(X.indptr))
    return sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)


def rows_of(A: Any, items: Array, r: int = 1) -> Iterator[tuple[Array, Any]]:
    """Yield some of the items after another, with their rows of A."""
    for some in short_blocks(A, items, r):
        yield some, A.rows(some)


def short_blocks(A: Any, items: Array, r: int) -> Iterator[Array]:
    """Yield some of the items after another, as many as are soon done; a hub may come alone."""
    for b in A.item_blocks(len(items)):
        some = items[b]
        if row_work(A, some) * max(r, 1) < WORK:  # most often so, and sooner known
            check()
            yield some
            continue
        work = np.cumsum(A.row_lengths(some) + 1.0) * max(r, 1)
        ends = np.flatnonzero(np.diff(work // WORK, append=np.inf)) + 1
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            check()
            yield some[begin:end]


def row_work(A: Any, items: Array) -> int:
    """Return what it takes to go through the rows of the items: their entries, and one each."""
    return int(A.row_lengths(items).sum()) + len(items)
