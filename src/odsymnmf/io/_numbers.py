"""Numbers in text, many at a time."""

import warnings

import numpy as np

from odsymnmf.io._items import Array

# For neighbours of w = 1, 2 digits: 10^w times the first plus the second, which of the product is
# that, and what of it is kept.
PAIRS = [
    (np.uint64(10 * 2**8 + 1), np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(100 * 2**16 + 1), np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
]
# The same for w = 4, where it is the upper half.
HALVES = np.uint64(10000 * 2**32 + 1)
# Times 256^k, its highest byte is k + 1.
RANKS = np.uint64(0x0102030405060708)
POWERS = 10.0 ** np.arange(9)
# The first 0, 1, ..., 8 bytes of a little-endian word.
FIRST = np.array([2 ** (8 * k) - 1 for k in range(9)], dtype=np.uint64)


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


def digits(words: Array, lengths: Array) -> Array | None:
    """Return numbers of 1 to 8 digits, each in the first bytes of a word; None if one is not.

    The digits are moved to the end of the word, which puts zeros before them, and added up in
    pairs, then in pairs of pairs, then in halves: three multiplications for eight digits.
    """
    if lengths.min() < 1:
        return None
    low = words ^ np.uint64(0x3030303030303030)
    low <<= ((8 - lengths) << 3).view(np.uint64)
    if low.view(np.uint8).max() > 9:
        return None
    for factor, width, mask in PAIRS:
        low *= factor
        low >>= width
        low &= mask
    low *= HALVES
    return low.view(np.int32)[1::2]


def decimals(words: Array, lengths: Array) -> Array | None:
    """Return numbers such as 12 or 0.75, of up to 8 bytes each; None if one is of another kind.

    The point is found and closed up, which leaves digits. Integer and power of ten are exact, so
    that their quotient is the float nearest to the decimal, as it should be.
    """
    points = words ^ np.uint64(0x2E2E2E2E2E2E2E2E)
    found = points - np.uint64(0x0101010101010101)
    found &= ~points
    found &= FIRST[lengths] & np.uint64(0x8080808080808080)
    # The first point only; a second one is no digit. Without any, everything stands before it.
    found &= -found
    found >>= np.uint64(7)
    before = found - np.uint64(1)
    has_point = found > 0
    # What follows the point moves to its place.
    closed = words >> np.uint64(8)
    closed ^= (closed ^ words) & before
    values = digits(closed, lengths - has_point)
    if values is None:
        return None
    upto = ((found * RANKS) >> np.uint64(56)).view(np.int64)
    return values / POWERS[(lengths - upto) * has_point]
