"""One row x after another, against rows of H that stay as they are."""

import numpy as np

from odsymnmf.kernels.compile import kernel
from odsymnmf.kernels.l1 import sweep

# A row is done when nothing moves by more than this fraction: slopes for l2, entries for l1.
ROUNDING = 1e-13
# Most passes over the entries of a row: l2 can be slow where columns of H are nearly the same.
PASSES_L2, PASSES_L1 = 100_000, 1000


@kernel
def least_squares(G, D, upper, X):
    """Set each row x of X to the minimiser of x^T D x - 2 g . x over 0 <= x <= upper.

    Coordinate descent from zero; q = g - D x is half the gradient, with the sign turned.
    """
    r = len(D)
    for p in range(len(G)):
        x, q = X[p], G[p].copy()
        x[:] = 0.0
        small = ROUNDING * np.abs(q).max()
        for _ in range(PASSES_L2):
            largest = 0.0
            for l in range(r):
                if D[l, l] > 0.0:
                    step = min(max(0.0, x[l] + q[l] / D[l, l]), upper) - x[l]
                    if step != 0.0:
                        x[l] += step
                        largest = max(largest, abs(step) * D[l, l])
                        for t in range(r):
                            q[t] -= step * D[l, t]
            if largest <= small:
                break


@kernel
def least_absolute_deviations(indptr, indices, data, H, upper, X):
    """Improve each row x of X for sum_i |S_i - x . h_i|, entry by entry, until none moves.

    Row p of the CSR triple holds the similarities S of row p of X to the rows of H but the last,
    which is room to work in.
    """
    n = len(H) - 1
    sums, held = np.zeros(H.shape[1]), np.ones(len(H), dtype=np.bool_)
    for i in range(n):
        sums += H[i]
    for p in range(len(X)):
        H[n] = X[p]
        W, peak = sums + H[n], np.zeros(len(sums))
        item, row = np.array([n]), np.array([p])
        for _ in range(PASSES_L1):
            _, largest = sweep(item, row, indptr, indices, data, H, W, held, peak, upper, 0.0)
            if largest <= ROUNDING * H[n].max():
                break
        X[p] = H[n]
