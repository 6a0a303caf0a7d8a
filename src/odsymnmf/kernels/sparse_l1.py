"""l1 with sparse memberships: the weighted medians of `l1`, over candidate columns only.

Entry (k, l) has breakpoints b_i / a_i with weights w_ik a_i at the neighbors i with A_ik > 0; all
other weight of the column, T = w0 (W_l - H_kl) + sum over the exceptions of v_ik H_il in all, is at
zero. It can only be positive if the neighbors have more than half of T, so only columns in h_k or
in the row of a neighbor are candidates. The results are bit-identical to those of a dense H: the
sums are computed in the same order.
"""

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import helper, inline, kernel
from odsymnmf.kernels.l1 import REACH_GROWTH, _cut, move, weighted_median
from odsymnmf.kernels.rows import CANCELLED, ROUNDING, TIE
from odsymnmf.kernels.sparse_h import keep_best, list_column, set_row, sort_together, weight_of


class ColumnState(NamedTuple):
    """W_l = sum_i H_il, which rows of H are nonzero, the largest W so far, and the last changes.

    ``reach`` is the typical change of an entry of a column, ``moved`` the row where its sum has
    changed last.
    """

    W: Any
    nonzero: Any
    peak: Any
    reach: Any
    moved: Any


# Arrays by neighbor, as for `l1.weighted_median`; by column and by candidate; two entries as H
# stores them; the entries of the neighbors in the columns selected; the entries of a column.
Workspace = namedtuple(
    "Workspace",
    "near positions value rho points weights weight heavy "
    "pos cand selected S T half score negative ones extra gross x stored table entries",
)


def workspace(shape: tuple[int, int], dtype: Any, longest: int, max_row: int) -> Workspace:
    """Return workspace for rows of at most ``longest`` entries in A, ``max_row`` in H (n x r)."""
    n, r = shape
    pos, cand = np.full(r, -1, dtype=np.int32), np.empty(r, dtype=np.int32)
    near, positions = np.empty((2, longest + 1), dtype=np.int64)
    neighbors, candidates = np.empty((6, longest + 1)), np.empty((9, r))
    selected, stored = np.empty(r + 1, dtype=np.int64), np.empty(2, dtype=dtype)
    table, entries = np.empty(max_row * (longest + 1)), np.empty(n, dtype=np.int64)
    arrays = near, positions, *neighbors, pos, cand, selected, *candidates, stored, table, entries
    return Workspace._make(arrays)


@helper
def sum_of_others(k, row, l, H, w0, E, weighted, entries):
    """Return sum_{i != k} H_il, or with the weights of a row of exceptions, by increasing i."""
    total, begin, end = 0.0, E.indptr[row], E.indptr[row + 1]
    for p in range(list_column(l, H, entries)):
        s = entries[p]
        i = H.owner[s]
        if i != k:
            w = w0 + weight_of(i, begin, end, E.indices, E.v) if weighted else 1.0
            total += w * H.value[s]
    return total


@inline
def _gather(k, A, w0, E, H, nonzero, new, work):
    """List the neighbors and the candidates with S, own columns first; return their numbers."""
    indptr, indices, data = A.indptr, A.indices, A.data
    span, column, value = H.span, H.column, H.value
    near, near_value, weight, pos = work.near, work.value, work.weight, work.pos
    cand, S = work.cand, work.S
    m, neighbors = 0, 0
    if not new:
        for s in range(span[k, 0], span[k, 1]):
            pos[column[s]] = m
            cand[m], S[m] = column[s], 0.0
            m += 1
    n_own = m
    weighted = len(E.indices) > 0
    e, e_end = E.indptr[k], E.indptr[k + 1]
    for j in range(indptr[k], indptr[k + 1]):
        i = indices[j]
        if not (data[j] > 0.0 and nonzero[i]):
            continue
        w = w0
        if weighted:
            while e < e_end and E.indices[e] < i:
                e += 1
            w += E.v[e] if e < e_end and E.indices[e] == i else 0.0
            if w == 0.0:
                continue
        near[neighbors], near_value[neighbors], weight[neighbors] = i, data[j], w
        neighbors += 1
        for s in range(span[i, 0], span[i, 1]):
            l = column[s]
            c = pos[l]
            if c < 0:
                c = m
                pos[l] = c
                cand[c], S[c] = l, 0.0
                m += 1
            S[c] += w * value[s]
    return m, n_own, neighbors


@inline
def _add_exceptions(k, m, E, H, work):
    """Set the terms of the exceptions in T, and the sum of their absolute values."""
    pos, extra, gross = work.pos, work.extra, work.gross
    for c in range(m):
        extra[c], gross[c] = 0.0, 0.0
    for e in range(E.indptr[k], E.indptr[k + 1]):
        i = E.indices[e]
        for s in range(H.span[i, 0], H.span[i, 1]):
            c = pos[H.column[s]]
            if c >= 0:
                extra[c] += E.v[e] * H.value[s]
                gross[c] += abs(E.v[e]) * H.value[s]


