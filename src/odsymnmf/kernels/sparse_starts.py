"""Starts for many clusters: common neighbours of linked items, and sets grown from seeds."""

import numpy as np

from odsymnmf.kernels.compile import allocating
from odsymnmf.kernels.prefetch import prefetch


@allocating
def beyond(indptr, indices):
    """Return where in each row j its neighbours beyond j begin."""
    n = len(indptr) - 1
    above = np.empty(n, dtype=np.int64)
    for j in range(n):
        low, high = indptr[j], indptr[j + 1]
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < j:
                low = middle + 1
            else:
                high = middle
        above[j] = low
    return above


@allocating
def common_neighbours(first, last, indptr, indices, above, where, counts):
    """Add to counts[s] the common neighbours of the s-th linked pair in triangles of some items.

    These are triangles k < j < i with first <= k < last. Each is met once, as a neighbour i of j
    that is one of k, too; then the pairs (k, j), (k, i) and (j, i) have one more. The pattern must
    be symmetric, with sorted indices and no diagonal; ``where``, -1 at first, holds where (k, i)
    is, for the neighbours i > k of k.
    """
    n = len(indptr) - 1
    for k in range(first, last):
        # where the neighbours of the next items' neighbours are, and these themselves
        if k + 2 < n:
            for s in range(above[k + 2], indptr[k + 3]):
                prefetch(above, indices[s])
            for s in range(above[k + 1], indptr[k + 2]):
                prefetch(indices, above[indices[s]])
        begin = indptr[k]
        for s in range(above[k], indptr[k + 1]):
            where[indices[s]] = s
        for s in range(above[k], indptr[k + 1]):
            j, common = indices[s], 0
            for e in range(above[j], indptr[j + 1]):
                q = where[indices[e]]
                if q >= begin:
                    common += 1
                    counts[q] += 1
                    counts[e] += 1
            counts[s] += common


@allocating
def mirror(indptr, indices, above, counts):
    """Set counts of (j, k) to that of (k, j), k < j.

    As k rises, the entries (j, k) of a row j are met in their order: ``fill[j]`` finds them.
    """
    fill = indptr[:-1].copy()
    for k in range(len(indptr) - 1):
        for s in range(above[k], indptr[k + 1]):
            j = indices[s]
            counts[fill[j]] = counts[s]
            fill[j] += 1


@allocating
def _grow(m, members, x, indptr, indices, data, near, g, seen, keep):
    """One step of l2 for one column alone: x_i = g_i / (|x|^2 - x_i^2) for all i near the set.

    Entries below ``keep`` times the largest are dropped. Return the new number of members.
    """
    squares, t = 0.0, 0
    for b in range(m):
        if b + 2 < m:
            prefetch(indices, indptr[members[b + 2]])
            for s in range(indptr[members[b + 1]], indptr[members[b + 1] + 1]):
                prefetch(g, indices[s])
        h = x[members[b]]
        squares += h * h
        for s in range(indptr[members[b]], indptr[members[b] + 1]):
            i = indices[s]
            if not seen[i]:
                seen[i] = True
                near[t] = i
                t += 1
            g[i] += data[s] * h
    largest = 0.0
    for b in range(t):
        i = near[b]
        # A set of two has nothing but the other one: no division by what rounding leaves.
        g[i] /= max(squares - x[i] * x[i], 1e-9 * squares)
        largest = max(largest, g[i])
    for b in range(m):
        x[members[b]] = 0.0
    m = 0
    for b in range(t):
        i = near[b]
        if g[i] > 0.0 and g[i] >= keep * largest:
            x[i] = g[i]
            members[m] = i
            m += 1
        g[i] = 0.0
        seen[i] = False
    return m


@allocating
def ego_sets(order, seeds, links, free_share, steps, keep, held, most, least, room):
    """Grow a set from the ego network of each seed in turn, unless most of it is held by others.

    ``seeds`` and ``links`` are the CSR triples in which ego networks are read and sets grow.
    ``held`` is marked on the way. Return the items of the sets, and where each begins.
    """
    n = len(held)
    x, g, seen = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_)
    members, near = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    items, begin = np.empty(room, dtype=np.int32), np.zeros(len(order) + 1, dtype=np.int64)
    count = 0
    for k in order:
        degree = seeds.indptr[k + 1] - seeds.indptr[k]
        if held[k] or degree + 1 < least or degree + 1 > most:
            continue
        free = 0
        for s in range(seeds.indptr[k], seeds.indptr[k + 1]):
            free += not held[seeds.indices[s]]
        if free < free_share * degree:
            continue
        members[0], m = k, 1
        x[k] = 1.0
        for s in range(seeds.indptr[k], seeds.indptr[k + 1]):
            members[m] = seeds.indices[s]
            x[members[m]] = 1.0
            m += 1
        for _ in range(steps):
            m = _grow(m, members, x, links.indptr, links.indices, links.data, near, g, seen, keep)
        if m >= least:
            if begin[count] + m > len(items):
                bigger = np.empty(2 * len(items) + m, dtype=np.int32)
                bigger[: begin[count]] = items[: begin[count]]
                items = bigger
            for b in range(m):
                items[begin[count] + b] = members[b]
                held[members[b]] = True
            begin[count + 1] = begin[count] + m
            count += 1
        for b in range(m):
            x[members[b]] = 0.0
    return items[: begin[count]].copy(), begin[: count + 1].copy()


@allocating
def inside_sums(A, indptr, columns, inside):
    """Add A_kj to inside[l] for all linked pairs and all sets l that hold both k and j.

    ``indptr`` and ``columns`` say, row by row and sorted, in which sets an item is.
    """
    mark = np.full(len(inside), -1, dtype=np.int64)
    for k in range(len(A.indptr) - 1):
        for s in range(indptr[k], indptr[k + 1]):
            mark[columns[s]] = k
        for p in range(A.indptr[k], A.indptr[k + 1]):
            j = A.indices[p]
            if j >= k:  # every pair once: the indices are sorted
                break
            for s in range(indptr[j], indptr[j + 1]):
                if mark[columns[s]] == k:
                    inside[columns[s]] += 2.0 * A.data[p]
