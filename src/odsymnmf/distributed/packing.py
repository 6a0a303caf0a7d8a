"""Rows of H as they travel: most of their entries are zero, and of these only a bit is sent."""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array


class Packed(NamedTuple):
    """Rows of numbers, to the bit, in one or more pieces.

    Attributes
    ----------
    mask : ndarray of uint8
        A bit for each number, the lowest first: whether it is not zero. A piece begins a new byte.
    values : ndarray of unsigned integers
        The bits of the numbers that are not zero; after those of each piece, one that is.
    """

    mask: Array
    values: Array


def room_for(numbers: int, dtype: Any, pieces: int = 1) -> Packed:
    """Return room for so many numbers: workers of Dask pay dearly for new memory of that size."""
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return Packed(np.empty(numbers // 8 + pieces, np.uint8), np.empty(numbers + pieces, bits))


def packed(rows: Array, room: Packed | None = None) -> Packed:
    """Return rows as one piece, in a room if one is given; -0.0 and NaN are numbers like others."""
    numbers = _bits(np.ascontiguousarray(rows))
    mask, values = room or room_for(len(numbers), rows.dtype)
    mask = mask[: -(-len(numbers) // 8)]
    count = kernels.packing.squeeze(numbers, mask, values)
    return Packed(mask, values[: count + 1])


def together(pieces: list[Packed], room: Packed) -> Packed:
    """Return all pieces of several, in a room."""
    if not pieces:
        return Packed(room.mask[:0], room.values[:0])
    masks, values = zip(*pieces, strict=True)
    return Packed(
        np.concatenate(masks, out=room.mask[: sum(map(len, masks))]),
        np.concatenate(values, out=room.values[: sum(map(len, values))]),
    )


class Unpacking:
    """Packed rows that are taken out again, piece by piece."""

    def __init__(self, rows: Packed):
        self._mask, self._values = rows

    def into(self, rows: Array) -> None:
        """Fill an array of the size of the next piece."""
        numbers = _bits(rows)
        count = kernels.packing.spread(self._mask, self._values, numbers)
        self._mask = self._mask[-(-len(numbers) // 8) :]
        self._values = self._values[count + 1 :]


def put(rows: Packed, whole: Array, where: slice | Array) -> None:
    """Put packed rows, in one piece, into an array."""
    if isinstance(where, slice):
        Unpacking(rows).into(whole[where])
        return
    some = np.empty((len(where), *whole.shape[1:]), whole.dtype)
    Unpacking(rows).into(some)
    whole[where] = some


def _bits(rows: Array) -> Array:
    """Return the numbers of an array one after the other, as the integers of their bits."""
    assert rows.flags.c_contiguous
    return rows.view(f"u{rows.dtype.itemsize}").reshape(-1)
