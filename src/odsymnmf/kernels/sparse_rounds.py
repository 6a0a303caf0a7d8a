"""Rounds with sparse memberships: corrections for pairs of a round, and the update of H and D.

As in `rounds` (docs/algorithms.md, "Rounds"): two items of a round that both moved were solved
against outdated rows of each other. With d_i = n_i - o_i, the new row minus the old, and
E_i = n_i n_i^T - o_i o_i^T, pairs i != j of the round add the sum of <E_i, E_j> (l2) or of
d_i . d_j (l1) to f if nothing is stored; each is multiplied by the sum of those before it, so that
nothing cancels. Stored pairs and exceptions inside the round are visited one by one;
``position[k]`` is the position of item k in the round, -1 outside it.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import allocating_kernel, helper, inline, prefetch
from odsymnmf.kernels.rounds import second_difference
from odsymnmf.kernels.rows import CANCELLED
from odsymnmf.kernels.sparse_h import EMPTY, add_pair, first_slot, set_row, slot
from odsymnmf.kernels.sparse_l1 import sum_of_others

# Slots of the table are prefetched this many pairs ahead.
PREFETCH_PAIRS = 32


class NewRows(NamedTuple):
    """The new rows of a round: row p is the part ``span[p]``; ``moved`` marks rows that differ."""

    span: Any
    column: Any
    value: Any
    moved: Any


@inline
def _merge_rows(k, p, H, New, columns, old, new):
    """List the columns of both rows, sorted; return their number, and if the rows differ."""
    s, s_end, e, e_end = H.span[k, 0], H.span[k, 1], New.span[p, 0], New.span[p, 1]
    m, differs = 0, False
    while s < s_end or e < e_end:
        from_old = s < s_end and (e == e_end or H.column[s] <= New.column[e])
        from_new = e < e_end and (s == s_end or New.column[e] <= H.column[s])
        columns[m] = H.column[s] if from_old else New.column[e]
        old[m] = np.float64(H.value[s]) if from_old else 0.0
        new[m] = np.float64(New.value[e]) if from_new else 0.0
        differs |= old[m] != new[m]
        s += from_old
        e += from_new
        m += 1
    return m, differs


@inline
def _longest(items, H, New):
    """Return the largest number of nonzeros of an old and a new row together."""
    longest = 0
    for p in range(len(items)):
        k = items[p]
        length = H.span[k, 1] - H.span[k, 0] + New.span[p, 1] - New.span[p, 0]
        longest = max(longest, length)
    return longest


@allocating_kernel
def gram_changes(first, items, New, H, moved, change):
    """Add E_k of the items to the change of D while its table has capacity; mark moved items.

    The diagonal is in the table, too. Return the next item, the capacity that it needs, and the
    pair terms of the items in sum_{i != j} (h_i . h_j)^2. Costs the pairs of entries in each row.
    """
    side, keys, values, used = change.side, change.key, change.value, change.used
    longest = _longest(items, H, New)
    columns, old, new = np.empty(longest, dtype=np.int64), np.empty(longest), np.empty(longest)
    pair_terms = 0.0
    for p in range(first, len(items)):
        m, differs = _merge_rows(items[p], p, H, New, columns, old, new)
        moved[p] = differs
        if not differs:
            continue
        if 2 * (used[0] + m * (m + 1) // 2) > len(keys):
            return p, m, 2.0 * pair_terms
        for c in range(m):
            for b in range(c + 1):
                e = old[c] * (new[b] - old[b]) + (new[c] - old[c]) * new[b]
                if e == 0.0:
                    continue
                s = slot(columns[b], columns[c], side, keys)
                if keys[s] == EMPTY:
                    keys[s] = (columns[b] << 32) | columns[c]
                    used[0] += 1
                pair_terms += values[s] * (e if b == c else 2.0 * e)
                values[s] += e
    return len(items), 0, 2.0 * pair_terms


@allocating_kernel
def add_gram_change(change, D):
    """D += change; the table has capacity for it. Costs the length of the table of the change."""
    for b in range(len(change.key)):
        ahead = change.key[min(b + PREFETCH_PAIRS, len(change.key) - 1)]
        if ahead != EMPTY:
            l, t = ahead >> 32, ahead & 0xFFFFFFFF
            prefetch(D.key, first_slot(l, t, D.side, len(D.key)))
        if change.key[b] != EMPTY:
            l, t = change.key[b] >> 32, change.key[b] & 0xFFFFFFFF
            if l == t:
                D.diagonal[l] += change.value[b]
            else:
                add_pair(l, t, change.value[b], D.side, D.key, D.value, D.used)


@allocating_kernel
def sum_changes(items, New, H, moved, change):
    """Add d_k of the items to the change of W; return their pair terms d_i . d_j.

    Costs the entries of the old and the new rows.
    """
    longest = _longest(items, H, New)
    columns, old, new = np.empty(longest, dtype=np.int64), np.empty(longest), np.empty(longest)
    pair_terms = 0.0
    for p in range(len(items)):
        m, differs = _merge_rows(items[p], p, H, New, columns, old, new)
        moved[p] = differs
        for c in range(m):
            step = new[c] - old[c]
            pair_terms += change[columns[c]] * step
            change[columns[c]] += step
    return 2.0 * pair_terms


@allocating_kernel
def add_sum_change(change, E, H, W, peak):
    """W += change, in O(r); sums that have cancelled are recomputed. H has its new rows already."""
    entries = np.empty(len(H.span), dtype=np.int64)
    for l in range(len(W)):
        W[l] += change[l]
        peak[l] = max(peak[l], W[l])
        if change[l] != 0.0 and W[l] < CANCELLED * peak[l]:
            W[l] = peak[l] = sum_of_others(-1, 0, l, H, 1.0, E, False, entries)


@helper
def _products(k, p, H, New, n_i, o_i):
    """Return n_i . n_k, n_i . o_k, o_i . n_k and o_i . o_k, for dense rows n_i and o_i."""
    nn, no, on, oo = 0.0, 0.0, 0.0, 0.0
    for s in range(New.span[p, 0], New.span[p, 1]):
        nn += n_i[New.column[s]] * New.value[s]
        on += o_i[New.column[s]] * New.value[s]
    for s in range(H.span[k, 0], H.span[k, 1]):
        no += n_i[H.column[s]] * H.value[s]
        oo += o_i[H.column[s]] * H.value[s]
    return nn, no, on, oo


@allocating_kernel
def sparse_listed_correction(items, A, w0, E, position, H, New, r, power):
    """Return the correction of f for stored pairs and exceptions of the items inside the round.

    A and E list every pair (i, k), k < i, of two items of one round, and possibly other pairs.
    Costs the entries of both rows of k for each pair.
    """
    n_i, o_i = np.zeros(r), np.zeros(r)
    stored, listed = 0.0, 0.0
    for i in items:
        q = position[i]
        has_pairs = A.indptr[i + 1] > A.indptr[i] or E.indptr[i + 1] > E.indptr[i]
        if not (has_pairs and New.moved[q]):
            continue
        for s in range(New.span[q, 0], New.span[q, 1]):
            n_i[New.column[s]] = New.value[s]
        for s in range(H.span[i, 0], H.span[i, 1]):
            o_i[H.column[s]] = H.value[s]
        for j in range(A.indptr[i], A.indptr[i + 1]):
            k = A.indices[j]
            if position[k] >= 0 and New.moved[position[k]]:
                dots = _products(k, position[k], H, New, n_i, o_i)
                a = np.float64(A.data[j])
                stored += second_difference(a, dots, power) - second_difference(0.0, dots, power)
        for j in range(E.indptr[i], E.indptr[i + 1]):
            k = E.indices[j]
            if position[k] >= 0 and New.moved[position[k]]:
                dots = _products(k, position[k], H, New, n_i, o_i)
                listed += E.v[j] * second_difference(E.a[j], dots, power)
        for s in range(New.span[q, 0], New.span[q, 1]):
            n_i[New.column[s]] = 0.0
        for s in range(H.span[i, 0], H.span[i, 1]):
            o_i[H.column[s]] = 0.0
    return 2.0 * (w0 * stored + listed)


@allocating_kernel
def put_rows(items, New, H):
    """Set the rows that differ, in the size of these; the log has capacity for them."""
    top = H.top[0]
    for p in range(len(New.span)):
        if New.moved[p]:
            begin = top
            for s in range(New.span[p, 0], New.span[p, 1]):
                H.column[top], H.value[top] = New.column[s], New.value[s]
                top += 1
            set_row(H, begin, top, items[p])
    H.top[0] = top
