"""How every kernel is compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit

# No kernel makes arrays of its own: their workspace comes from the caller. So nobody has to count
# who refers to an array, and parts may hand arrays to each other, row after row, for nothing.
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, cache on disk, release the GIL; fused multiply-add is allowed."""
    return njit(**OPTIONS, fastmath={"contract"})(function)


def summing(function: Callable[..., Any]) -> Any:
    """Compile as `kernel` does, and let sums be added in any order, so that they vectorise."""
    return njit(**OPTIONS, fastmath={"contract", "reassoc", "nsz"})(function)


def part(function: Callable[..., Any]) -> Any:
    """Write the function out in the kernels that call it: compiling it on its own costs time.

    Fields of a tuple get a name before they are written to: in a part within a part, Numba 0.6x has
    been seen to lose the store ``row.root[l] = ...``.
    """
    return njit(inline="always")(function)
