"""Weighted coordinate descent in plain NumPy: one entry after another, every pair looked at."""

from itertools import pairwise

import numpy as np

from odsymnmf.paper.symnmf import minimise_quartic


def sweep(A, W, H, loss, diagonal="ignore", upper=np.inf, scales=None, items=None):
    """Bring the rows of H (or of some items) to their optimum in turn, in place."""
    for k in range(len(A)) if items is None else items:
        rest = np.delete(np.arange(len(A)), k)
        w = W[k, rest]
        for l in range(H.shape[1]):
            a = H[rest, l]
            b = A[k, rest] - H[rest] @ H[k] + a * H[k, l]
            if diagonal == "fit":
                P_kk = A[k, k] - H[k] @ H[k] + H[k, l] ** 2
                H[k, l] = minimise_quartic(w @ a**2 - P_kk, -(w @ (a * b)), upper)
            else:
                H[k, l] = best_entry(a, b, w, loss, upper, scales)


def best_entry(a, b, w, loss, upper, scales=None):
    """Minimise sum_i w_i phi(a_i x - b_i) over 0 <= x <= upper; of several, the smallest x."""
    used = (a > 0) & (w > 0)
    a, b, w = a[used], b[used], w[used]
    if not len(a):
        return 0.0
    if loss == "l2":
        return min(max(0.0, w @ (a * b) / (w @ a**2)), upper)
    points = np.maximum(b / a, 0.0)
    if loss == "l1":
        weight = w * a
        half = weight.sum() / 2 * (1 + 1e-12)
        enough = [x for x in [0.0, *points] if weight[points > x + 1e-12].sum() <= half]
        return min([*enough, upper])
    alpha, beta = scales

    def value(x):
        return alpha * w @ np.abs(a * x - b) + beta * w @ (a * x - b) ** 2

    ends = np.unique([0.0, *points, points.max() + 1.0])
    candidates = list(ends)
    for low, high in pairwise(ends):
        signs = np.sign(a * (low + high) / 2 - b)
        x = (2 * beta * w @ (a * b) - alpha * w @ (a * signs)) / (2 * beta * w @ a**2)
        candidates.append(min(max(x, low), high))
    return min(min(candidates, key=value), upper)


def objective(A, W, H, loss, diagonal="ignore", scales=None):
    """The definition, pair by pair."""
    E = A - H @ H.T
    off = ~np.eye(len(A), dtype=bool)
    known = off & (W > 0)
    absolute = float(np.sum(W[known] * np.abs(E[known])))
    squared = float(np.sum(W[known] * E[known] ** 2))
    if diagonal == "fit":
        squared += float(np.sum(np.diag(E) ** 2))
    if loss == "l1":
        return absolute
    return squared if loss == "l2" else scales[0] * absolute + scales[1] * squared
