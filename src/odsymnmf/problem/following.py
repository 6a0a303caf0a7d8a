"""Products with H that follow its changes, row by row: one class for each way that A is kept.

``blocks(items, H)`` yields some of the items after another with the source that kernels gather
g = sum_{j != k} A_kj h_j from; what must learn of the changes, does so before the next block.

In a round, H stays until it ends: ``source(items, H)`` is what g comes from, ``meetings`` are tasks
whose sum is that of A_ij d_i . d_j over the pairs inside the round, and ``put`` are those that then
let the products learn of it. Tasks may run side by side.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.blas import share
from odsymnmf.problem.rounds import Moves, Round, Share, Task

# No block whose items tell each other of changes: in a round they do not.
NO_SQUARE = np.zeros((0, 0))
# Rows of a dense block: enough for BLAS, few enough that corrections inside it stay cheap.
BLOCK = 128
# Rows, or features, of the pieces of a large product.
PIECE = 32
# Words, and features of a full X, whose sums are one task.
WORDS, FEATURES = 2**11, 64
# Multiply-adds between two looks at the clock: short enough for Ctrl-C to be heard.
WORK = 2**26


class Neighbouring:
    """Of a sparse A: g is gathered from the rows of H themselves, so there is nothing to follow."""

    def __init__(self, A: Any, rows_inside: Callable[[Round, Share], Any]):
        self.A, self.rows_inside = A, rows_inside

    @cached_property
    def _neighbours(self) -> Any:
        from odsymnmf.kernels.sources import Neighbours

        return Neighbours(self.A.indptr, _unsigned(self.A.indices), self.A.data)

    @property
    def entries(self) -> int:
        """How many entries of A a row takes."""
        return int(self.A.nnz // self.A.shape[0])

    def source(self, items: Array, H: Array) -> Any:
        return self._neighbours

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        source = self.source(items, H)
        for b in blocks(len(items), _rows_at_once(self.A, H.shape[1])):
            yield items[b], source

    def meetings(self, moves: Moves, shares: list[Share]) -> list[Task]:
        return [partial(self._meeting, moves, share) for share in shares]

    def _meeting(self, moves: Moves, share: Share) -> float:
        from odsymnmf.kernels.rounds import stored_products

        rows = self.rows_inside(moves.round, share)
        return float(stored_products(share.items, rows, moves.round.lattice, *moves[1:]))

    def put(self) -> list[Task]:
        return []

    def shared(self) -> Any:
        """Return None: nobody else makes any of it."""

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

    @property
    def entries(self) -> int:
        """How many entries of A a row takes."""
        return len(self.A)

    def source(self, items: Array, H: Array) -> Any:
        from odsymnmf.kernels.sources import Block

        G = block_product(self.A, H, items, NO_SQUARE)
        return Block(G, NO_SQUARE, np.zeros_like(G))

    def meetings(self, moves: Moves, shares: list[Share]) -> list[Task]:
        steps = moves.steps
        return [partial(self._met, moves.round, steps, share) for share in shares]

    def _met(self, round: Round, steps: Array, share: Share) -> float:
        S = self.A[np.ix_(share.items, round.members)].astype(np.float64)
        S[np.arange(len(S)), share.numbers] = 0
        return float(np.einsum("ij,ij->", steps[share.places], S @ steps))

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Block

        for b in blocks(len(items), BLOCK):
            some = as_slice(items[b])
            S = square(self.A, some)
            G = joined(share(len(S), PIECE, partial(block_product, self.A, H, some, S)))
            yield items[b], Block(G, S, np.abs(G))


class FeatureSums:
    """Of A = X X^T, X sparse: Z = X^T H, updated by the kernel with every row."""

    def __init__(self, X: Any, norms: Array, H: Array):
        self.X, self.norms = X, norms
        self.Z: Array = self._sums(X, H.astype(np.float64, copy=False))
        # Of each round: its words, and for each the items that have it. What waits to be put.
        self._words: dict[Round, tuple[Array, Any]] = {}
        self._staged: list[Any] = []

    @staticmethod
    def _sums(X: Any, H: Array) -> Array:
        """Return X^T H, item after item for each word."""
        return np.ascontiguousarray(sum(X[b].T @ H[b] for b in blocks(len(H), 2**15)))

    @property
    def held(self) -> Any:
        """X, as far as its changes are made here."""
        return self.X

    @property
    def entries(self) -> int:
        """How many entries of X a row takes."""
        return int(self.X.nnz // self.X.shape[0])

    def source(self, items: Array, H: Array) -> Any:
        from odsymnmf.kernels.sources import Features

        X = self.X
        return Features(X.indptr, _unsigned(X.indices), X.data, self.Z, self.norms)

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        source = self.source(items, H)
        for b in blocks(len(items), _rows_at_once(self.X, H.shape[1])):
            yield items[b], source

    def meetings(self, moves: Moves, shares: list[Share]) -> list[Task]:
        words, columns = self._words_of(moves.round)
        # Ranges of all words, whether a round has them or not: a range may be another machine's.
        cuts = np.searchsorted(words, [*range(0, self.X.shape[1], WORDS), self.X.shape[1]])
        some = [slice(*ends) for ends in pairwise(cuts.tolist())]
        self._staged, steps = [None] * len(some), moves.steps
        return [
            partial(self._met, p, words[b], columns.indptr[b.start : b.stop + 1], columns, steps)
            for p, b in enumerate(some)
        ]

    def _words_of(self, round: Round) -> tuple[Array, Any]:
        if round in self._words:
            return self._words[round]
        columns = self.held[round.members].T.tocsr()
        words = np.flatnonzero(np.diff(columns.indptr))
        found = words, columns[words]
        if round.is_whole:  # parts of rounds are seldom asked for
            self._words[round] = found
        return found

    def _met(self, piece: int, words: Array, indptr: Array, columns: Any, steps: Array) -> float:
        from odsymnmf.kernels.rounds import feature_changes

        r = steps.shape[1]
        Z_new = np.empty((len(words), r))
        self._staged[piece] = words, Z_new
        indices, data = _unsigned(columns.indices), columns.data
        room = np.empty(r), np.empty(r)
        return float(feature_changes(words, indptr, indices, data, steps, self.Z, Z_new, *room))

    def put(self) -> list[Task]:
        return [partial(self.Z.__setitem__, *staged) for staged in self._staged if staged]

    def shared(self) -> Any:
        """Return None: nobody else makes any of it."""

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

    @staticmethod
    def _sums(X: Any, H: Array) -> Array:
        """Return X^T H, so many features at a time as make one task."""
        pieces = [FeatureSums._sums(X[:, f], H) for f in blocks(X.shape[1], FEATURES)]
        return np.concatenate(pieces)

    @property
    def entries(self) -> int:
        """How many entries of X a row takes."""
        return int(self.X.shape[1])

    def source(self, items: Array, H: Array) -> Any:
        from odsymnmf.kernels.sources import Block

        G = self.X[items].astype(np.float64, copy=False) @ self.Z
        G -= self.norms[items, None] * H[items]
        return Block(G, NO_SQUARE, np.zeros_like(G))

    def meetings(self, moves: Moves, shares: list[Share]) -> list[Task]:
        some = list(blocks(self.X.shape[1], FEATURES))
        self._staged, steps = [None] * len(some), moves.steps
        members = moves.round.members
        X = self.X[members]
        return [
            partial(self._own, self.norms[members], steps),
            *(partial(self._change, p, b, X[:, b], steps) for p, b in enumerate(some)),
        ]

    def _own(self, norms: Array, steps: Array) -> float:
        """What the terms i = i add to |X^T d|^2."""
        return -float(np.einsum("i,ij,ij->", norms, steps, steps))

    def _change(self, piece: int, features: slice, X: Array, steps: Array) -> float:
        change = X.T.astype(np.float64, copy=False) @ steps
        self._staged[piece] = features, self.Z[features] + change
        return float(np.einsum("ij,ij->", change, change))

    def blocks(self, items: Array, H: Array) -> Iterator[tuple[Array, Any]]:
        from odsymnmf.kernels.sources import Block

        for b in blocks(len(items), BLOCK):
            some = as_slice(items[b])
            X, before = self.X[some].astype(np.float64, copy=False), H[some].copy()
            S = X @ X.T
            np.fill_diagonal(S, 0)
            G = joined(share(len(X), PIECE, partial(self._product, X)))
            G -= self.norms[some, None] * before
            yield items[b], Block(G, S, np.abs(G))
            steps = np.subtract(H[some], before, dtype=np.float64)
            share(X.shape[1], PIECE, partial(self._learn, X, steps))

    def _product(self, X: Array, rows: slice) -> Array:
        return np.asarray(X[rows] @ self.Z)

    def _learn(self, X: Array, steps: Array, features: slice) -> None:
        self.Z[features] += X[:, features].T @ steps


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


def joined(pieces: list[Array]) -> Array:
    """Return the pieces below each other; one alone is not copied."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _rows_at_once(A: Any, r: int) -> int:
    """Return how many rows of a CSR array a kernel is given at a time."""
    per_row = max(1, A.nnz // A.shape[0]) + r
    return max(1, WORK // (per_row * r))


def _unsigned(indices: Array) -> Array:
    """Return the indices without a sign, so that no kernel has to ask if one is below zero."""
    return indices.view(f"u{indices.itemsize}")
