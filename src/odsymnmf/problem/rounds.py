"""Which items are worked on at once: rounds of items that lie far apart, cut into tiles.

Item k is in round k mod ROUNDS. Of many items, a few neighbours go together: rows that follow each
other in memory are fetched sooner, and a group of items is still spread over the rounds. A tile is
a range of items; its share of a round is one piece of work. Rounds and tiles depend on the problem
alone, so that whoever does the work, the pieces and the order in which their sums are added are the
same.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.arrays import Array, blocks

ROUNDS = 16
# So many neighbours go together from so many items on: powers of two.
TOGETHER, PAYS = 8, 2**14
# Multiply-adds of a piece of work: enough to be worth handing out, few enough to be shared evenly.
LEAST, MOST = 2**21, 2**22
# Rows of a piece, whatever they cost.
FEWEST, LARGEST = 16, 1024
# Pieces of a round: as many as that if they are worth it, and never more than this.
ENOUGH, TILES = 16, 256


class Round(NamedTuple):
    """Of n items, those k whose bits from low to high are the same as those of the first."""

    first: int
    low: int
    high: int
    n: int

    @property
    def size(self) -> int:
        """How many items there are."""
        return self._before(self.n)

    def _before(self, end: int) -> int:
        """Return how many items come before ``end``: runs of 2^low, one in every 2^high."""
        runs = end >> self.high
        begun = end - (runs << self.high) - self.first
        return (runs << self.low) + min(max(begun, 0), 1 << self.low)

    @property
    def is_whole(self) -> bool:
        """Whether it is none that was split."""
        return 1 << (self.high - self.low) == ROUNDS

    @property
    def lattice(self) -> Any:
        """The round as kernels take it."""
        from odsymnmf.kernels.rounds import Lattice

        mask = (1 << self.high) - (1 << self.low)
        return Lattice(self.first, mask, self.low, self.high)

    @property
    def members(self) -> Array:
        """The items."""
        return self._items(0, self.size)

    def _items(self, begin: int, end: int) -> Array:
        """Return the items at some places of the round."""
        places = np.arange(begin, end)
        run = places >> self.low
        return self.first + (run << self.high) + (places - (run << self.low))

    def shares(self, tiles: list[slice]) -> "list[Share]":
        """Return the share of every tile that has one."""
        shares = [self._share(tile) for tile in tiles]
        return [share for share in shares if len(share.items)]

    def _share(self, tile: slice) -> "Share":
        begin, end = self._before(tile.start), self._before(tile.stop)
        return Share(tile.start, slice(begin, end), self._items(begin, end))

    def halves(self) -> "list[Round]":
        """Return every other run of items and the rest; of one run, its halves."""
        low, high, bit = self.low, self.high + 1, self.high
        if self.first + (1 << bit) >= self.n:
            low = bit = min(low, (self.n - 1 - self.first).bit_length()) - 1
            high = self.high
        firsts = self.first, self.first + (1 << bit)
        return [Round(first, low, high, self.n) for first in firsts]


class Share(NamedTuple):
    """The items of a round that are in a tile: where that begins, their places in the round."""

    start: int
    places: slice
    items: Array

    @property
    def numbers(self) -> Array:
        """The places in the round."""
        return np.arange(self.places.start, self.places.stop)


def rounds(n: int, together: int | None = None) -> list[Round]:
    """Deal n items into rounds, so many neighbours at a time; by default, as many as pay."""
    if together is None:
        together = TOGETHER if n >= PAYS else 1
    low, high = together.bit_length() - 1, (together * ROUNDS).bit_length() - 1
    return [Round(first, low, high, n) for first in range(0, min(n, ROUNDS * together), together)]


def tiles(n: int, r: int, entries: int, largest: int | None = None, spared: int = 1) -> list[slice]:
    """Cut n items into tiles, given how many entries of A or X a row takes.

    One in ``spared`` of its multiply-adds is really made; no piece has more than ``largest`` rows.
    Each piece has an r x r sum of its own: with r / 2 rows to a piece, all of them together are
    no larger than an eighth of H.
    """
    work = max(1, (entries + r) * r // spared)
    rows = max(-(-n // (ROUNDS * ENOUGH)), LEAST // work, FEWEST)
    rows = min(rows, max(MOST // work, FEWEST), LARGEST if largest is None else largest)
    rows = max(rows, r // 2, -(-n // (ROUNDS * TILES)))
    pieces = -(-n // (ROUNDS * rows))
    return list(blocks(n, ROUNDS * -(-n // (ROUNDS * pieces))))  # all of one size


class Moves(NamedTuple):
    """A round that might be put in place: H as it is, the new rows, and which of them differ.

    Of l1, other rows than these are undefined.
    """

    round: Round
    H: Array
    New: Array
    moved: Array

    @property
    def steps(self) -> Array:
        """d = new - old, in double precision."""
        return np.subtract(self.New, self.H[self.round.members], dtype=np.float64)


Task = Callable[[], Any]
