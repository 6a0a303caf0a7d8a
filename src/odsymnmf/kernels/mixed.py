"""l1 and l2 mixed: one row of H after another, every entry at its optimum.

Entry (k, l) minimises alpha sum_i w_i |a_i x - b_i| + beta sum_i w_i (a_i x - b_i)^2 over
0 <= x <= upper, in the letters of `l1` and `l2`. Its derivative,

    2 beta (M_ll x - c) + alpha (T - 2 weight of the breakpoints above x),     c = q_l + M_ll x_l,

increases, with jumps at the breakpoints: so the minimiser is found by selection among these, as in
l1, and lies on one or between two of them, where the derivative is a straight line.
"""

import numpy as np

from odsymnmf.kernels.compile import kernel, part
from odsymnmf.kernels.l1 import begin, gather_columns, move, positive_neighbours, residuals, totals
from odsymnmf.kernels.l2 import load, note_peaks, update_gram
from odsymnmf.kernels.rounding import CANCELLED, DUST, ROUNDING, TINY
from odsymnmf.kernels.sources import add_rows
from odsymnmf.kernels.weighted_median import pivot_of
from odsymnmf.kernels.weights import exact_sum, gather_exceptions, pull


@kernel
def minimise(points, weights, count, T, alpha, beta, M, c):
    """Return the minimiser over x >= 0; points[:count] are the positive breakpoints."""
    low, high, above = np.int64(0), count, 0.0
    left, right = 0.0, np.inf
    while low < high:
        pivot = pivot_of(points, low, high)
        # points[low:i] < pivot = points[i:j], points[p:high] > pivot, the rest is unseen
        i, j, p = low, low, high
        equal, more = 0.0, 0.0
        while j < p:
            if points[j] > pivot:
                p -= 1
                points[j], points[p] = points[p], points[j]
                weights[j], weights[p] = weights[p], weights[j]
                more += weights[p]
            else:
                if points[j] < pivot:
                    points[i], points[j] = points[j], points[i]
                    weights[i], weights[j] = weights[j], weights[i]
                    i += 1
                else:
                    equal += weights[j]
                j += 1
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


@part
def solve_row(
    k,
    q,
    own_row,
    rows,
    weight,
    exceptions,
    w0,
    H,
    gram,
    sums,
    row,
    heavy,
    room,
    mix,
    upper,
    empty,
    out,
    o,
):
    """Bring the entries of row k to their optimum in turn, and write them to out[o].

    Row q of ``rows``, row ``own_row`` of the exceptions is that of the item. Return how many
    entries the row has or had, the decreases of f_1 and of f_2, and the largest change.
    """
    alpha, beta = mix
    D, x, own, g, u = gram.D, row.x, row.own, row.g, row.u
    S, T, columns, entries = room.S, room.T, room.columns, row.found
    r = D.shape[0]
    for l in range(r):
        g[l] = S[l] = 0.0
    add_rows(g, rows.indices, rows.data, rows.indptr[q], rows.indptr[q + 1], H)
    m, _, c = load(k, H, gram, row)
    near = positive_neighbours(q, rows, weight, sums.held, room)
    add_rows(S, room.near, room.weight, 0, near, H)
    totals(k, own_row, exceptions, w0, H, sums, room)
    for l in range(r):
        columns[l] = l
    gather_columns(r, near, weight, H, room)
    residuals(H[k], r, near, room)
    if exceptions is not None:
        count = gather_exceptions(exceptions, own_row, H, x, heavy.B, heavy.v, heavy.e)
    size = 0.0
    for l in range(r):
        size += row.root[l] * x[l]
    first, second, largest = 0.0, 0.0, 0.0
    for l in range(r):
        old, inside = x[l], own[l]
        M = D[l, l] - inside * inside
        q_l = g[l] - u[l] + inside * c
        size_q = abs(g[l]) + row.root[l] * size
        if exceptions is not None:
            s, square, heavy_size = pull(count, heavy.B[l], heavy.v, heavy.e)
            q_l, size_q = w0 * q_l + s, w0 * size_q + heavy_size
            full, M = w0 * M, w0 * M + square
            if CANCELLED * full > M:
                M = exact_sum(exceptions, own_row, k, l, w0, H, 2)
        new = 0.0
        if M <= TINY or T[l] <= 0.0:
            new = empty
        elif 2.0 * beta * (q_l + M * old) > alpha * (T[l] - 2.0 * S[l]):
            found = _breakpoints(old, near, room.a[l], room.wa[l], room)
            new = minimise(room.points, room.weights, found, T[l], alpha, beta, M, q_l + M * old)
            new = min(new, upper) if new > ROUNDING * size_q / M else 0.0
        out[o, l] = new
        step = np.float64(out[o, l]) - old
        if step != 0.0:
            x[l] = old + step
            entries[m] = l
            m += old == 0.0
            if weight is None:
                moved = move(step, near, room.a[l], room.value, room.rho, None)
            else:
                moved = move(step, near, room.a[l], room.value, room.rho, room.weight)
            first += 2.0 * (2.0 * moved - step * T[l])
            second += 2.0 * step * (2.0 * q_l - M * step)
            largest = max(largest, abs(step))
            c += inside * step
            size += row.root[l] * max(step, 0.0)
            for t in range(r):
                u[t] += step * D[l, t]
            if exceptions is not None:
                b, e = heavy.B[l], heavy.e
                for j in range(count):
                    e[j] -= step * b[j]
    return m, first, second, largest


