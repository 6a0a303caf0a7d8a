"""l2: one row of H after another, every entry at its optimum (exact coordinate descent).

With the other rows fixed, row x of item k minimises x^T D_k x - 2 g . x over 0 <= x <= upper,
where D_k = H^T H without row k and g = sum_{j != k} A_kj h_j. Half its gradient is -q with
q = g - D_k x. Given ``diagonal`` (symNMF), the term (A_kk - |x|^2)^2 / 2 is added.

D_k = D - own own^T is never formed: ``own`` is what row k still has inside D. All work is done
in float64 whatever H is, so that float32 data lose nothing here.
"""

import numpy as np

from odsymnmf.kernels.compile import kernel, part
from odsymnmf.kernels.prefetch import prefetch
from odsymnmf.kernels.symnmf import minimise_quartic

# A leave-one-out sum this small beside the largest value its running sum has had is recomputed:
# rounding in the running sum has by then eaten too many of its digits.
CANCELLED = 1e-4
# A new entry this small beside the terms it is the difference of is rounding. It must not stay:
# alone in its column, it would drive other entries towards infinity.
ROUNDING = 1e-13
# Below this a column is as good as zero, and 1 / a may overflow.
TINY = 1e-290


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


@kernel
def sweep(items, indptr, indices, data, source, norms, G, S, H, D, peak, upper, empty, diagonal):
    """Bring the rows of the items in H to their optimum in turn, entry by entry, and D with them.

    What A is decides where g comes from, and who must learn of a change; numba compiles each
    case without the others:

    - sparse: g gathers the rows ``source = H`` of the neighbours in (indptr, indices, data);
    - Gram, A = X X^T: (indptr, indices, data) is X, ``source = Z = X^T H`` is kept up to date,
      ``norms`` holds |x_k|^2, the diagonal that g must leave out;
    - dense: ``G = A[items] @ H``, ``S`` is the items' own square of A with a zero diagonal; later
      items learn of a change through S.

    Return the fall of the objective and the violation of the optimality conditions on the way.
    An entry whose column is zero elsewhere has no influence; it becomes ``empty``.

    One long function on purpose: handing these arrays on, once a row, costs as much as a row.
    """
    r = H.shape[1]
    g, x, before, own, u = np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r)
    inverse, root, found = np.empty(r), np.empty(r), np.empty(r + 1, dtype=np.uintp)
    fall, violation = 0.0, 0.0
    # Once a call will do: an entry stays until the next sweep, so what a sum reaches on the way
    # is no more than its two ends together.
    for l in range(r):
        peak[l] = max(peak[l], D[l, l])
        root[l] = np.sqrt(peak[l])
    if G is not None:
        gross = np.abs(G)  # of which changes in the block may leave but rounding

    for p in range(len(items)):
        k = items[p]
        # g, four neighbours at a time to spare loads and stores
        if G is not None:
            for l in range(r):
                g[l] = G[p, l]
        if source is not None:
            for l in range(r):
                g[l] = 0.0
            j, end = indptr[k], indptr[k + 1]
            while j + 4 <= end:
                i0, i1, i2, i3 = indices[j], indices[j + 1], indices[j + 2], indices[j + 3]
                d0, d1, d2, d3 = data[j], data[j + 1], data[j + 2], data[j + 3]
                for l in range(r):
                    s = (g[l] + d0 * source[i0, l]) + d1 * source[i1, l]
                    g[l] = (s + d2 * source[i2, l]) + d3 * source[i3, l]
                j += 4
            while j < end:
                d0, i0 = data[j], indices[j]
                for l in range(r):
                    g[l] += d0 * source[i0, l]
                j += 1
            # the neighbours of the next item, while this one is worked on
            if p + 1 < len(items):
                for j in range(indptr[items[p + 1]], indptr[items[p + 1] + 1]):
                    prefetch(source, indices[j])

        # x = h_k, its non-zeros (listed without a branch to mispredict), 1 / D_k[l, l]
        m, norm, cancelled = 0, 0.0, False
        for l in range(r):
            h = np.float64(H[k, l])
            x[l] = own[l] = h
            if S is not None or norms is not None:
                before[l] = h
            u[l] = 0.0
            norm += h * h
            a = D[l, l] - h * h
            cancelled |= a < CANCELLED * peak[l]
            inverse[l] = 1.0 / a if a > TINY else 0.0
            found[m] = l
            m += h != 0.0
        if norms is not None:
            for l in range(r):
                g[l] -= norms[k] * x[l]
        c = norm
        if cancelled:
            _leave_out_exactly(k, H, D, peak, own)
            c = 0.0
            for l in range(r):
                inverse[l] = 1.0 / D[l, l] if D[l, l] > TINY else 0.0
                root[l] = np.sqrt(peak[l])

        # u = D x; with c = own . x, q = g - u + own c
        j = 0
        while j + 4 <= m:
            i0, i1, i2, i3 = found[j], found[j + 1], found[j + 2], found[j + 3]
            d0, d1, d2, d3 = x[i0], x[i1], x[i2], x[i3]
            for l in range(r):
                s = (u[l] + d0 * D[i0, l]) + d1 * D[i1, l]
                u[l] = (s + d2 * D[i2, l]) + d3 * D[i3, l]
            j += 4
        while j < m:
            i0 = found[j]
            d0 = x[i0]
            for l in range(r):
                u[l] += d0 * D[i0, l]
            j += 1

        # the entries; root_l size bounds what u_l (and g_l, if A is a Gram matrix) is made of
        size = 0.0 if norms is None else norms[k]
        for l in range(r):
            size += root[l] * x[l]
        for l in range(r):
            old, o = x[l], own[l]
            a = D[l, l] - o * o
            q = g[l] - u[l] + o * c
            if diagonal is None and old == 0.0 and q <= 0.0 and inverse[l] > 0.0:
                continue  # most entries are zero and stay so
            slope = q
            if diagonal is not None:
                P_kk = diagonal[k] - (norm - old * old)
                slope = q - (old * old - P_kk) * old
                new = minimise_quartic(a - P_kk, -(q + a * old), upper)
            elif inverse[l] > 0.0:
                new = old + q * inverse[l]
                terms = abs(g[l]) + root[l] * size
                if G is not None:
                    terms += gross[p, l]
                new = min(new, upper) if new > ROUNDING * terms * inverse[l] else 0.0
            else:
                slope = 0.0
                new = empty
            slope = max(slope, 0.0) if old <= 0.0 else slope
            violation += abs(min(slope, 0.0) if old >= upper else slope)
            H[k, l] = new
            new = np.float64(H[k, l])
            change = new - old
            if change != 0.0:
                x[l] = new
                found[m] = l
                m += old == 0.0
                fall += 2.0 * change * (2.0 * q - a * change)
                if diagonal is not None:
                    past, present = old * old - P_kk, new * new - P_kk
                    fall += past * past - present * present
                    norm += new * new - old * old
                c += o * change
                size += root[l] * max(change, 0.0)
                for t in range(r):
                    u[t] += change * D[l, t]

        # D += x x^T - own own^T, where row k has or had an entry
        for j in range(m):
            t = found[j]
            new, o = x[t], own[t]
            for l in range(r):
                D[t, l] += new * x[l] - o * own[l]

        # who must learn of the change
        if S is not None:
            for l in range(r):
                u[l] = x[l] - before[l]
            for b in range(p + 1, len(items)):
                s = S[b, p]
                if s != 0.0:
                    for l in range(r):
                        G[b, l] += s * u[l]
        if norms is not None:
            m = 0
            for l in range(r):
                u[m] = x[l] - before[l]
                found[m] = l
                m += x[l] != before[l]
            for j in range(indptr[k], indptr[k + 1]):
                d0, i0 = data[j], indices[j]
                for t in range(m):
                    source[i0, found[t]] += d0 * u[t]
    return fall, violation
