"""l2 with sparse memberships: the cost of a row is the memberships of its neighbors, for any r.

Row x of item k minimizes x^T G x - 2 g . x + sum_l p_k / 2 [x_l > 0] over 0 <= x <= upper, with
g = sum_j w_kj A_kj h_j and G = sum_{j != k} w_kj h_j h_j^T
  = w0 (D - h_k h_k^T) + sum over the exceptions of v_kj h_j h_j^T.

A column that occurs neither in h_k nor in the row of a neighbor has g_l = 0 and stays zero; the
other columns are the candidates. G >= 0, so entry l alone can lower f by at most 2 g_l^2 / G_ll;
where that is no more than the penalty p_k, the candidate is discarded before D is read.
"""

from collections import namedtuple
from typing import Any

import numpy as np

from odsymnmf.kernels.compile import helper, inline, kernel, prefetch
from odsymnmf.kernels.rows import CANCELLED, ROUNDING, TINY
from odsymnmf.kernels.sparse_h import (
    SHORT,
    Pairs,
    add_pair,
    is_current,
    keep_best,
    set_row,
    slot,
    sort_together,
    weight_of,
)

# Number of neighbors whose first entries are listed together.
BLOCK_NEIGHBORS = 256
# Rows of a round are not adjacent: one entry of A per cache line is prefetched some items ahead.
PREFETCH_ITEMS, ENTRIES_PER_LINE = 5, 8


@helper
def _largest_single_gain(m, g, a):
    """Return the largest decrease of f that one column alone could give: max 2 g^2 / a."""
    best = 0.0
    for c in range(m):
        if g[c] > 0.0 and a[c] > TINY:
            best = max(best, g[c] * (g[c] / a[c]))
    return 2.0 * best


@helper
def _exact_row(k, row, l, m, H, w0, E, pos, G):
    """Set G_c = sum_{j != k} w_kj H_jl H_jt for the candidates c, t = their columns.

    ``row`` is that of the item among the exceptions.
    """
    for c in range(m):
        G[c] = 0.0
    begin, end, s = E.indptr[row], E.indptr[row + 1], H.head[l]
    while s >= 0:
        i = H.owner[s]
        if i != k and is_current(s, H):
            w = w0 + weight_of(i, begin, end, E.indices, E.v)
            for b in range(H.span[i, 0], H.span[i, 1]):
                c = pos[H.column[b]]
                if c >= 0:
                    G[c] += w * H.value[s] * H.value[b]
        s = H.link[s]


@inline
def _update_gram(count, support, columns, x, in_D, D):
    """D += x x^T - in_D in_D^T, where ``in_D`` is the row that D contains."""
    for p in range(count):
        c = support[p]
        l = np.int64(columns[c])
        D.diagonal[l] += x[c] * x[c] - in_D[c] * in_D[c]
        for b in range(p):
            d = support[b]
            change = x[c] * x[d] - in_D[c] * in_D[d]
            if change != 0.0:
                add_pair(l, np.int64(columns[d]), change, D.side, D.key, D.value, D.used)


@inline
def _add_candidate(l, term, m, pos, cand, cand_g):
    """g_l += term, and make column l a candidate, without a branch; return their number."""
    c = pos[l]
    new_one = c < 0
    u = np.uint32(m if new_one else c)
    pos[l], cand[u] = u, l
    cand_g[u] += term
    m += new_one
    cand_g[m] = 0.0
    return m


# By column: pos, its candidate or -1, and roots of the peaks of D. By candidate in the order found:
# its column (cand), g, a = G_ll, gross and score. By candidate selected, in the order of columns:
# columns, g, a, x, the row in_D that D contains, root, exact (`_candidates`) and first
# (`_gather_exceptions`). ``dots`` is by exception; ``near`` and ``terms`` list entries of
# neighbors; ``support`` lists the nonzeros of x. G has the rows of `_exact_row`, ``exc`` and
# ``exc_h`` are those of `_gather_exceptions`.
Workspace = namedtuple(
    "Workspace",
    "pos cand columns near terms roots dots stored selected support exact first "
    "cand_g cand_a gross score points ones g a x in_D root G exc exc_h",
)


