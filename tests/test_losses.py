"""Sweeps of each loss against the algorithms of the paper, in row order, and rounding."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from problems import (
    DEGENERATE,
    EACH_FORM,
    EACH_INPUT,
    INITS,
    as_input,
    assert_close,
    documents,
    naive_objective,
    pairwise,
    quiet,
    swept,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from odsymnmf import kernels
from odsymnmf.paper import symnmf as paper_symnmf
from odsymnmf.paper.algorithm_1 import odsymnmf, rank_one_l2
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.solvers.objective import clean_columns
from odsymnmf.solvers.sparse_h import SparseH, links
from odsymnmf.solvers.sparse_losses import SPARSE_LOSSES

SEEDS = st.integers(0, 2**32 - 1)
FORMS = [np.asarray, sparse.csr_array]


def binary_problem(seed, values=(0.0, 1.0)):
    rng = np.random.default_rng(seed)
    n, r = rng.integers(1, 12), rng.integers(1, 6)
    A = symmetric((rng.random((n, n)) < rng.random()).astype(float))
    return A, rng.choice(values, (n, r))


def real_problem(seed, n=None, r=None, sparsity=0.0):
    rng = np.random.default_rng(seed)
    n, r = n or rng.integers(2, 11), r or rng.integers(1, 5)
    A = symmetric(rng.random((n, n)) - (0.3 if rng.random() < 0.5 else 0.0))
    return symmetric(A * (rng.random((n, n)) >= sparsity)), 0.05 + rng.random((n, r))


def algorithm_1(A, H, sweeps, upper=np.inf):
    """The paper's l2 without cancellation (ERRATA.md), row by row."""
    return odsymnmf(A, H, partial(rank_one_l2, upper=upper), sweeps=sweeps, order="rows")


def algorithm_4(A, H, sweeps, upper=np.inf, empty=0.0):
    return odsymnmf_l1(A, H, sweeps=sweeps, order="rows", empty=empty, upper=upper)


# --- the algorithms of the paper -------------------------------------------------------------


@EACH_FORM
@pytest.mark.parametrize("upper", [1.0, np.inf])
@pytest.mark.parametrize("empty", [0.0, 1.0])
@settings(max_examples=40)
@given(seed=SEEDS, sweeps=st.integers(1, 8))
def test_l1_is_algorithm_4_bit_for_bit_on_binary_data(form, upper, empty, seed, sweeps):
    A, H = binary_problem(seed)
    H1 = swept(form(A), H, "l1", count=sweeps, upper=upper, empty=empty)
    np.testing.assert_array_equal(H1, algorithm_4(A, H, sweeps, upper, empty))


@EACH_FORM
@settings(max_examples=60)
@given(seed=SEEDS)
def test_l1_is_algorithm_4_bit_for_bit_on_halves(form, seed):
    A, H = binary_problem(seed, values=(0.0, 0.5, 1.0))
    expected = algorithm_4(A, H, 1, upper=1.0)
    assume((expected * 64 % 1 == 0).all())  # no quotient had to be rounded
    np.testing.assert_array_equal(swept(form(A), H, "l1", upper=1.0), expected)


@EACH_FORM
@pytest.mark.parametrize("upper", [0.5, np.inf])  # multiples of 0.5 add up exactly: ties
@settings(max_examples=25)
@given(seed=SEEDS, sweeps=st.sampled_from([1, 2, 12]))
def test_losses_are_the_algorithms_of_the_paper(form, upper, seed, sweeps):
    A, H = real_problem(seed, sparsity=0.2)
    H = np.minimum(H, upper)
    # Without a bound, an entry may come to dominate its column; others are tested below.
    bounded = sweeps if upper < np.inf else 1
    result = swept(form(A), H, count=bounded, upper=upper)
    assert_close(result, algorithm_1(A, H, bounded, upper), 1e-10)
    A, H = real_problem(seed)
    H = np.minimum(H, upper)
    result = swept(form(A), H, "l1", count=sweeps, upper=upper)
    assert_close(result, algorithm_4(A, H, sweeps, upper), 1e-12)
    np.fill_diagonal(A, np.random.default_rng(seed).uniform(-1, 2, len(A)))
    expected = paper_symnmf.symnmf(A, H, sweeps=bounded, order="rows", upper=upper)
    result = swept(form(A), H, diagonal="fit", count=bounded, upper=upper)
    assert_close(result, expected, 1e-9)


