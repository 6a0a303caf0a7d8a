"""l1: rows of H, each entry a weighted median over the neighbors of the item.

Entry (k, l) minimizes sum_{i != k} w_ik |a_i x - b_i| over 0 <= x <= upper, with a_i = H_il and
b_i = A_ik - sum_{t != l} H_it H_kt. Where A_ik <= 0 the term is linear on x >= 0, so only
neighbors with A_ik > 0 can have a positive breakpoint b_i / a_i; all other weight is at
zero. The total weight is T = sum_{i != k} w_ik H_il = w0 (W_l - H_kl) + sum_i v_ik H_il, with
W_l = sum_i H_il and v_ik = w_ik - w0 for the exceptions. Neighbors whose row of H is zero (not
``nonzero``) have no weight; with l1, many rows are zero.

For the neighbors of item k, rho_i = A_ik - h_k . h_i is kept up to date: b_i = rho_i + a_i x, and
the sign of rho_i determines on which side of x the breakpoint lies. A pair that is fitted exactly
has rho_i = 0; a residual that is rounding is set to zero, because it could become an entry of H.
"""

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import fastmath_helper, inline, kernel
from odsymnmf.kernels.rows import CANCELLED, RESIDUAL_ROUNDING, ROUNDING, TIE, CsrRows, RowRef
from odsymnmf.kernels.sources import add_rows
from odsymnmf.kernels.weighted_median import select
from odsymnmf.kernels.weights import exact_sum
from odsymnmf.utils import aligned_empty

# Growth factor of the search radius while the breakpoints within it have too little weight.
REACH_GROWTH = 4.0


class ColumnState(NamedTuple):
    """W_l = sum_i H_il, the largest values of W so far, and which rows of H are nonzero."""

    W: Any
    peak: Any
    nonzero: Any


# Arrays by neighbor, by column, and a[c, j] and w_j a[c, j] for a column and a neighbor.
Workspace = namedtuple(
    "Workspace",
    "neighbors value weight rho points weights positions S T half step reach columns a wa",
)


def workspace(rows: CsrRows, weighted: bool, r: int) -> Workspace:
    """Return workspace for the longest of the rows, and r columns."""
    m = int((rows.indptr[rows.which + 1] - rows.indptr[rows.which]).max(initial=0)) + 1
    neighbors, positions = np.empty(m, dtype=rows.indices.dtype), np.empty(m, dtype=np.int64)
    columns, a = np.empty(r + 1, dtype=np.int64), aligned_empty(r, m)
    wa = aligned_empty(r, m) if weighted else a
    return Workspace._make(
        [neighbors, *aligned_empty(5, m), positions, *np.zeros((5, r)), columns, a, wa]
    )


@inline
def weighted_median(x, half, reach, m, a, wa, work):
    """Return the smallest minimizer of the entry whose value is x, given half = T / 2.

    That is the smallest breakpoint with at most half of the weight above it. One pass over the
    signs of rho shows whether x is it already, and if not, on which side it lies. Only the
    breakpoints on that side within ``reach`` of x are read, more if these have too little weight.
    """
    rho = work.rho
    above, at = _weight_above_and_at(m, wa, rho)
    if above <= half and (x == 0.0 or above + at > half):
        return x
    up = above > half
    while True:
        count, weight = _within(reach, up, x, m, a, wa, work)
        w_above = above if up else above + at + weight
        if above - weight <= half if up else w_above > half or reach > x:
            break
        reach *= REACH_GROWTH
    return select(work.points, work.weights, count, w_above - half) if w_above > half else 0.0


@inline
def _within(reach, up, x, m, a, wa, work):
    """List the positive breakpoints above or below x by at most ``reach``, and their weights.

    Return their number and total weight.
    """
    value, rho, positions = work.value, work.rho, work.positions
    points, weights = work.points, work.weights
    side = 1.0 if up else -1.0
    within = np.int64(0)
    for j in range(m):
        # Written first and counted after, without a branch, which would be unpredictable.
        positions[within] = j
        within += (side * rho[j] > 0.0) & (side * rho[j] <= reach * a[j])
    count, weight = np.int64(0), 0.0
    for j in positions[:within]:
        b = rho[j] + a[j] * x
        if b > RESIDUAL_ROUNDING * value[j]:
            points[count] = b / a[j]
            weights[count] = wa[j]
            weight += wa[j]
            count += 1
    return count, weight