def workspace(D: Pairs, dtype: Any, longest: int, max_row: int) -> Workspace:
    """Return workspace for rows of at most ``longest`` exceptions and ``max_row`` memberships."""
    r = len(D.diagonal)
    pos, (cand, columns) = np.full(r, -1, dtype=np.int32), np.empty((2, r), dtype=np.int32)
    size = SHORT * BLOCK_NEIGHBORS
    near, terms = np.empty(size, dtype=np.int32), np.empty(size)
    dots, stored = np.empty(longest), np.empty(1, dtype=dtype)
    integers, numbers = np.empty((4, r + 1), dtype=np.int64), np.empty((11, r + 1))
    roots = np.sqrt(D.peak)
    arrays = pos, cand, columns, near, terms, roots, dots, stored, *integers, *numbers
    size = longest * max_row
    exceptions = np.empty(size, dtype=np.int64), np.empty(size)
    return Workspace._make((*arrays, np.empty((max_row, max_row)), *exceptions))


@inline
def _gather(k, A, w0, E, H, new, work):
    """List the candidates with g, the item's own columns first; return the numbers of both."""
    indptr, indices, data = A.indptr, A.indices, A.data
    span, column, value = H.span, H.column, H.value
    pos, cand, cand_g, near, terms = work.pos, work.cand, work.cand_g, work.near, work.terms
    m = np.int64(0)
    if not new:
        for s in range(span[k, 0], span[k, 1]):
            pos[column[s]] = m
            cand[m], cand_g[m] = column[s], 0.0
            m += 1
    n_own = m
    cand_g[m] = 0.0
    weighted = len(E.indices) > 0
    e, e_end = E.indptr[k], E.indptr[k + 1]
    # Unsigned: no index is tested for being negative. The first entries of all rows are copied to
    # one list, so that the ends of short rows need not be predicted.
    link, last = np.uint64(indptr[k]), np.uint64(indptr[k + 1])
    while link < last:
        listed, until = np.uint64(0), min(last, link + np.uint64(BLOCK_NEIGHBORS))
        while link < until:
            i, w = np.uint32(indices[link]), w0
            if weighted:
                while e < e_end and E.indices[e] < i:
                    e += 1
                w += E.v[e] if e < e_end and E.indices[e] == i else 0.0
            w *= data[link]
            link += np.uint64(1)
            entry, beyond = np.uint64(span[i, 0]), np.uint64(span[i, 1])
            for s in range(SHORT):
                at, to = entry + np.uint64(s), listed + np.uint64(s)
                near[to], terms[to] = column[at], w * value[at]
            for d in range(entry + np.uint64(SHORT), beyond):
                m = _add_candidate(np.uint32(column[d]), w * value[d], m, pos, cand, cand_g)
            listed += min(beyond - entry, np.uint64(SHORT)) if w != 0.0 else np.uint64(0)
        for s in range(listed):
            m = _add_candidate(np.uint32(near[s]), terms[s], m, pos, cand, cand_g)
    return m, n_own


@inline
def _prefetch_rows(items, p, A, H, in_place):
    """Prefetch entries of A of a later item, rows of the next one's neighbors, and their spans."""
    indptr, indices, data = A.indptr, A.indices, A.data
    column, begins = H.column, H.span[:, 0]
    if not in_place and p + PREFETCH_ITEMS < len(items):
        far = items[p + PREFETCH_ITEMS]
        for j in range(indptr[far], indptr[far + 1], ENTRIES_PER_LINE):
            prefetch(data, j)
            prefetch(indices, j)
    if p + 2 < len(items):
        ahead, after = items[p + 1], items[p + 2]
        for j in range(np.uint64(indptr[ahead]), np.uint64(indptr[ahead + 1])):
            prefetch(column, begins[np.uint32(indices[j])])
        for j in range(np.uint64(indptr[after]), np.uint64(indptr[after + 1])):
            prefetch(begins, indices[j])


