"""The part of a problem that a member holds: some rows of A, behind the protocol of all of it.

Kernels ask for rows by the numbers of the items, so a part has places for all n of them, and
nothing in those that are another member's.
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.problem import Dense, Sparse, weighted_product
from odsymnmf.problem.blocking import cleared
from odsymnmf.problem.closed_forms import pairwise_errors
from odsymnmf.problem.weights import ORDINARY, Weights

# Rows of a full matrix that are multiplied at a time.
ROWS = 512


class Problem(NamedTuple):
    """What all members know of the problem.

    Attributes
    ----------
    n, m : int
        Items, and features (0: similarities are given).
    dtype : dtype
    tiles : list of slice
        The pieces that the items are cut into.
    sparse, unknown : bool
        Whether A or X is sparse, and whether any pair is unknown.
    """

    n: int
    m: int
    dtype: Any
    tiles: list[slice]
    sparse: bool
    unknown: bool


class Piece(NamedTuple):
    """The rows of one tile.

    Attributes
    ----------
    start : int
        The first of its items.
    matrix : csr_array or ndarray
        Their rows of A, without unknown pairs; of a sparse A also without the diagonal. Or of X.
    unknown : csr_array or None
        Which pairs are unknown.
    """

    start: int
    matrix: Any
    unknown: Any = None


def items_of(tiles: list[slice], owners: Array, rank: int) -> slice | Array:
    """Return the items of a member's tiles; as a slice where they follow each other."""
    own = np.flatnonzero(owners == rank).tolist()
    if own and own[-1] - own[0] == len(own) - 1:
        return slice(tiles[own[0]].start, tiles[own[-1]].stop)
    ranges = [np.arange(tiles[t].start, tiles[t].stop) for t in own]
    return np.concatenate([np.empty(0, np.intp), *ranges])


def digest_of(piece: Piece) -> str:
    """Return the SHA-256 of a piece."""
    digest = hashlib.sha256()
    for matrix in (piece.matrix, piece.unknown):
        if matrix is None:
            continue
        parts: tuple[Any, ...] = (matrix,)
        if not isinstance(matrix, np.ndarray):
            parts = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data
        for part in parts:
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    return digest.hexdigest()


def part_of(problem: Problem, pieces: list[Piece], diagonal: Array) -> "SparsePart | DensePart":
    """Return the problem as far as it is in these pieces, in the order of the items."""
    n, weights = problem.n, ORDINARY
    if problem.unknown:  # others may have some where there are none here
        unknown = [Piece(p.start, p.unknown) for p in pieces if p.unknown is not None]
        pattern = stacked(unknown, n, n, np.dtype(np.float64))
        pattern.data[:] = -1.0
        weights = Weights(1.0, pattern, np.zeros(pattern.nnz))
    if problem.sparse:
        return SparsePart(stacked(pieces, n, n, problem.dtype), diagonal, weights)
    held: Any = HeldRows(n, n, problem.dtype, pieces)
    held.diagonal = diagonal
    return DensePart(held, weights)


def stacked(pieces: list[Piece], n: int, m: int, dtype: Any) -> Any:
    """Return an n x m CSR array with the rows of the pieces, all others empty."""
    counts = np.zeros(n + 1, dtype=np.int64)
    for piece in pieces:
        rows = piece.matrix.shape[0]
        counts[piece.start + 1 : piece.start + 1 + rows] = np.diff(piece.matrix.indptr)
    indptr = np.cumsum(counts)
    index = np.int32 if max(n, m, int(indptr[-1])) < 2**31 else np.int64
    data, indices = np.empty(indptr[-1], dtype), np.empty(indptr[-1], index)
    for piece in pieces:
        place = slice(indptr[piece.start], indptr[piece.start + piece.matrix.shape[0]])
        data[place], indices[place] = piece.matrix.data, piece.matrix.indices
    made = sparse.csr_array((data, indices, indptr.astype(index)), shape=(n, m))
    made.has_canonical_format = True
    return made


def rows_together(problem: Problem, pieces: list[Piece]) -> Any:
    """Return the rows of the pieces by the numbers of their items."""
    n, m, dtype = problem[:3]
    return stacked(pieces, n, m, dtype) if problem.sparse else HeldRows(n, m, dtype, pieces)


def columns_together(problem: Problem, pieces: list[Piece]) -> Any:
    """Return some columns of all items; those of a full matrix lie together."""
    if problem.sparse:
        return stacked(pieces, *problem[:3])
    if not pieces:
        return np.empty((problem.n, 0), problem.dtype)
    return np.concatenate([piece.matrix for piece in pieces])


def views(A: Any, pieces: list[Piece]) -> list[Piece]:
    """Return the same pieces as views of what was made of them: their own arrays can go."""
    held: Any = A.A
    found = []
    for start, matrix, unknown in pieces:
        rows = matrix.shape[0]
        if isinstance(held, HeldRows):
            first = int(held.place[start])
            view: Any = held.rows[first : first + rows]
        else:
            ends = held.indptr[start : start + rows + 1]
            some = slice(int(ends[0]), int(ends[-1]))
            parts = held.data[some], held.indices[some], ends - ends[0]
            view = sparse.csr_array(parts, shape=matrix.shape)
        found.append(Piece(start, view, unknown))
    return found


class HeldRows:
    """Some rows of a full matrix, to be asked for by the numbers of the items."""

    def __init__(self, n: int, m: int, dtype: Any, pieces: list[Piece]):
        self.shape, self.dtype, self.diagonal = (n, m), dtype, np.empty(0)
        self.rows = np.concatenate([np.empty((0, m), dtype), *(p.matrix for p in pieces)])
        self.tiles = [slice(p.start, p.start + len(p.matrix)) for p in pieces]
        self.place = np.full(n, -1, dtype=np.intp)
        items = [np.arange(p.start, p.start + len(p.matrix)) for p in pieces]
        self.place[np.concatenate([np.empty(0, np.intp), *items])] = np.arange(len(self.rows))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Array:
        if isinstance(key, tuple):
            rows, columns = key
            return self.rows[self.place[rows], columns]
        return self.rows[self.place[key]]


class SparsePart(Sparse):
    """Some rows of similarities of which most are zero."""

    def own_product(self, items: Array, V: Array) -> Array:
        """Return the rows of w A V of the items that are here."""
        return weighted_product(self, V)[items]

    def square_parts(self, items: Array, H: Array) -> list[Array]:
        """Return what the items add to sum (A_ij - h_i . h_j)^2, in parts to be summed first."""
        return list(self.stored_squares(items, H))


class DensePart(Dense):
    """Some rows of similarities stored in full."""

    def own_product(self, items: Array, V: Array) -> Array:
        """Return the rows of w A V of the items that are here."""
        held: Any = self.A
        short = [
            np.arange(start, min(start + ROWS, tile.stop))
            for tile in held.tiles
            for start in range(tile.start, tile.stop, ROWS)
        ]
        pieces = [cleared(held[some], some) @ V for some in short]
        product = np.concatenate([np.empty((0, *V.shape[1:]), V.dtype), *pieces])
        if self.weights.pattern is not None:
            product += self.weights.correction[items] @ V
        return product

    def square_parts(self, items: Array, H: Array) -> list[Array]:
        """Return what the items add to sum (A_ij - h_i . h_j)^2, pair by pair."""
        return [pairwise_errors(self, items, H)]

    @property
    def diagonal(self) -> Array:
        held: Any = self.A
        return held.diagonal
