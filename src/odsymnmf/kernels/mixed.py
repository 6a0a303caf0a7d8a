"""l1 and l2 mixed: rows of H, each entry at its optimum.

Entry (k, l) minimizes alpha sum_i w_i |a_i x - b_i| + beta sum_i w_i (a_i x - b_i)^2 over
0 <= x <= upper, in the letters of `l1` and `l2`. Its derivative,

    2 beta (M_ll x - c) + alpha (T - 2 weight of the breakpoints above x),     c = q_l + M_ll x_l,

increases, with jumps at the breakpoints: so the minimizer is found by selection among these, as in
l1, and lies on one or between two of them, where the derivative is a straight line.
"""

from collections import namedtuple

import numpy as np

from odsymnmf.kernels.compile import helper, kernel, part
from odsymnmf.kernels.l1 import (
    begin,
    gather_columns,
    largest_entry,
    move,
    positive_neighbors,
    residuals,
    totals,
)
from odsymnmf.kernels.l2 import begin_row, note_peaks, put_back, update_gram
from odsymnmf.kernels.rows import CANCELLED, DUST, ROUNDING, TINY, RowRef
from odsymnmf.kernels.sources import add_rows, copy_row
from odsymnmf.kernels.weighted_median import partition, pivot_of
from odsymnmf.kernels.weights import exact_sum, gather_exceptions, update_residuals, weigh


@helper
def minimize(points, weights, count, T, alpha, beta, M, c):
    """Return the minimizer over x >= 0; points[:count] are the positive breakpoints."""
    low, high, above = np.int64(0), count, 0.0
    left, right = 0.0, np.inf
    while low < high:
        pivot = pivot_of(points, low, high)
        i, p, _, equal, more = partition(points, weights, low, high, pivot)
        slope = 2.0 * beta * (M * pivot - c) + alpha * (T - 2.0 * (above + more))
        if slope < 0.0:
            left, low = pivot, p
        elif slope - 2.0 * alpha * equal > 0.0:
            right, high = pivot, i
            above += more + equal
        else:
            return pivot
    x = (c - alpha * (T - 2.0 * above) / (2.0 * beta)) / M
    return min(max(x, left), right)


@part
def _breakpoints(x, m, a, wa, work):
    """List the positive breakpoints and their weights; return how many there are."""
    rho, value, points, weights = work.rho, work.value, work.points, work.weights
    count = np.int64(0)
    for j in range(m):
        b = rho[j] + a[j] * x
        if a[j] > 0.0 and b > DUST * value[j]:
            points[count] = b / a[j]
            weights[count] = wa[j]
            count += 1
    return count


# What sweeps keep up to date, and workspace for one row.
State = namedtuple("State", "l1 l2")
Workspace = namedtuple("Workspace", "l1 l2")


