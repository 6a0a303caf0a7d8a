"""l1 with sparse memberships: the same weighted medians as `l1`, over candidates only.

Entry (k, l) has breakpoints b_i / a_i with weights w_ik a_i at the neighbours i with A_ik > 0, and
all other weight of the column, T = w0 (W_l - H_kl) + sum over the exceptions of v_ik H_il in
all, at zero. It can only be positive if the neighbours have more than half of T, so a column
that occurs neither in h_k nor in a neighbour's row is never looked at. Nothing else differs
from full storage, not even a bit: the sums are made in the same order.

As in `sparse_l2`, a row only reads H and W; with ``put`` it becomes row k at once.
"""

from typing import Any, NamedTuple

import numpy as np

from odsymnmf.kernels.compile import allocating
from odsymnmf.kernels.l1 import FURTHER, _cut, entry, move
from odsymnmf.kernels.rounding import CANCELLED, TIE
from odsymnmf.kernels.sparse_rows import enlist, items_of, keep_best, sort_together, weight_of


class ColumnSums(NamedTuple):
    """What sweeps of l1 keep up to date: W, who has entries, the largest W, and of the last moves.

    ``reach`` is how far entries of a column move, ``moved`` in which row its sum changed last.
    """

    W: Any
    held: Any
    peak: Any
    reach: Any
    moved: Any


class Neighbours(NamedTuple):
    """What `l1.entry` wants of a workspace: of each neighbour A_ik and rho, and room to select."""

    value: Any
    rho: Any
    points: Any
    weights: Any
    picked: Any


@allocating
def sum_of_others(k, l, H, w0, E, found, weighted):
    """Return sum_{i != k} H_il, or with the weights w_ik, in the order of the items."""
    m = items_of(l, H, found)
    if m > len(found):
        found = np.empty(m, dtype=np.int64)
        items_of(l, H, found)
    total, begin, end = 0.0, 0, 0
    if weighted:
        begin, end = E.indptr[k], E.indptr[k + 1]
    for s in found[:m]:
        i = H.owner[s]
        if i != k:
            if weighted:
                w = w0 + weight_of(i, begin, end, E.indices, E.v)
                total += w * H.value[s]
            else:
                total += H.value[s]
    return total


