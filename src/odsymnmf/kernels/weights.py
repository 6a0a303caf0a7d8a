"""Pairs that weigh: the exceptions of a row, whose weights differ from the background.

Exceptions are a CSR triple with two values each: v_kj = w_kj - w0, and the similarity A_kj. An
unknown pair has w_kj = 0.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import kernel, part


class Exceptions(NamedTuple):
    """The pairs that do not have the background weight w0; v = w - w0, a the similarity.

    A symmetric CSR pattern with sorted indices and no diagonal; a is finite, zero where A stores
    nothing. Kernels for full storage take None if there are none, those for sparse memberships
    arrays of length zero: they are compiled once for both.
    """

    indptr: Any
    indices: Any
    v: Any
    a: Any


class Uneven(NamedTuple):
    """Pairs that do not all weigh w0; None where they do, which then only scales the objective.

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


@kernel
def error(items, exceptions, H, power, errors):
    """Set errors[b] = sum of v |a - h_i . h_j|^power over the exceptions of item i = items[b]."""
    for b in range(len(items)):
        i, error = items[b], 0.0
        for p in range(exceptions.indptr[i], exceptions.indptr[i + 1]):
            e = np.float64(exceptions.a[p])
            for l in range(H.shape[1]):
                e -= np.float64(H[i, l]) * H[exceptions.indices[p], l]
            error += exceptions.v[p] * (e * e if power == 2 else abs(e))
        errors[b] = error


@kernel
def gain(items, exceptions, j, H, power):
    """Return what column j gains on the exceptions of the items, were it zero on all others.

    That is the sum of v (|e + x|^power - |e|^power), with e = a - h_i . h_k and x = H_ij H_kj, and
    the sum of the absolute values of the terms.
    """
    total, size = 0.0, 0.0
    for i in items:
        for p in range(exceptions.indptr[i], exceptions.indptr[i + 1]):
            k = exceptions.indices[p]
            x = np.float64(H[i, j]) * H[k, j]
            if x > 0.0:
                e = np.float64(exceptions.a[p])
                for t in range(H.shape[1]):
                    e -= np.float64(H[i, t]) * H[k, t]
                more = abs(e + x)
                step = more * more - e * e if power == 2 else more - abs(e)
                total += exceptions.v[p] * step
                size += abs(exceptions.v[p]) * (
                    more * more + e * e if power == 2 else more + abs(e)
                )
    return total, size


@kernel
def squares(items, indptr, indices, v, H, found):
    """Set found[b] = sum of v_ij (h_i . h_j)^2 over the exceptions of item i = items[b]."""
    for b in range(len(items)):
        i, total = items[b], 0.0
        for j in range(indptr[i], indptr[i + 1]):
            p = 0.0
            for l in range(H.shape[1]):
                p += np.float64(H[i, l]) * H[indices[j], l]
            total += v[j] * p * p
        found[b] = total
