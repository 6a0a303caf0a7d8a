"""Sources of g_k = sum_{j != k} A_kj h_j for each storage of A, kept up to date with H.

A source is the named tuple from which a kernel computes g (`odsymnmf.kernels.sources`). In a sweep,
``blocks(items, H)`` yields blocks of the items with their source, and updates the products for the
changed rows of H before the next block. In a round, ``source(items, H)`` is the source for a fixed
H. ``corrections`` returns tasks, which may run in parallel; each returns a part of the sum of
A_ij d_i . d_j over the pairs of the round, and new products or None. ``apply_tasks`` returns tasks
that store these products.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.similarity.base import clear_diagonal
from odsymnmf.utils import Array, blocks

Task = Callable[[], Any]

# Rows of a dense block: a compromise between BLAS and the corrections inside a block.
BLOCK_ROWS = 128
# Number of features per task, for a sparse and for a dense X.
N_SPARSE, N_DENSE = 2**11, 64
# Multiply-adds per call of a kernel: Ctrl-C is handled between calls.
CALL_WORK = 2**26
# Types of indices for kernels: Numba then omits the test for negative indices.
UNSIGNED = {np.dtype(np.int32): np.uint32, np.dtype(np.int64): np.uint64}


class CsrProducts:
    """For a sparse A: g is the sum over the neighbors; no products are stored."""

    # On a cluster: the rank of the worker for each of the tasks of `corrections`.
    task_owners: Array | None = None

    def __init__(self, A: Any):
        from odsymnmf.kernels.sources import Neighbors

        self.A = A
        # Mean number of entries in a row.
        self.entries = A.nnz // A.shape[0] if sparse.issparse(A) else A.shape[1]
        if sparse.issparse(A):
            self._source: Any = Neighbors(
                A.indptr, A.indices.view(UNSIGNED[A.indices.dtype]), A.data
            )

    def source(self, items: Array, H: Array) -> Any:
        return self._source

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        r = H.shape[1]
        for b in blocks(len(items), max(1, CALL_WORK // ((max(1, self.entries) + r) * r))):
            yield items[b], self._source

    def corrections(self, round: Any, H: Array, rows: Array) -> list[Task] | None:
        """Return tasks for the sum of A_ij d_i . d_j; None: stored pairs are visited one by one."""
        return None

    def apply_tasks(self, updates: list[Any]) -> list[Task]:
        return []

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Update for a new column j of H; its nonzeros are among the items."""

    def save(self, items: Array) -> Any:
        """Return the products that depend on the rows of the items, for `restore`."""

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""

    def state(self) -> dict[str, Array]:
        """Return the stored products by name, for a checkpoint."""
        return {}


class DenseProducts(CsrProducts):
    """For a dense A: blocks of G = A @ H by BLAS; the kernel updates G within a block."""

    def source(self, items: Array, H: Array) -> Any:
        from odsymnmf.kernels.sources import Block

        G = clear_diagonal(self.A[items], items) @ H
        return Block(G, np.zeros((0, 0), dtype=self.A.dtype), np.zeros_like(G))

    def corrections(self, round: Any, H: Array, rows: Array) -> list[Task]:
        steps = np.subtract(rows, H[round.items], dtype=np.float64)
        return [partial(self._correction, round.items, piece, steps) for piece in round.pieces]

    def _correction(self, items: Array, piece: slice, steps: Array) -> tuple[float, None]:
        S = self.A[np.ix_(items[piece], items)].astype(np.float64)
        S[np.arange(len(S)), np.arange(piece.start, piece.stop)] = 0
        return float(np.einsum("ij,ij->", steps[piece], S @ steps)), None

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Block

        for b in blocks(len(items), BLOCK_ROWS):
            G, S = block_product(self.A, H, items[b])
            yield items[b], Block(G, S, np.abs(G))


