"""l2 with sparse memberships: a row costs its neighbours' memberships, not r.

Row x of item k minimises x^T G x - 2 g . x + sum_l p_k / 2 [x_l > 0] over 0 <= x <= upper, with
g = sum_j w_kj A_kj h_j and G = sum_{j != k} w_kj h_j h_j^T
  = w0 (D - own own^T) + sum over the exceptions of v_kj h_j h_j^T,   own = h_k.

A column that occurs neither in h_k nor in a neighbour's row has g_l = 0 and stays zero: only the
others are candidates. G >= 0, so entry l alone can lower f by 2 g_l^2 / G_ll at most; where that is
no more than its price p_k, the candidate is out before any look at D.

A row only reads H and D. What it writes goes to ``out``; with ``put`` it becomes row k at once
(one row after another), without it the caller puts it in place later (`put_rows`), so that the rows
of a round may be computed by any number of threads.
"""

import numpy as np

from odsymnmf.kernels.compile import allocating, part
from odsymnmf.kernels.prefetch import prefetch
from odsymnmf.kernels.rounding import CANCELLED, ROUNDING, TINY
from odsymnmf.kernels.sparse_arrays import SHORT, add_pair, place
from odsymnmf.kernels.sparse_rows import enlist, keep_best, sort_together, weight_of

# Neighbours whose first entries are listed at once.
AT_ONCE = 256
# Rows of a round lie apart: links are asked for so many items ahead, so many at a time.
FAR, LINE = 5, 8


@allocating
def _most_alone(m, g, a):
    """Return the most that one column alone could lower f by: the largest 2 g^2 / a."""
    best = 0.0
    for c in range(m):
        if g[c] > 0.0 and a[c] > TINY:
            best = max(best, g[c] * (g[c] / a[c]))
    return 2.0 * best


@allocating
def _fewer(mine, found, cap, kept, g, a, score, points, ones):
    """Keep the candidates that alone would gain most; return how many."""
    for p in range(mine, found):
        c = kept[p]
        score[c] = g[c] * (g[c] / max(a[c], TINY))
    return keep_best(mine, found, cap, kept, score, points, ones)


@allocating
def _exact_row(k, l, m, H, w0, E, pos, G):
    """Set G_c = sum_{j != k} w_kj H_jl H_jt for the candidates c, t = their columns."""
    for c in range(m):
        G[c] = 0.0
    begin, end = 0, 0
    if len(E.indptr) > 0:
        begin, end = E.indptr[k], E.indptr[k + 1]
    s = H.head[l]
    while s >= 0:
        i = H.owner[s]
        if i != k and H.span[i, 0] <= s < H.span[i, 1]:
            w = w0 + weight_of(i, begin, end, E.indices, E.v)
            for b in range(H.span[i, 0], H.span[i, 1]):
                c = pos[H.column[b]]
                if c >= 0:
                    G[c] += w * H.value[s] * H.value[b]
        s = H.link[s]


@part
def _put_sums(count, support, columns, x, own, D):
    """D += x x^T - own own^T."""
    for p in range(count):
        c = support[p]
        l = np.int64(columns[c])
        D.diagonal[l] += x[c] * x[c] - own[c] * own[c]
        for b in range(p):
            d = support[b]
            change = x[c] * x[d] - own[c] * own[d]
            if change != 0.0:
                add_pair(l, np.int64(columns[d]), change, D.side, D.key, D.value, D.used)


@part
def _meet(l, more, m, pos, met, met_g):
    """g_l += more, with column l a candidate from now on; return how many there are.

    A column is new or not, as chance will have it: no branch to mispredict.
    """
    c = pos[l]
    new_one = c < 0
    u = np.uint32(m if new_one else c)
    pos[l], met[u] = u, l
    met_g[u] += more
    m += new_one
    met_g[m] = 0.0
    return m


