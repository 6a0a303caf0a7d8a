"""The definition of the problem with sparse memberships, slow and dense, and random problems."""

import numpy as np
from scipy import sparse

from odsymnmf.similarity.weights import EQUAL, PairWeights, lookup_csr
from odsymnmf.solvers.sparse_h import links


def objective(A, H, weights, p):
    """sum_{i != j} w_ij |A_ij - h_i . h_j|^p."""
    error = np.abs(A - H @ H.T) ** p
    np.fill_diagonal(error, 0.0)
    return float((weights * error).sum())


def price_of(A, H, weights, k, share):
    """The share of the most that one column alone could gain for item k, in f."""
    others = np.arange(len(A)) != k
    w, a = weights[k, others], A[k, others]
    g, squares = H[others].T @ (w * a), (H[others] ** 2).T @ w
    alone = [2.0 * gl**2 / s for gl, s in zip(g, squares, strict=True) if gl > 0 and s > 0]
    return share * max(alone, default=0.0)


def best_entry_l2(A, H, weights, k, l, price, upper):
    """The minimizer of f + price [H_kl > 0] over 0 <= H_kl <= upper."""
    others = np.arange(len(A)) != k
    w, h = weights[k, others], H[others, l]
    rest = A[k, others] - H[others] @ H[k] + h * H[k, l]
    a, b = float(w @ (h * h)), float(w @ (h * rest))
    size = float(w @ (h * (np.abs(A[k, others]) + H[others] @ H[k])))
    if a <= 0 or b <= 1e-13 * size:  # what rounding leaves of zero
        return 0.0
    x = min(b / a, upper)
    return x if 2.0 * x * (2.0 * b - a * x) > price else 0.0


def best_entry_l1(A, H, weights, k, l, upper):
    """The smallest minimizer of f over 0 <= H_kl <= upper, by trying all breakpoints."""
    others = np.arange(len(A)) != k
    w, h = weights[k, others], H[others, l]
    rest = A[k, others] - H[others] @ H[k] + h * H[k, l]
    points = [0.0, *(b / a for a, b in zip(h, rest, strict=True) if a > 0 and b / a > 0)]
    points = sorted({min(x, upper) for x in points})
    costs = [float(w @ np.abs(rest - x * h)) for x in points]
    least = min(costs)
    return next(x for x, c in zip(points, costs, strict=True) if c <= least + 1e-12 * (1 + least))


def sweep(A, H, weights, loss, *, share=0.0, upper=np.inf):
    """One sweep by the definition, in place; return the prices."""
    prices = np.zeros(len(A))
    for k in range(len(A)):
        if loss == "l2":
            prices[k] = price_of(A, H, weights, k, share)
        for l in range(H.shape[1]):
            if loss == "l2":
                H[k, l] = best_entry_l2(A, H, weights, k, l, prices[k], upper)
            else:
                H[k, l] = best_entry_l1(A, H, weights, k, l, upper)
    return prices


def problem(seed, most=25):
    """Return A, H, background weight, exceptions as a sparse array or None, all weights, upper."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, most)), int(rng.integers(1, 12))
    values = [np.ones((n, n)), rng.random((n, n)), rng.normal(0.4, 1.0, (n, n))][rng.integers(3)]
    A = np.triu(values * (rng.random((n, n)) < rng.uniform(0.05, 0.7)), 1)
    A = A + A.T
    if rng.random() < 0.5:
        H = rng.random((n, r)) * (rng.random((n, r)) < 0.3)
    else:
        H = np.zeros((n, r))
        H[np.arange(n), rng.integers(r, size=n)] = 0.5 + 0.2 * rng.random(n)
    background = [1.0, 1.0, 0.3, 0.0][rng.integers(4)]
    own = None
    weights = np.full((n, n), background)
    if rng.random() < 0.7:
        pattern = np.triu(rng.random((n, n)) < rng.uniform(0.0, 0.5), 1)
        if rng.random() < 0.4:
            pattern = np.triu(A != 0, 1)
        heavy = np.triu(
            [np.zeros((n, n)), 2 * rng.random((n, n)), np.ones((n, n))][rng.integers(3)]
        )
        i, j = np.nonzero(pattern)
        w = heavy[i, j]
        own = sparse.csr_array(
            (np.r_[w, w], (np.r_[i, j], np.r_[j, i])), shape=(n, n)
        )  # explicit zeros stay
        weights[i, j] = weights[j, i] = w
    upper = np.inf if rng.random() < 0.6 else 0.8
    return A, np.minimum(H, upper), background, own, weights, upper


def arrays(A, background=1.0, own=None):
    """Return A and its pair weights as the sparse kernels take them."""
    stored = links(sparse.csr_array(A))
    return stored, pair_weights(stored, background, own)


def pair_weights(A, background=1.0, own=None):
    """Return the background weight, and the stored entries of ``own`` as exceptions."""
    if own is None:
        return PairWeights(background) if background != 1.0 else EQUAL
    own = sparse.csr_array(own).sorted_indices()
    P = sparse.csr_array((own.data - background, own.indices, own.indptr), shape=own.shape)
    known = sparse.csr_array((A.data, A.indices, A.indptr), shape=own.shape)
    return PairWeights(background, P, lookup_csr(own, known, missing=0.0))
