"""Numbers in text, many at a time."""

import warnings

import numpy as np

from odsymnmf.io._items import Array

# For neighbours of w = 1, 2, 4 digits: 10^w times the first plus the second, which of the product
# is that, and what of it is kept.
PAIRS = [
    (np.uint64(10 * 2**8 + 1), np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(100 * 2**16 + 1), np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
    (np.uint64(10000 * 2**32 + 1), np.uint64(32), np.uint64(0x00000000FFFFFFFF)),
]
POWERS = 10.0 ** np.arange(18)


def number(text: str) -> float | None:
    """Return text as a float, None if it is not one. (1_000 is one in Python only.)"""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def parse(joined: bytes, dtype: type, count: int) -> Array | None:
    """Return the numbers between blanks; None if there is other text, or not so many."""
    with warnings.catch_warnings():
        # Text in the middle is a deprecated way to end the numbers, in a later NumPy an error.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values: Array = np.fromstring(joined, dtype=dtype, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
    return values if len(values) == count else None


def decimals(joined: bytes, lengths: Array) -> Array | None:
    """Return fields such as 12 or -0.75; None if one is of another kind.

    Integers are read several times faster than floats. With up to 15 digits, integer and power of
    ten are exact, so that their quotient is the float nearest to the decimal, as it should be.
    """
    if lengths.max() > 17 or joined.translate(None, b"0123456789.- "):
        return None
    points = np.flatnonzero(np.frombuffer(joined, dtype=np.uint8) == ord("."))
    values = parse(joined.translate(None, b"."), np.int64, len(lengths))
    if values is None or abs(values).max() >= 10**15:
        return None
    ends = np.cumsum(lengths + 1) - 1
    owners = np.searchsorted(ends, points)
    if (owners[1:] == owners[:-1]).any():
        return None
    quotients = values.astype(np.float64)
    quotients[owners] /= POWERS[ends[owners] - points - 1]
    return quotients


def digits(words: Array, lengths: Array) -> Array | None:
    """Return numbers of 1 to 8 digits, each in the first bytes of a word; None if one is not.

    The digits are moved to the end of the word, behind zeros, and added up in pairs, then in pairs
    of pairs, then in halves: three multiplications for eight digits.
    """
    zeros = np.uint64(0x3030303030303030)
    shift = (64 - 8 * lengths).astype(np.uint64)
    words = np.where(shift > 0, (words << shift) | (zeros >> (np.uint64(64) - shift)), words)
    low = words ^ zeros
    if ((low | (low + np.uint64(0x0606060606060606))) & np.uint64(0xF0F0F0F0F0F0F0F0)).any():
        return None
    for factor, width, mask in PAIRS:
        low = ((low * factor) >> width) & mask
    return low.astype(np.int64)
