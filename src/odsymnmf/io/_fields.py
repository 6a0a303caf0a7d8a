"""Columns of a text file, parsed by NumPy as a whole: no Python object per field.

The file is kept as bytes; a field is a pair of positions in them. Numbers are handed to NumPy's
own parser, names are hashed eight bytes at a time. `odsymnmf.io._lines` makes the bytes regular.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from odsymnmf.io._items import Array, InputError, bad, quoted
from odsymnmf.io._numbers import FIRST, decimals, digits, number, parse

# Fields that are worked on together: few enough for the cache.
BLOCK = 2**16
LONGEST_NAME = 1000
REMEDY = "give a number there, or leave the column out"
# 64-bit odd constants, from the digits of the golden ratio and of pi.
FACTORS = (0x9E3779B97F4A7C15, 0x243F6A8885A308D3)


@dataclass(frozen=True)
class Fields:
    """Rows x columns of fields: field (i, j) is data[starts[i, j] : ends[i, j]]."""

    path: Path
    data: bytes
    starts: Array
    ends: Array
    lines: Sequence[int]
    # The first row had one field less, and an empty one was put before it (as R writes tables).
    corner_added: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.starts.shape[0], self.starts.shape[1]

    def text(self, i: int, j: int) -> str:
        return self.data[self.starts[i, j] : self.ends[i, j]].decode()

    def row(self, i: int) -> list[str]:
        return [self.text(i, j) for j in range(self.shape[1])]

    def column(self, j: int, first: int = 0) -> list[str]:
        return [self.text(i, j) for i in range(first, self.shape[0])]

    def error(self, row: int, problem: str) -> InputError:
        return bad(self.path, problem, line=self.lines[row])

    @cached_property
    def _bytes(self) -> Array:
        return np.frombuffer(self.data, dtype=np.uint8)

    def _words(self, starts: Array) -> Array:
        """Return the eight bytes from each start on, as numbers; zeros follow the last byte."""
        last = max(len(self.data) - 8, 0)
        buffer = self.data.ljust(8, b"\0")
        words: Array = np.ndarray(last + 1, dtype="<u8", buffer=buffer, strides=(1,))
        if starts.max() <= last:
            return words[starts]
        inside = np.minimum(starts, last)
        return words[inside] >> (8 * (starts - inside)).astype(np.uint64)

    def _pieces(self, first: int, columns: slice) -> Iterator[tuple[Array, Array]]:
        """Yield where the fields of these columns begin and end, row by row, a block at a time."""
        starts, ends = self.starts[first:, columns], self.ends[first:, columns]
        for block in _blocks(*starts.shape):
            # Converted once, because NumPy converts other indices at every use.
            yield starts[block].astype(np.intp).ravel(), ends[block].astype(np.intp).ravel()

    # --- numbers -----------------------------------------------------------------------------

    def numbers(self, columns: slice, first: int = 0, remedy: str = REMEDY) -> Array:
        """Return the columns as floats, from row ``first`` on; text is an error with its line."""
        values = np.empty(self.starts[first:, columns].shape)
        flat, done = values.ravel(), 0
        for starts, ends in self._pieces(first, columns):
            flat[done : done + len(starts)] = self._floats(starts, ends, remedy)
            done += len(starts)
        return values

    def _floats(self, starts: Array, ends: Array, remedy: str) -> Array:
        lengths = ends - starts
        parsed = decimals(self._words(starts), lengths) if lengths.max() <= 8 else None
        if parsed is None:
            joined, sound = self._joined(starts, ends)
            parsed = parse(joined, np.float64, len(starts)) if sound else None
        return np.array(self._slow_numbers(starts, ends, remedy)) if parsed is None else parsed

    def integers(self, columns: slice, first: int = 0) -> Array | None:
        """Return the columns as integers; None where a field is not one, or begins with 0."""
        pieces = []
        for piece in self._pieces(first, columns):
            parsed = self._integers(*piece)
            if parsed is None:
                return None
            pieces.append(parsed)
        return np.concatenate(pieces).reshape(self.starts[first:, columns].shape)

    def _integers(self, starts: Array, ends: Array) -> Array | None:
        words, lengths = self._words(starts), ends - starts
        longest = lengths.max()
        # An id such as 007 is a name, and one of 19 digits may not fit.
        is_padded = lengths[words.view(np.uint8)[::8] == ord("0")] > 1
        if is_padded.any() or longest > 18 or lengths.min() == 0:
            return None
        if longest <= 8:
            parsed = digits(words, lengths)
            if parsed is not None:
                return parsed
        joined, sound = self._joined(starts, ends)
        if not sound or joined.translate(None, b"0123456789- "):
            return None
        return parse(joined, np.int64, len(starts))

    def _joined(self, starts: Array, ends: Array) -> tuple[bytes, bool]:
        """Return the fields with one space after each, and whether none has spaces or is empty."""
        lengths = ends - starts + 1
        if np.array_equal(starts[1:], ends[:-1] + 1):
            joined = self._bytes[starts[0] : ends[-1] + 1].copy()
            joined[ends - starts[0]] = ord(" ")
        else:
            after = np.cumsum(lengths)
            places = np.arange(after[-1]) + np.repeat(starts - (after - lengths), lengths)
            joined = self._bytes[places]
            joined[after - 1] = ord(" ")
        sound = lengths.min() > 1 and np.count_nonzero(joined <= ord(" ")) == len(starts)
        return joined.tobytes(), bool(sound)

    def _slow_numbers(self, starts: Array, ends: Array, remedy: str) -> list[float]:
        """Parse field by field, to find the one that is not a number."""
        values = []
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            text = self.data[start:end].decode()
            value = number(text)
            if value is None:
                # Columns may stand in any order, so the first is not always where a row begins.
                row = int(np.searchsorted(self.starts.min(axis=1), start, side="right")) - 1
                is_comma = number(text.replace(",", ".")) is not None
                remedy = "write numbers with a decimal point" if is_comma else remedy
                raise self.error(row, f"{quoted(text)} is not a number; {remedy}")
            values.append(value)
        return values

    # --- names -------------------------------------------------------------------------------

    def codes(self, columns: slice, first: int = 0) -> tuple[Array, list[str]]:
        """Number the distinct texts of the columns, in order of appearance, and return them."""
        starts, ends = self.starts[first:, columns].ravel(), self.ends[first:, columns].ravel()
        lengths = ends - starts
        width = self.starts[:, columns].shape[1]
        for broken, what in ((lengths == 0, "no name"), (lengths > LONGEST_NAME, "a huge name")):
            if broken.any():
                row = first + int(broken.argmax()) // width
                raise self.error(row, f"{what} where one is needed; fill it in or drop the line")
        leaders = _leaders(self._keys(starts, lengths))
        if not self._same(starts, lengths, leaders):
            leaders = self._slow_leaders(starts, ends)
        leads = leaders == np.arange(len(leaders))
        codes = (np.cumsum(leads) - 1)[leaders]
        chosen = np.flatnonzero(leads)
        pairs = zip(starts[chosen].tolist(), ends[chosen].tolist(), strict=True)
        return codes.reshape(-1, width), [self.data[start:end].decode() for start, end in pairs]

    def _keys(self, starts: Array, lengths: Array) -> Array:
        """Return a 64-bit hash per field; up to 8 bytes, different texts have different ones."""
        keys = np.empty(len(starts), dtype=np.uint64)
        for block in _blocks(len(starts)):
            start, length = starts[block], lengths[block]
            rest = np.minimum(length, 8)
            key = _mixed(self._words(start) & FIRST[rest], FACTORS[0])
            longer = np.arange(len(start))
            for offset in range(8, int(length.max()), 8):
                longer = longer[length[longer] > offset]
                rest = np.minimum(length[longer] - offset, 8)
                word = self._words(start[longer] + offset) & FIRST[rest]
                key[longer] = _mixed(key[longer] ^ word, FACTORS[0])
            keys[block] = key
        return keys

    def _same(self, starts: Array, lengths: Array, leaders: Array) -> bool:
        """Whether every field equals its leader; up to 8 bytes, the hash has shown it."""
        for block in _blocks(len(starts)):
            start, length, lead = starts[block], lengths[block], starts[leaders[block]]
            if not np.array_equal(length, lengths[leaders[block]]):
                return False
            longer = np.flatnonzero(length > 8)
            for offset in range(0, int(length.max()) if len(longer) else 0, 8):
                longer = longer[length[longer] > offset]
                rest = np.minimum(length[longer] - offset, 8)
                own, other = (self._words(at[longer] + offset) for at in (start, lead))
                if ((own ^ other) & FIRST[rest]).any():
                    return False
        return True

    def _slow_leaders(self, starts: Array, ends: Array) -> Array:
        """For two names with one hash: made to collide, so let Python's own hash decide."""
        seen: dict[bytes, int] = {}
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        found = (seen.setdefault(self.data[s:e], i) for i, (s, e) in enumerate(pairs))
        return np.fromiter(found, dtype=np.int64, count=len(starts))


