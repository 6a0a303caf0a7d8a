"""The plain arrays that the sparse kernels share: A, its pair weights, H as a log, D by pairs.

A kernel takes them as named tuples of arrays, so that a call names five things instead of thirty.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import allocating, part

# No pair of columns has this key.
EMPTY = -1
# Rows of no more entries are read without asking how many there are.
SHORT = 4
# Odd numbers of 32 bits: their products with two columns stay below 2^63 for r < 2^30.
MIX_L, MIX_T, MIX = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
LOW = 2**31 - 1


class Links(NamedTuple):
    """The stored pairs of A: a symmetric CSR triple with sorted indices, the diagonal unread."""

    indptr: Any
    indices: Any
    data: Any


class Log(NamedTuple):
    """H as a log of rows: row i is the part ``span[i, 0]`` to ``span[i, 1]``, sorted by column.

    ``column`` and ``value`` lie side by side in memory (two fields of one record), so that a
    neighbour's row is one visit. ``head``, ``link`` and ``owner`` list the entries of a column,
    the newest first; an entry outside the span of its owner is outdated. There is room for
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
    """D = H^T H: the diagonal, the largest values it had, and a table of pairs of columns l < t.

    With ``side`` = r the table is full, pair (l, t) at l r + t. With ``side`` = 0 it is a hash
    table with open addressing, its length a power of two; ``used`` counts its keys.
    """

    diagonal: Any
    peak: Any
    side: int
    key: Any
    value: Any
    used: Any


@part
def first_place(l, t, side, size):
    """Return the place in a table of this size from where on the pair l <= t is looked for."""
    mixed = l * MIX_L + t * MIX_T
    mixed = ((mixed ^ (mixed >> 31)) & LOW) * MIX
    # By its high bits: whoever walks through one table walks through a larger one in order, too.
    return l * side + t if side > 0 else (((mixed >> 15) & LOW) * size) >> 31


@allocating
def place(l, t, side, keys):
    """Return where the pair of columns is in the table, or the empty place where it would go."""
    if l > t:
        l, t = t, l
    if side > 0:
        return l * side + t
    s, wanted, mask = first_place(l, t, 0, len(keys)), (l << 32) | t, len(keys) - 1
    while keys[s] != wanted and keys[s] != EMPTY:
        s = (s + 1) & mask
    return s


@allocating
def add_pair(l, t, change, side, keys, values, used):
    """D_lt += change; the caller has seen to it that there is room."""
    s = place(l, t, side, keys)
    if keys[s] == EMPTY:
        keys[s] = (min(l, t) << 32) | max(l, t)
        used[0] += 1
    values[s] += change


@allocating
def copy_pairs(old_keys, old_values, D):
    """Put all pairs of a hash table into an empty one."""
    for s in range(len(old_keys)):
        if old_keys[s] != EMPTY:
            l, t = old_keys[s] >> 32, old_keys[s] & 0xFFFFFFFF
            add_pair(l, t, old_values[s], D.side, D.key, D.value, D.used)


@allocating
def add_gram(first, indptr, column, value, D):
    """Add rows ``first``, first + 1, ... of a CSR H to D, as many as there is room for.

    Return the next row, and the growth of sum_{i != j} (h_i . h_j)^2, which is made of sums
    over the rows before each row, so that nothing cancels.
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
                p = place(l, t, side, keys)
                squares += 4.0 * values[p] * product
                if keys[p] == EMPTY:
                    keys[p] = (min(l, t) << 32) | max(l, t)
                    used[0] += 1
                values[p] += product
    return len(indptr) - 1, squares
