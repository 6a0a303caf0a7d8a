"""The greedy initialization (Algorithm 6 of the paper) at the cost of the stored entries.

A column h is built item by item, given the other columns of H; this column of H is zero until h is
complete. ``sums`` is B^T h and ``c`` is B^T w, where B consists of the leading columns of H, one
per entry of ``sums`` or ``c``. ``total`` is (sum h, sum h^2). In place of the diagonal of A, which
is not read, ``self_similarity`` is used.
"""

from collections import namedtuple

import numpy as np

from odsymnmf.kernels.compile import inline, kernel
from odsymnmf.kernels.rows import RESIDUAL_ROUNDING, TIE
from odsymnmf.kernels.weighted_median import select

# A column that is being built; its first entry is ``first``.
Column = namedtuple("Column", "h sums total first")


@inline
def _l2_value(k, q, rows, H, column):
    h, sums, data, indices = column.h, column.sums, rows.data, rows.indices
    b = 0.0
    for p in range(rows.indptr[q], rows.indptr[q + 1]):
        b += data[p] * h[indices[p]]
    rounding = RESIDUAL_ROUNDING * b
    for t in range(len(sums)):
        b -= sums[t] * H[k, t]
    return b / column.total[1] if b > max(0.0, rounding) else 0.0


@inline
def _l1_value(k, q, rows, H, column, work):
    h, sums, data, indices = column.h, column.sums, rows.data, rows.indices
    points, weights = work
    start, stop = rows.indptr[q], rows.indptr[q + 1]
    half = 0.5 * column.total[0] * (1.0 + TIE)
    nearby = 0.0
    for p in range(start, stop):
        nearby += h[indices[p]] if data[p] > 0.0 else 0.0
    if nearby <= half:
        return 0.0
    count, P = np.int64(0), 0.0
    for p in range(start, stop):
        i = indices[p]
        if data[p] > 0.0 and h[i] > 0.0:
            b = data[p] + 0.0
            for t in range(len(sums)):
                b -= H[i, t] * H[k, t]
            if b > RESIDUAL_ROUNDING * data[p]:
                points[count] = b / h[i]
                weights[count] = h[i]
                P += weights[count]
                count += 1
    return select(points, weights, count, P - half) if half < P else 0.0


@kernel
def set_entries(items, rows, H, column, upper, work):
    """Set h_k for each item k in turn to its optimum given the entries set before it (Algorithm 6).

    Row ``rows.which[p]`` is the row of item ``items[p]``. ``work`` has two arrays of n numbers for
    l1; for l2 it is None. Costs the stored entries of the rows, and O(r) for each item.
    """
    h, sums, total = column.h, column.sums, column.total
    for p in range(len(items)):
        k, x = items[p], column.first
        if total[1] > 0.0:
            if work is None:
                x = _l2_value(k, rows.which[p], rows, H, column)
            else:
                x = _l1_value(k, rows.which[p], rows, H, column, work)
        if x > 0.0:
            h[k] = min(x, upper)
            x = np.float64(h[k])
            total[0] += x
            total[1] += x * x
            for t in range(len(sums)):
                sums[t] += x * H[k, t]


@kernel
def best_item(v, H, c, taken):
    """Return the item not taken with the largest score v_i - h_i . c.

    Where c >= 0 the product only lowers the score, and most items need no product. Costs at most
    O(r) for each item.
    """
    lowers = True
    for t in range(len(c)):
        lowers &= c[t] >= 0.0
    winner, high = -1, -np.inf
    for i in range(len(v)):
        if taken[i] or (lowers and v[i] <= high):
            continue
        s = v[i]
        for t in range(len(c)):
            s -= H[i, t] * c[t]
        if s > high or winner < 0:
            winner, high = i, s
    return winner


@kernel
def add_item(k, indptr, indices, data, self_similarity, H, v, c):
    """Add item k to the cluster, w += A_:,k: update v = A w and c = B^T w.

    Costs the rows of the neighbors of k, and O(r) for each neighbor.
    """
    for p in range(indptr[k], indptr[k + 1] + 1):
        i, a = (indices[p], data[p]) if p < indptr[k + 1] else (k, self_similarity)
        v[i] += self_similarity * a
        for q in range(indptr[i], indptr[i + 1]):
            v[indices[q]] += a * data[q]
        for t in range(len(c)):
            c[t] += a * H[i, t]