@allocating
def rows(items, A, w0, E, H, D, out, price, share, upper, cap, put):
    """Solve the rows of the items, as far as there is room for the answers in ``out`` and D.

    ``out`` is a `Log` that gets the rows, ``out.span[p]`` says where that of ``items[p]``
    is. With ``put``, out is H: the row becomes that of its item, and D learns of it. A negative
    ``price[k]`` is set first, to the share ``share`` of the most that one column alone could
    gain for item k.

    Return the number of rows done, the room that the next one needs, the decrease of f and of
    f + sum_k p_k |h_k|_0, the violation of the optimality conditions, and how many sums had to
    be done anew.
    """
    r = len(D.diagonal)
    indptr, indices, data = A.indptr, A.indices, A.data
    span, column, value = H.span, H.column, H.value
    begins = span[:, 0]
    side, keys, values, diagonal, peak = D.side, D.key, D.value, D.diagonal, D.peak
    weighted = len(E.indptr) > 0
    pos = np.full(r, -1, dtype=np.int32)
    roots = np.sqrt(peak)
    # by candidate, in the order met
    met, met_g, met_a = np.empty(r, dtype=np.int32), np.empty(r + 1), np.empty(r)
    near, more = np.empty(SHORT * AT_ONCE, dtype=np.int32), np.empty(SHORT * AT_ONCE)
    kept, score = np.empty(r + 1, dtype=np.int64), np.empty(r)
    points, ones, gross = np.empty(r), np.empty(r), np.empty(r)
    # by candidate kept, in the order of columns
    columns, support = np.empty(r, dtype=np.int32), np.empty(r, dtype=np.int64)
    g, a, x, own, root = np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r)
    exact, G = np.empty(r, dtype=np.int64), np.empty((0, 0))
    # the exceptions' entries in each candidate
    longest = 0
    if weighted:
        for k in items:
            longest = max(longest, E.indptr[k + 1] - E.indptr[k])
    first, dots = np.zeros(r + 1, dtype=np.int64), np.empty(longest)
    who, height = np.empty(0, dtype=np.int64), np.empty(0)
    stored = np.empty(1, dtype=value.dtype)
    decrease, priced, violation, anew = 0.0, 0.0, 0.0, 0

    for p in range(len(items)):
        k = items[p]
        # the candidates: the item's own columns, then those of its neighbours, with g
        m = np.int64(0)
        for s in range(span[k, 0], span[k, 1]):
            pos[column[s]] = m
            met[m], met_g[m] = column[s], 0.0
            m += 1
        mine = m
        met_g[m] = 0.0
        e = e_end = 0
        if weighted:
            e, e_end = E.indptr[k], E.indptr[k + 1]
        e_begin = e
        # Unsigned: no index has to be asked if it is below zero. The first entries of all rows come
        # one after another into one list: the end of a short row is nothing to be guessed.
        link, last = np.uint64(indptr[k]), np.uint64(indptr[k + 1])
        while link < last:
            listed, until = np.uint64(0), min(last, link + np.uint64(AT_ONCE))
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
                    near[to], more[to] = column[at], w * value[at]
                for d in range(entry + np.uint64(SHORT), beyond):
                    m = _meet(np.uint32(column[d]), w * value[d], m, pos, met, met_g)
                listed += min(beyond - entry, np.uint64(SHORT)) if w != 0.0 else np.uint64(0)
            for s in range(listed):
                m = _meet(np.uint32(near[s]), more[s], m, pos, met, met_g)
        # the links of an item to come, the rows of the next one's neighbours, and where those of
        # the one after it are
        if not put and p + FAR < len(items):
            far = items[p + FAR]
            for j in range(indptr[far], indptr[far + 1], LINE):
                prefetch(data, j)
                prefetch(indices, j)
        if p + 2 < len(items):
            ahead, after = items[p + 1], items[p + 2]
            for j in range(np.uint64(indptr[ahead]), np.uint64(indptr[ahead + 1])):
                prefetch(column, begins[np.uint32(indices[j])])
            for j in range(np.uint64(indptr[after]), np.uint64(indptr[after + 1])):
                prefetch(begins, indices[j])
        # a = G_ll, and the candidates that may be worth their price; most are not
        entries = 0
        for c in range(mine):
            h = np.float64(value[span[k, 0] + c])
            met_a[c] = w0 * (diagonal[met[c]] - h * h)
            kept[c] = c
        for c in range(mine, m):
            met_a[c] = w0 * diagonal[np.uint32(met[c])]
        if weighted:
            for c in range(m):
                gross[c] = met_a[c]
            for e in range(e_begin, e_end):
                i = np.uint32(E.indices[e])
                entries += span[i, 1] - span[i, 0]
                for s in range(span[i, 0], span[i, 1]):
                    c = pos[column[s]]
                    if c >= 0:
                        h = E.v[e] * value[s] * value[s]
                        met_a[c] += h
                        gross[c] += abs(h)
        if price[k] < 0.0:
            price[k] = share * _most_alone(m, met_g, met_a)
        least, found = price[k], np.int64(mine)
        for c in range(mine, m):
            pos[np.uint32(met[c])] = -1
            kept[found] = c
            found += (met_g[c] > 0.0) & (2.0 * met_g[c] * met_g[c] > least * met_a[c])
        for c in range(mine):
            pos[met[c]] = -1
        if found > cap:
            found = _fewer(mine, found, cap, kept, met_g, met_a, score, points, ones)
        m = found
        short = out.top[0] + m > len(out.owner)
        if put and side == 0:
            short |= 2 * (D.used[0] + m * (m - 1) // 2) > len(keys)
        if short:
            return p, m, decrease, priced, violation, anew

        # by column; a is done anew where it is the small difference of large sums
        if m <= 24:
            for b in range(1, m):
                c, d = kept[b], b
                while d > 0 and met[kept[d - 1]] > met[c]:
                    kept[d] = kept[d - 1]
                    d -= 1
                kept[d] = c
        else:
            sort_together(met, kept, m)
        count, size, cancelled = 0, 0.0, 0
        for c in range(m):
            b = kept[c]
            l = met[b]
            columns[c], g[c], a[c], pos[l], exact[c] = l, met_g[b], met_a[b], c, -1
            x[c] = own[c] = np.float64(value[span[k, 0] + b]) if b < mine else 0.0
            root[c] = roots[l]
            if a[c] < CANCELLED * (max(w0 * peak[l], gross[b]) if weighted else w0 * peak[l]):
                exact[c] = cancelled
                cancelled += 1
        if cancelled > 0:
            # all sums with the other candidates: G has a row for each of these
            anew += cancelled
            if G.shape[0] < cancelled or G.shape[1] < m:
                G = np.empty((int(cancelled), int(m)))
            for c in range(m):
                if exact[c] >= 0:
                    _exact_row(k, columns[c], m, H, w0, E, pos, G[exact[c]])
                    a[c] = G[exact[c], c]
                    root[c] = np.sqrt(a[c])
        for c in range(m):
            size += root[c] * x[c]
            if own[c] != 0.0:
                # the largest first: most q turn negative at the first look at D
                b = count
                while b > 0 and x[support[b - 1]] < x[c]:
                    support[b] = support[b - 1]
                    b -= 1
                support[b] = c
                count += 1
        # the entries of the exceptions, by candidate, and x . h_j for each exception j
        if weighted:
            if len(who) < entries:
                who, height = np.empty(2 * entries, dtype=np.int64), np.empty(2 * entries)
            for c in range(m + 1):
                first[c] = 0
            for e in range(e_begin, e_end):
                i = E.indices[e]
                for s in range(span[i, 0], span[i, 1]):
                    c = pos[column[s]]
                    if c >= 0:
                        first[c + 1] += 1
            for c in range(m):
                first[c + 1] += first[c]
            for e in range(e_begin, e_end):
                i = E.indices[e]
                dots[e - e_begin] = 0.0
                for s in range(span[i, 0], span[i, 1]):
                    c = pos[column[s]]
                    if c >= 0:
                        who[first[c]], height[first[c]] = e - e_begin, value[s]
                        first[c] += 1
                        dots[e - e_begin] += x[c] * value[s]
            for c in range(m, 0, -1):
                first[c] = first[c - 1]
            first[0] = 0

        # the entries, each at its optimum
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
                        part += E.v[e_begin + who[s]] * dots[who[s]] * height[s]
                    q -= part
                if old != 0.0:
                    q -= w0 * ((diagonal[t] - own[c] * own[c]) * old)
                for b in range(count):
                    d = support[b]
                    if d != c and x[d] != 0.0:
                        both = values[place(t, np.int64(columns[d]), side, keys)]
                        q -= w0 * ((both - own[c] * own[d]) * x[d])
                        if old == 0.0 and q <= 0.0:
                            break  # what follows only lowers q
            if old == 0.0 and q <= 0.0:
                continue
            slope, new = q, 0.0
            if a[c] > TINY:
                new = old + q / a[c]
                terms = abs(g[c]) + abs(part) + w0 * root[c] * size
                new = min(new, upper) if new > ROUNDING * terms / a[c] else 0.0
                if 2.0 * new * (2.0 * (q + a[c] * old) - a[c] * new) <= least:
                    new = 0.0
                stored[0] = new
                new = np.float64(stored[0])
                if new == 0.0 and old == 0.0 and least > 0.0:
                    continue
            else:
                slope = 0.0
            slope = max(slope, 0.0) if old <= 0.0 else slope
            violation += abs(min(slope, 0.0) if old >= upper else slope)
            change = new - old
            if change != 0.0:
                x[c] = new
                if own[c] == 0.0 and old == 0.0:
                    support[count] = c
                    count += 1
                gain = 2.0 * change * (2.0 * q - a[c] * change)
                decrease += gain
                priced += gain
                if old == 0.0:
                    priced -= least
                elif new == 0.0:
                    priced += least
                size += root[c] * max(change, 0.0)
                if weighted:
                    for s in range(first[c], first[c + 1]):
                        dots[who[s]] += change * height[s]

        # the new row
        begin, top = out.top[0], out.top[0]
        for c in range(m):
            pos[columns[c]] = -1
            if x[c] != 0.0:
                out.column[top], out.value[top] = columns[c], x[c]
                top += 1
        out.top[0] = top
        if put:
            _put_sums(count, support, columns, x, own, D)
            enlist(H, begin, top, k)
        else:
            out.span[p, 0], out.span[p, 1] = begin, top
    return len(items), 0, decrease, priced, violation, anew
