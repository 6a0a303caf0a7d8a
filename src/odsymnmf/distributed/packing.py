"""Rows of H as they travel: most of their entries are zero, and of these only a bit is sent."""

from typing import NamedTuple

import numpy as np

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


def packed(rows: Array) -> Packed:
    """Return rows as one piece; -0.0 and NaN are numbers like others."""
    from odsymnmf.kernels.packing import squeeze

    numbers = _bits(np.ascontiguousarray(rows))
    mask = np.empty(-(-len(numbers) // 8), np.uint8)
    values = np.empty(len(numbers) + 1, numbers.dtype)
    count = squeeze(numbers, mask, values)
    return Packed(mask, values[: count + 1])


def together(pieces: list[Packed]) -> Packed:
    """Return all pieces of several."""
    if not pieces:
        return Packed(np.empty(0, np.uint8), np.empty(0, np.uint64))
    masks, values = zip(*pieces, strict=True)
    return Packed(np.concatenate(masks), np.concatenate(values))


class Unpacking:
    """Packed rows that are taken out again, piece by piece."""

    def __init__(self, rows: Packed):
        self._mask, self._values = rows

    def into(self, rows: Array) -> None:
        """Fill an array of the size of the next piece."""
        from odsymnmf.kernels.packing import spread

        numbers = _bits(rows)
        count = spread(self._mask, self._values, numbers)
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