@EACH_FORM
@pytest.mark.parametrize(("n", "r"), [(150, 2), (30, 19), (6, 9)])
def test_many_items_or_columns(form, n, r):
    # More than one block of rows, more than one stride of columns, r > n.
    A, H = real_problem(4, n=n, r=r, sparsity=0.5)
    assert_close(swept(form(A), H, count=4), algorithm_1(A, H, 4), 1e-10)
    assert_close(swept(form(A), H, "l1", count=2), algorithm_4(A, H, 2), 1e-12)


@EACH_FORM
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_l1_with_steps_of_very_different_length(form, spread):
    # The kernel selects near the current value first.
    rng = np.random.default_rng(5)
    H = rng.lognormal(sigma=spread, size=(60, 3)) * (rng.random((60, 3)) < 0.7)
    A = symmetric(H @ H.T * rng.lognormal(sigma=spread, size=(60, 60)))
    start = rng.permutation(H)
    assert_close(swept(form(A), start, "l1", count=4), algorithm_4(A, start, 4), 1e-12)


# --- one entry -------------------------------------------------------------------------------

COEFFICIENTS = st.floats(-1e3, 1e3).map(lambda x: round(x, 6))


@settings(max_examples=400)
@given(a=COEFFICIENTS, b=COEFFICIENTS, upper=st.sampled_from([0.5, 3.0, np.inf]))
@example(a=0.0, b=0.0, upper=np.inf)
@example(a=-3.0, b=2.0, upper=np.inf)  # a double root
@example(a=-3.0, b=-2.0, upper=np.inf)
@example(a=0.0, b=-8.0, upper=np.inf)
@example(a=-1.0, b=0.0, upper=np.inf)
@example(a=1e3, b=-1e-6, upper=np.inf)  # the cube roots cancel
def test_minimum_of_a_quartic(a, b, upper):
    def value(x):
        return x**4 / 4 + a * x**2 / 2 + b * x

    x = kernels.l2.minimize_quartic(a, b, upper)
    expected = paper_symnmf.minimize_quartic(a, b, upper)
    assert 0 <= x <= upper
    size = expected**4 / 4 + abs(a) * expected**2 / 2 + abs(b) * expected
    assert value(x) <= value(expected) + 1e-12 * size
    if abs(value(expected)) > 1e-9 * size:  # not a tie with 0
        assert x == pytest.approx(expected, rel=1e-6)
        if 0 < x < upper:
            assert abs(x**3 + a * x + b) <= 1e-14 * (x**3 + abs(a * x) + abs(b)) * 8


WEIGHTED = st.lists(
    st.tuples(st.integers(-3, 12).map(float), st.integers(1, 8).map(lambda w: w / 4)),
    min_size=1,
    max_size=150,
)


@settings(max_examples=400)
@given(pairs=WEIGHTED, share=st.floats(0.001, 1.0))
def test_weighted_median_is_that_of_sorting(pairs, share):
    # Quarters add up exactly, so a tie is a tie.
    points, weights = map(np.array, zip(*pairs, strict=True))
    target = np.ceil(share * weights.sum() * 4) / 4
    order = np.argsort(points)
    expected = points[order][np.argmax(np.cumsum(weights[order]) >= target)]
    scratch = np.append(points, -99.0), np.append(weights, 99.0)  # the last is out of range
    assert kernels.weighted_median.select(*scratch, len(points), target) == expected
    np.testing.assert_array_equal(np.sort(scratch[0][:-1]), np.sort(points))


# --- rounding --------------------------------------------------------------------------------


