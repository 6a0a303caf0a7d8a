"""The squared error on held-out pairs, for choosing r: a prototype with its own small sweep.

A tenth of the links is made unknown, and three unlinked pairs for each. An unlinked pair that was
drawn stands for all that were not, so the weighted error is an unbiased estimate of the error over
a tenth of all pairs, at the cost of the links.
"""

from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from benchmarks.quality import ours
from odsymnmf import similarity

SHARE, UNLINKED = 0.1, 3


@njit(cache=True)
def sweep(indptr, indices, data, hidden_ptr, hidden, H, D, upper):  # type: ignore[no-untyped-def]
    """Update H in place, row by row, without the hidden pairs; return how far entries moved."""
    n, r = H.shape
    moved = 0.0
    for k in range(n):
        old, x, g = H[k].copy(), H[k].copy(), np.zeros(r)
        for e in range(indptr[k], indptr[k + 1]):
            g += data[e] * H[indices[e]]
        others = H[hidden[hidden_ptr[k] : hidden_ptr[k + 1]]]
        gram = D - np.outer(old, old) - others.T @ others
        for l in range(r):
            if gram[l, l] <= 1e-12:
                continue
            new = min(max(x[l] + (g[l] - gram[l] @ x) / gram[l, l], 0.0), upper)
            moved += abs(new - x[l])
            x[l] = new
        D += np.outer(x, x) - np.outer(old, old)
        H[k] = x
    return moved


def hide(N: Any, rng: Any) -> tuple[Any, Any, Any, Any]:
    """Return what is left, the hidden pairs (rows, columns), their values and their weights."""
    n = N.shape[0]
    half = sparse.triu(N, k=1).tocoo()
    out = rng.random(half.nnz) < SHARE
    unlinked = n * (n - 1) // 2 - half.nnz
    wanted = min(UNLINKED * out.sum(), int(SHARE * unlinked))
    drawn = np.sort(rng.integers(n, size=(2, 2 * wanted + 10)), axis=0)
    codes = np.unique(drawn[0] * n + drawn[1])[:]
    linked = half.row.astype(np.int64) * n + half.col
    codes = rng.permutation(codes[(codes // n != codes % n) & ~np.isin(codes, linked)])[:wanted]
    left = sparse.coo_array((half.data[~out], (half.row[~out], half.col[~out])), shape=(n, n))
    pairs = np.concatenate([[half.row[out], half.col[out]], [codes // n, codes % n]], axis=1)
    values = np.concatenate([half.data[out], np.zeros(len(codes))])
    weights = np.where(values != 0, 1.0, SHARE * unlinked / max(len(codes), 1))
    return sparse.csr_array(left + left.T), pairs.astype(np.int64), values, weights


def errors(A: Any, candidates: list[int], splits: int = 3, sweeps: int = 20) -> Any:
    """Return the held-out error relative to that of H = 0, splits by candidates."""
    S = ours.scaled(A, "lfr", ours.GRAPH.regular)
    N, n, rng = S.A, S.n, np.random.default_rng(0)
    found = np.zeros((splits, len(candidates)))
    for split in range(splits):
        left, pairs, values, weights = hide(N, rng)
        once = sparse.coo_array((np.ones(len(values)), tuple(pairs)), shape=(n, n))
        hidden = sparse.csr_array(once + once.T)
        T = similarity.as_similarity(left)
        V = ours.eigenvectors(T, max(candidates))
        for place, r in enumerate(candidates):
            bound = ours.upper(n, r, ours.GRAPH.bound)
            H = np.ascontiguousarray(np.minimum(ours.rotated(T, V[:, :r]), bound))
            D, first = H.T @ H, 0.0
            for _ in range(sweeps):
                moved = sweep(
                    left.indptr, left.indices, left.data, hidden.indptr, hidden.indices, H, D, bound
                )
                first = first or moved
                if moved < 0.01 * first:
                    break
            missed = values - np.einsum("ij,ij->i", H[pairs[0]], H[pairs[1]])
            found[split, place] = weights @ missed**2 / (values**2).sum()
    return found
