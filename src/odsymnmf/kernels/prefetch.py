"""Ask for memory before it is needed.

``prefetch(rows, i)`` has the ends of row i of a matrix fetched into the cache while other work
goes on, and changes nothing else. The rows of an item's neighbours lie anywhere in memory: fetched
when they are added up, they keep the sum waiting. What lies between the ends of a long row, the
processor guesses by itself.
"""

from typing import Any

import numpy as np
from numba import config
from numba.extending import intrinsic

from odsymnmf.kernels.compile import kernel, part


@intrinsic
def _hint(_typing, rows, i):
    """Return the signature, and what writes the hint in the language of the compiler."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    def write(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [pointer], form)
        array = make_array(signature.args[0])(context, builder, arguments[0])
        row = context.cast(builder, arguments[1], signature.args[1], types.intp)
        r = cgutils.unpack_tuple(builder, array.shape)[1]
        for l in (r.type(0), builder.sub(r, r.type(1))):
            entry = cgutils.get_item_pointer(context, builder, signature.args[0], array, [row, l])
            # to be read (0), to stay as near as possible (3), data (1)
            builder.call(hint, [builder.bitcast(entry, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(rows, i), write


@intrinsic
def _hint_entry(_typing, array, i):
    """As `_hint`, for one entry of a plain array and what shares its line of the cache."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    def write(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [pointer], form)
        array = make_array(signature.args[0])(context, builder, arguments[0])
        at = context.cast(builder, arguments[1], signature.args[1], types.intp)
        entry = cgutils.get_item_pointer(context, builder, signature.args[0], array, [at])
        builder.call(hint, [builder.bitcast(entry, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, i), write


@kernel
def _probe(rows, entries, i):
    _hint(rows, i)
    _hint_entry(entries, i)


@part
def _nothing(rows, i):
    """Do nothing: the hint may be left out."""


def _hints_or_nothing() -> tuple[Any, Any]:
    """Return the hints if they can be built: they use internals of Numba, which may change."""
    if config.DISABLE_JIT:
        return _nothing, _nothing
    try:
        _probe(np.zeros((1, 1)), np.zeros(1), 0)
    except Exception:  # whatever a changed internal raises, a slower sweep is the answer
        return _nothing, _nothing
    return _hint, _hint_entry


prefetch, prefetch_entry = _hints_or_nothing()
