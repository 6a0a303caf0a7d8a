"""How every kernel is compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, cache on disk, release the GIL; fused multiply-add is allowed."""
    return njit(cache=True, nogil=True, fastmath={"contract"})(function)


def summing(function: Callable[..., Any]) -> Any:
    """Compile as `kernel` does, and let sums be added in any order, so that they vectorise."""
    return njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})(function)


def part(function: Callable[..., Any]) -> Any:
    """Write the function out in the kernels that call it: compiling it on its own costs time."""
    return njit(inline="always")(function)