def exact_sweep(A, H):
    """One sweep of l2 in rational numbers."""
    A = [[Fraction(float(x)) for x in row] for row in A]
    H = [[Fraction(float(x)) for x in row] for row in H]
    n, r = len(H), len(H[0])
    for k in range(n):
        others = [i for i in range(n) if i != k]
        for l in range(r):
            a = sum(H[i][l] ** 2 for i in others)
            b = sum(
                H[i][l] * (A[k][i] - sum(H[i][t] * H[k][t] for t in range(r) if t != l))
                for i in others
            )
            H[k][l] = Fraction(float(max(Fraction(0), b / a))) if a > 0 else Fraction(0)
    return np.array([[float(x) for x in row] for row in H])


@pytest.mark.parametrize(
    ("form", "t", "tolerance"),
    # A dense block removes the old entry from products that already contain it.
    [(sparse.csr_array, 10.0**e, 1e-9) for e in (2, 4, 6)]
    + [(np.asarray, 10.0**e, 1e-15 * 100.0**e) for e in (2, 3, 4)],
)
def test_entry_that_dominates_its_column(form, t, tolerance):
    rng = np.random.default_rng(3)
    A, H = symmetric(0.5 + rng.random((6, 6))), rng.random((6, 3))
    H[:, 1] /= t
    H[2, 1], H[4, 2] = t, t / 7
    np.testing.assert_allclose(swept(form(A), H), exact_sweep(A, H), rtol=tolerance, atol=0)
    expected = algorithm_4(A, H, 1)
    np.testing.assert_allclose(swept(form(A), H, "l1"), expected, rtol=1e-9, atol=1e-15 * t)


@EACH_FORM
def test_sums_that_decrease_by_orders_of_magnitude(form):
    rng = np.random.default_rng(0)
    A, H = symmetric(0.5 + rng.random((12, 12))), 1e3 * (0.5 + rng.random((12, 2)))
    expected = exact_sweep(A, exact_sweep(A, exact_sweep(A, H)))
    np.testing.assert_allclose(swept(form(A), H, count=3), expected, rtol=1e-6, atol=1e-12)


@pairwise({"form": FORMS, "loss": ["l2", "l1"], "t": [1e3, 1e5, 1e9]})
def test_exact_pair_of_the_errata_is_kept(form, loss, t):
    # (t, 1/t) is an exact fit; Algorithm 2 as printed loses it. In l1, W_l - H_kl cancels.
    A, H = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[t], [1 / t]])
    np.testing.assert_allclose(swept(form(A), H, loss, count=30), H, rtol=1e-12)


@pytest.mark.parametrize("loss", SPARSE_LOSSES)
def test_entry_that_dominates_a_column_of_a_sparse_h_or_of_unknown_pairs(loss):
    H, W = np.array([[1e9]] + [[1e-9]] * 7), np.ones((8, 8))  # the star is fitted
    solver = SPARSE_LOSSES[loss](links(DEGENERATE["star"]), SparseH(H))
    solver.sweep()
    np.testing.assert_allclose(solver.H.csr().toarray(), H, rtol=1e-9)
    W[0, 1] = W[1, 0] = 0
    np.testing.assert_allclose(swept(H @ H.T, H, loss, weights=W), H, rtol=1e-9)


@EACH_FORM
@pytest.mark.parametrize("t", [1e3, 1e6])
def test_objective_with_an_entry_that_dominates(form, t):
    # (t, 1/t, 1/t, ...) on a star: t^4 must not be added and subtracted again.
    H = np.full((8, 1), 1 / t)
    H[0] = t
    A = DEGENERATE["star"]
    assert od.objective(form(A), H, "l2") == pytest.approx(7 * 6 / t**4, abs=1e-13)
    assert od.objective(form(A), H, "l1") == pytest.approx(7 * 6 / t**2, abs=1e-13)


