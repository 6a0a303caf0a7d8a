"""Random problems for every loss and kind of input: finite, nonnegative, never rising, and true."""

import warnings
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import similarity

from .lines import Line

LOSSES = {
    "l2": ("l2", "ignore"),
    "l1": ("l1", "ignore"),
    "symnmf": ("l2", "fit"),
    "mixed": ("mixed", "ignore"),
    "robust": ("robust", "ignore"),
}
KINDS = ("dense", "sparse", "gram", "gram-sparse")
WEIGHTS = ("equal", "unknown", "weighted")
STARTS = ("greedy", "spectral", "nndsvd", "random", "zero")
# What may be lost to rounding, relative to what there is to explain.
ROUNDING = {np.float64: 1e-9, np.float32: 1e-4}


def quiet(*args, **options):
    """factorize, whether it has converged or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(*args, **options)


def features(rng, dtype):
    """Return a table of items, some of them alike, empty or large."""
    n, m = (int(v) for v in rng.integers(1, 14, 2))
    X = rng.random((n, m)) * (rng.random((n, m)) < rng.random())
    if rng.random() < 0.3:
        X = np.ceil(X)
    if rng.random() < 0.3:
        X[rng.integers(n)] = X[0]
    if rng.random() < 0.2:
        X[rng.integers(n)] *= 10.0 ** rng.integers(-3, 4)
    return X.astype(dtype)


def similarities(rng, dtype):
    """Return a symmetric matrix: of a graph, of features, signed, with hubs, at any scale."""
    X = features(rng, np.float64)
    n = len(X)
    shape = rng.integers(4)
    A = X @ X.T
    if shape == 1:
        A = (rng.random((n, n)) < rng.random()).astype(float)
    elif shape == 2:
        A = rng.standard_normal((n, n)) * (rng.random((n, n)) < rng.random())
    elif shape == 3:
        A = np.zeros((n, n))
        A[rng.integers(n)] = rng.random()
    A = np.triu(A, 1) * 10.0 ** rng.integers(-6, 7)
    return (A + A.T + np.diag(rng.random(n))).astype(dtype)


def problem(rng, kind):
    """Return the input for factorize, and the same similarities as a plain matrix."""
    dtype = [np.float64, np.float64, np.float32][rng.integers(3)]
    if kind.startswith("gram"):
        X = features(rng, dtype)
        whole = X.astype(np.float64)
        S = similarity.gram(sparse.csr_array(X) if kind == "gram-sparse" else X)
        return S, whole @ whole.T, dtype
    A = similarities(rng, dtype)
    return sparse.csr_array(A) if kind == "sparse" else A, A.astype(np.float64), dtype


def weights(rng, n, which):
    """Return what pairs weigh: nothing said, some unknown, or any number; the diagonal one."""
    if which == "equal":
        return None
    W = (rng.random((n, n)) < 0.7) * (1.0 if which == "unknown" else 2.0 * rng.random((n, n)))
    W = np.triu(W, 1)
    return W + W.T + np.eye(n)


def pairs(M, diagonal):
    """Return the entries that count."""
    return M.ravel() if diagonal == "fit" else M[~np.eye(len(M), dtype=bool)]


def errors(a, p, w):
    """Return the absolute and the squared errors."""
    return np.array([np.sum(w * np.abs(a - p)), np.sum(w * (a - p) ** 2)])


def value(loss, l1_ratio, found, nothing):
    """Return the loss of the errors, given those without memberships."""
    if loss in ("l1", "l2"):
        return found[("l1", "l2").index(loss)]
    shares = found / np.where(nothing > 0, nothing, 1.0)
    return shares.max() if loss == "robust" else shares @ [l1_ratio, 1 - l1_ratio]


def once(name, kind, which, seed, k):
    """Fit, and compare what is claimed with the definition."""
    places = [list(LOSSES).index(name), KINDS.index(kind), WEIGHTS.index(which)]
    rng = np.random.default_rng([seed, *places, k])
    loss, diagonal = LOSSES[name]
    A, whole, dtype = problem(rng, kind)
    W = weights(rng, len(whole), which)
    r, l1_ratio = int(rng.integers(1, 6)), float(rng.random())
    f = quiet(
        A,
        r,
        loss=loss,
        l1_ratio=l1_ratio,
        diagonal=diagonal,
        weights=W,
        init=str(rng.choice(STARTS)),
        max_iter=int(rng.integers(0, 40)),
        tol=float(rng.choice([0, 1e-4])),
        upper=None if rng.random() < 0.7 else float(rng.random() + 0.1),
        restarts=int(rng.choice([0, 3])) if diagonal == "ignore" else None,
        random_state=int(rng.integers(2**31)),
    )
    assert np.isfinite(f.H).all()
    assert (f.H >= 0).all()
    a, p = pairs(whole, diagonal), pairs(np.float64(f.H) @ np.float64(f.H).T, diagonal)
    w = 1.0 if W is None else pairs(W, diagonal)
    nothing = errors(a, 0.0, w)
    true = value(loss, l1_ratio, errors(a, p, w), nothing)
    terms = np.array([np.sum(np.abs(a) + p), np.sum((np.abs(a) + p) ** 2)])
    small = ROUNDING[dtype] * max(value(loss, l1_ratio, terms, nothing), f.history[0])
    if kind.startswith("gram"):  # whose sums are made over all pairs, before the diagonal goes
        size = np.array([np.sum(np.abs(whole)), np.sum(whole**2)])
        small += 1e-13 * value(loss, l1_ratio, size, nothing)
    assert f.objective >= 0
    assert abs(f.objective - true) <= small, (f.objective, true, small)
    assert (np.diff(f.history) <= small).all(), (np.diff(f.history).max(), small)
    return None


LINES = {
    f"problems-{name}-{kind}-{which}": Line(
        f"random problems: {name}, {kind}, {which}", 10_000, partial(once, name, kind, which)
    )
    for name in LOSSES
    for kind in KINDS
    for which in WEIGHTS
}
