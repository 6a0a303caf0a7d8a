"""l2 and symNMF: rows of H, each entry at its optimum (exact coordinate descent).

With the other rows fixed, row x of item k minimizes x^T M x - 2 b . x over 0 <= x <= upper, where
M = sum_{j != k} w_kj h_j h_j^T and b = sum_{j != k} w_kj A_kj h_j. Half its gradient is -q with
q = b - M x. All pairs except the exceptions have weight w0. With D = H^T H,
g = sum_{j != k} A_kj h_j and e_j = A_kj - x . h_j for the exceptions j, of weight w0 + v_j,

    q = w0 (g - D_k x) + sum_j v_j e_j h_j,        M_ll = w0 D_k[l, l] + sum_j v_j H_jl^2.

D_k = D - h_k h_k^T is never formed. ``in_D`` is the row h_k that D contains: zero for a new item.
With ``diagonal`` (symNMF), the term (A_kk - |x|^2)^2 / 2 is added. All computations are in float64,
also for float32 data.
"""

import math
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import helper, inline, kernel, prefetch
from odsymnmf.kernels.rows import CANCELLED, ROUNDING, TINY, RowRef
from odsymnmf.kernels.sources import (
    add_rows,
    gather,
    gross,
    prefetch_row,
    rounding_scale,
    save_row,
    update_products,
)
from odsymnmf.kernels.weights import add_exceptions, exact_sum, gather_exceptions, update_residuals
from odsymnmf.utils import aligned_empty


class GramState(NamedTuple):
    """D = H^T H, and the largest values of its diagonal so far."""

    D: Any
    peak: Any


# For one row: x, x before the update, the row that D contains, g, u = D x, 1 / D_k[l, l], the root
# of the largest D[l, l], the nonzeros of x and their columns (support).
Workspace = namedtuple("Workspace", "x before in_D g u inverse root values support")


def workspace(r: int) -> Workspace:
    """Return workspace for a row of r entries."""
    buffer = aligned_empty(9, r + 1)
    return Workspace._make([*buffer[:7, :r], buffer[7], buffer[8].view(np.uintp)])


@helper
def _cube_root(x):
    """Return the cube root; that of 8 x is twice that of x, unlike with library functions."""
    third = math.frexp(x)[1] // 3
    return math.copysign(math.ldexp(abs(math.ldexp(x, -3 * third)) ** (1.0 / 3.0), third), x)


@helper
def _largest_root(a, b):
    """Return the largest real root of x^3 + a x + b, polished by Newton's method."""
    delta = b * b / 4.0 + a * a * a / 27.0
    if delta > 0.0:
        # The larger of the two cube roots first: their product is -a / 3, without cancellation.
        s = _cube_root(-b / 2.0 - math.copysign(math.sqrt(delta), b))
        x = s - a / (3.0 * s)
    else:
        m = math.sqrt(max(0.0, -a / 3.0))
        cube = m**3
        if cube == 0.0:
            return 0.0
        x = 2.0 * m * math.cos(math.acos(max(-1.0, min(1.0, -b / (2.0 * cube)))) / 3.0)
    for _ in range(2):
        slope = 3.0 * x * x + a
        if slope > 0.0:
            x -= (x * (x * x + a) + b) / slope
    return x


@helper
def minimize_quartic(a, b, upper):
    """Minimize x^4 / 4 + a x^2 / 2 + b x over 0 <= x <= upper: an entry of symNMF.

    Of the roots of x^3 + a x + b only the largest can be a positive local minimum to the right
    of every local maximum; a second one would be negative, because the roots sum to zero.
    """
    x = min(_largest_root(a, b), upper)
    if x > 0.0 and x * (x * (x * x / 4.0 + a / 2.0) + b) < 0.0:
        return x
    return 0.0


@inline
def note_peaks(gram, work):
    """Record the largest diagonal of D; between two calls, a sum is at most its two ends."""
    D, peak, root = gram.D, gram.peak, work.root
    for l in range(len(root)):
        peak[l] = max(peak[l], D[l, l])
        root[l] = np.sqrt(peak[l])


@helper
def _remove_row_exactly(k, H, D, peak, in_D):
    """Remove row k from D, by a new sum where subtracting would cancel; in_D becomes zero."""
    n, r = H.shape
    for l in range(r):
        for t in range(r):
            D[l, t] -= in_D[l] * in_D[t]
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
        in_D[l] = 0.0


@inline
def begin_row(k, X, H, gram, work, new):
    """Set x = x_k, in_D (zero for a new item) and u = D x; list the nonzeros of x.

    Return their number, |x|^2 and c = in_D . x; then D_k x = u - c in_D.
    """
    D, peak = gram.D, gram.peak
    r = D.shape[0]
    x, in_D, u = work.x, work.in_D, work.u
    inverse, root, values, support = work.inverse, work.root, work.values, work.support
    m, norm, cancelled = np.int64(0), 0.0, False
    for l in range(r):
        h = np.float64(X[k, l])
        square = h * h
        x[l], in_D[l] = h, 0.0 if new else h
        u[l] = 0.0
        norm += square
        a = D[l, l] - (0.0 if new else square)
        cancelled |= a < CANCELLED * peak[l]
        inverse[l] = 1.0 / a if a > TINY else 0.0
        support[m] = l  # without a branch to mispredict
        m += h != 0.0
    c = 0.0 if new else norm
    if cancelled and not new:
        _remove_row_exactly(k, H, D, peak, in_D)
        c = 0.0
        for l in range(r):
            inverse[l] = 1.0 / D[l, l] if D[l, l] > TINY else 0.0
            root[l] = np.sqrt(peak[l])
    for j in range(m):
        values[j] = x[support[j]]
    add_rows(u, support, values, 0, m, D)
    return m, norm, c


