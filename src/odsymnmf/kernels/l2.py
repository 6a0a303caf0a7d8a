"""l2: one row of H after another, every entry at its optimum (exact coordinate descent).

With the other rows fixed, row x of item k minimises x^T M x - 2 b . x over 0 <= x <= upper, where
M = sum_{j != k} w_kj h_j h_j^T and b = sum_{j != k} w_kj A_kj h_j. Half its gradient is -q with
q = b - M x. All pairs but the exceptions weigh w0, so with D = H^T H, g = sum_{j != k} A_kj h_j and
e_j = A_kj - x . h_j for the exceptions j, whose weights differ from w0 by v_j,

    q = w0 (g - D_k x) + sum_j v_j e_j h_j,        M_ll = w0 D_k[l, l] + sum_j v_j H_jl^2.

D_k = D - own own^T is never formed: ``own`` is what row k still has inside D. Given ``diagonal``
(symNMF), the term (A_kk - |x|^2)^2 / 2 is added. All work is done in float64 whatever H is, so that
float32 data lose nothing here.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.arrays import on_lines
from odsymnmf.kernels.compile import kernel, part
from odsymnmf.kernels.items import At, Limits
from odsymnmf.kernels.rounding import CANCELLED, ROUNDING, TINY
from odsymnmf.kernels.sources import add_rows, gather, gross, keep, learn, terms
from odsymnmf.kernels.symnmf import minimise_quartic
from odsymnmf.kernels.weights import exact_sum, follow, gather_exceptions, weigh


class Sums(NamedTuple):
    """What sweeps keep up to date: D = H^T H, and the largest its diagonal has been."""

    D: Any
    peak: Any


class Row(NamedTuple):
    """Workspace for one row: x, what it was, what of it is inside D, g, u = D x, and more."""

    x: Any
    before: Any
    own: Any
    g: Any
    u: Any
    inverse: Any
    root: Any
    values: Any
    found: Any


def workspace(r: int) -> Row:
    """Return room for one row of r entries."""
    room = on_lines(9, r + 1)
    x, before, own, g, u, inverse, root = room[:7, :r]
    return Row(x, before, own, g, u, inverse, root, room[7], room[8].view(np.uintp))


@part
def note_peaks(sums, row):
    """Once a call will do: an entry stays until the next sweep, so what a sum reaches on the way
    is no more than its two ends together."""
    D, peak, root = sums.D, sums.peak, row.root
    for l in range(len(root)):
        peak[l] = max(peak[l], D[l, l])
        root[l] = np.sqrt(peak[l])


@part
def _leave_out_exactly(k, H, D, peak, own):
    """Take row k out of D, by a new sum where subtracting would cancel; own becomes zero."""
    n, r = H.shape
    for l in range(r):
        for t in range(r):
            D[l, t] -= own[l] * own[t]
    for l in range(r):
        if D[l, l] < CANCELLED * peak[l]:
            for t in range(r):
                D[l, t] = 0.0
            for i in range(n):
                if i != k and H[i, l] != 0.0:
                    for t in range(r):
                        D[l, t] += H[i, l] * H[i, t]
            for t in range(r):
                D[t, l] = D[l, t]
            peak[l] = D[l, l]
        own[l] = 0.0


@part
def begin_row(k, H, sums, row):
    """Set x = own = h_k and u = D x, and list the non-zeros of x.

    Return how many there are, |x|^2 and c = own . x: D_k x is u - c own.
    """
    D, peak = sums.D, sums.peak
    r = D.shape[0]
    x, own, u = row.x, row.own, row.u
    inverse, root, values, found = row.inverse, row.root, row.values, row.found
    m, norm, cancelled = np.int64(0), 0.0, False
    for l in range(r):
        h = np.float64(H[k, l])
        x[l] = own[l] = h
        u[l] = 0.0
        norm += h * h
        a = D[l, l] - h * h
        cancelled |= a < CANCELLED * peak[l]
        inverse[l] = 1.0 / a if a > TINY else 0.0
        found[m] = l  # without a branch to mispredict
        m += h != 0.0
    c = norm
    if cancelled:
        _leave_out_exactly(k, H, D, peak, own)
        c = 0.0
        for l in range(r):
            inverse[l] = 1.0 / D[l, l] if D[l, l] > TINY else 0.0
            root[l] = np.sqrt(peak[l])
    for j in range(m):
        values[j] = x[found[j]]
    add_rows(u, found, values, 0, m, D)
    return m, norm, c


@part
def update_gram(m, sums, row):
    """D += x x^T - own own^T, in the m rows where x has or had an entry."""
    D, x, own, found = sums.D, row.x, row.own, row.found
    for j in range(m):
        t = found[j]
        new, inside = x[t], own[t]
        for l in range(len(x)):
            D[t, l] += new * x[l] - inside * own[l]


@part
def _optimum(old, q, inverted, rough, upper):
    """Return old + q / a within its limits; zero where no digit of it is known."""
    new = old + q * inverted
    return min(new, upper) if new > ROUNDING * rough * inverted else 0.0


@part
def _violation(slope, old, upper):
    """Return the size of half the slope, as far as the limits let the entry follow it."""
    slope = max(slope, 0.0) if old <= 0.0 else slope
    return abs(min(slope, 0.0) if old >= upper else slope)


@part
def entries(at, source, uneven, diagonal, H, D, row, limits, start, out):
    """Bring the entries of row x of an item to their optimum in turn, and write them down.

    ``start`` is what `begin_row` returned. Return how many entries x has or had, the decrease of f
    and the violation of the optimality conditions met on the way.
    """
    m, norm, c = start
    k, p, o, upper, r = at.item, at.row, at.out, limits.upper, D.shape[0]
    x, own, g, u = row.x, row.own, row.g, row.u
    inverse, root, found = row.inverse, row.root, row.found
    decrease, violation = 0.0, 0.0
    # root_l size bounds what u_l (and g_l, if A is a Gram matrix) is made of
    size = terms(source, k)
    for l in range(r):
        size += root[l] * x[l]
    if uneven is not None:
        count = gather_exceptions(uneven, at, H, x)
    for l in range(r):
        old, inside = x[l], own[l]
        a, inverted = D[l, l] - inside * inside, inverse[l]
        q = g[l] - u[l] + inside * c
        if uneven is not None:
            q, a, full, heavy = weigh(uneven, count, l, q, a)
            if a < CANCELLED * full:
                a = exact_sum(uneven, at, l, H, 2)
                rough = uneven.w0 * (abs(g[l]) + root[l] * size + gross(source, p, l)) + heavy
                if a > TINY and abs(q) <= ROUNDING * rough:
                    continue  # q has no digit left, and a step of q / a could be any number
            inverted = 1.0 / a if a > TINY else 0.0
        if diagonal is None and old == 0.0 and q <= 0.0 and inverted > 0.0:
            continue  # most entries are zero and stay so
        slope, new = 0.0, limits.empty
        if diagonal is not None:
            P_kk = diagonal[k] - (norm - old * old)
            slope = q - (old * old - P_kk) * old
            new = minimise_quartic(a - P_kk, -(q + a * old), upper)
        elif inverted > 0.0:
            rough = abs(g[l]) + root[l] * size + gross(source, p, l)
            if uneven is not None:
                rough = uneven.w0 * rough + heavy
            slope, new = q, _optimum(old, q, inverted, rough, upper)
        violation += _violation(slope, old, upper)
        out[o, l] = new
        new = np.float64(out[o, l])
        change = new - old
        if change != 0.0:
            x[l] = new
            found[m] = l
            m += old == 0.0
            decrease += 2.0 * change * (2.0 * q - a * change)
            if diagonal is not None:
                past, present = old * old - P_kk, new * new - P_kk
                decrease += past * past - present * present
                norm += new * new - old * old
            c += inside * change
            size += root[l] * max(change, 0.0)
            for t in range(r):
                u[t] += change * D[l, t]
            if uneven is not None:
                follow(uneven, count, l, change)
    return m, decrease, violation


@kernel
def sweep(items, source, uneven, diagonal, H, sums, row, limits):
    """Bring the rows of the items in H to their optimum in turn, and the sums with them.

    Return the decrease of the objective and the violation of the optimality conditions.
    """
    total, violations = 0.0, 0.0
    note_peaks(sums, row)
    for p in range(len(items)):
        k = items[p]
        gather(source, p, items, H, row.g)
        keep(source, k, H, row.before)
        start = begin_row(k, H, sums, row)
        m, decrease, violation = entries(
            At(k, p, k, k), source, uneven, diagonal, H, sums.D, row, limits, start, H
        )
        total += decrease
        violations += violation
        update_gram(m, sums, row)
        learn(source, p, items, row.before, row.x, row.found)
    return total, violations


@kernel
def solve(source, uneven, H, sums, row, upper, passes, X):
    """Set each row of X to its optimum against rows of H that stay, in at most some passes.

    Row p of X is a new item, whose g is that of ``source``. Return how many rows were not solved
    to rounding; their numbers are negative in ``passes``, which says how many each has taken.
    """
    r, limits = H.shape[1], Limits(upper, 0.0)
    x, own, u, inverse, found = row.x, row.own, row.u, row.inverse, row.found
    D, unsolved = sums.D, 0
    note_peaks(sums, row)
    for l in range(r):
        inverse[l] = 1.0 / D[l, l] if D[l, l] > TINY else 0.0
    for p in range(len(X)):
        gather(source, p, found, H, row.g)
        at, most, largest = At(len(H), p, p, p), passes[p], 0.0
        for l in range(r):
            x[l] = own[l] = u[l] = X[p, l] = 0.0
            largest = max(largest, abs(row.g[l]))
        solved = False
        for count in range(most):
            start = (np.int64(0), 0.0, 0.0)
            _, _, violation = entries(at, source, uneven, None, H, D, row, limits, start, X)
            passes[p] = count + 1
            if violation <= ROUNDING * largest:
                solved = True
                break
        if not solved:
            unsolved += 1
            passes[p] = -most
    return unsolved
