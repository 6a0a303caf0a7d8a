"""Rounds: many items get new rows at once, each as if all others stayed as they are.

The rows go to ``New``, not to H. Two items of a round that both moved were solved against rows of
each other that are no longer there, so f decreases by less than the rows say. With the step
d_i = n_i - o_i from the old row to the new, and E_i = n_i n_i^T - o_i o_i^T, pairs i != j of the
round add

    l2:  sum <E_i, E_j> - 2 A_ij d_i . d_j,
    l1:  sum |A_ij - n_i . n_j| - |A_ij - n_i . o_j| - |A_ij - o_i . n_j| + |A_ij - o_i . o_j|,

where the latter is d_i . d_j if A_ij <= 0. The sums over all pairs come with the changes of D and
W: for l1 each d_i meets the sum of those before it; for l2 it is the square of the sum of all E_i
less their own squares. Stored pairs and exceptions inside a round are visited one by one.

The items of a round are runs of 2^low items, one in every 2^high.
"""

from typing import NamedTuple

import numpy as np

from odsymnmf.kernels.compile import kernel, part, summing
from odsymnmf.kernels.items import At
from odsymnmf.kernels.l1 import begin
from odsymnmf.kernels.l1 import solve_row as solve_l1
from odsymnmf.kernels.l2 import begin_row, entries, note_peaks
from odsymnmf.kernels.mixed import solve_row as solve_mixed
from odsymnmf.kernels.prefetch import prefetch
from odsymnmf.kernels.sources import gather, look_ahead

# Squares of single rows' changes that exceed what the rows gain by more are not to be subtracted.
OUTWEIGHED = 1e3


class Lattice(NamedTuple):
    """Item k is in the round if k & mask = first, where the mask has the bits from low to high."""

    first: int
    mask: int
    low: int
    high: int


@part
def place(k, lattice):
    """Return the row of ``New`` that is of item k: the bits of k without those of the mask."""
    return ((k >> lattice.high) << lattice.low) | (k & ((1 << lattice.low) - 1))


@part
def _begin_row(k, p, H, New):
    for l in range(H.shape[1]):
        New[p, l] = H[k, l]


@part
def _note_gram(k, m, H, D, row, change):
    """Add E = o d^T + d n^T of a row to the change of D, each pair of its entries once.

    Return whether the row has moved, and the square of E. Written so, small changes keep their
    digits. ``m`` entries were or are not zero. A row that was left out of D, lest its sums cancel,
    is put back.
    """
    x, own, found, o, d, n = row.x, row.own, row.found, row.u, row.g, row.values
    oo, nn, dd, od, nd, outside = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    for j in range(m):
        t = found[j]
        o[j], n[j] = H[k, t], x[t]
        d[j] = n[j] - o[j]
        outside += own[t] != o[j]
        oo += o[j] * o[j]
        nn += n[j] * n[j]
        dd += d[j] * d[j]
        od += o[j] * d[j]
        nd += n[j] * d[j]
    if outside > 0:
        for j in range(m):
            for i in range(m):
                D[found[j], found[i]] += o[j] * o[i]
    if dd > 0.0:
        for j in range(m):
            t, o_j, d_j = found[j], o[j], d[j]
            for i in range(j + 1):
                change[t, found[i]] += o_j * d[i] + d_j * n[i]
    return dd > 0.0, (oo + nn) * dd + 2.0 * od * nd


@part
def _complete(change):
    """Make the sum of all E symmetric, where each pair of entries is on one side of it or other."""
    for t in range(len(change)):
        for l in range(t):
            change[t, l] += change[l, t]
            change[l, t] = change[t, l]


@part
def _meet(items, H, New, moved, row, change, squares, decrease):
    """Return sum of <E_i, E_j> over pairs i != j: the square of their sum less their own squares.

    Where these are so much larger than the decrease that its digits would cancel (an item that
    outweighs all others of its column), each E_i meets the sum of those before it, which is set up
    once more.
    """
    r, total = change.shape[0], 0.0
    _complete(change)
    if squares <= OUTWEIGHED * decrease:
        for t in range(r):
            for l in range(r):
                total += change[t, l] * change[t, l]
        return total - squares
    n, o, d = row.x, row.before, row.g
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


@part
def _twice(clash):
    total = 0.0
    for l in range(len(clash)):
        total += clash[l]
    return 2.0 * total


@kernel
def propose_l2(items, source, uneven, diagonal, H, sums, row, limits, New, moved, change):
    """Set New[p] to the optimum of row items[p]; add to the change of D.

    ``sums`` are the caller's own copies. Return the decrease of the objective if every row were the
    only one, the violation, and what pairs among the items add to the objective in D's part.
    """
    total, violations, squares = 0.0, 0.0, 0.0
    note_peaks(sums, row)
    for p in range(len(items)):
        k = items[p]
        _begin_row(k, p, H, New)
        look_ahead(source, p, items)
        gather(source, p, items, H, row.g)
        if p + 1 < len(items):
            prefetch(H, items[p + 1])
        start = begin_row(k, H, sums, row)
        m, decrease, violation = entries(
            At(k, p, k, p), source, uneven, diagonal, H, sums.D, row, limits, start, New
        )
        total += decrease
        violations += violation
        moved[p], square = _note_gram(k, m, H, sums.D, row, change)
        squares += square
    clash = _meet(items, H, New, moved, row, change, squares, total)
    return total, violations, clash


@part
def _clear_others(p, count, New, columns, room):
    """Let New[p] have no entries but those of the columns that were looked at."""
    for c in range(count):
        room[c] = New[p, columns[c]]
    for l in range(New.shape[1]):
        New[p, l] = 0.0
    for c in range(count):
        New[p, columns[c]] = room[c]


