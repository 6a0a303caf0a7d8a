"""Parts that the sparse kernels of all losses share: rows of the log, lists of columns."""

import numpy as np

from odsymnmf.kernels.compile import allocating, part
from odsymnmf.kernels.weighted_median import select


@part
def enlist(H, begin, end, item):
    """Make the entries ``begin`` to ``end`` of the log the row of the item."""
    for s in range(begin, end):
        l = H.column[s]
        H.owner[s] = item
        H.link[s] = H.head[l]
        H.head[l] = s
    H.span[item, 0], H.span[item, 1] = begin, end


@allocating
def fill_log(indptr, indices, data, H):
    """Write a CSR H into an empty log, row after row."""
    for i in range(len(indptr) - 1):
        begin = H.top[0]
        for s in range(indptr[i], indptr[i + 1]):
            H.column[H.top[0]] = indices[s]
            H.value[H.top[0]] = data[s]
            H.top[0] += 1
        enlist(H, begin, H.top[0], i)


@allocating
def copy_log(old, new):
    """Write the rows as they are now into an empty log, row after row."""
    for i in range(len(old.span)):
        begin = top = new.top[0]
        for s in range(old.span[i, 0], old.span[i, 1]):
            new.column[top], new.value[top] = old.column[s], old.value[s]
            top += 1
        new.top[0] = top
        enlist(new, begin, top, i)


@allocating
def read_log(H, indptr, indices, data):
    """Write the rows as they are now into CSR arrays of the right length."""
    top = 0
    for i in range(len(H.span)):
        indptr[i] = top
        for s in range(H.span[i, 0], H.span[i, 1]):
            indices[top] = H.column[s]
            data[top] = H.value[s]
            top += 1
    indptr[len(H.span)] = top


@allocating
def weight_of(i, begin, end, indices, v):
    """Return v_ki, given where the exceptions of row k are; zero if the pair is none."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < i:
            low = middle + 1
        else:
            high = middle
    return v[low] if low < end and indices[low] == i else 0.0


@allocating
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


@allocating
def items_of(l, H, found):
    """List where the entries of column l are in the log now, by item; return how many."""
    m = np.int64(0)
    s = H.head[l]
    while s >= 0:
        i = H.owner[s]
        if H.span[i, 0] <= s < H.span[i, 1]:
            if m < len(found):
                found[m] = s
            m += 1
        s = H.link[s]
    if m <= len(found):
        sort_together(H.owner, found, m)
    return m


@allocating
def keep_best(mine, found, cap, kept, score, points, ones):
    """Cut the list of candidates ``kept[:found]`` down to ``cap``; return how many stay.

    The first ``mine`` are the item's own and always stay. Of the others those with the highest
    scores do; of equals, the first.
    """
    room = max(cap - mine, 0)
    if found - mine <= room:
        return found
    if room == 0:
        return mine
    for p in range(mine, found):
        points[p - mine] = -score[kept[p]]
        ones[p - mine] = 1.0
    bar = -select(points, ones, found - mine, np.float64(room))
    for p in range(mine, found):
        room -= score[kept[p]] > bar
    total, found = found, mine
    for p in range(mine, total):
        c = kept[p]
        if score[c] > bar or (score[c] == bar and room > 0):
            room -= score[c] == bar
            kept[found] = c
            found += 1
    return found
