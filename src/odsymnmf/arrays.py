"""The type of an array, and ranges in pieces: what every room needs."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from odsymnmf.signals import check

Array = NDArray[Any]


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` that cover range(n); a thread may be stopped between two."""
    for start in range(0, n, size):
        check()
        yield slice(start, min(start + size, n))