@part
def solve_row(at, own, rows, stored, uneven, H, X, state, work, scales, bounds, new, out):
    """Set the entries of row ``own`` of X to their optimum in turn, and write them to ``out``.

    Return how many entries the row has or had, the decreases of f_1 and of f_2, the largest
    change, and whether row k was taken out of D.
    """
    alpha, beta = scales
    q, o, row, around = at.row, at.out, work.l2, work.l1
    D, x, inside, g, u = state.l2.D, row.x, row.own, row.g, row.u
    S, T, columns, entries = around.S, around.T, around.columns, row.found
    r = D.shape[0]
    for l in range(r):
        g[l] = S[l] = 0.0
    add_rows(g, rows.indices, rows.data, rows.indptr[q], rows.indptr[q + 1], H)
    copy_row(own, X, row.before)
    m, norm, c = begin_row(own, X, H, state.l2, row, new)
    taken_out = c != norm
    near = positive_neighbors(q, rows, stored, state.l1.nonzero, around)
    add_rows(S, around.near, around.weight, 0, near, H)
    totals(at, own, uneven, H, X, state.l1, around, new)
    for l in range(r):
        columns[l] = l
    gather_columns(r, near, stored, H, around)
    residuals(X[own], r, near, around)
    if uneven is not None:
        count = gather_exceptions(uneven, at, H, x)
    size = 0.0
    for l in range(r):
        size += row.root[l] * x[l]
    first, second, largest = 0.0, 0.0, 0.0
    for l in range(r):
        old = x[l]
        M = D[l, l] - inside[l] * inside[l]
        q_l = g[l] - u[l] + inside[l] * c
        rough = abs(g[l]) + row.root[l] * size
        if uneven is not None:
            q_l, M, full, heavy = weigh(uneven, count, l, q_l, M)
            rough = uneven.w0 * rough + heavy
            if CANCELLED * full > M:
                M = exact_sum(uneven, at, l, H, 2)
                if M > TINY and abs(q_l) <= ROUNDING * rough:
                    continue  # q_l has no correct digit, and zero could be far from the optimum
        new_value = 0.0
        if M <= TINY or T[l] <= 0.0:
            new_value = bounds.empty
        elif 2.0 * beta * (q_l + M * old) > alpha * (T[l] - 2.0 * S[l]):
            found = _breakpoints(old, near, around.a[l], around.wa[l], around)
            best = q_l + M * old
            best = minimize(around.points, around.weights, found, T[l], alpha, beta, M, best)
            new_value = min(best, bounds.upper) if best > ROUNDING * rough / M else 0.0
        out[o, l] = new_value
        step = np.float64(out[o, l]) - old
        if step != 0.0:
            x[l] = old + step
            entries[m] = l
            m += old == 0.0
            if stored is None:
                moved = move(step, near, around.a[l], around.value, around.rho, None)
            else:
                moved = move(step, near, around.a[l], around.value, around.rho, around.weight)
            first += 2.0 * (2.0 * moved - step * T[l])
            second += 2.0 * step * (2.0 * q_l - M * step)
            largest = max(largest, abs(step))
            c += inside[l] * step
            size += row.root[l] * max(step, 0.0)
            for t in range(r):
                u[t] += step * D[l, t]
            if uneven is not None:
                update_residuals(uneven, count, l, step)
    return m, first, second, largest, taken_out


@kernel
def mixed_rows(
    items,
    rows,
    stored,
    uneven,
    H,
    X,
    state,
    work,
    scales,
    bounds,
    passes,
    in_place,
    out,
    moved,
    change,
):
    """Set rows ``items`` of X to their optimum: docs/algorithms.md, "Losses in between".

    The modes are those of `l1_rows`; ``change`` is that of W, and all of ``out`` is defined.
    Costs those of `l1_rows` and of `l2_rows`. Return the decreases of f_1 and of f_2, the largest
    change of an entry and, of a round, what pairs of its items add to f_1 if nothing is stored.
    """
    new = passes > 1
    absolute, squared, furthest, clash = 0.0, 0.0, 0.0, 0.0
    gram, row, nonzero, W = state.l2, work.l2, state.l1.nonzero, state.l1.W
    x, before = row.x, row.before
    note_peaks(gram, row)
    begin(state.l1, work.l1)
    for p in range(len(items)):
        k = items[p]
        o = k if in_place else p
        if not in_place:
            for l in range(len(x)):
                out[o, l] = X[k, l]
        at = RowRef(len(H) if new else k, rows.which[p], p if new else k, o)
        m, first, second, largest, taken_out = np.int64(0), 0.0, 0.0, 0.0, False
        for _ in range(passes):
            m, first, second, largest, taken_out = solve_row(
                at, k, rows, stored, uneven, H, X, state, work, scales, bounds, new, out
            )
            if new and largest <= ROUNDING * largest_entry(out[o]):
                break
        absolute += first
        squared += second
        furthest = max(furthest, largest)
        if in_place:
            if largest > 0.0:
                nonzero[k] = True
                for l in range(len(x)):
                    W[l] += x[l] - before[l]
            update_gram(m, gram, row)
        elif not new:
            moved[p] = largest > 0.0
            if taken_out:
                put_back(k, H, gram.D)
            for l in range(len(x)):
                clash += change[l] * (x[l] - before[l])
                change[l] += x[l] - before[l]
    return absolute, squared, furthest, 2.0 * clash