@inline
def _diagonal_of_gram(k, m, n_own, w0, E, H, D, work):
    """Set a = G_ll of the candidates."""
    span, column, value, diagonal = H.span, H.column, H.value, D.diagonal
    pos, cand, cand_a, gross, selected = work.pos, work.cand, work.cand_a, work.gross, work.selected
    for c in range(n_own):
        h = np.float64(value[span[k, 0] + c])
        cand_a[c] = w0 * (diagonal[cand[c]] - h * h)
        selected[c] = c
    for c in range(n_own, m):
        cand_a[c] = w0 * diagonal[np.uint32(cand[c])]
    if len(E.indices) > 0:
        for c in range(m):
            gross[c] = cand_a[c]
        for e in range(E.indptr[k], E.indptr[k + 1]):
            i = np.uint32(E.indices[e])
            for s in range(span[i, 0], span[i, 1]):
                c = pos[column[s]]
                if c >= 0:
                    h = E.v[e] * value[s] * value[s]
                    cand_a[c] += h
                    gross[c] += abs(h)


@inline
def _screen(m, n_own, min_gain, cap, work):
    """Keep the item's own columns and the candidates that alone may gain more than ``min_gain``."""
    pos, cand, selected = work.pos, work.cand, work.selected
    cand_g, cand_a = work.cand_g, work.cand_a
    count = np.int64(n_own)
    for c in range(n_own, m):
        pos[np.uint32(cand[c])] = -1
        selected[count] = c
        count += (cand_g[c] > 0.0) & (2.0 * cand_g[c] * cand_g[c] > min_gain * cand_a[c])
    for c in range(n_own):
        pos[cand[c]] = -1
    if count > cap:
        score = work.score
        for p in range(n_own, count):
            c = selected[p]
            score[c] = cand_g[c] * (cand_g[c] / max(cand_a[c], TINY))
        count = keep_best(n_own, count, cap, selected, score, work.points, work.ones)
    return count


@inline
def _sort_by_column(m, selected, cand):
    if m <= 24:
        for b in range(1, m):
            c, d = selected[b], b
            while d > 0 and cand[selected[d - 1]] > cand[c]:
                selected[d] = selected[d - 1]
                d -= 1
            selected[d] = c
    else:
        sort_together(cand, selected, m)


@inline
def _candidates(k, m, n_own, w0, weighted, H, D, work):
    """Copy the selected candidates, by column; return the number of a that have cancelled.

    An a that is a small difference of large sums is recomputed with its row of G: ``exact`` is the
    index of that row, else -1.
    """
    span, value, peak = H.span, H.value, D.peak
    cand, cand_g, cand_a = work.cand, work.cand_g, work.cand_a
    gross, selected = work.gross, work.selected
    columns, g, a, x, in_D = work.columns, work.g, work.a, work.x, work.in_D
    root, roots, exact, pos = work.root, work.roots, work.exact, work.pos
    cancelled = 0
    for c in range(m):
        b = selected[c]
        l = cand[b]
        columns[c], g[c], a[c], pos[l], exact[c] = l, cand_g[b], cand_a[b], c, -1
        x[c] = in_D[c] = np.float64(value[span[k, 0] + b]) if b < n_own else 0.0
        root[c] = roots[l]
        if a[c] < CANCELLED * (max(w0 * peak[l], gross[b]) if weighted else w0 * peak[l]):
            exact[c] = cancelled
            cancelled += 1
    return cancelled


@inline
def _list_support(m, work):
    """List the nonzero entries, the largest first; return their number and the sum of root x.

    In this order, the q of most other candidates become negative after few terms.
    """
    x, in_D, root, support = work.x, work.in_D, work.root, work.support
    count, size = 0, 0.0
    for c in range(m):
        size += root[c] * x[c]
        if in_D[c] != 0.0:
            b = count
            while b > 0 and x[support[b - 1]] < x[c]:
                support[b] = support[b - 1]
                b -= 1
            support[b] = c
            count += 1
    return count, size