@allocating
def rows(items, position, A, w0, E, H, sums, out, upper, cap, put):
    """Solve the rows of the items, as far as there is room for the answers in ``out``.

    ``out`` is a `Log` that gets the rows, ``out.span[p]`` says where that of ``items[p]``
    is. With ``put``, out is H: the row becomes that of its item, and the sums learn of it.
    ``position`` is the place of the first item in the sweep.

    Return the number of rows done, the room that the next one needs, the decrease of f and the
    largest change of an entry.
    """
    W, held, peak, reach, moved = sums
    r = len(W)
    indptr, indices, data = A.indptr, A.indices, A.data
    span, column, value = H.span, H.column, H.value
    weighted = len(E.indptr) > 0
    longest = 0
    for k in items:
        longest = max(longest, indptr[k + 1] - indptr[k])
    near = np.empty(longest + 1, dtype=np.int64)
    near_value, near_weight = np.empty(longest + 1), np.empty(longest + 1)
    rho, points, weights = np.empty(longest + 1), np.empty(longest + 1), np.empty(longest + 1)
    picked = np.empty(longest + 1, dtype=np.int64)
    room = Neighbours(near_value, rho, points, weights, picked)
    pos = np.full(r, -1, dtype=np.int32)
    met, kept = np.empty(r, dtype=np.int32), np.empty(r + 1, dtype=np.int64)
    S, T, half = np.empty(r), np.empty(r), np.empty(r)
    score, negative, ones = np.empty(r), np.empty(r), np.empty(r)
    extra, gross, found = np.empty(r), np.empty(r), np.empty(1024, dtype=np.int64)
    table, heavy = np.empty(0), np.empty(longest + 1)
    stored = np.empty(2, dtype=value.dtype)
    x = np.empty(r)
    decrease, largest = 0.0, 0.0

    for p in range(len(items)):
        k = items[p]
        # the candidates: the item's own columns, then those of its neighbours, with S
        m = 0
        for s in range(span[k, 0], span[k, 1]):
            pos[column[s]] = m
            met[m], S[m] = column[s], 0.0
            m += 1
        mine = m
        e = e_end = 0
        if weighted:
            e, e_end = E.indptr[k], E.indptr[k + 1]
        e_begin = e
        neighbours = 0
        for j in range(indptr[k], indptr[k + 1]):
            i = indices[j]
            if i == k or not (data[j] > 0.0 and held[i]):
                continue
            w = w0
            if weighted:
                while e < e_end and E.indices[e] < i:
                    e += 1
                w += E.v[e] if e < e_end and E.indices[e] == i else 0.0
                if w == 0.0:
                    continue
            near[neighbours], near_value[neighbours], near_weight[neighbours] = i, data[j], w
            neighbours += 1
            for s in range(span[i, 0], span[i, 1]):
                l = column[s]
                c = pos[l]
                if c < 0:
                    c = m
                    pos[l] = c
                    met[c], S[c] = l, 0.0
                    m += 1
                S[c] += w * value[s]
        if weighted:
            for c in range(m):
                extra[c], gross[c] = 0.0, 0.0
            for e in range(e_begin, e_end):
                i = E.indices[e]
                for s in range(span[i, 0], span[i, 1]):
                    c = pos[column[s]]
                    if c >= 0:
                        extra[c] += E.v[e] * value[s]
                        gross[c] += abs(E.v[e]) * value[s]
        # T, half of it, and who may have an entry
        count = np.int64(mine)
        for c in range(m):
            l = met[c]
            own = np.float64(value[span[k, 0] + c]) if c < mine else 0.0
            total, most = W[l], peak[l]
            if moved[l] < position + p - 1 and total < CANCELLED * most:
                # Full storage sees every column at every row: the next one has put this right.
                total = most = sum_of_others(-1, l, H, w0, E, found, False)
            others = total - own
            if others < CANCELLED * most:
                others = most = sum_of_others(k, l, H, w0, E, found, False)
                total = others + own
            if put:
                W[l], peak[l] = total, most
            T[c] = w0 * others
            if weighted:
                T[c] += extra[c]
                if T[c] < CANCELLED * (w0 * others + gross[c]):
                    T[c] = sum_of_others(k, l, H, w0, E, found, True)
            half[c] = 0.5 * T[c] * (1.0 + TIE)
            if c < mine:
                kept[c] = c
            else:
                kept[count] = c
                if S[c] > half[c] and T[c] > 0.0:
                    score[c] = S[c] / T[c]
                    count += 1
        count = keep_best(mine, count, cap, kept, score, negative, ones)
        short = out.top[0] + count > len(out.owner)
        for c in range(m):
            pos[met[c]] = -1
        if short:
            return p, count, decrease, largest
        begin = top = out.top[0]
        if count > 0:
            sort_together(met, kept, count)
            # table[c] = entries of the neighbours in the c-th column kept; rho_i
            if len(table) < count * neighbours:
                table = np.empty(2 * count * neighbours)
            for c in range(count):
                pos[met[kept[c]]] = c
                b = kept[c]
                x[c] = np.float64(value[span[k, 0] + b]) if b < mine else 0.0
            for j in range(count * neighbours):
                table[j] = 0.0
            for j in range(neighbours):
                i = near[j]
                for s in range(span[i, 0], span[i, 1]):
                    c = pos[column[s]]
                    if c >= 0:
                        table[c * neighbours + j] = value[s]
                rho[j] = near_value[j]
            for c in range(count):
                pos[met[kept[c]]] = -1
                if x[c] != 0.0:
                    for j in range(neighbours):
                        rho[j] -= x[c] * table[c * neighbours + j]
            for j in range(neighbours):
                rho[j] = _cut(rho[j], near_value[j])

            for c in range(count):
                b = kept[c]
                l, old, new = met[b], x[c], 0.0
                a = table[c * neighbours : (c + 1) * neighbours]
                if T[b] > 0.0 and S[b] > half[b]:
                    far = reach[l] if reach[l] > 0.0 else T[b]
                    weight = a
                    if weighted or w0 != 1.0:
                        for j in range(neighbours):
                            heavy[j] = near_weight[j] * a[j]
                        weight = heavy
                    new = min(entry(old, half[b], far, neighbours, a, weight, room), upper)
                stored[0], stored[1] = new, old
                new, step = np.float64(stored[0]), np.float64(stored[0] - stored[1])
                if step != 0.0:
                    if weighted or w0 != 1.0:
                        fallen = move(step, neighbours, a, near_value, rho, near_weight)
                    else:
                        fallen = move(step, neighbours, a, near_value, rho, None)
                    decrease += 2.0 * (2.0 * fallen - step * T[b])
                    largest = max(largest, abs(step))
                    x[c] = new
                    if put:
                        held[k] = True
                        W[l] += step
                        moved[l] = position + p
                        reach[l] = 0.5 * min(reach[l], FURTHER * abs(step)) + abs(step)
                if new != 0.0:
                    out.column[top], out.value[top] = l, new
                    top += 1
            out.top[0] = top
        if put:
            enlist(H, begin, top, k)
        else:
            out.span[p, 0], out.span[p, 1] = begin, top
    return len(items), 0, decrease, largest