@inline
def update_gram(m, gram, work):
    """D += x x^T - in_D in_D^T, in the m rows where x has or had an entry."""
    D, x, in_D, support = gram.D, work.x, work.in_D, work.support
    for j in range(m):
        t = support[j]
        new, inside = x[t], in_D[t]
        for l in range(len(x)):
            D[t, l] += new * x[l] - inside * in_D[l]


@inline
def restore_row(k, H, D):
    """D += h_k h_k^T, after `begin_row` has removed row k."""
    for t in range(len(D)):
        if H[k, t] != 0.0:
            for l in range(len(D)):
                D[t, l] += np.float64(H[k, t]) * np.float64(H[k, l])


@inline
def _optimum(old, q, inverted, rough, upper):
    """Return old + q / a within its bounds; zero where it has no correct digit."""
    new = old + q * inverted
    return min(new, upper) if new > ROUNDING * rough * inverted else 0.0


@inline
def _violation(slope, old, upper):
    """Return the absolute value of the projected half gradient."""
    slope = max(slope, 0.0) if old <= 0.0 else slope
    return abs(min(slope, 0.0) if old >= upper else slope)


@inline
def solve_row(at, source, weights, diagonal, H, D, work, bounds, start, out):
    """Set the entries of row x of an item to their optimum in turn, and write them to ``out``.

    ``start`` is the result of `begin_row`. Return the number of entries that x has or had, the
    decrease of f and the violation of the optimality conditions.
    """
    m, norm, c = start
    k, p, o, upper, r = at.item, at.row, at.out, bounds.upper, D.shape[0]
    x, in_D, g, u = work.x, work.in_D, work.g, work.u
    inverse, root, support = work.inverse, work.root, work.support
    decrease, violation = 0.0, 0.0
    # root_l size bounds the terms of u_l (and of g_l, if A is a Gram matrix)
    size = rounding_scale(source, k)
    for l in range(r):
        size += root[l] * x[l]
    if weights is not None:
        count = gather_exceptions(weights, at, H, x)
    for l in range(r):
        old, inside = x[l], in_D[l]
        a, inverted = D[l, l] - inside * inside, inverse[l]
        q = g[l] - u[l] + inside * c
        if weights is not None:
            q, a, full, heavy = add_exceptions(weights, count, l, q, a)
            if a < CANCELLED * full:
                a = exact_sum(weights, at, l, H, 2)
                rough = weights.w0 * (abs(g[l]) + root[l] * size + gross(source, p, l)) + heavy
                if a > TINY and abs(q) <= ROUNDING * rough:
                    continue  # q has no correct digit, and zero could be far from the optimum
            inverted = 1.0 / a if a > TINY else 0.0
        if diagonal is None and old == 0.0 and q <= 0.0 and inverted > 0.0:
            continue  # most entries are zero and stay zero
        slope, new = 0.0, bounds.empty_column_value
        if diagonal is not None:
            P_kk = diagonal[k] - (norm - old * old)
            slope = q - (old * old - P_kk) * old
            new = minimize_quartic(a - P_kk, -(q + a * old), upper)
        elif inverted > 0.0:
            rough = abs(g[l]) + root[l] * size + gross(source, p, l)
            if weights is not None:
                rough = weights.w0 * rough + heavy
            slope, new = q, _optimum(old, q, inverted, rough, upper)
        violation += _violation(slope, old, upper)
        out[o, l] = new
        new = np.float64(out[o, l])
        change = new - old
        if change != 0.0:
            x[l] = new
            support[m] = l
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
            if weights is not None:
                update_residuals(weights, count, l, change)
    return m, decrease, violation


@kernel
def l2_rows(
    items, source, weights, diagonal, H, X, gram, work, bounds, passes, in_place, out, unsolved
):
    """Set rows ``items`` of X to their optimum: docs/algorithms.md, "Rows instead of columns".

    In place (X and out are H), D and the products with A are updated after each row: Gauss-Seidel.
    Otherwise row p of ``out`` is solved against H and D as they are: a round. With ``passes`` > 1,
    the rows of X (which is ``out``) are new items that D does not contain; each is solved until it
    converges, or is marked ``unsolved`` after that many passes.

    Costs the source of g, then O(r) for each entry that is or becomes nonzero. Return the decrease
    of the objective (if every row were the only one) and the violation of the optimality
    conditions.
    """
    r, new, total, violations = H.shape[1], passes > 1, 0.0, 0.0
    note_peaks(gram, work)
    for p in range(len(items)):
        k, o, tolerance = items[p], p, 0.0
        if in_place:
            o = k
        else:
            prefetch_row(source, p, items)
        gather(source, p, items, X, work.g)
        if in_place:
            save_row(source, k, X, work.before)
        else:
            if p + 1 < len(items):
                prefetch(X, items[p + 1])
            for l in range(r):
                out[o, l] = X[k, l]
        start = begin_row(k, X, H, gram, work, new)
        m, norm, c = start
        if new:
            for l in range(r):
                tolerance = max(tolerance, ROUNDING * abs(work.g[l]))
            k = len(H)  # the row of a new item is not in H
        decrease, violation = 0.0, 0.0
        for _ in range(passes):
            at = RowRef(k, p, p if new else k, o)
            m, decrease, violation = solve_row(
                at, source, weights, diagonal, H, gram.D, work, bounds, start, out
            )
            if violation <= tolerance:
                break
            start = (np.int64(0), norm, 0.0)
        total += decrease
        violations += violation
        if in_place:
            update_gram(m, gram, work)
            update_products(source, p, items, work.before, work.x, work.support)
        elif new:
            unsolved[p] = violation > tolerance
        elif c != norm:
            restore_row(k, H, gram.D)
    return total, violations