@inline
def _gather_exceptions(k, m, E, H, work):
    """List the nonzeros of the exceptions by candidate, and set dots[j] = x . h_j.

    For the s-th nonzero, ``exc`` is the position j of the exception and ``exc_h`` the value.
    """
    span, column, value = H.span, H.column, H.value
    pos, x, first, dots = work.pos, work.x, work.first, work.dots
    exc, exc_h = work.exc, work.exc_h
    begin, end = E.indptr[k], E.indptr[k + 1]
    for c in range(m + 1):
        first[c] = 0
    for e in range(begin, end):
        i = E.indices[e]
        for s in range(span[i, 0], span[i, 1]):
            c = pos[column[s]]
            if c >= 0:
                first[c + 1] += 1
    for c in range(m):
        first[c + 1] += first[c]
    for e in range(begin, end):
        i = E.indices[e]
        dots[e - begin] = 0.0
        for s in range(span[i, 0], span[i, 1]):
            c = pos[column[s]]
            if c >= 0:
                exc[first[c]], exc_h[first[c]] = e - begin, value[s]
                first[c] += 1
                dots[e - begin] += x[c] * value[s]
    for c in range(m, 0, -1):
        first[c] = first[c - 1]
    first[0] = 0


@inline
def _solve_entries(m, count, size, e_begin, w0, E, D, penalty, upper, work):
    """Set each entry to its optimum in turn.

    Return the number of nonzero entries before or after, size, the decreases of f and of f with
    its penalty, and the violation.
    """
    side, keys, values, diagonal = D.side, D.key, D.value, D.diagonal
    columns, support, exact = work.columns, work.support, work.exact
    g, a, x, in_D, root = work.g, work.a, work.x, work.in_D, work.root
    first, dots, stored = work.first, work.dots, work.stored
    G, exc, exc_h = work.G, work.exc, work.exc_h
    weighted = len(E.indices) > 0
    decrease, penalized, violation = 0.0, 0.0, 0.0
    for c in range(m):
        t, old = np.int64(columns[c]), x[c]
        q = g[c]
        part = 0.0
        if exact[c] >= 0:
            for b in range(count):
                q -= G[exact[c], support[b]] * x[support[b]]
        else:
            if weighted:
                for s in range(first[c], first[c + 1]):
                    part += E.v[e_begin + exc[s]] * dots[exc[s]] * exc_h[s]
                q -= part
            if old != 0.0:
                q -= w0 * ((diagonal[t] - in_D[c] * in_D[c]) * old)
            for b in range(count):
                d = support[b]
                if d != c and x[d] != 0.0:
                    D_ct = values[slot(t, np.int64(columns[d]), side, keys)]
                    q -= w0 * ((D_ct - in_D[c] * in_D[d]) * x[d])
                    if old == 0.0 and q <= 0.0:
                        break  # the other terms only lower q
        if old == 0.0 and q <= 0.0:
            continue
        slope, new = q, 0.0
        if a[c] > TINY:
            new = old + q / a[c]
            terms = abs(g[c]) + abs(part) + w0 * root[c] * size
            new = min(new, upper) if new > ROUNDING * terms / a[c] else 0.0
            if 2.0 * new * (2.0 * (q + a[c] * old) - a[c] * new) <= penalty:
                new = 0.0
            stored[0] = new
            new = np.float64(stored[0])
            if new == 0.0 and old == 0.0 and penalty > 0.0:
                continue
        else:
            slope = 0.0
        slope = max(slope, 0.0) if old <= 0.0 else slope
        violation += abs(min(slope, 0.0) if old >= upper else slope)
        change = new - old
        if change != 0.0:
            x[c] = new
            if in_D[c] == 0.0 and old == 0.0:
                support[count] = c
                count += 1
            gain = 2.0 * change * (2.0 * q - a[c] * change)
            decrease += gain
            penalized += gain
            if old == 0.0:
                penalized -= penalty
            elif new == 0.0:
                penalized += penalty
            size += root[c] * max(change, 0.0)
            if weighted:
                for s in range(first[c], first[c + 1]):
                    dots[exc[s]] += change * exc_h[s]
    return count, size, decrease, penalized, violation


