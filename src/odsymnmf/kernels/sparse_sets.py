"""Sets of items for many clusters: common neighbors of linked items, growth from seeds, merging.

One column with the same entry for all items of a set with s items explains e^2 / (s (s - 1)) of the
squares at best, where e = sum of A_ij over its ordered pairs. Two columns on overlapping sets share
the pairs of their common items, and their best entries solve two linear equations.
"""

import numpy as np

from odsymnmf.kernels.compile import allocating_kernel, helper, prefetch
from odsymnmf.kernels.sparse_h import lower_bound


@allocating_kernel
def upper_starts(indptr, indices):
    """Return the position in each row j at which its neighbors > j begin, by binary searches."""
    n = len(indptr) - 1
    above = np.empty(n, dtype=np.int64)
    for j in range(n):
        above[j] = lower_bound(indices, indptr[j], indptr[j + 1], j)
    return above


@allocating_kernel
def common_neighbors(first, last, indptr, indices, above, where, counts):
    """Add to counts[s] the common neighbors of the s-th linked pair in triangles of some items.

    These are triangles k < j < i with first <= k < last. Each is found once, as a neighbor i of j
    that is also a neighbor of k, and counted for the pairs (k, j), (k, i) and (j, i). The pattern
    is symmetric, with sorted indices and no diagonal. ``where`` is workspace of n entries, -1 at
    first: the position of (k, i) for the neighbors i > k of k. Costs the paths k < j < i.
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


@allocating_kernel
def mirror(indptr, indices, above, counts):
    """Set counts of (j, k) to that of (k, j), k < j.

    For increasing k, the entries (j, k) of a row j are set in their order: ``fill[j]`` finds them.
    Costs O(links).
    """
    fill = indptr[:-1].copy()
    for k in range(len(indptr) - 1):
        for s in range(above[k], indptr[k + 1]):
            j = indices[s]
            counts[fill[j]] = counts[s]
            fill[j] += 1


@helper
def _update_column(m, members, x, indptr, indices, data, near, g, visited, min_entry):
    """One l2 update of a single column: x_i = g_i / (|x|^2 - x_i^2) for all i linked to the set.

    Entries below ``min_entry`` times the largest are dropped. Return the new number of members.
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
            if not visited[i]:
                visited[i] = True
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
        if g[i] > 0.0 and g[i] >= min_entry * largest:
            x[i] = g[i]
            members[m] = i
            m += 1
        g[i] = 0.0
        visited[i] = False
    return m


@allocating_kernel
def ego_sets(
    order, seeds, links, min_free, steps, min_entry, covered, max_size, min_size, capacity
):
    """Grow a set from the ego network of each item in turn, unless most of it is in other sets.

    Ego networks are those of the CSR triple ``seeds``; sets are grown in ``links``. ``covered``
    marks the items of all sets. Return the items of the sets, and where each begins. Costs the
    links of the items of each set, in each step.
    """
    n = len(covered)
    x, g, visited = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.bool_)
    members, near = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    items, begin = np.empty(capacity, dtype=np.int32), np.zeros(len(order) + 1, dtype=np.int64)
    count = 0
    for k in order:
        degree = seeds.indptr[k + 1] - seeds.indptr[k]
        if covered[k] or degree + 1 < min_size or degree + 1 > max_size:
            continue
        n_free = 0
        for s in range(seeds.indptr[k], seeds.indptr[k + 1]):
            n_free += not covered[seeds.indices[s]]
        if n_free < min_free * degree:
            continue
        members[0], m = k, 1
        x[k] = 1.0
        for s in range(seeds.indptr[k], seeds.indptr[k + 1]):
            members[m] = seeds.indices[s]
            x[members[m]] = 1.0
            m += 1
        for _ in range(steps):
            m = _update_column(
                m, members, x, links.indptr, links.indices, links.data, near, g, visited, min_entry
            )
        if m >= min_size:
            if begin[count] + m > len(items):
                larger = np.empty(2 * len(items) + m, dtype=np.int32)
                larger[: begin[count]] = items[: begin[count]]
                items = larger
            for b in range(m):
                items[begin[count] + b] = members[b]
                covered[members[b]] = True
            begin[count + 1] = begin[count] + m
            count += 1
        for b in range(m):
            x[members[b]] = 0.0
    return items[: begin[count]].copy(), begin[: count + 1].copy()


@allocating_kernel
def inside_sums(A, indptr, columns, inside):
    """Add A_kj to inside[l] for all linked pairs and all sets l that contain both k and j.

    ``indptr`` and ``columns`` list, row by row and sorted, the sets of an item. Costs the sets of
    the neighbors.
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
def _two_columns(e, s, f, t, n_shared):
    """Return the squares explained by two columns on sets of s and t items, ``n_shared`` common."""
    S, T, O = s * (s - 1.0), t * (t - 1.0), n_shared * (n_shared - 1.0)
    best_single = max(e * e / S, f * f / T)
    determinant = S * T - O * O
    if determinant <= 1e-9 * S * T:
        return best_single
    a, b = (e * T - f * O) / determinant, (f * S - e * O) / determinant
    return max(best_single, e * a + f * b) if a > 0.0 and b > 0.0 else best_single


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
            if mark[i] == stamp:  # an item of both sets occurs twice
                mark[i] = stamp + 1
                for e in range(A.indptr[i], A.indptr[i + 1]):
                    if mark[A.indices[e]] >= stamp:
                        total += A.data[e]
    return total


@allocating_kernel
def mergeable(A, indptr, columns, begin, items, inside, n_new, min_ratio, first, second, ratio):
    """List the pairs of sets that one column on their union explains nearly as well as two.

    "Nearly" is at least the fraction ``min_ratio``. Sets are given by item (``indptr``,
    ``columns``) and by set (``begin``, ``items``); ``inside`` is the sum of A over the ordered
    pairs of each. Only pairs with one of the first ``n_new`` sets are tested. Return the number
    of pairs; only the first ``len(first)`` of them are written. Costs the sets of the neighbors,
    and the links of both sets for each pair that may qualify.
    """
    r = len(inside)
    mark = np.zeros(len(A.indptr) - 1, dtype=np.int64)
    stamp, n_pairs = np.int64(1), np.int64(0)
    pos, others = np.full(r, -1, dtype=np.int32), np.empty(r, dtype=np.int32)
    between, shared = np.empty(r), np.empty(r)
    for l in range(n_new):
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
                            others[c], between[c], shared[c] = t, 0.0, 0.0
                            m += 1
                        if e < A.indptr[i]:
                            shared[c] += 1.0
                        else:
                            between[c] += A.data[e]
        for c in range(m):
            t = others[c]
            pos[t] = -1
            other = begin[t + 1] - begin[t]
            if other < 2:
                continue
            union = size + other - shared[c]
            pairs = union * (union - 1.0)
            two = _two_columns(inside[l], float(size), inside[t], float(other), shared[c])
            # Upper bound on the links in the union: skip the count if it is too small.
            max_links = inside[l] + inside[t] + 2.0 * max(between[c], 0.0)
            if max_links * max_links < min_ratio * two * pairs:
                continue
            e = _links_of_union(A, begin, items, l, t, mark, stamp)
            stamp += 2
            if e > 0.0 and e * e >= min_ratio * two * pairs:
                if n_pairs < len(first):
                    first[n_pairs], second[n_pairs] = l, t
                    ratio[n_pairs] = e * e / (two * pairs)
                n_pairs += 1
    return n_pairs
