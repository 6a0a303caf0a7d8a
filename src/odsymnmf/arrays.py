"""The type of an array, and ranges in pieces: what every room needs."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
