"""Rounds: the rows of many items are solved at once, each against all others as they were.

The new rows go to ``New``. Two items of a round that both moved were solved against outdated rows
of each other, so f decreases by less than the sum over rows. With the step d_i = n_i - o_i from the
old row to the new, and E_i = n_i n_i^T - o_i o_i^T, pairs i != j of the round add

    l2:  sum <E_i, E_j> - 2 A_ij d_i . d_j,
    l1:  sum |A_ij - n_i . n_j| - |A_ij - n_i . o_j| - |A_ij - o_i . n_j| + |A_ij - o_i . o_j|,

where the latter is d_i . d_j if A_ij <= 0 (docs/algorithms.md, "Rounds"). The sums over all pairs
follow from the changes of D and W: for l1 each d_i is multiplied by the sum of those before it; for
l2 it is the square of the sum of all E_i minus their own squares. Stored pairs and exceptions
inside a round are visited one by one; ``position[k]`` is the position of item k in the round, -1
outside it.
"""

import numpy as np

from odsymnmf.kernels.compile import fastmath_helper, fastmath_kernel, inline, kernel, prefetch

# If sum |E_i|^2 exceeds the decrease by this factor, it is not subtracted: digits would cancel.
MAX_SQUARES_RATIO = 1e3


@inline
def _add_change(k, p, H, New, change, work):
    """Add E = o d^T + d n^T of a row to the change of D, each pair of its entries once.

    Return whether the row has moved, and the square of E. This form of E is exact for small
    changes.
    """
    support, o, d, n = work.support, work.u, work.g, work.values
    oo, nn, dd, od, nd, m = 0.0, 0.0, 0.0, 0.0, 0.0, np.int64(0)
    for l in range(H.shape[1]):
        support[m] = l  # without a branch to mispredict
        m += H[k, l] != 0.0
    for l in range(H.shape[1]):
        support[m] = l
        m += (H[k, l] == 0.0) & (New[p, l] != 0.0)
    for j in range(m):
        t = support[j]
        o[j], n[j] = H[k, t], New[p, t]
        d[j] = n[j] - o[j]
        oo += o[j] * o[j]
        nn += n[j] * n[j]
        dd += d[j] * d[j]
        od += o[j] * d[j]
        nd += n[j] * d[j]
    if dd > 0.0:
        for j in range(m):
            t, o_j, d_j = support[j], o[j], d[j]
            for i in range(j + 1):
                change[t, support[i]] += o_j * d[i] + d_j * n[i]
    return dd > 0.0, (oo + nn) * dd + 2.0 * od * nd


@inline
def _complete(change):
    """Make the sum of all E symmetric; each pair of entries is in one of its triangles."""
    for t in range(len(change)):
        for l in range(t):
            change[t, l] += change[l, t]
            change[l, t] = change[t, l]


@inline
def _pair_sum(items, H, New, moved, change, squares, decrease, work):
    """Return sum of <E_i, E_j> over pairs i != j: the square of their sum minus their own squares.

    If these are so much larger than the decrease that its digits would cancel (one item dominates
    its column), each E_i is multiplied by the sum of those before it.
    """
    r, total = change.shape[0], 0.0
    _complete(change)
    if squares <= MAX_SQUARES_RATIO * decrease:
        for t in range(r):
            for l in range(r):
                total += change[t, l] * change[t, l]
        return total - squares
    n, o, d = work.x, work.before, work.g
    for t in range(r):
        for l in range(r):
            change[t, l] = 0.0
    for p in range(len(items)):
        if moved[p]:
            for l in range(r):
                n[l], o[l] = New[p, l], H[items[p], l]
                d[l] = n[l] - o[l]
            for t in range(r):
                for l in range(r):
                    e = o[t] * d[l] + d[t] * n[l]
                    total += change[t, l] * e
                    change[t, l] += e
    return 2.0 * total


@kernel
def gram_change(items, H, New, moved, decrease, change, work):
    """Set which rows moved, add their E to the change of D; return sum <E_i, E_j>, i != j.

    Costs the squared number of entries of each row that moved.
    """
    squares = 0.0
    for p in range(len(items)):
        moved[p], square = _add_change(items[p], p, H, New, change, work)
        squares += square
    return _pair_sum(items, H, New, moved, change, squares, decrease, work)


