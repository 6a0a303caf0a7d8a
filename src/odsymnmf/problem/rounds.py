"""Which items are worked on at once: rounds of items that lie far apart, cut into tiles.

Item k is in round k mod ROUNDS. A tile is a range of items; its share of a round is one piece of
work. Tiles depend on the problem alone, so that whoever does the work, the pieces and the order in
which their sums are added are the same.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.arrays import Array, blocks

ROUNDS = 16
# Multiply-adds of a piece of work: enough to be worth handing out, few enough to be shared evenly.
LEAST, MOST = 2**18, 2**22
# Rows of a piece, whatever they cost.
FEWEST, LARGEST = 16, 1024
# Pieces of a round: as many as that if they are worth it, and never more than this.
ENOUGH, TILES = 16, 256


class Round(NamedTuple):
    """Of n items, first, first + stride, ...: the stride is a power of two."""

    first: int
    stride: int
    n: int

    @property
    def size(self) -> int:
        """How many items there are."""
        return len(range(self.first, self.n, self.stride))

    @property
    def all(self) -> slice:
        """Where the items are."""
        return slice(self.first, self.n, self.stride)

    @property
    def lattice(self) -> Any:
        """The round as kernels take it."""
        from odsymnmf.kernels.rounds import Lattice

        return Lattice(self.first, self.stride - 1, self.stride.bit_length() - 1)

    @property
    def members(self) -> Array:
        """The items."""
        return np.arange(self.first, self.n, self.stride)

    def shares(self, tiles: list[slice]) -> "list[Share]":
        """Return the share of every tile that has one."""
        shares = [self._share(tile) for tile in tiles]
        return [share for share in shares if len(share.items)]

    def _share(self, tile: slice) -> "Share":
        ends = (-((self.first - end) // self.stride) for end in (tile.start, tile.stop))
        places = slice(*(max(0, end) for end in ends))
        where = slice(self.first + self.stride * places.start, tile.stop, self.stride)
        items = self.first + self.stride * np.arange(places.start, places.stop)
        return Share(tile.start, places, where, items)

    def halves(self) -> "list[Round]":
        """Return every other item, and the rest."""
        firsts = (self.first, self.first + self.stride)
        return [Round(first, 2 * self.stride, self.n) for first in firsts if first < self.n]


class Share(NamedTuple):
    """The items of a round that are in a tile: where that begins, and three ways to say which."""

    start: int
    # In the round, and among all items.
    places: slice
    where: slice
    items: Array

    @property
    def numbers(self) -> Array:
        """The places in the round."""
        return np.arange(self.places.start, self.places.stop)


def rounds(n: int) -> list[Round]:
    """Deal n items into rounds."""
    return [Round(first, ROUNDS, n) for first in range(min(n, ROUNDS))]


def tiles(n: int, r: int, entries: int, largest: int | None = None) -> list[slice]:
    """Cut n items into tiles, given how many entries of A or X a row takes.

    Each piece has an r x r sum of its own: with r / 2 rows to a piece, all of them together are
    no larger than an eighth of H.
    """
    work = (entries + r) * r
    rows = max(n // (ROUNDS * ENOUGH), LEAST // work, FEWEST)
    rows = min(rows, max(MOST // work, FEWEST), LARGEST if largest is None else largest)
    rows = max(rows, r // 2, -(-n // (ROUNDS * TILES)))
    return list(blocks(n, ROUNDS * rows))


class Moves(NamedTuple):
    """A round that might be put in place: H as it is, the new rows, and which of them differ."""

    round: Round
    H: Array
    New: Array
    moved: Array

    @property
    def steps(self) -> Array:
        """d = new - old, in double precision."""
        return np.subtract(self.New, self.H[self.round.all], dtype=np.float64)


Task = Callable[[], Any]
