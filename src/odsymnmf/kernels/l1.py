"""l1: one row of H after another, every entry a weighted median over the neighbours.

Entry (k, l) minimises sum_{i != k} w_ik |a_i x - b_i| over 0 <= x <= upper, with a_i = H_il and
b_i = A_ik - sum_{t != l} H_it H_kt. Where A_ik <= 0 the term is linear on x >= 0, so only
neighbours with A_ik > 0 can have a positive breakpoint b_i / a_i; all other weight sits at
zero. T = sum_{i != k} w_ik H_il is the weight in all: w0 (W_l - H_kl) with W_l = sum_i H_il, plus
what the exceptions differ by. Neighbours with no entry at all (not ``held``, a byte each) have no
weight anywhere; l1 leaves many items so.

While row k is worked on, rho_i = A_ik - h_k . h_i is kept for its neighbours: b_i = rho_i +
a_i x, and the sign of rho_i tells on which side of x the breakpoint lies. A fitted pair has
rho_i = 0; what rounding leaves of it is cut off, or it would grow into an entry of its own.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.arrays import on_lines
from odsymnmf.kernels.compile import kernel, part, summing
from odsymnmf.kernels.items import At, Limits
from odsymnmf.kernels.rounding import CANCELLED, DUST, ROUNDING, TIE
from odsymnmf.kernels.sources import add_rows
from odsymnmf.kernels.weighted_median import select
from odsymnmf.kernels.weights import exact_sum

# Where the breakpoints within reach weigh too little, those within so many times it are tried.
FURTHER = 4.0


class Rows(NamedTuple):
    """Rows of A: row which[p] of the CSR triple is the row of the p-th item asked for."""

    which: Any
    indptr: Any
    indices: Any
    data: Any


class Sums(NamedTuple):
    """What sweeps keep up to date: W_l = sum_i H_il, the largest it has been, who has entries."""

    W: Any
    peak: Any
    held: Any


class Room(NamedTuple):
    """Workspace: for each neighbour, for each column, and a[c, j] for a column and a neighbour."""

    near: Any
    value: Any
    weight: Any
    rho: Any
    points: Any
    weights: Any
    picked: Any
    a: Any
    wa: Any
    S: Any
    T: Any
    half: Any
    reach: Any
    step: Any
    columns: Any


def workspace(rows: Rows, weighted: bool, r: int) -> Room:
    """Return room for the longest of the rows, and r columns."""
    m = int((rows.indptr[rows.which + 1] - rows.indptr[rows.which]).max(initial=0)) + 1
    near, picked = np.empty(m, dtype=rows.indices.dtype), np.empty(m, dtype=np.int64)
    value, weight, rho, points, weights = on_lines(5, m)
    a, columns = on_lines(r, m), np.empty(r + 1, dtype=np.int64)
    wa = on_lines(r, m) if weighted else a  # w_i a_i
    S, T, half, step = (np.empty(r) for _ in range(4))
    return Room(
        near, value, weight, rho, points, weights, picked, a, wa, S, T, half, np.zeros(r), step,
        columns,
    )  # fmt: skip


@part
def entry(x, half, reach, m, a, wa, room):
    """Return the smallest minimiser of the entry whose value is x, given half = T / 2.

    That is the smallest breakpoint with at most half of the weight above it. One pass over the
    signs of rho shows whether x is it already, and if not, on which side it lies. Only the
    breakpoints on that side within ``reach`` of x are looked at, more if these weigh too little.
    """
    rho = room.rho
    above, at = _weight_above_and_at(m, wa, rho)
    if above <= half and (x == 0.0 or above + at > half):
        return x
    up = above > half
    while True:
        count, weight = _within(reach, up, x, m, a, wa, room)
        heavier = above if up else above + at + weight
        if above - weight <= half if up else heavier > half or reach > x:
            break
        reach *= FURTHER
    return select(room.points, room.weights, count, heavier - half) if heavier > half else 0.0


@part
def _within(reach, up, x, m, a, wa, room):
    """List the positive breakpoints above or below x by at most ``reach``, and their weights.

    Return how many there are and what they weigh.
    """
    value, rho, picked = room.value, room.rho, room.picked
    points, weights = room.points, room.weights
    side = 1.0 if up else -1.0
    found = np.int64(0)
    for j in range(m):
        # Written first and counted after: no branch, because none could be predicted.
        picked[found] = j
        found += (side * rho[j] > 0.0) & (side * rho[j] <= reach * a[j])
    count, weight = np.int64(0), 0.0
    for j in picked[:found]:
        b = rho[j] + a[j] * x
        if b > DUST * value[j]:
            points[count] = b / a[j]
            weights[count] = wa[j]
            weight += wa[j]
            count += 1
    return count, weight


@summing
def _weight_above_and_at(m, wa, rho):
    """Return the weight where rho > 0 and where rho = 0."""
    above, at = 0.0, 0.0
    for j in range(m):
        above += wa[j] if rho[j] > 0.0 else 0.0
        at += wa[j] if rho[j] == 0.0 else 0.0
    return above, at


@part
def _column_sum(k, l, H):
    """Return sum_{i != k} H_il."""
    total = 0.0
    for i in range(len(H)):
        if i != k:
            total += H[i, l]
    return total


@part
def positive_neighbours(q, rows, stored, held, room):
    """List the neighbours with A_ik > 0 and some a_i > 0; return how many."""
    indices, data = rows.indices, rows.data
    near, value, kept = room.near, room.value, room.weight
    m = np.int64(0)
    for j in range(rows.indptr[q], rows.indptr[q + 1]):
        near[m] = indices[j]
        value[m] = data[j]
        kept[m] = 1.0 if stored is None else stored[j]
        m += (data[j] > 0.0) & held[indices[j]]
    return m


@part
def totals(at, uneven, H, sums, room):
    """Set T_l, the weight of all pairs of item k in column l, and half of it."""
    k, W, peak, T, half = at.item, sums.W, sums.peak, room.T, room.half
    if uneven is not None:
        for l in range(len(T)):
            T[l] = 0.0
        pairs = uneven.pairs
        first, last = pairs.indptr[at.pairs], pairs.indptr[at.pairs + 1]
        add_rows(T, pairs.indices, pairs.v, first, last, H)
    for l in range(len(T)):
        t = W[l] - H[k, l]
        if t < CANCELLED * peak[l]:
            t = peak[l] = _column_sum(k, l, H)
            W[l] = t + H[k, l]
        if uneven is None:
            T[l] = t
        else:
            T[l] += uneven.w0 * t
            if T[l] < CANCELLED * uneven.w0 * t:
                T[l] = exact_sum(uneven, at, l, H, 1)
        half[l] = 0.5 * T[l] * (1.0 + TIE)


@part
def gather_columns(count, m, stored, H, room):
    """Set a[c] to the entries of the neighbours in the c-th of the columns, wa[c] to w_i a_i."""
    a, wa, near, columns = room.a, room.wa, room.near, room.columns
    for c in range(count):
        for j in range(m):
            a[c, j] = H[near[j], columns[c]]
        if stored is not None:
            kept = room.weight
            for j in range(m):
                wa[c, j] = kept[j] * a[c, j]


@part
def residuals(h, count, m, room):
    """Set rho_i = A_ik - h_k . h_i, where h_k is zero but in the listed columns."""
    rho, value, a = room.rho, room.value, room.a
    for j in range(m):
        rho[j] = value[j]
    for c in range(count):
        x = h[room.columns[c]]
        if x != 0.0:
            for j in range(m):
                rho[j] -= x * a[c, j]
    for j in range(m):
        rho[j] = _cut(rho[j], value[j])


@part
def _cut(rho, value):
    return rho if abs(rho) > DUST * value else 0.0


@summing
def move(step, m, a, value, rho, weight):
    """rho_i -= step a_i; return by how much sum of w_i max(rho_i, 0) decreased."""
    decrease = 0.0
    for j in range(m):
        before = rho[j]
        after = _cut(before - step * a[j], value[j])
        change = (before if before > 0.0 else 0.0) - (after if after > 0.0 else 0.0)
        decrease += change if weight is None else weight[j] * change
        rho[j] = after
    return decrease


@part
def begin(sums, room):
    """Note the largest sums, and forget how long the last steps were."""
    W, peak, reach = sums.W, sums.peak, room.reach
    for l in range(len(W)):
        peak[l] = max(peak[l], W[l])
        reach[l] = 0.0


@part
def _update(count, sums, room):
    """W += the steps of the entries that were looked at."""
    W, columns, steps = sums.W, room.columns, room.step
    for c in range(count):
        W[columns[c]] += steps[c]


@part
def solve_row(at, rows, stored, uneven, H, sums, room, limits, out):
    """Bring the entries of the row of an item to their optimum in turn, and write them down.

    Return how many entries were looked at (their columns and changes are listed in the workspace),
    the decrease of the objective and the largest change.
    """
    k, o = at.item, at.out
    columns, reach, steps = room.columns, room.reach, room.step
    S, T, half = room.S, room.T, room.half
    m = positive_neighbours(at.row, rows, stored, sums.held, room)
    for l in range(len(S)):
        S[l] = 0.0
    # No positive breakpoints weigh more than S.
    add_rows(S, room.near, room.weight, 0, m, H)
    totals(at, uneven, H, sums, room)
    count = np.int64(0)
    for l in range(len(S)):
        columns[count] = l
        count += (H[k, l] > 0.0) | (S[l] > half[l]) | (T[l] <= 0.0)
    decrease, largest = 0.0, 0.0
    if count > 0:
        gather_columns(count, m, stored, H, room)
        residuals(H[k], count, m, room)
    for c in range(count):
        l = columns[c]
        old = H[k, l]
        new = 0.0
        if T[l] <= 0.0:
            new = limits.empty
        elif S[l] > half[l]:
            far = reach[l] if reach[l] > 0.0 else T[l]
            new = min(entry(old, half[l], far, m, room.a[c], room.wa[c], room), limits.upper)
        out[o, l] = new
        step = out[o, l] - old
        steps[c] = step
        if step != 0.0:
            if stored is None:
                moved = move(step, m, room.a[c], room.value, room.rho, None)
            else:
                moved = move(step, m, room.a[c], room.value, room.rho, room.weight)
            decrease += 2.0 * (2.0 * moved - step * T[l])
            largest = max(largest, abs(step))
            reach[l] = 0.5 * min(reach[l], FURTHER * abs(step)) + abs(step)
    return count, decrease, largest


@kernel
def sweep(items, rows, stored, uneven, H, sums, room, limits):
    """Bring the rows of the items in H to their optimum in turn, and the sums with them.

    ``stored`` is what the stored pairs of ``rows`` weigh, None if each weighs one. Return the
    decrease of the objective and the largest change of an entry.
    """
    total, furthest = 0.0, 0.0
    begin(sums, room)
    for p in range(len(items)):
        k = items[p]
        at = At(k, rows.which[p], k, k)
        count, decrease, largest = solve_row(at, rows, stored, uneven, H, sums, room, limits, H)
        total += decrease
        furthest = max(furthest, largest)
        if largest > 0.0:
            held = sums.held
            held[k] = True
            _update(count, sums, room)
    return total, furthest


@kernel
def solve(rows, stored, uneven, H, sums, others, room, upper, passes, X):
    """Improve each row of X against rows of H that stay, entry by entry, until none moves.

    Row p of ``rows`` holds the similarities of row p of X to the rows of H but the last, which is
    room to work in; ``others`` holds the sums of the columns of the others.
    """
    n, W, peak, limits = len(H) - 1, sums.W, sums.peak, Limits(upper, 0.0)
    for p in range(len(X)):
        for l in range(len(others)):
            H[n, l] = X[p, l]
            W[l] = others[l] + X[p, l]
            peak[l] = 0.0
        for _ in range(passes):
            largest, top = 0.0, 0.0
            begin(sums, room)
            at = At(n, p, p, n)
            count, _, largest = solve_row(at, rows, stored, uneven, H, sums, room, limits, H)
            _update(count, sums, room)
            for l in range(len(others)):
                top = max(top, H[n, l])
            if largest <= ROUNDING * top:
                break
        for l in range(len(others)):
            X[p, l] = H[n, l]


@kernel
def stored_error(items, rows, H, errors):
    """Set errors[b] = sum_j |A_ij - p_ij| - p_ij over the stored pairs of item i = items[b]."""
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        error = 0.0
        for j in range(rows.indptr[q], rows.indptr[q + 1]):
            p = 0.0
            for l in range(H.shape[1]):
                p += np.float64(H[i, l]) * H[rows.indices[j], l]
            error += abs(rows.data[j] - p) - p
        errors[b] = error


@summing
def stored_gain(items, rows, j, H):
    """Return what column j adds on the stored pairs of the items, were it zero on all others.

    That is the sum of |R_ik| - |R_ik - x| + x, where x = H_ij H_kj and R is A minus the other
    columns. It vanishes where nothing is stored, because R_ik <= 0 there.
    """
    total = 0.0
    for b in range(len(items)):
        i, q = items[b], rows.which[b]
        for p in range(rows.indptr[q], rows.indptr[q + 1]):
            k = rows.indices[p]
            x = np.float64(H[i, j]) * H[k, j]
            if x > 0.0:
                error = np.float64(rows.data[p])
                for t in range(H.shape[1]):
                    error -= np.float64(H[i, t]) * H[k, t]
                total += abs(error + x) - abs(error) + x
    return total
