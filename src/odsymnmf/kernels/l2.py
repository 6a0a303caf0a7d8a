"""l2: one row of H after another, every entry at its optimum (exact coordinate descent).

With the other rows fixed, row x of item k minimises x^T D_k x - 2 g . x over 0 <= x <= upper,
where D_k = H^T H without row k and g = sum_{j != k} A_kj h_j. Half its gradient is -q with
q = g - D_k x. Given ``diagonal`` (symNMF), the term (A_kk - |x|^2)^2 / 2 is added.

D_k = D - own own^T is never formed: ``own`` is what row k still has inside D. All work is done
in float64 whatever H is, so that float32 data lose nothing here.
"""

import numpy as np

from odsymnmf.kernels.compile import kernel
from odsymnmf.kernels.symnmf import minimise_quartic

# A leave-one-out sum this small beside the largest value its running sum has had is recomputed:
# rounding in the running sum has by then eaten too many of its digits.
CANCELLED = 1e-4


@kernel
def _gather(g, start, stop, indices, data, source):
    """Set g = sum_{start <= j < stop} data_j source[indices_j], four terms at a time."""
    r = len(g)
    for l in range(r):
        g[l] = 0.0
    j = start
    while j + 4 <= stop:
        i0, i1, i2, i3 = indices[j], indices[j + 1], indices[j + 2], indices[j + 3]
        d0, d1, d2, d3 = data[j], data[j + 1], data[j + 2], data[j + 3]
        for l in range(r):
            s = (g[l] + d0 * source[i0, l]) + d1 * source[i1, l]
            g[l] = (s + d2 * source[i2, l]) + d3 * source[i3, l]
        j += 4
    while j < stop:
        for l in range(r):
            g[l] += data[j] * source[indices[j], l]
        j += 1


@kernel
def _leave_out_exactly(k, H, D, peak, own):
    """Take row k out of D, by a new sum where subtracting would cancel; own becomes zero."""
    n, r = H.shape
    for l in range(r):
        for t in range(r):
            D[l, t] -= own[l] * own[t]
    for l in range(r):
        if D[l, l] < CANCELLED * peak[l]:
            D[l, :] = 0.0
            for i in range(n):
                if i != k and H[i, l] != 0.0:
                    for t in range(r):
                        D[l, t] += H[i, l] * H[i, t]
            D[:, l] = D[l, :]
            peak[l] = D[l, l]
    own[:] = 0.0


@kernel
def _update(k, g, own, x, u, found, value, H, D, peak, upper, empty, diagonal):
    """Bring row k of H to its optimum, entry by entry, and D with it.

    Return the fall of the objective and the violation of the optimality conditions before.
    An entry whose column is zero elsewhere has no influence; it becomes ``empty``. One long
    function on purpose: arrays handed on inside it would be reference-counted once a row.
    """
    r = len(x)
    cancelled = False
    for l in range(r):
        x[l] = own[l] = H[k, l]
        cancelled |= D[l, l] - own[l] * own[l] < CANCELLED * peak[l]
    if cancelled:
        _leave_out_exactly(k, H, D, peak, own)

    # u = D x, over the non-zeros of x; listing them first spares mispredicted branches.
    m, c, norm = 0, 0.0, 0.0
    for l in range(r):
        c += own[l] * x[l]
        norm += x[l] * x[l]
        found[m] = l
        value[m] = x[l]
        m += x[l] != 0.0
    _gather(u, 0, m, found, value, D)

    fall, violation = 0.0, 0.0
    for l in range(r):
        old = x[l]
        a = D[l, l] - own[l] * own[l]
        q = g[l] - u[l] + own[l] * c
        slope = q
        if diagonal is not None:
            P_kk = diagonal[k] - (norm - old * old)
            slope = q - (old * old - P_kk) * old
            new = minimise_quartic(a - P_kk, -(q + a * old), upper)
        elif a > 0.0:
            new = min(max(0.0, old + q / a), upper)
        else:
            slope = 0.0
            new = empty
        slope = max(slope, 0.0) if old <= 0.0 else slope
        violation += abs(min(slope, 0.0) if old >= upper else slope)
        H[k, l] = new
        x[l] = H[k, l]
        change = x[l] - old
        if change != 0.0:
            fall += 2.0 * change * (2.0 * q - a * change)
            if diagonal is not None:
                before, after = old * old - P_kk, x[l] * x[l] - P_kk
                fall += before * before - after * after
                norm += x[l] * x[l] - old * old
            c += own[l] * change
            for t in range(r):
                u[t] += change * D[l, t]

    # D += x x^T - own own^T
    for t in range(r):
        if x[t] != 0.0 or own[t] != 0.0:
            for l in range(r):
                D[t, l] += x[t] * x[l] - own[t] * own[l]
    return fall, violation