@fastmath_helper
def _weight_above_and_at(m, wa, rho):
    """Return the weight where rho > 0 and where rho = 0."""
    above, at = 0.0, 0.0
    for j in range(m):
        above += wa[j] if rho[j] > 0.0 else 0.0
        at += wa[j] if rho[j] == 0.0 else 0.0
    return above, at


@inline
def _column_sum(k, l, H):
    """Return sum_{i != k} H_il."""
    total = 0.0
    for i in range(len(H)):
        if i != k:
            total += H[i, l]
    return total


@inline
def positive_neighbors(q, rows, stored, nonzero, work):
    """List the neighbors with A_ik > 0 and some a_i > 0; return their number."""
    indices, data = rows.indices, rows.data
    neighbors, value, weight = work.neighbors, work.value, work.weight
    m = np.int64(0)
    for j in range(rows.indptr[q], rows.indptr[q + 1]):
        neighbors[m] = indices[j]
        value[m] = data[j]
        weight[m] = 1.0 if stored is None else stored[j]
        m += (data[j] > 0.0) & nonzero[indices[j]]
    return m


@inline
def totals(at, x_row, weights, H, X, sums, work, new):
    """Set T_l, the weight of all pairs of an item in column l, and half of it.

    A new item is not contained in W.
    """
    k, W, peak, T, half = at.item, sums.W, sums.peak, work.T, work.half
    if weights is not None:
        for l in range(len(T)):
            T[l] = 0.0
        pairs = weights.exceptions
        first, last = pairs.indptr[at.exceptions], pairs.indptr[at.exceptions + 1]
        add_rows(T, pairs.indices, pairs.v, first, last, H)
    for l in range(len(T)):
        t = W[l]
        if not new:
            t = W[l] - X[x_row, l]
            if t < CANCELLED * peak[l]:
                t = peak[l] = _column_sum(k, l, H)
                W[l] = t + X[x_row, l]
        if weights is None:
            T[l] = t
        else:
            T[l] += weights.w0 * t
            if T[l] < CANCELLED * weights.w0 * t:
                T[l] = exact_sum(weights, at, l, H, 1)
        half[l] = 0.5 * T[l] * (1.0 + TIE)


@inline
def gather_columns(count, m, stored, H, work):
    """Set a[c] to the entries of the neighbors in the c-th of the columns, wa[c] to w_i a_i."""
    a, wa, neighbors, columns = work.a, work.wa, work.neighbors, work.columns
    for c in range(count):
        for j in range(m):
            a[c, j] = H[neighbors[j], columns[c]]
        if stored is not None:
            weight = work.weight
            for j in range(m):
                wa[c, j] = weight[j] * a[c, j]


@inline
def residuals(h, count, m, work):
    """Set rho_i = A_ik - h_k . h_i, where h_k is zero but in the listed columns."""
    rho, value, a = work.rho, work.value, work.a
    for j in range(m):
        rho[j] = value[j]
    for c in range(count):
        x = h[work.columns[c]]
        if x != 0.0:
            for j in range(m):
                rho[j] -= x * a[c, j]
    for j in range(m):
        rho[j] = _cut(rho[j], value[j])


@inline
def _cut(rho, value):
    return rho if abs(rho) > RESIDUAL_ROUNDING * value else 0.0


@fastmath_helper
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


@inline
def note_column_peaks(sums, work):
    """Record the largest column sums and reset the step lengths, before a sweep."""
    W, peak, reach = sums.W, sums.peak, work.reach
    for l in range(len(W)):
        peak[l] = max(peak[l], W[l])
        reach[l] = 0.0