def _blocks(n: int, width: int = 1) -> Iterator[slice]:
    size = max(1, BLOCK // width)
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _mixed(keys: Array, factor: int) -> Array:
    keys = keys * np.uint64(factor)
    return keys ^ (keys >> np.uint64(32))


def _leaders(keys: Array) -> Array:
    """Return for each key the place where it occurs first.

    Keys are thrown into a table, the first in each slot stays. Keys that equal it are done; the
    others met another key, and are thrown again, elsewhere. The table is small, to stay in the
    cache, and grows while most keys meet others.
    """
    leaders = np.empty(len(keys), dtype=np.int64)
    waiting = np.arange(len(keys))
    bits, factor = 17, FACTORS[1]
    while len(waiting):
        table = np.full(2**bits, -1, dtype=np.int64)
        met = []
        for block in _blocks(len(waiting)):
            places = waiting[block]
            own = keys[places]
            slots = (_mixed(own, factor) >> np.uint64(64 - bits)).astype(np.int64)
            free = table[slots] < 0
            # Backwards, because of several writers to one slot the last is kept.
            table[slots[free][::-1]] = places[free][::-1]
            first = table[slots]
            done = keys[first] == own
            leaders[places[done]] = first[done]
            met.append(places[~done])
        bits += 2 * (2 * sum(map(len, met)) > len(waiting))
        waiting = np.concatenate(met)
        factor = (factor * FACTORS[0] | 1) % 2**64
    return leaders