@inline
def _drop_zeros(count, work):
    """Remove zero entries from the support of a new item; return the number that remain."""
    support, x = work.support, work.x
    remaining = 0
    for b in range(count):
        support[remaining] = support[b]
        remaining += x[support[b]] != 0.0
    return remaining


@inline
def _write_row(m, out, work):
    """Append the row to ``out``; return where it begins and ends."""
    pos, columns, x = work.pos, work.columns, work.x
    begin, top = out.top[0], out.top[0]
    for c in range(m):
        pos[columns[c]] = -1
        if x[c] != 0.0:
            out.column[top], out.value[top] = columns[c], x[c]
            top += 1
    out.top[0] = top
    return begin, top


@kernel
def sparse_l2_rows(items, A, w0, E, H, D, out, penalty, share, upper, cap, passes, in_place, work):
    """Solve rows of H while ``out`` and D have capacity: docs/many_clusters.md.

    In place, ``out`` is H, and D is updated after each row: Gauss-Seidel. Otherwise H and D are not
    changed, and the new rows are appended to ``out``; ``out.span[p]`` is that of ``items[p]``. With
    ``passes`` > 1, the items are new: rows of A that neither H nor D contains, each solved until it
    converges. A negative ``penalty[k]`` is first set to the fraction ``share`` of the largest
    decrease of f that one column alone could give. If ``penalty[k]`` is zero, there is no penalty,
    and a column whose entry is zero is a candidate if it alone could give that fraction.

    Costs the memberships of the neighbors. Return the number of rows solved, the capacity that the
    next one needs, the decreases of f and of f + sum_k p_k |h_k|_0, the violation of the
    optimality conditions, and the number of sums that had to be recomputed.
    """
    new, weighted = passes > 1, len(E.indices) > 0
    decrease, penalized, violation, recomputed = 0.0, 0.0, 0.0, 0
    for p in range(len(items)):
        k = items[p]
        m, n_own = _gather(k, A, w0, E, H, new, work)
        _prefetch_rows(items, p, A, H, in_place)
        _diagonal_of_gram(k, m, n_own, w0, E, H, D, work)
        min_gain = penalty[k]
        if min_gain <= 0.0:
            min_gain = share * _largest_single_gain(m, work.cand_g, work.cand_a)
            penalty[k] = min_gain if penalty[k] < 0.0 else 0.0
        m = _screen(m, n_own, min_gain, cap, work)
        short = out.top[0] + m > len(out.owner)
        if in_place and D.side == 0:
            short |= 2 * (D.used[0] + m * (m - 1) // 2) > len(D.key)
        if short:
            return p, m, decrease, penalized, violation, recomputed
        _sort_by_column(m, work.selected, work.cand)
        cancelled = _candidates(k, m, n_own, w0, weighted, H, D, work)
        if cancelled > 0:
            recomputed += cancelled
            for c in range(m):
                if work.exact[c] >= 0:
                    row = work.G[work.exact[c]]
                    _exact_row(k if not new else -1, k, work.columns[c], m, H, w0, E, work.pos, row)
                    work.a[c] = row[c]
                    work.root[c] = np.sqrt(row[c])
        count, size = _list_support(m, work)
        e_begin = E.indptr[k]
        if weighted:
            _gather_exceptions(k, m, E, H, work)
        tolerance = 0.0
        if new:
            for c in range(m):
                tolerance = max(tolerance, ROUNDING * abs(work.g[c]))
        for _ in range(passes):
            count, size, gain, gain_penalized, slope = _solve_entries(
                m, count, size, e_begin, w0, E, D, penalty[k], upper, work
            )
            decrease += gain
            penalized += gain_penalized
            violation += slope
            if slope <= tolerance:
                break
            if new:
                count = _drop_zeros(count, work)
        begin, top = _write_row(m, out, work)
        if in_place:
            _update_gram(count, work.support, work.columns, work.x, work.in_D, D)
            set_row(H, begin, top, k)
        else:
            out.span[p, 0], out.span[p, 1] = begin, top
    return len(items), 0, decrease, penalized, violation, recomputed