@kernel
def propose_l1(items, rows, stored, uneven, H, sums, room, limits, New, moved, change):
    """As `propose_l2`; the violation is the largest change, ``change`` that of W.

    New[p] is left undefined where row items[p] stays as it is: most do, and memory is what takes
    time.
    """
    total, furthest, clash = 0.0, 0.0, 0.0
    columns, steps = room.columns, room.step
    begin(sums, room)
    for p in range(len(items)):
        k = items[p]
        count, decrease, largest = solve_l1(
            At(k, rows.which[p], k, p), rows, stored, uneven, H, sums, room, limits, New
        )
        total += decrease
        furthest = max(furthest, largest)
        moved[p] = largest > 0.0
        if largest > 0.0:
            _clear_others(p, count, New, columns, room.S)
            for c in range(count):
                clash += change[columns[c]] * steps[c]
                change[columns[c]] += steps[c]
    return total, furthest, 2.0 * clash


@kernel
def propose_mixed(items, rows, stored, uneven, H, sums, room, mix, limits, New, moved, change):
    """As both others: decreases of f_1 and of f_2, largest change, what pairs add to either."""
    absolute, squared, furthest, clash_W, squares = 0.0, 0.0, 0.0, 0.0, 0.0
    gram, row, (change_W, change_D) = sums.l2, room.l2, change
    note_peaks(gram, row)
    begin(sums.l1, room.l1)
    x, before = row.x, row.before
    for p in range(len(items)):
        k = items[p]
        _begin_row(k, p, H, New)
        m, first, second, largest = solve_mixed(
            At(k, rows.which[p], k, p), rows, stored, uneven, H, sums, room, mix, limits, New
        )
        absolute += first
        squared += second
        furthest = max(furthest, largest)
        moved[p], square = _note_gram(k, m, H, gram.D, row, change_D)
        squares += square
        for l in range(len(x)):
            clash_W += change_W[l] * (x[l] - before[l])
            change_W[l] += x[l] - before[l]
    clash_D = _meet(items, H, New, moved, row, change_D, squares, squared)
    return absolute, squared, furthest, 2.0 * clash_W, clash_D


@kernel
def put(items, New, moved, H):
    """Set the rows of the items in H that have moved."""
    for p in range(len(items)):
        if p + 2 < len(items) and moved[p + 2]:
            prefetch(H, items[p + 2])
        if moved[p]:
            k = items[p]
            for l in range(H.shape[1]):
                H[k, l] = New[p, l]


@summing
def stored_products(items, rows, lattice, H, New, moved):
    """Return sum of A_ij d_i . d_j over the stored pairs of the items inside the round."""
    first, mask = lattice.first, lattice.mask
    total = 0.0
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        s = place(i, lattice)
        if b + 1 < len(items):
            next = rows.which[b + 1]
            for j in range(rows.indptr[next], rows.indptr[next + 1]):
                k = np.int64(rows.indices[j])
                if (k & mask) == first and k < i:
                    prefetch(H, k)
                    prefetch(New, place(k, lattice))
        if not moved[s]:
            continue
        for j in range(rows.indptr[q], rows.indptr[q + 1]):
            k = np.int64(rows.indices[j])
            if k >= i:  # each pair once: the indices are sorted
                break
            t = place(k, lattice)
            if (k & mask) == first and moved[t]:
                p = 0.0
                for l in range(H.shape[1]):
                    d = np.float64(New[t, l]) - np.float64(H[k, l])
                    p += d * (np.float64(New[s, l]) - np.float64(H[i, l]))
                total += rows.data[j] * p
    return 2.0 * total


@summing
def _four(i, s, k, t, H, New):
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


@part
def _rise(a, four, power):
    """phi(a - nn) - phi(a - no) - phi(a - on) + phi(a - oo)"""
    nn, no, on, oo = a - four[0], a - four[1], a - four[2], a - four[3]
    if power == 2:
        return (nn * nn - no * no) - (on * on - oo * oo)
    return (abs(nn) - abs(no)) - (abs(on) - abs(oo))


@kernel
def listed_rise(items, rows, v, lattice, H, New, moved, power):
    """Return what listed pairs of the items inside the round add to f_1 or f_2.

    ``v`` says how often each counts; None: each once, and less what it would add if A_ij were 0.
    """
    first, mask = lattice.first, lattice.mask
    total = 0.0
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        s = place(i, lattice)
        if not moved[s]:
            continue
        for j in range(rows.indptr[q], rows.indptr[q + 1]):
            k = np.int64(rows.indices[j])
            if k >= i:
                break
            t = place(k, lattice)
            if (k & mask) == first and moved[t]:
                four = _four(i, s, k, t, H, New)
                a = np.float64(rows.data[j])
                if v is None:
                    total += _rise(a, four, power) - _rise(0.0, four, power)
                else:
                    total += v[j] * _rise(a, four, power)
    return 2.0 * total


@kernel
def feature_changes(words, indptr, indices, data, steps, Z, Z_new, change, clash):
    """Set Z_new[b] to row words[b] of Z = X^T H, were the round put in place.

    Row b of the CSR triple holds the places in the round of the items that have the word. Return
    sum of A_ij d_i . d_j inside the round, as far as these words make A.
    """
    r = Z.shape[1]
    for l in range(r):
        clash[l] = 0.0
    for b in range(len(words)):
        for l in range(r):
            change[l] = 0.0
        for j in range(indptr[b], indptr[b + 1]):
            i, x = indices[j], data[j]
            for l in range(r):
                e = x * steps[i, l]
                clash[l] += change[l] * e
                change[l] += e
        for l in range(r):
            Z_new[b, l] = Z[words[b], l] + change[l]
    return _twice(clash)
