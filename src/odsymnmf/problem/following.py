"""Products with H that follow its changes, row by row: one class for each way that A is kept.

``blocks(items, H)`` yields some of the items after another with the source that kernels gather
g = sum_{j != k} A_kj h_j from; what must learn of the changes, does so before the next block.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks

# Rows of a dense block: enough for BLAS, few enough that corrections inside it stay cheap.
BLOCK = 128
# Multiply-adds between two looks at the clock: short enough for Ctrl-C to be heard.
WORK = 2**26


class Neighbouring:
    """Of a sparse A: g is gathered from the rows of H themselves, so there is nothing to follow."""

    def __init__(self, A: Any):
        self.A = A

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Neighbours

        A = self.A
        source = Neighbours(A.indptr, _unsigned(A.indices), A.data)
        for b in blocks(len(items), _rows_at_once(A, H.shape[1])):
            yield items[b], source

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""

    def state(self) -> dict[str, Array]:
        """Return what is kept up to date."""
        return {}


class Streaming(Neighbouring):
    """Of a full A: BLAS makes a block of G = A @ H, whose items tell each other of changes."""

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Block

        for b in blocks(len(items), BLOCK):
            some = as_slice(items[b])
            S = square(self.A, some)
            G = block_product(self.A, H, some, S)
            yield items[b], Block(G, S, np.abs(G))


class FeatureSums:
    """Of A = X X^T, X sparse: Z = X^T H, updated by the kernel with every row."""

    def __init__(self, X: Any, norms: Array, H: Array):
        self.X, self.norms = X, norms
        H64 = H.astype(np.float64, copy=False)
        pieces = (X[b].T @ H64[b] for b in blocks(len(H), 2**15))
        self.Z: Array = np.ascontiguousarray(sum(pieces))

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Features

        X = self.X
        source = Features(X.indptr, _unsigned(X.indices), X.data, self.Z, self.norms)
        for b in blocks(len(items), _rows_at_once(X, H.shape[1])):
            yield items[b], source

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""
        self.Z[:, j] = self.X[items].T @ H[items, j].astype(np.float64)

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""
        X = self.X[items]
        words = np.unique(X.indices) if sparse.issparse(X) else slice(None)
        return words, self.Z[words].copy()

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""
        words, Z = saved
        self.Z[words] = Z

    def state(self) -> dict[str, Array]:
        """Return what is kept up to date."""
        return {"Z": self.Z}


class FeatureBlocks(FeatureSums):
    """Of A = X X^T, X full: blocks of G by BLAS, and Z is updated between them."""

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Block

        for b in blocks(len(items), BLOCK):
            some = as_slice(items[b])
            X, before = self.X[some].astype(np.float64, copy=False), H[some].copy()
            S = X @ X.T
            np.fill_diagonal(S, 0)
            G = X @ self.Z - self.norms[some, None] * before
            yield items[b], Block(G, S, np.abs(G))
            self.Z += X.T @ np.subtract(H[some], before, dtype=np.float64)


def as_slice(items: Array) -> slice | Array:
    """Return the items as a slice where they are consecutive."""
    if items[-1] - items[0] == len(items) - 1:
        return slice(int(items[0]), int(items[-1]) + 1)
    return items


def square(A: Array, some: slice | Array) -> Array:
    """Return the own square of some rows of A, with a zero diagonal."""
    S = A[some][:, some].copy()
    np.fill_diagonal(S, 0)
    return S


def block_product(A: Array, V: Array, some: slice | Array, S: Array) -> Array:
    """Return (A @ V)[some], the diagonal of A left out, given S, the own square of these rows.

    The columns left and right of a block's own go to BLAS as they are; only the small square
    between them is a copy, with its diagonal cleared. Scattered rows are copied.
    """
    if not isinstance(some, slice):
        rows = A[some]
        rows[np.arange(len(rows)), some] = 0
        return rows @ V
    left, right = slice(0, some.start), slice(some.stop, None)
    G: Array = S @ V[some]
    G += A[some, left] @ V[left]
    G += A[some, right] @ V[right]
    return G


def _rows_at_once(A: Any, r: int) -> int:
    """Return how many rows of a CSR array a kernel is given at a time."""
    per_row = max(1, A.nnz // A.shape[0]) + r
    return max(1, WORK // (per_row * r))


def _unsigned(indices: Array) -> Array:
    """Return the indices without a sign, so that no kernel has to ask if one is below zero."""
    return indices.view(f"u{indices.itemsize}")
