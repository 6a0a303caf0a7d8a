"""l1: one row of H after another, every entry a weighted median over the neighbours.

Entry (k, l) minimises sum_{i != k} |a_i x - b_i| over 0 <= x <= upper, with a_i = H_il and
b_i = A_ik - sum_{t != l} H_it H_kt. Where A_ik <= 0 the term is linear on x >= 0, so only
neighbours with A_ik > 0 can have a positive breakpoint b_i / a_i; all other weight sits at
zero. T = W_l - H_kl is the weight in all, with W_l = sum_i H_il. Neighbours with no entry at all
(not ``held``, a byte each) have no weight anywhere; l1 leaves many items so.

While row k is worked on, rho_i = A_ik - h_k . h_i is kept for its neighbours: b_i = rho_i +
a_i x, and the sign of rho_i tells on which side of x the breakpoint lies. A fitted pair has
rho_i = 0; what rounding leaves of it is cut off, or it would grow into an entry of its own.
"""

import numpy as np

from odsymnmf.kernels.compile import kernel, part, summing
from odsymnmf.kernels.weighted_median import select

# As in l2: a leave-one-out sum this far below its running sum is recomputed.
CANCELLED = 1e-4
# Weights this close to half of the total are a tie, which goes to the smaller minimiser.
TIE = 1e-12
# Residuals below this fraction of A_ik are rounding.
ROUNDING = 1e-14
# Where the breakpoints within reach weigh too little, those within so many times it are tried.
FURTHER = 4.0


@part
def _entry(x, half, reach, m, a, value, rho, points, weights, picked):
    """Return the smallest minimiser of the entry whose value is x, given half = T / 2.

    That is the smallest breakpoint with at most half of the weight above it. One pass over the
    signs of rho shows whether x is it already, and if not, on which side it lies. Only the
    breakpoints on that side within ``reach`` of x are looked at, more if these weigh too little.
    """
    above, at = _weight_above_and_at(m, a, rho)
    if above <= half and (x == 0.0 or above + at > half):
        return x
    up = above > half
    while True:
        count, weight = _within(reach, up, x, m, a, value, rho, points, weights, picked)
        heavier = above if up else above + at + weight
        if above - weight <= half if up else heavier > half or reach > x:
            break
        reach *= FURTHER
    return select(points, weights, count, heavier - half) if heavier > half else 0.0


@part
def _within(reach, up, x, m, a, value, rho, points, weights, picked):
    """List the positive breakpoints above or below x by at most ``reach``, and their weights.

    Return how many there are and what they weigh.
    """
    side = 1.0 if up else -1.0
    found = np.int64(0)
    for j in range(m):
        # Written first and counted after: no branch, because none could be predicted.
        picked[found] = j
        found += (side * rho[j] > 0.0) & (side * rho[j] <= reach * a[j])
    count, weight = np.int64(0), 0.0
    for j in picked[:found]:
        b = rho[j] + a[j] * x
        if b > ROUNDING * value[j]:
            points[count] = b / a[j]
            weights[count] = a[j]
            weight += a[j]
            count += 1
    return count, weight


@summing
def _weight_above_and_at(m, a, rho):
    """Return the weight where rho > 0 and where rho = 0."""
    above, at = 0.0, 0.0
    for j in range(m):
        above += a[j] if rho[j] > 0.0 else 0.0
        at += a[j] if rho[j] == 0.0 else 0.0
    return above, at


@part
def _column_sum(k, l, H):
    """Return sum_{i != k} H_il."""
    total = 0.0
    for i in range(len(H)):
        if i != k:
            total += H[i, l]
    return total


@part
def _positive_neighbours(start, stop, indices, data, held, near, value):
    """List the neighbours with A_ik > 0 and some a_i > 0; return how many."""
    m = np.int64(0)
    for j in range(start, stop):
        near[m] = indices[j]
        value[m] = data[j]
        m += (data[j] > 0.0) & held[indices[j]]
    return m


@part
def _weight_nearby(S, m, near, H):
    """Set S_l = sum of H_il over the neighbours i: no positive breakpoint weighs more."""
    r = len(S)
    for l in range(r):
        S[l] = 0.0
    j = 0
    while j + 4 <= m:
        i0, i1, i2, i3 = near[j], near[j + 1], near[j + 2], near[j + 3]
        for l in range(r):
            S[l] = (((S[l] + H[i0, l]) + H[i1, l]) + H[i2, l]) + H[i3, l]
        j += 4
    while j < m:
        for l in range(r):
            S[l] += H[near[j], l]
        j += 1


@part
def _gather(columns, count, m, near, H, a):
    """Set a[c] to the entries of the neighbours in the c-th of the columns."""
    for c in range(count):
        for j in range(m):
            a[c, j] = H[near[j], columns[c]]


