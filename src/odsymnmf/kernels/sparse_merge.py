"""Which sets would one column explain nearly as well as two?

One column with the same entry for all items of a set with s items explains e^2 / (s (s - 1)) of the
squares at best, where e = sum of A_ij over its ordered pairs. Two columns on overlapping sets share
the pairs of the items in both, and their best entries solve two linear equations.
"""

import numpy as np

from odsymnmf.kernels.compile import allocating


@allocating
def _two_columns(e, s, f, t, both):
    """Return what two columns explain, on sets of s and t items of which they share ``both``."""
    S, T, O = s * (s - 1.0), t * (t - 1.0), both * (both - 1.0)
    alone = max(e * e / S, f * f / T)
    rest = S * T - O * O
    if rest <= 1e-9 * S * T:
        return alone
    a, b = (e * T - f * O) / rest, (f * S - e * O) / rest
    return max(alone, e * a + f * b) if a > 0.0 and b > 0.0 else alone


@allocating
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

    Nearly means at least the share ``bar``. Sets are given by item (``indptr``, ``columns``) and
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
                # the item itself first, then its neighbours
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
