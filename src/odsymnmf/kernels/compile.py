"""Decorators that compile kernels with Numba."""

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, cache on disk, release the GIL; fused multiply-add is allowed.

    A kernel allocates no arrays: its workspace comes from the caller. Numba's reference counting
    is therefore switched off, and inlined parts pass arrays to each other at no cost.
    """
    return _compiled(function, {"contract"})


def allocating(function: Callable[..., Any]) -> Any:
    """Compile like `kernel`; the function may allocate arrays."""
    return _compiled(function, {"contract"}, nrt=True)


def summing(function: Callable[..., Any]) -> Any:
    """Compile like `kernel`; sums may be added in any order, so that they vectorize."""
    return _compiled(function, {"contract", "reassoc", "nsz"})


def part(function: Callable[..., Any]) -> Any:
    """Inline the function in the kernels that call it.

    Bind a field of a named tuple to a name before writing to it: in a part within a part, Numba
    0.6x can lose the store ``row.root[l] = ...``.
    """
    return njit(inline="always")(function)


def _compiled(function: Callable[..., Any], fastmath: set[str], nrt: bool = False) -> Any:
    options: dict[str, Any] = {"nogil": True, "_nrt": nrt, "fastmath": fastmath}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no cache directory is writable
        return njit(**options)(function)
