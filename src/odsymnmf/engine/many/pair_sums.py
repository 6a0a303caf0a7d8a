"""D = H^T H of sparse memberships: its diagonal, and the pairs of columns that share an item."""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.kernels import sparse_arrays
from odsymnmf.kernels.sparse_arrays import EMPTY, Pairs

# Up to so many columns, the pairs are a full table (16 bytes each): no hashing, no growing.
FULL_SIDE = 512


def empty_pairs(r: int, bits: int = 12, full_side: int = FULL_SIDE) -> Pairs:
    """Return D = 0, as a full table where r is small, else as a hash table of 2^bits places."""
    full = r <= full_side
    # Key and value side by side: one visit to memory for both.
    table = np.zeros(max(r * r, 1) if full else 1 << bits, dtype=[("key", "i8"), ("value", "f8")])
    table["key"] = 0 if full else EMPTY
    return Pairs(
        diagonal=np.zeros(r),
        peak=np.zeros(r),
        side=r if full else 0,
        key=table["key"],
        value=table["value"],
        used=np.zeros(1, dtype=np.int64),
    )


def with_room(D: Pairs, pairs: int) -> Pairs:
    """Return D in a table that has room for so many pairs more."""
    needed = 2 * (int(D.used[0]) + pairs)
    if D.side > 0 or needed <= len(D.key):
        return D
    new = empty_pairs(len(D.diagonal), int(needed).bit_length(), full_side=-1)
    sparse_arrays.copy_pairs(D.key, D.value, new)
    return new._replace(diagonal=D.diagonal, peak=D.peak)


def gram(H: sparse.csr_array, full_side: int = FULL_SIDE) -> tuple[Pairs, float]:
    """Return D = H^T H and sum_{i != j} (h_i . h_j)^2, at the cost of the pairs in the rows."""
    D = empty_pairs(H.shape[1], full_side=full_side)
    indptr: Any = H.indptr.astype(np.int64, copy=False)
    row, squares = 0, 0.0
    while True:
        row, more = sparse_arrays.add_gram(row, indptr, H.indices, H.data, D)
        squares += more
        if row == H.shape[0]:
            return D, float(squares)
        m = int(indptr[row + 1] - indptr[row])
        D = with_room(D, m * (m - 1) // 2)
