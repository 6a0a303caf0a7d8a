"""Pair weights: the exceptions of a row, whose weights w_kj differ from the default w0.

Exceptions are a CSR triple with two values each: v_kj = w_kj - w0, and the similarity A_kj. An
unknown pair has w_kj = 0.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import helper, inlined_helper


class Exceptions(NamedTuple):
    """The pairs that do not have the default weight w0; v = w - w0, a the similarity.

    A symmetric CSR pattern with sorted indices and no diagonal; a is finite, zero where A stores
    nothing. Kernels for a dense H take None without exceptions, those for a sparse H rows of length
    zero: they are compiled once for both.
    """

    indptr: Any
    indices: Any
    v: Any
    a: Any


class KernelWeights(NamedTuple):
    """Weights of all pairs, with workspace. None if all are w0: callers then multiply by w0.

    B[l, j] = H_jl, v_j and e_j are set for the exceptions j of one row.
    """

    w0: float
    exceptions: Exceptions
    B: Any
    v: Any
    e: Any


def with_workspace(w0: float, exceptions: Exceptions, items: Any, r: int) -> KernelWeights:
    """Return the weights with workspace for the exceptions of any of the items."""
    longest = int((exceptions.indptr[items + 1] - exceptions.indptr[items]).max(initial=0))
    return KernelWeights(
        w0, exceptions, np.empty((r, longest)), np.empty(longest), np.empty(longest)
    )


@inlined_helper
def gather_exceptions(weights, at, H, x):
    """Set B[l, j] = H_jl, v_j and e_j = A_kj - x . h_j for the exceptions j of an item.

    Return their number.
    """
    pairs, B, v, e = weights.exceptions, weights.B, weights.v, weights.e
    start = pairs.indptr[at.exceptions]
    count = pairs.indptr[at.exceptions + 1] - start
    for j in range(count):
        i = pairs.indices[start + j]
        v[j] = pairs.v[start + j]
        t = 0.0
        for l in range(len(x)):
            h = np.float64(H[i, l])
            B[l, j] = h
            t += x[l] * h
        e[j] = pairs.a[start + j] - t
    return count


@inlined_helper
def add_exceptions(weights, count, l, q, a):
    """Return q and a with the exceptions: w0 q + sum_j v_j e_j H_jl and M_ll.

    Also return w0 a and sum_j |v_j e_j H_jl|, for rounding.
    """
    b, v, e = weights.B[l], weights.v, weights.e
    s, square, size = 0.0, 0.0, 0.0
    for j in range(count):
        vb = v[j] * b[j]
        s += vb * e[j]
        square += vb * b[j]
        size += abs(vb * e[j])
    w0 = weights.w0
    return w0 * q + s, w0 * a + square, w0 * a, size


@inlined_helper
def update_residuals(weights, count, l, change):
    """e_j -= change H_jl, after entry l has changed."""
    b, e = weights.B[l], weights.e
    for j in range(count):
        e[j] -= change * b[j]


@helper
def exact_sum(weights, at, l, H, power):
    """Return sum_{i != k} w_ki H_il^power, the exceptions one by one: nothing cancels."""
    exceptions, k = weights.exceptions, at.item
    p, end = exceptions.indptr[at.exceptions], exceptions.indptr[at.exceptions + 1]
    total = 0.0
    for i in range(len(H)):
        w = weights.w0
        while p < end and exceptions.indices[p] < i:
            p += 1
        if p < end and exceptions.indices[p] == i:
            w = weights.w0 + exceptions.v[p]
        h = np.float64(H[i, l])
        if i != k and h != 0.0:
            total += w * (h * h if power == 2 else h)
    return total
