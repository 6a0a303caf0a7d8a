"""Numbers in text, many at a time."""

import warnings

import numpy as np

from odsymnmf.io._items import Array

POWERS = 10.0 ** np.arange(17)


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
    if lengths.max() > 16 or joined.translate(None, b"0123456789.- "):
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