class GramProducts(CsrProducts):
    """For A = X X^T with a sparse X: Z = X^T H, updated by the kernel with every row.

    On a cluster, X has the rows of the items of this worker, and ``columns`` are the features, from
    ``first_feature`` on, whose rows of Z this worker updates.
    """

    def __init__(self, X: Any, norms: Array, Z: Array, columns: Any = None, first_feature: int = 0):
        self.X, self.norms, self.Z, self.first_feature = X, norms, Z, first_feature
        self.columns = X if columns is None else columns
        super().__init__(self.columns)
        if sparse.issparse(X):
            from odsymnmf.kernels.sources import Features

            indices = X.indices.view(UNSIGNED[X.indices.dtype])
            self._source = Features(X.indptr, indices, X.data, Z, norms)

    def corrections(self, round: Any, H: Array, rows: Array) -> list[Task]:
        steps = np.subtract(rows, H[round.items], dtype=np.float64)
        if "features" not in round.cache:
            columns = self.columns[round.items].T.tocsr()
            features = np.flatnonzero(np.diff(columns.indptr))
            round.cache["features"] = features + self.first_feature, columns[features]
        features, columns = round.cache["features"]
        # Cut into ranges of all features, so that a range has the same worker in every round.
        cuts = np.searchsorted(features, [*range(0, self.X.shape[1], N_SPARSE), self.X.shape[1]])
        return [
            partial(self._change, features[a:b], columns.indptr[a : b + 1], columns, steps)
            for a, b in pairwise(cuts.tolist())
        ]

    def _change(self, features: Array, indptr: Array, columns: Any, steps: Array) -> Any:
        from odsymnmf.kernels.rounds import feature_changes

        r = steps.shape[1]
        Z_new = np.empty((len(features), r))
        indices = columns.indices.view(UNSIGNED[columns.indices.dtype])
        args = features, indptr, indices, columns.data, steps, self.Z, Z_new
        return float(feature_changes(*args, np.empty(r), np.empty(r))), (features, Z_new)

    def apply_tasks(self, updates: list[Any]) -> list[Task]:
        return [partial(self.Z.__setitem__, *update) for update in updates]

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        self.Z[:, j] = self.X[items].T @ H[items, j].astype(np.float64)

    def save(self, items: Array) -> Any:
        X = self.X[items]
        features = np.unique(X.indices) if sparse.issparse(X) else slice(None)
        return features, self.Z[features].copy()

    def restore(self, saved: Any) -> None:
        features, Z = saved
        self.Z[features] = Z

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z}


class DenseGramProducts(GramProducts):
    """For A = X X^T with a dense X: blocks of G by BLAS; Z is updated after each block."""

    def source(self, items: Array, H: Array) -> Any:
        from odsymnmf.kernels.sources import Block

        G = self.X[items].astype(np.float64, copy=False) @ self.Z
        G = (G - self.norms[items, None] * H[items]).astype(H.dtype, copy=False)
        return Block(G, np.zeros((0, 0), dtype=H.dtype), np.zeros_like(G))

    def corrections(self, round: Any, H: Array, rows: Array) -> list[Task]:
        X, norms = self.columns[round.items], self.norms[round.items]
        steps = np.subtract(rows, H[round.items], dtype=np.float64)
        features = blocks(len(self.Z), N_DENSE)
        return [
            partial(self._diagonal_terms, norms, steps),
            *(partial(self._feature_change, f, X, steps) for f in features),
        ]

    def _diagonal_terms(self, norms: Array, steps: Array) -> tuple[float, None]:
        """Return minus the terms i = i of |X^T d|^2."""
        return -float(np.einsum("i,ij,ij->", norms, steps, steps)), None

    def _feature_change(self, features: slice, X: Array, steps: Array) -> Any:
        first = self.first_feature
        X = X[:, features.start - first : features.stop - first]
        change = X.T.astype(np.float64, copy=False) @ steps
        return float(np.einsum("ij,ij->", change, change)), (features, self.Z[features] + change)

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Block

        for b in blocks(len(items), BLOCK_ROWS):
            rows = as_slice(items[b])
            X, before = self.X[rows].astype(np.float64, copy=False), H[rows].copy()
            S = (X @ X.T).astype(H.dtype, copy=False)
            np.fill_diagonal(S, 0)
            G = (X @ self.Z - self.norms[rows, None] * before).astype(H.dtype, copy=False)
            yield items[b], Block(G, S, np.abs(G))
            self.Z += X.T @ np.subtract(H[rows], before, dtype=np.float64)


def feature_sums(X: Any, H: Array) -> Array:
    """Return X^T H. Sums over the items are in their order, so that the result is reproducible."""
    H = H.astype(np.float64, copy=False)
    parts = [X] if sparse.issparse(X) else [X[:, f] for f in blocks(max(1, X.shape[1]), N_DENSE)]
    sums = [sum(Y[b].T @ H[b] for b in blocks(len(H), 2**15)) for Y in parts]
    return np.ascontiguousarray(sums[0]) if len(sums) == 1 else np.concatenate(sums)


def as_slice(items: Array) -> slice | Array:
    """Return the items as a slice if they are consecutive."""
    if items[-1] - items[0] == len(items) - 1:
        return slice(int(items[0]), int(items[-1]) + 1)
    return items


def block_product(A: Array, V: Array, items: Array) -> tuple[Array, Array]:
    """Return (A @ V)[items] and A[items][:, items], without the diagonal of A.

    For consecutive items, the columns of A left and right of the diagonal block are not copied.
    """
    first, stop = int(items[0]), int(items[-1]) + 1
    if stop - first != len(items):
        rows = clear_diagonal(A[items], items)
        return rows @ V, np.ascontiguousarray(rows[:, items])
    rows = A[first:stop]
    S = rows[:, first:stop].copy()
    np.fill_diagonal(S, 0)
    G = S @ V[first:stop]
    G += rows[:, :first] @ V[:first]
    G += rows[:, stop:] @ V[stop:]
    return G, S