@inline
def solve_row(at, x_row, rows, stored, weights, H, X, sums, work, bounds, new, out):
    """Set the entries of row ``x_row`` of X to their optimum in turn, and write them to ``out``.

    Return how many entries were visited (their columns and changes are listed in the workspace),
    the decrease of the objective and the largest change.
    """
    o = at.out
    columns, reach, steps = work.columns, work.reach, work.step
    S, T, half = work.S, work.T, work.half
    m = positive_neighbors(at.row, rows, stored, sums.nonzero, work)
    for l in range(len(S)):
        S[l] = 0.0
    # S bounds the weight of the positive breakpoints.
    add_rows(S, work.neighbors, work.weight, 0, m, H)
    totals(at, x_row, weights, H, X, sums, work, new)
    count = np.int64(0)
    for l in range(len(S)):
        columns[count] = l
        count += (X[x_row, l] > 0.0) | (S[l] > half[l]) | (T[l] <= 0.0)
    decrease, largest = 0.0, 0.0
    if count > 0:
        gather_columns(count, m, stored, H, work)
        residuals(X[x_row], count, m, work)
    for c in range(count):
        l = columns[c]
        old = X[x_row, l]
        new_value = 0.0
        if T[l] <= 0.0:
            new_value = bounds.empty_column_value
        elif S[l] > half[l]:
            radius = reach[l] if reach[l] > 0.0 else T[l]
            best = weighted_median(old, half[l], radius, m, work.a[c], work.wa[c], work)
            new_value = min(best, bounds.upper)
        out[o, l] = new_value
        step = out[o, l] - old
        steps[c] = step
        if step != 0.0:
            if stored is None:
                moved = move(step, m, work.a[c], work.value, work.rho, None)
            else:
                moved = move(step, m, work.a[c], work.value, work.rho, work.weight)
            decrease += 2.0 * (2.0 * moved - step * T[l])
            largest = max(largest, abs(step))
            reach[l] = 0.5 * min(reach[l], REACH_GROWTH * abs(step)) + abs(step)
    return count, decrease, largest


@inline
def _clear_other_columns(p, count, out, columns, saved):
    """Set out[p] to zero except in the columns that were visited."""
    for c in range(count):
        saved[c] = out[p, columns[c]]
    for l in range(out.shape[1]):
        out[p, l] = 0.0
    for c in range(count):
        out[p, columns[c]] = saved[c]


@inline
def largest_entry(x):
    top = 0.0
    for l in range(len(x)):
        top = max(top, x[l])
    return top


@kernel
def l1_rows(
    items, rows, stored, weights, H, X, sums, work, bounds, passes, in_place, out, moved, change
):
    """Set rows ``items`` of X to their optimum.

    See docs/algorithms.md, "l1 at the cost of the stored entries".
    ``stored`` are the weights of the pairs in ``rows``, None if each is one. In place (X and out
    are H), W is updated after each row: Gauss-Seidel. Otherwise row p of ``out`` is solved against
    H and W as they are: a round; it is undefined unless ``moved[p]``, and the sum of the changes of
    W is added to ``change``. With ``passes`` > 1, the rows of X (which is ``out``) are new items
    that W does not contain; each is solved until no entry moves.

    Costs O(r) for each neighbor with A_ik > 0. Return the decrease of the objective, the largest
    change of an entry and, for a round, the pair terms of its items for A = 0.
    """
    new, total, largest_change, pair_terms = passes > 1, 0.0, 0.0, 0.0
    columns, steps, nonzero, W = work.columns, work.step, sums.nonzero, sums.W
    note_column_peaks(sums, work)
    for p in range(len(items)):
        k = items[p]
        o = k if in_place else p
        at = RowRef(len(H) if new else k, rows.which[p], p if new else k, o)
        count, decrease, largest = np.int64(0), 0.0, 0.0
        for _ in range(passes):
            count, decrease, largest = solve_row(
                at, k, rows, stored, weights, H, X, sums, work, bounds, new, out
            )
            if new and largest <= ROUNDING * largest_entry(out[o]):
                break
        total += decrease
        largest_change = max(largest_change, largest)
        if in_place:
            if largest > 0.0:
                nonzero[k] = True
                for c in range(count):
                    W[columns[c]] += steps[c]
        elif not new:
            moved[p] = largest > 0.0
            if largest > 0.0:
                _clear_other_columns(p, count, out, columns, work.S)
                for c in range(count):
                    pair_terms += change[columns[c]] * steps[c]
                    change[columns[c]] += steps[c]
    return total, largest_change, 2.0 * pair_terms
