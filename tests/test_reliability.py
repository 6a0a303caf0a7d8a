"""The guarantees of docs/reliability.md on random problems; examples are cases that once failed."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od

LOSSES = {
    "l2": {},
    "l1": {"loss": "l1"},
    "symnmf": {"diagonal": "fit"},
    "mixed": {"loss": "mixed"},
    "robust": {"loss": "robust"},
}
INPUTS = ["dense", "sparse", "gram", "gram-sparse"]
WEIGHTS = ["equal", "unknown", "weighted"]
INITS = ["greedy", "spectral", "random", "zero"]
EACH = (st.sampled_from(list(LOSSES)), st.sampled_from(INPUTS), st.sampled_from(WEIGHTS))
SEEDS = st.tuples(st.integers(0, 99), st.integers(0, 10_000))


def factorize(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(*args, **options)


def features(rng):
    """Return features of items, some of which are equal, zero or large."""
    n, m = (int(v) for v in rng.integers(1, 14, 2))
    X = rng.random((n, m)) * (rng.random((n, m)) < rng.random())
    if rng.random() < 0.3:
        X = np.ceil(X)
    if rng.random() < 0.3:
        X[rng.integers(n)] = X[0]
    if rng.random() < 0.2:
        X[rng.integers(n)] *= 10.0 ** rng.integers(-3, 4)
    return X


def similarities(rng):
    """Return a product of features, a graph, a signed matrix or a star, at any scale."""
    X = features(rng)
    n = len(X)
    A = X @ X.T
    kind = rng.integers(4)
    if kind == 1:
        A = (rng.random((n, n)) < rng.random()).astype(float)
    elif kind == 2:
        A = rng.standard_normal((n, n)) * (rng.random((n, n)) < rng.random())
    elif kind == 3:
        A = np.zeros((n, n))
        A[rng.integers(n)] = rng.random()
    A = np.triu(A, 1) * 10.0 ** rng.integers(-6, 7)
    return A + A.T + np.diag(rng.random(n))


def problem(rng, kind):
    """Return similarities of a kind of input, and the same as a float64 matrix."""
    dtype = [np.float64, np.float64, np.float32][rng.integers(3)]
    if kind.startswith("gram"):
        X = features(rng).astype(dtype)
        full = X.astype(np.float64)
        return od.similarity.gram(
            sparse.csr_array(X) if kind == "gram-sparse" else X
        ), full @ full.T
    A = similarities(rng).astype(dtype)
    return sparse.csr_array(A) if kind == "sparse" else A, A.astype(np.float64)


def pair_weights(rng, n, kind):
    """Return weights of pairs: None, some zero, or some zero and others random."""
    if kind == "equal":
        return None
    W = (rng.random((n, n)) < 0.7) * (1.0 if kind == "unknown" else 2.0 * rng.random((n, n)))
    W = np.triu(W, 1)
    return W + W.T + np.eye(n)


def loss_value(name, l1_ratio, errors, zero_errors):
    """Return the loss given (f_1, f_2) at H and at zero."""
    if name in ("l1", "l2", "symnmf"):
        return errors[0 if name == "l1" else 1]
    relative = errors / np.where(zero_errors > 0, zero_errors, 1.0)
    return relative.max() if name == "robust" else relative @ [l1_ratio, 1 - l1_ratio]


@settings(max_examples=150)
@given(*EACH, SEEDS)
# Two items whose pair has no weight grew without bound.
@example("l2", "dense", "unknown", (18, 1661))
@example("l2", "dense", "weighted", (18, 3339))
@example("l2", "sparse", "unknown", (18, 8144))
# Restarts of "robust" were accepted by the mixed loss.
@example("robust", "dense", "equal", (18, 103))
@example("robust", "dense", "weighted", (18, 236))
# Cancellation in the off-diagonal part of a Gram matrix.
@example("l2", "gram", "equal", (18, 64))
@example("l2", "gram", "equal", (18, 1209))
@example("l2", "gram", "weighted", (18, 4434))
@example("l2", "gram", "weighted", (18, 7485))
# One item much larger than the others.
@example("l2", "gram-sparse", "unknown", (18, 6739))
# Division by a rounding error.
@example("l2", "gram-sparse", "unknown", (18, 3678))
# All known pairs are zero.
@example("mixed", "gram", "unknown", (22, 1852))
@example("mixed", "gram-sparse", "equal", (22, 3835))
# A derivative of "mixed" without a correct digit.
@example("mixed", "gram", "unknown", (22, 6554))
def test_h_is_valid_f_never_rises_and_is_exact(name, kind, which, seed):
    indices = [list(LOSSES).index(name), INPUTS.index(kind), WEIGHTS.index(which)]
    rng = np.random.default_rng([seed[0], *indices, seed[1]])
    A, full = problem(rng, kind)
    W = pair_weights(rng, len(full), which)
    r, l1_ratio = int(rng.integers(1, 6)), float(rng.random())
    f = factorize(
        A,
        r,
        **LOSSES[name],
        l1_ratio=l1_ratio,
        weights=W,
        init=str(rng.choice(INITS)),
        max_iter=int(rng.integers(0, 40)),
        tol=float(rng.choice([0, 1e-4])),
        upper=None if rng.random() < 0.7 else float(rng.random() + 0.1),
        restarts=None if name == "symnmf" else int(rng.choice([0, 3])),
        random_state=int(rng.integers(2**31)),
    )
    assert np.isfinite(f.H).all()
    assert (f.H >= 0).all()
    included = (
        np.ones_like(full, dtype=bool) if name == "symnmf" else ~np.eye(len(full), dtype=bool)
    )
    a, p = full[included], (np.float64(f.H) @ np.float64(f.H).T)[included]
    w = 1.0 if W is None else W[included]

    def sums(e, w=1.0):
        return np.array([np.sum(w * np.abs(e)), np.sum(w * e**2)])

    zero_errors = sums(a, w)
    exact = loss_value(name, l1_ratio, sums(a - p, w), zero_errors)
    size = max(loss_value(name, l1_ratio, sums(np.abs(a) + p), zero_errors), f.history[0])
    rounding = (1e-4 if f.H.dtype == np.float32 else 1e-9) * size
    if kind.startswith("gram"):  # computed over all pairs, minus the diagonal
        rounding += 1e-13 * loss_value(name, l1_ratio, sums(full), zero_errors)
    assert f.objective >= 0
    assert abs(f.objective - exact) <= rounding
    assert (np.diff(f.history) <= rounding).all()


@settings(max_examples=60)
@given(st.sampled_from(list(LOSSES)), st.sampled_from([*INPUTS, "unknown"]), SEEDS)
# Cube roots were rounded differently at other scales.
@example("symnmf", "dense", (22, 36))
def test_scaling_a_by_a_power_of_four_scales_h_exactly(name, kind, seed):
    rng = np.random.default_rng(seed)
    rng.choice(5), rng.choice(5)
    dtype = (np.float64, np.float32)[seed[1] % 2]
    n, m = int(rng.integers(2, 20)), int(rng.integers(1, 6))
    X = (rng.random((n, m)) * (rng.random((n, m)) < 0.6)).astype(dtype)
    A = np.triu(X @ X.T - dtype(0.1), 1)
    A += A.T
    if kind == "unknown":
        A[0, 1] = A[1, 0] = np.nan

    def scaled(root):
        if kind.startswith("gram"):
            Y = X * root
            return od.similarity.gram(sparse.csr_array(Y) if kind == "gram-sparse" else Y)
        B = A * root * root
        return sparse.csr_array(B) if kind == "sparse" else B

    largest = 95 if dtype == np.float64 else 17
    e = int(rng.integers(-largest, largest + 1))
    root = dtype(2.0) ** e
    options = {"init": str(rng.choice(["greedy", "random", "zero"])), "max_iter": 15}
    options |= {"restarts": None if name == "symnmf" else 1, "random_state": 0, **LOSSES[name]}
    r = int(rng.integers(1, 5))
    values = []
    one = factorize(scaled(dtype(1)), r, **options)
    other = factorize(scaled(root), r, **options, callback=lambda s: values.append(s.objective))
    np.testing.assert_array_equal(other.H, one.H * root)
    power = {"l1": 2, "l2": 4, "symnmf": 4}.get(name, 0) * e
    np.testing.assert_array_equal(other.history, np.ldexp(one.history, power))
    assert np.isfinite([*other.history, *values]).all()


def test_convergence_of_an_empty_h_does_not_depend_on_the_scale():
    A = np.zeros((4, 4))
    A[0, 3] = A[3, 0] = 0.51345494
    options = {"loss": "l1", "init": "random", "random_state": 0, "max_iter": 5}
    f, f_scaled = (factorize(s * s * A, 2, **options) for s in (1.0, 2.0**-37))
    np.testing.assert_array_equal(f_scaled.H, 2.0**-37 * f.H)
    np.testing.assert_array_equal(f_scaled.history, 2.0**-74 * f.history)


def test_many_sweeps_do_not_drift():
    A = np.random.default_rng(0).random((12, 12))
    A = A + A.T
    for loss in ("l2", "l1"):
        options = {"loss": loss, "tol": 0, "init": "random", "random_state": 0, "restarts": 0}
        f = factorize(A, 3, max_iter=3000, **options)
        start = factorize(A, 3, max_iter=0, **options)
        assert f.history[0] == pytest.approx(start.objective, rel=1e-10)


def with_invalid_index(shape, form="csr"):
    """Return a sparse matrix with one index out of range."""
    S = sparse.random_array(shape, density=0.5, random_state=np.random.default_rng(0)).asformat(
        form
    )
    if form == "coo":
        S.row[0] = 2_000_000_000
    else:
        S.indices[0] = 2_000_000_000
    return S


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_an_index_out_of_range_is_an_error_in_every_function(form):
    """Compiled code would read outside the array: a segmentation fault."""
    A, S, H = np.ones((6, 6)), with_invalid_index((6, 6), form), with_invalid_index((6, 3), form)
    model = od.ODSymNMF(2).fit(A)
    for use in (
        lambda: od.factorize(S, 2),
        lambda: od.factorize(A, 2, weights=S),
        lambda: od.factorize(A, 3, init=H),
        lambda: od.factorize(sparse.csr_array(A), 3, init=H, sparse_membership=True),
        lambda: od.objective(sparse.csr_array(A), H),
        lambda: od.similarity.gram(H),
        lambda: od.similarity.cosine(H),
        lambda: od.ODSymNMF(2).fit(S),
        lambda: od.ODSymNMF(2, affinity="cosine").fit(H),
        lambda: model.predict(S),
        lambda: model.score(S),
        lambda: od.memberships.labels(H),
        lambda: od.memberships.overlapping_sets(H),
    ):
        with pytest.raises(ValueError, match="is not a valid sparse matrix"):
            use()
