"""Decorators that compile kernels with Numba, and a prefetch of array entries."""

from collections.abc import Callable
from typing import Any

from numba import config, njit
from numba.extending import intrinsic

# Options of functions that kernels call.
HELPER: dict[str, Any] = {"nogil": True, "_nrt": False, "fastmath": {"contract"}}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, cache on disk, release the GIL; fused multiply-add is allowed.

    A kernel allocates no arrays: its workspace comes from the caller. Numba's reference counting
    is therefore switched off, and inlined functions pass arrays to each other at no cost.
    """
    return _compiled(function, {"contract"})


def allocating_kernel(function: Callable[..., Any]) -> Any:
    """Compile like `kernel`; the function may allocate arrays."""
    return _compiled(function, {"contract"}, nrt=True)


def fastmath_kernel(function: Callable[..., Any]) -> Any:
    """Compile like `kernel`; sums may be added in any order, so that they vectorize."""
    return _compiled(function, {"contract", "reassoc", "nsz"})


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that kernels call, as a part of their cached code."""
    return njit(**HELPER)(function)


def inlined_helper(function: Callable[..., Any]) -> Any:
    """Compile like `helper`; LLVM inlines it, in less time than Numba takes for `inline`."""
    return njit(**HELPER, forceinline=True)(function)


def fastmath_helper(function: Callable[..., Any]) -> Any:
    """Compile like `helper`; sums may be added in any order."""
    return njit(**HELPER | {"fastmath": {"contract", "reassoc", "nsz"}})(function)


def inline(function: Callable[..., Any]) -> Any:
    """Inline the function in the kernels that call it.

    Bind a field of a named tuple to a name before writing to it: in an inlined function within
    another, Numba 0.6x can lose the store ``row.root[l] = ...``.
    """
    return njit(inline="always")(function)


def _compiled(function: Callable[..., Any], fastmath: set[str], nrt: bool = False) -> Any:
    options: dict[str, Any] = {"nogil": True, "_nrt": nrt, "fastmath": fastmath}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no cache directory is writable
        return njit(**options)(function)


def _write_prefetch(context, builder, signature, arguments):
    """Write llvm.prefetch for entry i, or for both ends of row i of a matrix."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    form = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    hint = builder.module.declare_intrinsic("llvm.prefetch", [pointer], form)
    array = make_array(signature.args[0])(context, builder, arguments[0])
    i = context.cast(builder, arguments[1], signature.args[1], types.intp)
    places = [[i]]
    if signature.args[0].ndim == 2:
        r = cgutils.unpack_tuple(builder, array.shape)[1]
        places = [[i, r.type(0)], [i, builder.sub(r, r.type(1))]]
    for place in places:
        entry = cgutils.get_item_pointer(context, builder, signature.args[0], array, place)
        # a read (0) of data (1) with the highest locality (3)
        builder.call(hint, [builder.bitcast(entry, pointer), number(0), number(3), number(1)])
    return context.get_dummy_value()


if config.DISABLE_JIT:

    def prefetch(array, i):
        """Do nothing in interpreted code."""
else:

    @intrinsic
    def prefetch(_typing, array, i):
        """Fetch entry i, or both ends of row i of a matrix, into the cache; change nothing.

        Rows of neighbors are scattered in memory: without a prefetch, a sum waits for each of them.
        The middle of a long row is prefetched by the processor.
        """
        from numba import types

        return types.void(array, i), _write_prefetch
