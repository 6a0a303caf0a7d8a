"""Sources of g_k = sum_{j != k} A_kj h_j for each storage of A, kept up to date with H.

``blocks(items, H)`` yields some of the items with the source for their kernel; changes of H are
followed before the next block. In a round, ``source(items, H)`` is that for a fixed H,
``corrections(round, steps)`` are tasks that return parts of the sum of A_ij d_i . d_j over the
pairs of the round, with new products, and ``apply_tasks`` of these apply them. Tasks may run in
parallel.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.utils import Array, blocks

Task = Callable[[], Any]

# Rows of a dense block: enough for BLAS, few enough that corrections inside it stay cheap.
BLOCK = 128
# Features, of a sparse and of a dense X, whose sums are one task.
WORDS, FEATURES = 2**11, 64
# Multiply-adds of a call of a kernel: Ctrl-C is noticed between calls.
WORK = 2**26


class CsrProducts:
    """For a sparse A: g is gathered from the rows of H of the neighbors; nothing to update."""

    def __init__(self, A: Any):
        self.A = A

    @cached_property
    def _neighbors(self) -> Any:
        from odsymnmf.kernels.sources import Neighbours

        return Neighbours(self.A.indptr, _unsigned(self.A.indices), self.A.data)

    @property
    def entries(self) -> int:
        """Mean number of entries in a row of A."""
        return int(self.A.nnz // self.A.shape[0])

    def source(self, items: Array, H: Array) -> Any:
        return self._neighbors

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        source = self.source(items, H)
        for b in blocks(len(items), _rows_at_once(self.A, H.shape[1])):
            yield items[b], source

    def apply_tasks(self, found: list[Any]) -> list[Task]:
        return []

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Update for a new column j, nonzero on the items at most."""

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""

    def state(self) -> dict[str, Array]:
        """Return the arrays that are kept up to date, by name."""
        return {}


class DenseProducts(CsrProducts):
    """For a dense A: blocks of G = A @ H by BLAS, corrected for changes inside a block."""

    @property
    def entries(self) -> int:
        """Number of entries in a row of A."""
        return len(self.A)

    def source(self, items: Array, H: Array) -> Any:
        from odsymnmf.kernels.sources import Block

        none = np.zeros((0, 0), dtype=self.A.dtype)
        G = block_product(self.A, H, items, none)
        return Block(G, none, np.zeros_like(G))

    def corrections(self, round: Any, steps: Array) -> list[Task]:
        return [partial(self._correction, round.items, piece, steps) for piece in round.pieces]

    def _correction(self, items: Array, piece: slice, steps: Array) -> tuple[float, None]:
        S = self.A[np.ix_(items[piece], items)].astype(np.float64)
        S[np.arange(len(S)), np.arange(piece.start, piece.stop)] = 0
        return float(np.einsum("ij,ij->", steps[piece], S @ steps)), None

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Block

        for b in blocks(len(items), BLOCK):
            some = as_slice(items[b])
            S = square(self.A, some)
            G = block_product(self.A, H, some, S)
            yield items[b], Block(G, S, np.abs(G))


