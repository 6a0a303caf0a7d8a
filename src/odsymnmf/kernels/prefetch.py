"""Ask for memory before it is needed.

``prefetch(array, i)`` has entry i, or the ends of row i of a matrix, fetched into the cache while
other work goes on, and changes nothing else. The rows of an item's neighbours lie anywhere in
memory: fetched when they are added up, they keep the sum waiting. What lies between the ends of a
long row, the processor guesses by itself.
"""

from numba import config
from numba.extending import intrinsic


def _write(context, builder, signature, arguments):
    """Write the hint in the language of the compiler."""
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
        # to be read (0), to stay as near as possible (3), data (1)
        builder.call(hint, [builder.bitcast(entry, pointer), number(0), number(3), number(1)])
    return context.get_dummy_value()


if config.DISABLE_JIT:

    def prefetch(array, i):
        """Do nothing in interpreted code."""
else:

    @intrinsic
    def prefetch(_typing, array, i):
        """Return the signature, and what writes the hint."""
        from numba import types

        return types.void(array, i), _write