@kernel
def _raise_peaks(peak, D):
    """peak_l = max(peak_l, D_ll). Once a call will do: an entry stays until the next sweep, so
    what a sum reaches on the way is no more than its two ends together."""
    for l in range(len(peak)):
        peak[l] = max(peak[l], D[l, l])


@kernel
def sweep_csr(start, stop, indptr, indices, data, H, D, peak, upper, empty, diagonal):
    """Sweep rows start..stop of a sparse A without stored diagonal."""
    r = H.shape[1]
    g, own, x, u = np.empty(r), np.empty(r), np.empty(r), np.empty(r)
    found, value = np.empty(r + 1, dtype=np.int64), np.empty(r + 1)
    fall, violation = 0.0, 0.0
    _raise_peaks(peak, D)
    for k in range(start, stop):
        _gather(g, indptr[k], indptr[k + 1], indices, data, H)
        f, v = _update(k, g, own, x, u, found, value, H, D, peak, upper, empty, diagonal)
        fall += f
        violation += v
    return fall, violation


@kernel
def sweep_block(start, G, S, H, D, peak, upper, empty, diagonal):
    """Sweep the rows of a dense block: G = A[block] @ H, S the block's own square of A.

    S has a zero diagonal. Later rows of the block learn of each change through S.
    """
    B, r = G.shape
    g, own, x, u, change = np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r)
    found, value = np.empty(r + 1, dtype=np.int64), np.empty(r + 1)
    fall, violation = 0.0, 0.0
    _raise_peaks(peak, D)
    for b in range(B):
        k = start + b
        for l in range(r):
            g[l] = G[b, l]
            change[l] = H[k, l]
        f, v = _update(k, g, own, x, u, found, value, H, D, peak, upper, empty, diagonal)
        fall += f
        violation += v
        for l in range(r):
            change[l] = x[l] - change[l]
        for j in range(b + 1, B):
            if S[j, b] != 0.0:
                for l in range(r):
                    G[j, l] += S[j, b] * change[l]
    return fall, violation


@kernel
def sweep_gram(start, stop, indptr, indices, data, norms, Z, H, D, peak, upper, empty, diagonal):
    """Sweep rows start..stop of A = X X^T, X sparse; Z = X^T H is kept up to date.

    ``norms`` holds |x_k|^2, the diagonal of A that g must leave out.
    """
    r = H.shape[1]
    g, own, x, u, before = np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r)
    found, value = np.empty(r + 1, dtype=np.int64), np.empty(r + 1)
    fall, violation = 0.0, 0.0
    _raise_peaks(peak, D)
    for k in range(start, stop):
        _gather(g, indptr[k], indptr[k + 1], indices, data, Z)
        for l in range(r):
            before[l] = H[k, l]
            g[l] -= norms[k] * before[l]
        f, v = _update(k, g, own, x, u, found, value, H, D, peak, upper, empty, diagonal)
        fall += f
        violation += v
        m = 0
        for l in range(r):
            found[m] = l
            value[m] = x[l] - before[l]
            m += value[m] != 0.0
        for j in range(indptr[k], indptr[k + 1]):
            for s in range(m):
                Z[indices[j], found[s]] += data[j] * value[s]
    return fall, violation
