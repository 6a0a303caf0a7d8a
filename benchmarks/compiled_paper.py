"""The paper's algorithms as printed, compiled: what a fast transcription alone would give."""

import numpy as np
from numba import njit


@njit(cache=True)
def _weighted_median(a, b):
    used = np.flatnonzero(a)
    if len(used) == 0:
        return 0.0
    S = b[used] / a[used]
    order = np.argsort(S)
    total, reached = a[used].sum(), 0.0
    for i in order:
        reached += a[used[i]]
        if 2.0 * reached >= total:
            return max(0.0, S[i])
    return max(0.0, S[order[-1]])


@njit(cache=True)
def algorithm_1_and_3(R, H, columns):
    """Sweep over the first columns of H, l1, with the residual R stored and a sort per entry."""
    n = len(R)
    a, b = np.empty(n), np.empty(n)
    for l in range(columns):
        h = H[:, l].copy()
        R += np.outer(h, h)
        for k in range(n):
            a[:] = h
            b[:] = R[k]
            a[k] = 0.0
            h[k] = _weighted_median(a, b)
        R -= np.outer(h, h)
        H[:, l] = h


@njit(cache=True)
def algorithm_2(indptr, indices, data, H, C, L, D):
    """Sweep over H (stored by columns), l2, column by column; A in CSR form, zero diagonal."""
    n, r = H.shape
    for l in range(r):
        for k in range(n):
            h = H[k, l]
            b = h * (C[l] + L[k] - h * h)
            for p in range(indptr[k], indptr[k + 1]):
                b += data[p] * H[indices[p], l]
            for t in range(r):
                b -= H[k, t] * D[t, l]
            a = C[l] - h * h
            new = max(0.0, b / a) if a > 0.0 else 0.0
            if new != h:
                C[l] += new * new - h * h
                L[k] += new * new - h * h
                for t in range(r):
                    if t != l:
                        D[l, t] += H[k, t] * (new - h)
                        D[t, l] = D[l, t]
                D[l, l] = C[l]
                H[k, l] = new
