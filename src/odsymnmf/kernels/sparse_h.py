"""H as a log of rows and D = H^T H as a table of pairs: the arrays of all kernels for a sparse H.

Kernels take them as named tuples of arrays, so that a call has few arguments.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import allocating_kernel, helper, inline
from odsymnmf.kernels.weighted_median import select

# No pair of columns has this key.
EMPTY = -1
# The first SHORT entries of a row are read before its length is tested.
SHORT = 4
# Odd numbers of 32 bits: their products with two columns stay below 2^63 for r < 2^30.
MIX_L, MIX_T, MIX = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
# The lower 31 bits.
MASK = 2**31 - 1


class Links(NamedTuple):
    """The stored pairs of A: a symmetric CSR triple with sorted indices and no diagonal.

    Graphs that `local_moving` aggregates have a diagonal, and are not sorted.
    """

    indptr: Any
    indices: Any
    data: Any


class Log(NamedTuple):
    """H as a log of rows: row i is the part ``span[i, 0]`` to ``span[i, 1]``, sorted by column.

    ``column`` and ``value`` are adjacent in memory (two fields of one record), so that the row of a
    neighbor takes one memory access. ``head``, ``link`` and ``owner`` list the entries of a column,
    the newest first; an entry outside the span of its owner is outdated. There is capacity for
    ``len(owner)`` entries, and `SHORT` more that may be read beyond the last one.
    """

    span: Any
    column: Any
    value: Any
    owner: Any
    link: Any
    head: Any
    top: Any


class Pairs(NamedTuple):
    """D = H^T H: the diagonal, its largest values so far, and a table of pairs of columns l < t.

    With ``side`` = r the table is full, pair (l, t) at l r + t. With ``side`` = 0 it is a hash
    table with open addressing, its length a power of two; ``used`` counts its keys.
    """

    diagonal: Any
    peak: Any
    side: int
    key: Any
    value: Any
    used: Any


@inline
def first_slot(l, t, side, size):
    """Return where the search for the pair l <= t begins in a table of this size."""
    mixed = l * MIX_L + t * MIX_T
    mixed = ((mixed ^ (mixed >> 31)) & MASK) * MIX
    # By the high bits: the order of one table is that of a larger one, too.
    return l * side + t if side > 0 else (((mixed >> 15) & MASK) * size) >> 31


@helper
def slot(l, t, side, keys):
    """Return where the pair of columns is in the table, or the empty slot where it would go."""
    if l > t:
        l, t = t, l
    if side > 0:
        return l * side + t
    s, wanted, mask = first_slot(l, t, 0, len(keys)), (l << 32) | t, len(keys) - 1
    while keys[s] != wanted and keys[s] != EMPTY:
        s = (s + 1) & mask
    return s


@helper
def add_pair(l, t, change, side, keys, values, used):
    """D_lt += change; the table has capacity for it."""
    s = slot(l, t, side, keys)
    if keys[s] == EMPTY:
        keys[s] = (min(l, t) << 32) | max(l, t)
        used[0] += 1
    values[s] += change


@allocating_kernel
def add_pairs(change, D):
    """D += a change of it; return 2 <D, change>, with the pairs of different columns twice.

    Costs the length of the table of the change.
    """
    side, keys, values, used = D.side, D.key, D.value, D.used
    product = 0.0
    for b in range(len(change.key)):
        if change.key[b] != EMPTY:
            l, t = change.key[b] >> 32, change.key[b] & 0xFFFFFFFF
            e, s = change.value[b], slot(l, t, side, keys)
            if keys[s] == EMPTY:
                keys[s] = change.key[b]
                used[0] += 1
            product += values[s] * (e if l == t else 2.0 * e)
            values[s] += e
    return 2.0 * product


@allocating_kernel
def add_gram(first, indptr, column, value, D):
    """Add rows ``first``, first + 1, ... of a CSR H to D, as many as there is capacity for.

    Return the next row, and the growth of sum_{i != j} (h_i . h_j)^2, which is made of sums
    over the rows before each row, so that nothing cancels. Costs the pairs of entries in each row.
    """
    side, keys, values, used, diagonal = D.side, D.key, D.value, D.used, D.diagonal
    squares = 0.0
    for i in range(first, len(indptr) - 1):
        m = indptr[i + 1] - indptr[i]
        if side == 0 and 2 * (used[0] + m * (m - 1) // 2) > len(keys):
            return i, squares
        for s in range(indptr[i], indptr[i + 1]):
            l, h = np.int64(column[s]), np.float64(value[s])
            squares += 2.0 * diagonal[l] * h * h
            diagonal[l] += h * h
            for e in range(indptr[i], s):
                t, product = np.int64(column[e]), h * value[e]
                p = slot(l, t, side, keys)
                squares += 4.0 * values[p] * product
                if keys[p] == EMPTY:
                    keys[p] = (min(l, t) << 32) | max(l, t)
                    used[0] += 1
                values[p] += product
    return len(indptr) - 1, squares


@inline
def set_row(H, begin, end, item):
    """Make the entries ``begin`` to ``end`` of the log the row of the item."""
    for s in range(begin, end):
        l = H.column[s]
        H.owner[s] = item
        H.link[s] = H.head[l]
        H.head[l] = s
    H.span[item, 0], H.span[item, 1] = begin, end


@allocating_kernel
def fill_log(indptr, indices, data, H):
    """Write a CSR H into an empty log, row after row, in O(memberships)."""
    for i in range(len(indptr) - 1):
        begin = H.top[0]
        for s in range(indptr[i], indptr[i + 1]):
            H.column[H.top[0]] = indices[s]
            H.value[H.top[0]] = data[s]
            H.top[0] += 1
        set_row(H, begin, H.top[0], i)


@allocating_kernel
def read_log(H, indptr, indices, data):
    """Write the current rows into CSR arrays of the right length, in O(memberships)."""
    top = 0
    for i in range(len(H.span)):
        indptr[i] = top
        for s in range(H.span[i, 0], H.span[i, 1]):
            indices[top] = H.column[s]
            data[top] = H.value[s]
            top += 1
    indptr[len(H.span)] = top


@helper
def lower_bound(indices, low, high, i):
    """Return the first position from low to high whose index is at least i, by binary search."""
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def weight_of(i, begin, end, indices, v):
    """Return v_ki, given where the exceptions of row k are; zero for other pairs."""
    s = lower_bound(indices, begin, end, i)
    return v[s] if s < end and indices[s] == i else 0.0


@helper
def sort_together(keys, order, m):
    """Sort ``order[:m]`` by ``keys[order]``, in place (Shell's method: short lists)."""
    gap = 1
    while 3 * gap + 1 < m:
        gap = 3 * gap + 1
    while gap > 0:
        for p in range(gap, m):
            c, b = order[p], p
            while b >= gap and keys[order[b - gap]] > keys[c]:
                order[b] = order[b - gap]
                b -= gap
            order[b] = c
        gap //= 3


@helper
def is_current(s, H):
    """Return whether an entry of the log is in the current row of its owner."""
    i = H.owner[s]
    return H.span[i, 0] <= s < H.span[i, 1]


@helper
def list_column(l, H, entries):
    """List the positions of the current entries of column l, by item; return their number."""
    m, s = 0, H.head[l]
    while s >= 0:
        if is_current(s, H):
            entries[m] = s
            m += 1
        s = H.link[s]
    sort_together(H.owner, entries, m)
    return m


@helper
def keep_best(n_own, count, cap, selected, score, points, ones):
    """Reduce the list of candidates ``selected[:count]`` to ``cap``; return their number.

    The first ``n_own``, the columns of the item, always remain, and of the others those with the
    highest scores; the first ones in a tie.
    """
    capacity = max(cap - n_own, 0)
    if count - n_own <= capacity:
        return count
    if capacity == 0:
        return n_own
    for p in range(n_own, count):
        points[p - n_own] = -score[selected[p]]
        ones[p - n_own] = 1.0
    lowest = -select(points, ones, count - n_own, np.float64(capacity))
    for p in range(n_own, count):
        capacity -= score[selected[p]] > lowest
    end = n_own
    for p in range(n_own, count):
        c = selected[p]
        if score[c] > lowest or (score[c] == lowest and capacity > 0):
            capacity -= score[c] == lowest
            selected[end] = c
            end += 1
    return end