class GramProducts:
    """For A = X X^T with a sparse X: Z = X^T H, updated by the kernel with every row."""

    def __init__(self, X: Any, norms: Array, H: Array):
        self.X, self.norms = X, norms
        self.Z: Array = feature_sums(X, H)
        # For each round: its words, and for each word the positions of the items that have it.
        self._words: dict[tuple[int, int], tuple[Array, Any]] = {}

    @property
    def columns(self) -> Any:
        """The columns of X whose sums are updated here."""
        return self.X

    @property
    def entries(self) -> int:
        """Mean number of entries in a row of X."""
        return int(self.X.nnz // self.X.shape[0])

    def source(self, items: Array, H: Array) -> Any:
        from odsymnmf.kernels.sources import Features

        X = self.X
        return Features(X.indptr, _unsigned(X.indices), X.data, self.Z, self.norms)

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        source = self.source(items, H)
        for b in blocks(len(items), _rows_at_once(self.X, H.shape[1])):
            yield items[b], source

    def corrections(self, round: Any, steps: Array) -> list[Task]:
        words, columns = self._words_of(round.items)
        # Ranges of all words, whether the items have them or not: a range has one owner.
        cuts = np.searchsorted(words, [*range(0, self.X.shape[1], WORDS), self.X.shape[1]])
        return [
            partial(self._change, words[a:b], columns.indptr[a : b + 1], columns, steps)
            for a, b in pairwise(cuts.tolist())
        ]

    def _words_of(self, items: Array) -> tuple[Array, Any]:
        key = int(items[0]), len(items)
        if key not in self._words:
            columns = self.columns[items].T.tocsr()
            words = np.flatnonzero(np.diff(columns.indptr))
            self._words[key] = words, columns[words]
        return self._words[key]

    def _change(self, words: Array, indptr: Array, columns: Any, steps: Array) -> Any:
        from odsymnmf.kernels.rounds import feature_changes

        r = steps.shape[1]
        Z_new, indices = np.empty((len(words), r)), _unsigned(columns.indices)
        work = np.empty(r), np.empty(r)
        args = words, indptr, indices, columns.data, steps, self.Z, Z_new, *work
        return float(feature_changes(*args)), (words, Z_new)

    def apply_tasks(self, found: list[Any]) -> list[Task]:
        return [partial(self.Z.__setitem__, *part) for part in found]

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Update for a new column j, nonzero on the items at most."""
        self.Z[:, j] = self.X[items].T @ H[items, j].astype(np.float64)

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""
        X = self.X[items]
        words = np.unique(X.indices) if sparse.issparse(X) else slice(None)
        return words, self.Z[words].copy()

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        words, Z = saved
        self.Z[words] = Z

    def state(self) -> dict[str, Array]:
        """Return the arrays that are kept up to date, by name."""
        return {"Z": self.Z}


class DenseGramProducts(GramProducts):
    """For A = X X^T with a dense X: blocks of G by BLAS; Z is updated between them."""

    @property
    def entries(self) -> int:
        """Number of entries in a row of X."""
        return int(self.X.shape[1])

    def source(self, items: Array, H: Array) -> Any:
        from odsymnmf.kernels.sources import Block

        G = self.X[items].astype(np.float64, copy=False) @ self.Z
        G -= self.norms[items, None] * H[items]
        return Block(G, np.zeros((0, 0)), np.zeros_like(G))

    def corrections(self, round: Any, steps: Array) -> list[Task]:
        X = self.columns[round.items]
        return [
            partial(self._own, self.norms[round.items], steps),
            *(partial(self._feature_change, b, X[:, b], steps) for b in self._ranges()),
        ]

    def _ranges(self) -> list[slice]:
        return list(blocks(self.X.shape[1], FEATURES))

    def _own(self, norms: Array, steps: Array) -> tuple[float, None]:
        """Return minus the terms i = i of |X^T d|^2."""
        return -float(np.einsum("i,ij,ij->", norms, steps, steps)), None

    def _feature_change(self, features: slice, X: Array, steps: Array) -> Any:
        change = X.T.astype(np.float64, copy=False) @ steps
        return float(np.einsum("ij,ij->", change, change)), (features, self.Z[features] + change)

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Block

        for b in blocks(len(items), BLOCK):
            some = as_slice(items[b])
            X, before = self.X[some].astype(np.float64, copy=False), H[some].copy()
            S = X @ X.T
            np.fill_diagonal(S, 0)
            G = X @ self.Z
            G -= self.norms[some, None] * before
            yield items[b], Block(G, S, np.abs(G))
            steps = np.subtract(H[some], before, dtype=np.float64)
            self.Z += X.T @ steps


def feature_sums(X: Any, H: Array) -> Array:
    """Return X^T H, item after item; of a dense X, FEATURES columns at a time."""
    H = H.astype(np.float64, copy=False)
    parts = [X] if sparse.issparse(X) else [X[:, f] for f in blocks(X.shape[1], FEATURES)]
    sums = [sum(Y[b].T @ H[b] for b in blocks(len(H), 2**15)) for Y in parts]
    return np.ascontiguousarray(sums[0]) if len(sums) == 1 else np.concatenate(sums)


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


def block_product(
    A: Array, V: Array, some: slice | Array, S: Array, rows: slice = slice(None)
) -> Array:
    """Return (A @ V)[some][rows], the diagonal of A left out, given S, the own square of ``some``.

    The columns left and right of a block's own go to BLAS as they are; only the small square
    between them is a copy, with its diagonal cleared. Scattered rows are copied.
    """
    if not isinstance(some, slice):
        copy = A[some[rows]]
        copy[np.arange(len(copy)), some[rows]] = 0
        return copy @ V
    left, right, block = slice(0, some.start), slice(some.stop, None), A[some][rows]
    G: Array = S[rows] @ V[some]
    G += block[:, left] @ V[left]
    G += block[:, right] @ V[right]
    return G


def _rows_at_once(A: Any, r: int) -> int:
    """Return how many rows of a CSR array a kernel is given at a time."""
    per_row = max(1, A.nnz // A.shape[0]) + r
    return max(1, WORK // (per_row * r))


def _unsigned(indices: Array) -> Array:
    """Return the indices without a sign, so that no kernel tests for negative ones."""
    return indices.view(f"u{indices.itemsize}")
