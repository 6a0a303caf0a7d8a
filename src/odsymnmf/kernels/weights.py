"""Pair weights: the exceptions of a row, whose weights w_kj differ from the default w0.

Exceptions are a CSR triple with two values each: v_kj = w_kj - w0, and the similarity A_kj. An
unknown pair has w_kj = 0.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import part


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


class Uneven(NamedTuple):
    """Weights of all pairs; None where all are w0, which then only scales the objective.

    B[l, j] = H_jl, v_j and e_j are workspace for the exceptions of a row.
    """

    w0: float
    pairs: Exceptions
    B: Any
    v: Any
    e: Any


def with_room(w0: float, exceptions: Exceptions, items: Any, r: int) -> Uneven:
    """Return what pairs weigh, with room for the exceptions of any of the items."""
    longest = int((exceptions.indptr[items + 1] - exceptions.indptr[items]).max(initial=0))
    return Uneven(w0, exceptions, np.empty((r, longest)), np.empty(longest), np.empty(longest))


@part
def gather_exceptions(uneven, at, H, x):
    """Set B[l, j] = H_jl, v_j and e_j = A_kj - x . h_j for the exceptions j of an item.

    Return how many there are.
    """
    pairs, B, v, e = uneven.pairs, uneven.B, uneven.v, uneven.e
    start = pairs.indptr[at.pairs]
    count = pairs.indptr[at.pairs + 1] - start
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


@part
def weigh(uneven, count, l, q, a):
    """Return what q and a become with the exceptions: w0 q + sum_j v_j e_j H_jl, and M_ll.

    And w0 a, and the size of the terms of the sum.
    """
    b, v, e = uneven.B[l], uneven.v, uneven.e
    s, square, size = 0.0, 0.0, 0.0
    for j in range(count):
        vb = v[j] * b[j]
        s += vb * e[j]
        square += vb * b[j]
        size += abs(vb * e[j])
    w0 = uneven.w0
    return w0 * q + s, w0 * a + square, w0 * a, size


@part
def update_residuals(uneven, count, l, change):
    """e_j -= change H_jl, after entry l has changed."""
    b, e = uneven.B[l], uneven.e
    for j in range(count):
        e[j] -= change * b[j]


@part
def exact_sum(uneven, at, l, H, power):
    """Return sum_{i != k} w_ki H_il^power, the exceptions one by one: nothing cancels."""
    exceptions, k = uneven.pairs, at.item
    p, end = exceptions.indptr[at.pairs], exceptions.indptr[at.pairs + 1]
    total = 0.0
    for i in range(len(H)):
        w = uneven.w0
        while p < end and exceptions.indices[p] < i:
            p += 1
        if p < end and exceptions.indices[p] == i:
            w = uneven.w0 + exceptions.v[p]
        h = np.float64(H[i, l])
        if i != k and h != 0.0:
            total += w * (h * h if power == 2 else h)
    return total
