"""The type of an array, and ranges in pieces: what every room needs."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odsymnmf.signals import check

Array = NDArray[Any]

# Bytes of a cache line.
LINE = 64


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` that cover range(n); a thread may be stopped between two."""
    for start in range(0, n, size):
        check()
        yield slice(start, min(start + size, n))


def asymmetry(dtype: Any) -> float:
    """Return by how much A_ij and A_ji may differ: rounding, relative to the largest entry."""
    return float(np.sqrt(np.finfo(dtype).eps))


def on_lines(count: int, size: int) -> Array:
    """Return room for vectors of at least ``size`` numbers, as rows that begin on cache lines.

    Arrays of NumPy begin anywhere, so that every other load of a vectorised loop may need two
    lines: a sweep of l2 takes up to a tenth longer.
    """
    width = -(-size * 8 // LINE) * LINE // 8
    room = np.empty(count * width + LINE // 8)
    first = -room.ctypes.data % LINE // 8
    return room[first : first + count * width].reshape(count, width)