@part
def _residuals(h, columns, count, m, a, value, rho):
    """Set rho_i = A_ik - h_k . h_i, where h_k is zero but in the given columns."""
    for j in range(m):
        rho[j] = value[j]
    for c in range(count):
        x = h[columns[c]]
        if x != 0.0:
            for j in range(m):
                rho[j] -= x * a[c, j]
    for j in range(m):
        rho[j] = _cut(rho[j], value[j])


@part
def _cut(rho, value):
    return rho if abs(rho) > ROUNDING * value else 0.0


@summing
def _move(step, m, a, value, rho):
    """rho_i -= step a_i; return by how much sum of max(rho_i, 0) fell."""
    fall = 0.0
    for j in range(m):
        before = rho[j]
        after = _cut(before - step * a[j], value[j])
        fall += (before if before > 0.0 else 0.0) - (after if after > 0.0 else 0.0)
        rho[j] = after
    return fall


@kernel
def sweep(items, rows, indptr, indices, data, H, W, held, peak, upper, empty):
    """Sweep the given items; row ``rows[p]`` of the CSR triple is the row of ``items[p]``.

    Return the fall of the objective and the largest change of an entry. An entry whose column
    is zero elsewhere has no influence; it becomes ``empty``.
    """
    r = H.shape[1]
    longest = 0
    for q in rows:
        longest = max(longest, indptr[q + 1] - indptr[q])
    near = np.empty(longest + 1, dtype=indices.dtype)
    value, rho, a = np.empty(longest + 1), np.empty(longest + 1), np.empty((r, longest + 1))
    points, weights = np.empty(longest + 1), np.empty(longest + 1)
    S, T, half, reach = np.empty(r), np.empty(r), np.empty(r), np.empty(r)
    picked, columns = np.empty(longest + 1, dtype=np.int64), np.empty(r + 1, dtype=np.int64)
    fall, largest = 0.0, 0.0
    for l in range(r):
        peak[l] = max(peak[l], W[l])
        reach[l] = 0.0
    for p in range(len(items)):
        k, q = items[p], rows[p]
        m = _positive_neighbours(indptr[q], indptr[q + 1], indices, data, held, near, value)
        _weight_nearby(S, m, near, H)
        count = np.int64(0)
        for l in range(r):
            T[l] = W[l] - H[k, l]
            if T[l] < CANCELLED * peak[l]:
                T[l] = peak[l] = _column_sum(k, l, H)
                W[l] = T[l] + H[k, l]
            half[l] = 0.5 * T[l] * (1.0 + TIE)
            columns[count] = l
            count += (H[k, l] > 0.0) | (S[l] > half[l]) | (T[l] <= 0.0)
        if count == 0:
            continue
        _gather(columns, count, m, near, H, a)
        _residuals(H[k], columns, count, m, a, value, rho)
        for c in range(count):
            l = columns[c]
            old = H[k, l]
            if T[l] <= 0.0:
                H[k, l] = empty
            elif S[l] <= half[l]:
                H[k, l] = 0.0
            else:
                far = reach[l] if reach[l] > 0.0 else T[l]
                x = _entry(old, half[l], far, m, a[c], value, rho, points, weights, picked)
                H[k, l] = min(x, upper)
            step = H[k, l] - old
            if step != 0.0:
                held[k] = True
                W[l] += step
                fall += 2.0 * (2.0 * _move(step, m, a[c], value, rho) - step * T[l])
                largest = max(largest, abs(step))
                reach[l] = 0.5 * min(reach[l], FURTHER * abs(step)) + abs(step)
    return fall, largest


@kernel
def stored_error(items, rows, indptr, indices, data, H):
    """Return sum of |A_ij - p_ij| - p_ij over the stored pairs of the items, p_ij = h_i . h_j."""
    total = 0.0
    for b in range(len(items)):
        i = items[b]
        for j in range(indptr[rows[b]], indptr[rows[b] + 1]):
            p = 0.0
            for l in range(H.shape[1]):
                p += H[i, l] * H[indices[j], l]
            total += abs(data[j] - p) - p
    return total


@summing
def stored_gain(items, rows, indptr, indices, data, j, H):
    """Return what column j adds on the stored pairs of the items, were it zero on all others.

    That is the sum of |R_ik| - |R_ik - x| + x, where x = H_ij H_kj and R is A minus the other
    columns. It vanishes where nothing is stored, because R_ik <= 0 there.
    """
    total = 0.0
    for b in range(len(items)):
        i = items[b]
        for p in range(indptr[rows[b]], indptr[rows[b] + 1]):
            k = indices[p]
            x = np.float64(H[i, j]) * H[k, j]
            if x > 0.0:
                error = np.float64(data[p])
                for t in range(H.shape[1]):
                    error -= np.float64(H[i, t]) * H[k, t]
                total += abs(error + x) - abs(error) + x
    return total
