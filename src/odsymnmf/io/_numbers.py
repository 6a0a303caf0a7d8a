"""Numbers in text, many at a time."""

import warnings

import numpy as np

from odsymnmf.io._items import Array

# A 1 in each byte; and the digit 0, and what a point is beside it.
EACH = np.uint64(0x0101010101010101)
ZERO = np.uint64(ord("0"))
POINT = np.uint64(ord("0") ^ ord("."))
# For neighbours of w = 1, 2 digits: 10^w times the first plus the second, which of the product is
# that, and what of it is kept.
PAIRS = [
    (np.uint64(10 * 2**8 + 1), np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(100 * 2**16 + 1), np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
]
# The same for w = 4, where it is the upper half.
HALVES = np.uint64(10000 * 2**32 + 1)
# Times 256^k, its highest byte is 7 - k.
AFTER = np.uint64(0x0706050403020100)
POWERS = 10.0 ** np.arange(8)
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
    """Return numbers of 1 to 8 digits, each in the first bytes of a word; None if one is not."""
    return _sums(_moved(words, lengths)) if lengths.min() > 0 else None


def decimals(words: Array, lengths: Array) -> Array | None:
    """Return numbers such as 12 or 0.75, of up to 8 bytes each; None if one is of another kind.

    The point is found and closed up, which leaves digits. Integer and power of ten are exact, so
    that their quotient is the float nearest to the decimal, as it should be.
    """
    low = _moved(words, lengths)
    others = low ^ EACH * POINT
    point = others - EACH
    point &= ~others
    point &= EACH << np.uint64(7)
    # The first point only, as a 1 in its byte; a second one is no digit.
    point &= -point
    point >>= np.uint64(7)
    # Most often all of them have one, and the same number for all costs less.
    has_point = np.uint64(1) if point.min() else (point > 0).astype(np.uint64)
    if (lengths.view(np.uint64) - has_point).min() < 1:
        return None
    low ^= point * POINT
    before = low & (point - has_point)
    low ^= before
    low |= before << np.uint64(8)
    values, after = _sums(low), (point * AFTER) >> np.uint64(56)
    return None if values is None else values / POWERS[after.view(np.int64)]


def _moved(words: Array, lengths: Array) -> Array:
    """Return the first bytes at the end of the word, after zeros; digits become 0 to 9."""
    low = words ^ EACH * ZERO
    low <<= ((8 - lengths) << 3).view(np.uint64)
    return low


def _sums(low: Array) -> Array | None:
    """Return eight digits as a number: added up in pairs, then in pairs of pairs, then in halves.

    Three multiplications do for each. None if a byte is no digit.
    """
    if low.view(np.uint8).max() > 9:
        return None
    for factor, width, mask in PAIRS:
        low *= factor
        low >>= width
        low &= mask
    low *= HALVES
    return low.view(np.int32)[1::2].copy()
