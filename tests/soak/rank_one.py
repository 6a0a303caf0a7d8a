"""l1 with one binary column: the best of restarts against all subsets."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od

from .lines import Line

STARTS = 100


def optimum(A):
    """Return the least error over all subsets of the items: sum of |A_ij - x_i x_j|, i != j."""
    n = len(A)
    subsets = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float)
    inside = ((subsets @ A) * subsets).sum(1)
    sizes = subsets.sum(1)
    # A pair inside costs 1 - A_ij instead of A_ij.
    return float((A.sum() + sizes * (sizes - 1) - 2 * inside).min())


def once(seed, k):
    """Random graphs; starts are tried until one is optimal."""
    rng = np.random.default_rng([seed, k])
    n = int(rng.integers(2, 13))
    A = np.triu(rng.random((n, n)) < rng.random(), 1).astype(float)
    A += A.T
    least = optimum(A)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for start in range(STARTS):
            init = "random" if start else "greedy"
            f = od.factorize(A, 1, loss="l1", upper=1.0, init=init, random_state=start)
            assert f.objective >= least - 1e-9, (f.objective, least)
            if f.objective <= least + 1e-9:
                return "optimal"
    return "above the optimum"


LINES = {
    "rank_one": Line(
        "rank-one binary l1, n <= 12: never below the brute-force optimum, equal on >= 99 %",
        5_000,
        once,
        least=("optimal", 0.99),
    )
}
