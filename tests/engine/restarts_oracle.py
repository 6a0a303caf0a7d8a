"""A round of column restarts in plain NumPy, for small dense matrices.

The objective is summed pair by pair before and after every trial, and nothing is kept up to date.
"""

import numpy as np
from engine_problems import naive_objective

from odsymnmf.init import greedy
from odsymnmf.paper.algorithm_5 import with_self_similarity
from odsymnmf.paper.symnmf import minimise_quartic
from odsymnmf.solvers import restarts


def one_round(A, H, loss, diagonal, upper):
    """Return H after one round, and the columns that were replaced."""
    H, accepted = H.copy(), []
    for j in order(H):
        avoid = np.zeros(len(A), dtype=bool)
        for _ in range(restarts.N_SEEDS):
            if avoid.all():
                break
            trial = H.copy()
            trial[:, j] = rebuilt(A, np.delete(H, j, axis=1), loss, upper, H.shape[1], avoid)
            avoid |= trial[:, j] > 0
            items = np.flatnonzero((H[:, j] > 0) | (trial[:, j] > 0))
            for _ in range(restarts.N_SWEEPS):
                sweep(A, trial, items, loss, diagonal, upper)
            before = naive_objective(A, H, loss, diagonal)
            if naive_objective(A, trial, loss, diagonal) < before - 1e-9:
                H = trial
                accepted.append(j)
                break
    return H, accepted


def order(H):
    """Columns that are zero or repeat an earlier one come first."""
    spare = []
    for j in range(H.shape[1]):
        h = H[:, j]
        cosines = [h @ g / (np.linalg.norm(h) * np.linalg.norm(g) or 1.0) for g in H.T[:j]]
        if not h.any() or max(cosines, default=0.0) > restarts.DUPLICATE:
            spare.append(j)
    return spare + [j for j in range(H.shape[1]) if j not in spare]


def rebuilt(A, B, loss, upper, r, avoid):
    """Return a new column on top of the columns B."""
    A = with_self_similarity(A, greedy.SELF_SIMILARITY)
    n = len(A)
    R = A - B @ B.T
    first = min(np.sqrt(np.max(A - np.diag(np.diag(A)))), upper)
    h, J, w, in_vain = np.zeros(n), [], np.ones(n), 0

    def place(k):
        h[k] = best_entry(h[J], R[k, J], loss, upper) if J else first
        J.append(k)

    for _ in range(min(n, max(restarts.MIN_PICKS, 2 * r - 2))):
        s = R @ w
        s[J if J else avoid] = -np.inf
        k = int(np.argmax(s))
        w = A[:, k] + (w if J else 0.0)
        place(k)
        in_vain = 0 if h[k] > 0 else in_vain + 1
        if in_vain == greedy.PATIENCE:
            break
    s, v = R @ w, A @ w
    for k in np.argsort(-s, kind="stable"):
        if k not in J and s[k] > 0 and v[k] > 0:
            place(k)
    return h


def sweep(A, H, items, loss, diagonal, upper):
    """Bring the rows of the items to their optimum, entry by entry."""
    for k in items:
        rest = np.delete(np.arange(len(A)), k)
        for l in range(H.shape[1]):
            a = H[rest, l]
            b = A[rest, k] - H[rest] @ H[k] + a * H[k, l]
            if diagonal == "fit":
                P_kk = A[k, k] - H[k] @ H[k] + H[k, l] ** 2
                H[k, l] = minimise_quartic(a @ a - P_kk, -(a @ b), upper)
            else:
                H[k, l] = best_entry(a, b, loss, upper)


def best_entry(a, b, loss, upper):
    """Minimise sum_i |a_i x - b_i|^p over 0 <= x <= upper; of several, take the smallest x.

    A tie is a tie up to rounding: two entries of a new column are often the same.
    """
    a, b = a[a > 0], b[a > 0]
    if not a.any():
        return 0.0
    if loss == "l2":
        return min(max(0.0, a @ b / (a @ a)), upper)
    points = np.maximum(b / a, 0.0)
    enough = [x for x in [0.0, *points] if a[points > x + 1e-12].sum() <= a.sum() / 2 + 1e-12]
    return min([*enough, upper])