@EACH_FORM
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_columns_of_zeros_stay_zero(form, loss):
    n_zero = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = symmetric(rng.random((9, 9)) * (rng.random((9, 9)) < 0.5))
        zero = []
        options = {"loss": loss, "init": 2 * rng.random((9, 4)), "max_iter": 25, "restarts": 0}
        quiet(form(A), 4, callback=lambda s: zero.append(~s.H.any(axis=0)), **options)  # noqa: B023
        zero = np.array(zero)
        assert (zero[1:] >= zero[:-1]).all()
        n_zero += zero[-1].any()
    assert n_zero > 0


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("init", INITS)
def test_rounding_does_not_become_entries(loss, init):
    # More columns than needed: the residual of the others is rounding.
    rng = np.random.default_rng(0)
    for _ in range(10):
        n = int(rng.integers(3, 9))
        H = rng.random((n, 2))
        for A in (np.ones((n, n)), H @ H.T, np.kron(np.eye(2), np.ones((n, n)))):
            for form in FORMS:
                options = {"loss": loss, "init": init, "restarts": 0, "random_state": 0}
                H1 = quiet(form(A), len(A) + 2, **options).H
                assert H1.max() < 1e3
    for a, b in 0.1 + rng.random((100, 2)):
        # The second column explains the pair up to the last bit.
        c = np.nextafter(a * b, np.inf)
        H1 = swept(sparse.csr_array([[0, c], [c, 0]]), [[1.0, a], [1.0, b]], loss)
        assert H1[0, 0] == 0


@EACH_INPUT
def test_sums_that_cancel_leave_no_tiny_entries(kind):
    n_tiny = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n, m, r = rng.integers(3, 10), rng.integers(3, 9), rng.integers(1, 4)
        X = rng.random((n, m)) * (rng.random((n, m)) < 0.3)
        H = rng.random((n, r)) * (rng.random((n, r)) < 0.7)
        H = swept(as_input(kind, X), H, count=2)
        n_tiny += H[H > 0].min(initial=1.0) < 1e-14
    assert n_tiny <= 1


# --- cleaning of columns ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clean_columns(dtype):
    H = np.array([[3.0, 0, 8, 1, 0], [0, 0, 0, 1, 0], [0, 0, 0.5, 1, 0], [0, 0, 0, 0, 0]], dtype)
    clean_columns(H)
    np.testing.assert_array_equal(
        H, [[0, 0, 2, 1, 0], [0, 0, 0, 1, 0], [0, 0, 2, 1, 0], [0, 0, 0, 0, 0]]
    )
    rng = np.random.default_rng(0)
    for pair in np.append(rng.random((99, 2)), 10.0 ** rng.uniform(-9, 9, (99, 2)), axis=0):
        H = pair[:, None].astype(dtype)
        low, high, square = H.min(), H.max(), np.prod(H.astype(float))
        clean_columns(H)
        assert low <= H[0, 0] == H[1, 0] <= high  # also where upper = high
        assert float(H[0, 0]) ** 2 == pytest.approx(square, rel=4 * float(np.finfo(dtype).eps))
        balanced = H.copy()
        clean_columns(H)
        np.testing.assert_array_equal(H, balanced)


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("storage", ["dense A", "sparse A", "sparse H"])
def test_fits_clear_single_entries_and_balance_pairs(storage, loss):
    form = np.asarray if storage == "dense A" else sparse.csr_array
    A = form(symmetric(np.diag([1.0, 0.0, 4.0], k=1)))
    H = np.array([[5.0, 0], [0, 0], [0, 8], [0, 0.5]])
    before = od.objective(A, H, loss)
    options = {"loss": loss, "sparse_membership": storage == "sparse H", "restarts": 0}
    f = quiet(A, 2, init=H, max_iter=1, **options)
    H = f.H.toarray() if storage == "sparse H" else f.H
    np.testing.assert_array_equal(H, [[0, 0], [0, 0], [0, 2], [0, 2]])
    assert f.objective == before == 2.0
    # The sweep leaves the first entry of the column alone: the others become zero after it.
    A = form([[0.0, 1, 0, 0], [1, 0, 0, -9], [0, 0, 0, 0], [0, -9, 0, 0]])
    assert quiet(A, 1, init=np.array([[1.0], [2], [0], [1]]), max_iter=1, **options).H.sum() == 0


