"""What must not matter, or matter in a known way: order, scale, diagonal, kind of input, n_jobs."""

import warnings
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import similarity

from .lines import Line
from .problems import quiet


def generic(rng, smallest=2):
    """Return similarities, a number of clusters, and options."""
    n = int(rng.integers(smallest, 20))
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < rng.uniform(0.2, 1)), 1)
    loss = str(rng.choice(["l2", "l1"]))
    form = [np.asarray, sparse.csr_array][rng.integers(2)]
    return A + A.T, int(rng.integers(1, 5)), form, {"loss": loss, "random_state": 0, "max_iter": 5}


def permutation(rng):
    """The greedy start and the objective follow the items."""
    A, r, form, options = generic(rng, 15)
    # Items without links, or a lone pair, would tie, and the order would decide.
    background = np.triu(rng.random(A.shape), 1)
    A += 0.1 * A.mean() * (background + background.T)
    order = rng.permutation(len(A))
    B = A[np.ix_(order, order)]
    options["max_iter"] = 0
    H, P = (quiet(form(M), r, init="greedy", **options).H for M in (A, B))
    np.testing.assert_allclose(P, H[order], rtol=1e-7, atol=1e-9)
    H = rng.random((len(A), r))
    values = [od.objective(form(M), G, options["loss"]) for M, G in ((A, H), (B, H[order]))]
    np.testing.assert_allclose(*values, rtol=1e-11)


def scaling(rng):
    """Four to the power of c times A is two to the power of c times H, bit for bit."""
    A, r, form, options = generic(rng)
    root = 2.0 ** rng.integers(-40, 41)
    options["init"] = str(rng.choice(["greedy", "random", "zero"]))
    one, other = (quiet(form(M), r, **options) for M in (A, root * root * A))
    np.testing.assert_array_equal(other.H, root * one.H)
    power = 2 if options["loss"] == "l1" else 4
    np.testing.assert_array_equal(other.history, one.history * root**power)


def diagonal(rng):
    """No value on the diagonal changes a bit."""
    A, r, form, options = generic(rng)
    options["init"] = str(rng.choice(["greedy", "spectral", "random", "zero"]))
    one = quiet(form(A), r, **options)
    np.fill_diagonal(A, rng.choice([np.nan, np.inf, -np.inf, 1e300, -1.0], len(A)))
    other = quiet(form(A), r, **options)
    np.testing.assert_array_equal(other.H, one.H)
    np.testing.assert_array_equal(other.history, one.history)


def kinds(rng):
    """Dense, sparse and Gram input give the same fit, to rounding."""
    n, m, r = int(rng.integers(2, 15)), int(rng.integers(1, 9)), int(rng.integers(1, 5))
    X = rng.random((n, m)) * (rng.random((n, m)) < 0.6)
    A = X @ X.T
    A = np.maximum(A, A.T)
    loss = str(rng.choice(["l2", "l1"]))
    H = rng.random((n, r)) + 0.05
    inputs = [A, sparse.csr_array(A), similarity.gram(X), similarity.gram(sparse.csr_array(X))]
    options = {"loss": loss, "init": H, "max_iter": 2, "restarts": 0, "upper": 10.0}
    first, *others = (quiet(S, r, **options) for S in inputs)
    for other in others:
        np.testing.assert_allclose(other.H, first.H, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(other.history, first.history, rtol=1e-8, atol=1e-8)


def jobs(rng):
    """Starts side by side give the bits of starts one after another."""
    A, r, form, options = generic(rng)
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, other = (
            od.ODSymNMF(
                r, loss=options["loss"], init="random", n_init=3, random_state=seed, n_jobs=n_jobs
            ).fit(form(A))
            for n_jobs in (1, 2)
        )
    np.testing.assert_array_equal(one.membership_, other.membership_)
    np.testing.assert_array_equal(one.labels_, other.labels_)


CHECKS = [permutation, scaling, diagonal, kinds, jobs]


def once(check, seed, k):
    """Try one of the checks on problem k."""
    check(np.random.default_rng([seed, CHECKS.index(check), k]))


LINES = {
    f"symmetries-{check.__name__}": Line(check.__doc__.rstrip("."), 1_000, partial(once, check))
    for check in CHECKS
}
