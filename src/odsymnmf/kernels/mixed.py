"""l1 and l2 mixed: one row of H after another, every entry at its optimum.

Entry (k, l) minimises alpha sum_i w_i |a_i x - b_i| + beta sum_i w_i (a_i x - b_i)^2 over
0 <= x <= upper, in the letters of `l1` and `l2`. Its derivative,

    2 beta (M_ll x - c) + alpha (T - 2 weight of the breakpoints above x),     c = q_l + M_ll x_l,

increases, with jumps at the breakpoints: so the minimiser is found by selection among these, as in
l1, and lies on one or between two of them, where the derivative is a straight line.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import kernel, part
from odsymnmf.kernels.items import At, Limits
from odsymnmf.kernels.l1 import begin, gather_columns, move, positive_neighbours, residuals, totals
from odsymnmf.kernels.l2 import begin_row, note_peaks, update_gram
from odsymnmf.kernels.rounding import CANCELLED, DUST, ROUNDING, TINY
from odsymnmf.kernels.sources import add_rows, remember
from odsymnmf.kernels.weighted_median import partition, pivot_of
from odsymnmf.kernels.weights import exact_sum, follow, gather_exceptions, weigh


@kernel
def minimise(points, weights, count, T, alpha, beta, M, c):
    """Return the minimiser over x >= 0; points[:count] are the positive breakpoints."""
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
def _breakpoints(x, m, a, wa, room):
    """List the positive breakpoints and their weights; return how many there are."""
    rho, value, points, weights = room.rho, room.value, room.points, room.weights
    count = np.int64(0)
    for j in range(m):
        b = rho[j] + a[j] * x
        if a[j] > 0.0 and b > DUST * value[j]:
            points[count] = b / a[j]
            weights[count] = wa[j]
            count += 1
    return count


class Sums(NamedTuple):
    """What sweeps keep up to date, for l1 and for l2."""

    l1: Any
    l2: Any


class Room(NamedTuple):
    """Workspace for one row, that of l1 and that of l2."""

    l1: Any
    l2: Any


@part
def solve_row(at, rows, stored, uneven, H, sums, room, mix, limits, out):
    """Bring the entries of the row of an item to their optimum in turn, and write them down.

    Return how many entries the row has or had, the decreases of f_1 and of f_2, and the largest
    change.
    """
    alpha, beta = mix
    k, q, o, row, around = at.item, at.row, at.out, room.l2, room.l1
    D, x, own, g, u = sums.l2.D, row.x, row.own, row.g, row.u
    S, T, columns, entries = around.S, around.T, around.columns, row.found
    r = D.shape[0]
    for l in range(r):
        g[l] = S[l] = 0.0
    add_rows(g, rows.indices, rows.data, rows.indptr[q], rows.indptr[q + 1], H)
    remember(k, H, row.before)
    m, _, c = begin_row(k, H, sums.l2, row)
    near = positive_neighbours(q, rows, stored, sums.l1.held, around)
    add_rows(S, around.near, around.weight, 0, near, H)
    totals(at, uneven, H, sums.l1, around)
    for l in range(r):
        columns[l] = l
    gather_columns(r, near, stored, H, around)
    residuals(H[k], r, near, around)
    if uneven is not None:
        count = gather_exceptions(uneven, at, H, x)
    size = 0.0
    for l in range(r):
        size += row.root[l] * x[l]
    first, second, largest = 0.0, 0.0, 0.0
    for l in range(r):
        old, inside = x[l], own[l]
        M = D[l, l] - inside * inside
        q_l = g[l] - u[l] + inside * c
        rough = abs(g[l]) + row.root[l] * size
        if uneven is not None:
            q_l, M, full, heavy = weigh(uneven, count, l, q_l, M)
            rough = uneven.w0 * rough + heavy
            if CANCELLED * full > M:
                M = exact_sum(uneven, at, l, H, 2)
                if M > TINY and abs(q_l) <= ROUNDING * rough:
                    continue  # q_l has no digit left, and zero could be far from the optimum
        new = 0.0
        if M <= TINY or T[l] <= 0.0:
            new = limits.empty
        elif 2.0 * beta * (q_l + M * old) > alpha * (T[l] - 2.0 * S[l]):
            found = _breakpoints(old, near, around.a[l], around.wa[l], around)
            best = q_l + M * old
            new = minimise(around.points, around.weights, found, T[l], alpha, beta, M, best)
            new = min(new, limits.upper) if new > ROUNDING * rough / M else 0.0
        out[o, l] = new
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
            c += inside * step
            size += row.root[l] * max(step, 0.0)
            for t in range(r):
                u[t] += step * D[l, t]
            if uneven is not None:
                follow(uneven, count, l, step)
    return m, first, second, largest


@part
def _update(sums, row):
    """W += what the row has changed by."""
    W, x, before = sums.W, row.x, row.before
    for l in range(len(W)):
        W[l] += x[l] - before[l]


@kernel
def sweep(items, rows, stored, uneven, H, sums, room, mix, limits):
    """Bring the rows of the items in H to their optimum in turn, and the sums with them.

    Return the decreases of f_1 and of f_2, and the largest change of an entry.
    """
    absolute, squared, furthest = 0.0, 0.0, 0.0
    note_peaks(sums.l2, room.l2)
    begin(sums.l1, room.l1)
    held = sums.l1.held
    for p in range(len(items)):
        k = items[p]
        m, first, second, largest = solve_row(
            At(k, rows.which[p], k, k), rows, stored, uneven, H, sums, room, mix, limits, H
        )
        absolute += first
        squared += second
        furthest = max(furthest, largest)
        if largest > 0.0:
            held[k] = True
            _update(sums.l1, room.l2)
        update_gram(m, sums.l2, room.l2)
    return absolute, squared, furthest


@kernel
def solve(rows, stored, uneven, H, sums, others, room, mix, upper, passes, X):
    """Improve each row of X against rows of H that stay, until no entry moves.

    Row p of ``rows`` holds the similarities of row p of X to the rows of H but the last, which is
    room to work in; ``others`` are the sums of the columns of the others, and their H^T H.
    """
    n, r, limits = len(H) - 1, H.shape[1], Limits(upper, 0.0)
    W, peak, D, top_D = sums.l1.W, sums.l1.peak, sums.l2.D, sums.l2.peak
    W_others, D_others = others
    for p in range(len(X)):
        at = At(n, p, p, n)
        for l in range(r):
            H[n, l] = X[p, l]
            W[l] = W_others[l] + X[p, l]
            peak[l] = top_D[l] = 0.0
        for l in range(r):
            for t in range(r):
                D[l, t] = D_others[l, t] + H[n, l] * H[n, t]
        for _ in range(passes):
            note_peaks(sums.l2, room.l2)
            begin(sums.l1, room.l1)
            top = 0.0
            m, _, _, largest = solve_row(at, rows, stored, uneven, H, sums, room, mix, limits, H)
            _update(sums.l1, room.l2)
            for l in range(r):
                top = max(top, H[n, l])
            update_gram(m, sums.l2, room.l2)
            if largest <= ROUNDING * top:
                break
        for l in range(r):
            X[p, l] = H[n, l]
