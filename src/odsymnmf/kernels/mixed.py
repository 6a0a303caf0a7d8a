"""l1 and l2 mixed: rows of H, each entry at its optimum.

Entry (k, l) minimizes alpha sum_i w_i |a_i x - b_i| + beta sum_i w_i (a_i x - b_i)^2 over
0 <= x <= upper, in the notation of `l1` and `l2`. Its derivative,

    2 beta (M_ll x - c) + alpha (T - 2 weight of the breakpoints above x),     c = q_l + M_ll x_l,

increases, with jumps at the breakpoints: so the minimizer is found by selection among these, as in
l1, and lies on one or between two of them, where the derivative is a straight line.
"""

from collections import namedtuple

import numpy as np

from odsymnmf.kernels.compile import helper, inline, kernel
from odsymnmf.kernels.l1 import (
    gather_columns,
    largest_entry,
    move,
    note_column_peaks,
    positive_neighbors,
    residuals,
    totals,
)
from odsymnmf.kernels.l2 import begin_row, note_peaks, restore_row, update_gram
from odsymnmf.kernels.rows import CANCELLED, RESIDUAL_ROUNDING, ROUNDING, TINY, RowRef
from odsymnmf.kernels.sources import add_rows, copy_row
from odsymnmf.kernels.weighted_median import partition, pivot_of
from odsymnmf.kernels.weights import add_exceptions, exact_sum, gather_exceptions, update_residuals


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


@inline
def _breakpoints(x, m, a, wa, work):
    """List the positive breakpoints and their weights; return their number."""
    rho, value, points, weights = work.rho, work.value, work.points, work.weights
    count = np.int64(0)
    for j in range(m):
        b = rho[j] + a[j] * x
        if a[j] > 0.0 and b > RESIDUAL_ROUNDING * value[j]:
            points[count] = b / a[j]
            weights[count] = wa[j]
            count += 1
    return count


# Sums over H that sweeps keep up to date, and workspace for one row: those of `l1` and of `l2`.
State = namedtuple("State", "l1 l2")
Workspace = namedtuple("Workspace", "l1 l2")