@part
def _update(sums, row):
    """W += what the row has changed by."""
    W, x, before = sums.W, row.x, row.before
    for l in range(len(W)):
        W[l] += x[l] - before[l]


@kernel
def sweep(items, rows, weight, exceptions, w0, H, gram, sums, row, heavy, room, mix, upper, empty):
    """Bring the rows of the items in H to their optimum in turn, and the sums with them.

    Return the decreases of f_1 and of f_2, and the largest change of an entry.
    """
    absolute, squared, furthest = 0.0, 0.0, 0.0
    note_peaks(gram, row)
    begin(sums, room)
    held = sums.held
    for p in range(len(items)):
        k = items[p]
        m, first, second, largest = solve_row(
            k, rows.which[p], k, rows, weight, exceptions, w0, H, gram, sums, row, heavy, room, mix,
            upper, empty, H, k,
        )  # fmt: skip
        absolute += first
        squared += second
        furthest = max(furthest, largest)
        if largest > 0.0:
            held[k] = True
            _update(sums, row)
        update_gram(m, gram, row)
    return absolute, squared, furthest


@kernel
def solve(
    rows,
    weight,
    exceptions,
    w0,
    H,
    gram,
    sums,
    zero,
    others,
    row,
    heavy,
    room,
    mix,
    upper,
    passes,
    X,
):
    """Improve each row of X against rows of H that stay, until no entry moves.

    Row p of ``rows`` holds the similarities of row p of X to the rows of H but the last, which is
    room to work in; ``zero`` is H^T H and ``others`` the sums of the columns of the others.
    """
    n, r, W, peak, D, top_D = len(H) - 1, H.shape[1], sums.W, sums.peak, gram.D, gram.peak
    for p in range(len(X)):
        for l in range(r):
            H[n, l] = X[p, l]
            W[l] = others[l] + X[p, l]
            peak[l] = top_D[l] = 0.0
        for l in range(r):
            for t in range(r):
                D[l, t] = zero[l, t] + H[n, l] * H[n, t]
        for _ in range(passes):
            note_peaks(gram, row)
            begin(sums, room)
            top = 0.0
            m, _, _, largest = solve_row(
                n, p, p, rows, weight, exceptions, w0, H, gram, sums, row, heavy, room, mix,
                upper, 0.0, H, n,
            )  # fmt: skip
            _update(sums, row)
            for l in range(r):
                top = max(top, H[n, l])
            update_gram(m, gram, row)
            if largest <= ROUNDING * top:
                break
        for l in range(r):
            X[p, l] = H[n, l]