@inline
def _totals(k, m, n_own, before, w0, E, H, sums, in_place, new, work):
    """Set T and half of it; keep the own columns and the candidates that may become positive."""
    W, peak, moved = sums.W, sums.peak, sums.moved
    cand, selected, S, T, half = work.cand, work.selected, work.S, work.T, work.half
    score, extra, gross = work.score, work.extra, work.gross
    weighted = len(E.indices) > 0
    count = np.int64(n_own)
    for c in range(m):
        l = cand[c]
        old = np.float64(H.value[H.span[k, 0] + c]) if c < n_own else 0.0
        total, largest = W[l], peak[l]
        others = total
        if not new:
            if moved[l] < before and total < CANCELLED * largest:
                # With a dense H, the row after the last change has recomputed this sum.
                total = largest = sum_of_others(-1, k, l, H, w0, E, False, work.entries)
            others = total - old
            if others < CANCELLED * largest:
                others = largest = sum_of_others(k, k, l, H, w0, E, False, work.entries)
                total = others + old
            if in_place:
                W[l], peak[l] = total, largest
        T[c] = w0 * others
        if weighted:
            T[c] += extra[c]
            if T[c] < CANCELLED * (w0 * others + gross[c]):
                T[c] = sum_of_others(-1 if new else k, k, l, H, w0, E, True, work.entries)
        half[c] = 0.5 * T[c] * (1.0 + TIE)
        if c < n_own:
            selected[c] = c
        else:
            selected[count] = c
            if S[c] > half[c] and T[c] > 0.0:
                score[c] = S[c] / T[c]
                count += 1
    return count


@inline
def _fill_table(k, count, n_own, neighbors, H, table, work):
    """Set table[c] to the entries of the neighbors in the c-th column selected, x and rho."""
    span, column, value = H.span, H.column, H.value
    near, pos, cand, selected, x = work.near, work.pos, work.cand, work.selected, work.x
    near_value, rho = work.value, work.rho
    for c in range(count):
        pos[cand[selected[c]]] = c
        b = selected[c]
        x[c] = np.float64(value[span[k, 0] + b]) if b < n_own else 0.0
    for j in range(count * neighbors):
        table[j] = 0.0
    for j in range(neighbors):
        i = near[j]
        for s in range(span[i, 0], span[i, 1]):
            c = pos[column[s]]
            if c >= 0:
                table[c * neighbors + j] = value[s]
        rho[j] = near_value[j]
    for c in range(count):
        pos[cand[selected[c]]] = -1
        if x[c] != 0.0:
            for j in range(neighbors):
                rho[j] -= x[c] * table[c * neighbors + j]
    for j in range(neighbors):
        rho[j] = _cut(rho[j], near_value[j])


@inline
def _solve_entries(k, place, count, neighbors, weighted, sums, table, upper, in_place, work):
    """Set each entry to its optimum in turn; return the decrease and the largest change."""
    W, nonzero, reach, moved = sums.W, sums.nonzero, sums.reach, sums.moved
    cand, selected, S, T, half, x = work.cand, work.selected, work.S, work.T, work.half, work.x
    heavy, weights, stored = work.heavy, work.weight, work.stored
    value, rho = work.value, work.rho
    decrease, largest = 0.0, 0.0
    for c in range(count):
        b = selected[c]
        l, old, new = cand[b], x[c], 0.0
        a = table[c * neighbors : (c + 1) * neighbors]
        if T[b] > 0.0 and S[b] > half[b]:
            far = reach[l] if reach[l] > 0.0 else T[b]
            weight = a
            if weighted:
                for j in range(neighbors):
                    heavy[j] = weights[j] * a[j]
                weight = heavy
            new = weighted_median(old, half[b], far, neighbors, a, weight, work)
            new = min(new, upper)
        stored[0], stored[1] = new, old
        new, step = np.float64(stored[0]), np.float64(stored[0] - stored[1])
        if step != 0.0:
            if weighted:
                residual_decrease = move(step, neighbors, a, value, rho, weights)
            else:
                residual_decrease = move(step, neighbors, a, value, rho, None)
            decrease += 2.0 * (2.0 * residual_decrease - step * T[b])
            largest = max(largest, abs(step))
            x[c] = new
            if in_place:
                nonzero[k] = True
                W[l] += step
                moved[l] = place
                reach[l] = 0.5 * min(reach[l], REACH_GROWTH * abs(step)) + abs(step)
    return decrease, largest


@kernel
def sparse_l1_rows(items, position, A, w0, E, H, sums, out, upper, cap, passes, in_place, work):
    """Solve rows of H while ``out`` has capacity: docs/many_clusters.md.

    The modes and ``out`` are those of `sparse_l2_rows`, with W in place of D. ``position`` is that
    of the first item in the sweep. Costs the memberships of the neighbors. Return the number of
    rows solved, the capacity that the next one needs, the decrease of f and the largest change.
    """
    new, weighted = passes > 1, len(E.indices) > 0 or w0 != 1.0
    decrease, largest = 0.0, 0.0
    pos, cand, selected, x = work.pos, work.cand, work.selected, work.x
    table = work.table
    for p in range(len(items)):
        k, place = items[p], position + p
        m, n_own, neighbors = _gather(k, A, w0, E, H, sums.nonzero, new, work)
        if len(E.indices) > 0:
            _add_exceptions(k, m, E, H, work)
        count = _totals(k, m, n_own, place - 1, w0, E, H, sums, in_place, new, work)
        count = keep_best(n_own, count, cap, selected, work.score, work.negative, work.ones)
        for c in range(m):
            pos[cand[c]] = -1
        if out.top[0] + count > len(out.owner):
            return p, count, decrease, largest
        begin = end = out.top[0]
        if count > 0:
            sort_together(cand, selected, count)
            _fill_table(k, count, n_own, neighbors, H, table, work)
            for _ in range(passes):
                gain, change = _solve_entries(
                    k, place, count, neighbors, weighted, sums, table, upper, in_place, work
                )
                decrease += gain
                largest = max(largest, change)
                top = 0.0
                for c in range(count):
                    top = max(top, x[c])
                if not new or change <= ROUNDING * top:
                    break
            for c in range(count):
                if x[c] != 0.0:
                    out.column[end], out.value[end] = cand[selected[c]], x[c]
                    end += 1
            out.top[0] = end
        if in_place:
            set_row(H, begin, end, k)
        else:
            out.span[p, 0], out.span[p, 1] = begin, end
    return len(items), 0, decrease, largest