def test_symnmf_keeps_single_entries_for_the_diagonal():
    H = np.array([[2.0, 0], [0, 3], [0, 0]])
    f = od.factorize(np.diag([4.0, 9.0, 0.0]), 2, diagonal="fit", init=H)
    np.testing.assert_allclose(f.H, H, atol=1e-12)
    assert f.objective == pytest.approx(0, abs=1e-20)


# --- scale -----------------------------------------------------------------------------------


@pairwise({"form": FORMS, "loss": ["l2", "l1"], "size": [1e-300, 1e-30, 1e30, 1e300]})
def test_init_of_any_size_gives_a_finite_fit(form, loss, size):
    rng = np.random.default_rng(0)
    A = symmetric(rng.random((12, 12)))
    f = quiet(form(A), 2, loss=loss, init=size * rng.random((12, 2)))
    assert np.isfinite(f.H).all()
    assert np.isfinite(f.history).all()
    assert f.objective == pytest.approx(naive_objective(A, f.H, loss), rel=1e-6)
    hub = np.full((8, 1), 1e-7)
    hub[0] = 1e9
    f = quiet(form(9 * DEGENERATE["star"]), 1, loss=loss, init=hub)
    assert f.H.max() <= 3.0 * 1e4


def test_exact_factorization_is_a_fixed_point():
    # A column for every edge (Section 2.1 of the paper): r far above n.
    rng = np.random.default_rng(0)
    A = symmetric(rng.integers(1, 9, (9, 9)) ** 2 * (rng.random((9, 9)) < 0.6)).astype(float)
    edges = np.argwhere(np.triu(A))
    H = np.zeros((9, len(edges)))
    for l, (i, j) in enumerate(edges):
        H[[i, j], l] = np.sqrt(A[i, j])
    for loss in ("l2", "l1"):
        f = od.factorize(A, len(edges), loss=loss, init=H)
        np.testing.assert_array_equal(f.H, H)
        np.testing.assert_array_equal(f.history, [0.0, 0.0])


@EACH_FORM
def test_example_1_of_the_paper(form):
    A = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
    f = quiet(form(A), 2, tol=1e-12)
    assert f.objective == pytest.approx(0.0, abs=1e-12)
    # Without a bound, t and 1/t are as good as 1 and 1.
    H = od.factorize(form(A), 2, upper=1.0).H
    np.testing.assert_allclose(H[:, np.argsort(-H[0])], [[1, 0], [1, 1], [0, 1]], atol=1e-3)
    f = od.factorize(form(A), 2, loss="l1")
    np.testing.assert_array_equal(f.H, [[1, 0], [1, 1], [0, 1]])
    assert (f.objective, f.converged) == (0.0, True)


def test_restart_with_an_impossible_decrease_is_rejected():
    """Squares of a Gram block in single precision hid an increase from 1e-8 to 0.0075."""
    X = [[1, 1, 1], [0, 0, 0.55043167], [0.5014722, 0, 0], [0.5274339, 0, 0]]
    X = np.array(X, dtype=np.float32)
    f = quiet(od.similarity.gram(X), 8, init="zero", restarts=3, max_iter=400, tol=0)
    exact = naive_objective(np.float64(X) @ np.float64(X).T, f.H)
    assert f.objective == pytest.approx(exact, rel=1e-3, abs=1e-12)
    assert f.objective < 2e-8


@EACH_INPUT
def test_items_without_features_are_unassigned(kind):
    X = documents(1, n=20, m=10)
    X[[4, 11]] = 0
    for loss in ("l2", "l1"):
        np.testing.assert_array_equal(quiet(as_input(kind, X), 3, loss=loss).H[[4, 11]], 0)