@inline
def solve_row(at, x_row, rows, stored, weights, H, X, state, work, scales, bounds, new, out):
    """Set the entries of row ``x_row`` of X to their optimum in turn, and write them to ``out``.

    Return the number of entries that the row has or had, the decreases of f_1 and of f_2, the
    largest change, and whether row k was removed from D.
    """
    alpha, beta = scales
    q, o, l2_work, l1_work = at.row, at.out, work.l2, work.l1
    D, x, in_D, g, u = state.l2.D, l2_work.x, l2_work.in_D, l2_work.g, l2_work.u
    S, T, columns, support = l1_work.S, l1_work.T, l1_work.columns, l2_work.support
    r = D.shape[0]
    for l in range(r):
        g[l] = S[l] = 0.0
    add_rows(g, rows.indices, rows.data, rows.indptr[q], rows.indptr[q + 1], H)
    copy_row(x_row, X, l2_work.before)
    m, norm, c = begin_row(x_row, X, H, state.l2, l2_work, new)
    row_removed = c != norm
    n_neighbors = positive_neighbors(q, rows, stored, state.l1.nonzero, l1_work)
    add_rows(S, l1_work.neighbors, l1_work.weight, 0, n_neighbors, H)
    totals(at, x_row, weights, H, X, state.l1, l1_work, new)
    for l in range(r):
        columns[l] = l
    gather_columns(r, n_neighbors, stored, H, l1_work)
    residuals(X[x_row], r, n_neighbors, l1_work)
    if weights is not None:
        count = gather_exceptions(weights, at, H, x)
    size = 0.0
    for l in range(r):
        size += l2_work.root[l] * x[l]
    first, second, largest = 0.0, 0.0, 0.0
    for l in range(r):
        old = x[l]
        M = D[l, l] - in_D[l] * in_D[l]
        q_l = g[l] - u[l] + in_D[l] * c
        rough = abs(g[l]) + l2_work.root[l] * size
        if weights is not None:
            q_l, M, full, heavy = add_exceptions(weights, count, l, q_l, M)
            rough = weights.w0 * rough + heavy
            if CANCELLED * full > M:
                M = exact_sum(weights, at, l, H, 2)
                if M > TINY and abs(q_l) <= ROUNDING * rough:
                    continue  # q_l has no correct digit, and zero could be far from the optimum
        new_value = 0.0
        if M <= TINY or T[l] <= 0.0:
            new_value = bounds.empty_column_value
        elif 2.0 * beta * (q_l + M * old) > alpha * (T[l] - 2.0 * S[l]):
            n_points = _breakpoints(old, n_neighbors, l1_work.a[l], l1_work.wa[l], l1_work)
            best = q_l + M * old
            best = minimize(l1_work.points, l1_work.weights, n_points, T[l], alpha, beta, M, best)
            new_value = min(best, bounds.upper) if best > ROUNDING * rough / M else 0.0
        out[o, l] = new_value
        step = np.float64(out[o, l]) - old
        if step != 0.0:
            x[l] = old + step
            support[m] = l
            m += old == 0.0
            if stored is None:
                moved = move(step, n_neighbors, l1_work.a[l], l1_work.value, l1_work.rho, None)
            else:
                moved = move(
                    step, n_neighbors, l1_work.a[l], l1_work.value, l1_work.rho, l1_work.weight
                )
            first += 2.0 * (2.0 * moved - step * T[l])
            second += 2.0 * step * (2.0 * q_l - M * step)
            largest = max(largest, abs(step))
            c += in_D[l] * step
            size += l2_work.root[l] * max(step, 0.0)
            for t in range(r):
                u[t] += step * D[l, t]
            if weights is not None:
                update_residuals(weights, count, l, step)
    return m, first, second, largest, row_removed


@kernel
def mixed_rows(
    items,
    rows,
    stored,
    weights,
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
    """Set rows ``items`` of X to their optimum: docs/algorithms.md, "Weights and other losses".

    The modes are those of `l1_rows`; ``change`` is that of W, and all of ``out`` is defined.
    Costs those of `l1_rows` and of `l2_rows`. Return the decreases of f_1 and of f_2, the largest
    change of an entry and, for a round, the pair terms of its items in f_1 for A = 0.
    """
    new = passes > 1
    absolute, squared, largest_change, pair_terms = 0.0, 0.0, 0.0, 0.0
    gram, l2_work, nonzero, W = state.l2, work.l2, state.l1.nonzero, state.l1.W
    x, before = l2_work.x, l2_work.before
    note_peaks(gram, l2_work)
    note_column_peaks(state.l1, work.l1)
    for p in range(len(items)):
        k = items[p]
        o = k if in_place else p
        if not in_place:
            for l in range(len(x)):
                out[o, l] = X[k, l]
        at = RowRef(len(H) if new else k, rows.which[p], p if new else k, o)
        m, first, second, largest, row_removed = np.int64(0), 0.0, 0.0, 0.0, False
        for _ in range(passes):
            m, first, second, largest, row_removed = solve_row(
                at, k, rows, stored, weights, H, X, state, work, scales, bounds, new, out
            )
            if new and largest <= ROUNDING * largest_entry(out[o]):
                break
        absolute += first
        squared += second
        largest_change = max(largest_change, largest)
        if in_place:
            if largest > 0.0:
                nonzero[k] = True
                for l in range(len(x)):
                    W[l] += x[l] - before[l]
            update_gram(m, gram, l2_work)
        elif not new:
            moved[p] = largest > 0.0
            if row_removed:
                restore_row(k, H, gram.D)
            for l in range(len(x)):
                pair_terms += change[l] * (x[l] - before[l])
                change[l] += x[l] - before[l]
    return absolute, squared, largest_change, 2.0 * pair_terms
