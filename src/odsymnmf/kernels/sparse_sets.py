"""Sets of items for many clusters: common neighbors of linked items, growth from seeds, merging.

One column with the same entry for all items of a set with s items explains e^2 / (s (s - 1)) of the
squares at best, where e = sum of A_ij over its ordered pairs. Two columns on overlapping sets share
the pairs of the items in both, and their best entries solve two linear equations.
"""

import numpy as np

from odsymnmf.kernels.compile import allocating, helper, prefetch


@allocating
def beyond(indptr, indices):
    """Return where in each row j its neighbors beyond j begin."""
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
def common_neighbors(first, last, indptr, indices, above, where, counts):
    """Add to counts[s] the common neighbors of the s-th linked pair in triangles of some items.

    These are triangles k < j < i with first <= k < last. Each is met once, as a neighbor i of j
    that is one of k, too; then the pairs (k, j), (k, i) and (j, i) have one more. The pattern must
    be symmetric, with sorted indices and no diagonal; ``where``, -1 at first, holds where (k, i)
    is, for the neighbors i > k of k.
    """
    n = len(indptr) - 1
    for k in range(first, last):
        # prefetch the neighbors of the next items' neighbors
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


@helper
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
        # In a set of two the denominator can be rounding.
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
    """Grow a set from the ego network of each seed in turn, unless most of it is in other sets.

    ``seeds`` and ``links`` are the CSR triples in which ego networks are read and sets grow.
    ``held`` marks the items of all sets. Return the items of the sets, and where each begins.
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

    ``indptr`` and ``columns`` list, row by row and sorted, the sets of an item.
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


@helper
def _two_columns(e, s, f, t, both):
    """Return what two columns explain, on sets of s and t items of which they share ``both``."""
    S, T, O = s * (s - 1.0), t * (t - 1.0), both * (both - 1.0)
    alone = max(e * e / S, f * f / T)
    rest = S * T - O * O
    if rest <= 1e-9 * S * T:
        return alone
    a, b = (e * T - f * O) / rest, (f * S - e * O) / rest
    return max(alone, e * a + f * b) if a > 0.0 and b > 0.0 else alone


@helper
def _links_of_union(A, begin, items, l, t, mark, stamp):
    """Return the sum of A_ij over the ordered pairs of the items in set l or t."""
    total = 0.0
    for number in range(2):
        c = l if number == 0 else t
        for s in range(begin[c], begin[c + 1]):
            mark[items[s]] = stamp
    for number in range(2):
        c = l if number == 0 else t
        for s in range(begin[c], begin[c + 1]):
            i = items[s]
            if mark[i] == stamp:  # an item of both sets is met twice
                mark[i] = stamp + 1
                for e in range(A.indptr[i], A.indptr[i + 1]):
                    if mark[A.indices[e]] >= stamp:
                        total += A.data[e]
    return total


@allocating
def mergeable(A, indptr, columns, begin, items, inside, fresh, bar, first, second, ratio):
    """List the pairs of sets that one column on their union explains nearly as well as two.

    Nearly means at least the fraction ``bar``. Sets are given by item (``indptr``, ``columns``) and
    by set (``begin``, ``items``); ``inside`` is the sum of A over the ordered pairs of each.
    Only pairs with one of the first ``fresh`` sets are looked at. Return how many pairs there
    are; only as many as there is room for are written.
    """
    r = len(inside)
    mark = np.zeros(len(A.indptr) - 1, dtype=np.int64)
    stamp, found = np.int64(1), np.int64(0)
    pos, met = np.full(r, -1, dtype=np.int32), np.empty(r, dtype=np.int32)
    between, shared = np.empty(r), np.empty(r)
    for l in range(fresh):
        m, size = 0, begin[l + 1] - begin[l]
        if size < 2:
            continue
        for s in range(begin[l], begin[l + 1]):
            i = items[s]
            for e in range(A.indptr[i] - 1, A.indptr[i + 1]):
                # the item itself first, then its neighbors
                j = i if e < A.indptr[i] else A.indices[e]
                for b in range(indptr[j], indptr[j + 1]):
                    t = columns[b]
                    if t > l:
                        c = pos[t]
                        if c < 0:
                            c = m
                            pos[t] = c
                            met[c], between[c], shared[c] = t, 0.0, 0.0
                            m += 1
                        if e < A.indptr[i]:
                            shared[c] += 1.0
                        else:
                            between[c] += A.data[e]
        for c in range(m):
            t = met[c]
            pos[t] = -1
            other = begin[t + 1] - begin[t]
            if other < 2:
                continue
            union = size + other - shared[c]
            pairs = union * (union - 1.0)
            two = _two_columns(inside[l], float(size), inside[t], float(other), shared[c])
            # No more links in the union than this: worth counting?
            most = inside[l] + inside[t] + 2.0 * max(between[c], 0.0)
            if most * most < bar * two * pairs:
                continue
            e = _links_of_union(A, begin, items, l, t, mark, stamp)
            stamp += 2
            if e > 0.0 and e * e >= bar * two * pairs:
                if found < len(first):
                    first[found], second[found] = l, t
                    ratio[found] = e * e / (two * pairs)
                found += 1
    return found