@kernel
def copy_moved_rows(items, New, moved, H):
    """Set the rows of H that have moved, in O(r) for each."""
    for p in range(len(items)):
        if p + 2 < len(items) and moved[p + 2]:
            prefetch(H, items[p + 2])
        if moved[p]:
            k = items[p]
            for l in range(H.shape[1]):
                H[k, l] = New[p, l]


@fastmath_kernel
def stored_products(items, rows, position, H, New, moved):
    """Return sum of A_ij d_i . d_j over the stored pairs of the items inside the round.

    Costs O(r) for each pair of rows that moved.
    """
    total = 0.0
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        s = position[i]
        if b + 1 < len(items):
            next = rows.which[b + 1]
            for j in range(rows.indptr[next], rows.indptr[next + 1]):
                k = rows.indices[j]
                if position[k] >= 0 and k < i:
                    prefetch(H, k)
                    prefetch(New, position[k])
        if not moved[s]:
            continue
        for j in range(rows.indptr[q], rows.indptr[q + 1]):
            k = rows.indices[j]
            if k >= i:  # each pair once: the indices are sorted
                break
            t = position[k]
            if t >= 0 and moved[t]:
                p = 0.0
                for l in range(H.shape[1]):
                    d = np.float64(New[t, l]) - np.float64(H[k, l])
                    p += d * (np.float64(New[s, l]) - np.float64(H[i, l]))
                total += rows.data[j] * p
    return 2.0 * total


@fastmath_helper
def _four_products(i, s, k, t, H, New):
    """Return n_i . n_k, n_i . o_k, o_i . n_k and o_i . o_k."""
    nn, no, on, oo = 0.0, 0.0, 0.0, 0.0
    for l in range(H.shape[1]):
        n_i, o_i = np.float64(New[s, l]), np.float64(H[i, l])
        n_k, o_k = np.float64(New[t, l]), np.float64(H[k, l])
        nn += n_i * n_k
        no += n_i * o_k
        on += o_i * n_k
        oo += o_i * o_k
    return nn, no, on, oo


@inline
def second_difference(a, dots, power):
    """Return phi(a - nn) - phi(a - no) - phi(a - on) + phi(a - oo), phi(e) = |e| or e^2."""
    nn, no, on, oo = a - dots[0], a - dots[1], a - dots[2], a - dots[3]
    if power == 2:
        return (nn * nn - no * no) - (on * on - oo * oo)
    return (abs(nn) - abs(no)) - (abs(on) - abs(oo))


@kernel
def listed_correction(items, rows, v, position, H, New, moved, power):
    """Return the correction of f_1 or f_2 for stored pairs or exceptions inside the round.

    ``v`` are the weights of exceptions; None for stored pairs, relative to A_ij = 0. Costs O(r) for
    each pair.
    """
    total = 0.0
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        s = position[i]
        if not moved[s]:
            continue
        for j in range(rows.indptr[q], rows.indptr[q + 1]):
            k = rows.indices[j]
            if k >= i:
                break
            t = position[k]
            if t >= 0 and moved[t]:
                dots = _four_products(i, s, k, t, H, New)
                a = np.float64(rows.data[j])
                if v is None:
                    total += second_difference(a, dots, power) - second_difference(0.0, dots, power)
                else:
                    total += v[j] * second_difference(a, dots, power)
    return 2.0 * total


@kernel
def feature_changes(features, indptr, indices, data, steps, Z, Z_new, change, pair_terms):
    """Set Z_new[b] to row features[b] of Z = X^T H after the round.

    Row b of the CSR arrays lists the positions in the round of the items that have the feature.
    Return the sum of A_ij d_i . d_j over the pairs of the round, as far as due to these features.
    Costs O(r) for each entry.
    """
    r, total = Z.shape[1], 0.0
    for l in range(r):
        pair_terms[l] = 0.0
    for b in range(len(features)):
        for l in range(r):
            change[l] = 0.0
        for j in range(indptr[b], indptr[b + 1]):
            i, x = indices[j], data[j]
            for l in range(r):
                e = x * steps[i, l]
                pair_terms[l] += change[l] * e
                change[l] += e
        for l in range(r):
            Z_new[b, l] = Z[features[b], l] + change[l]
    for l in range(r):
        total += pair_terms[l]
    return 2.0 * total
