"""Where the arithmetic, or the model itself, would run away."""

from fractions import Fraction

import numpy as np
import pytest
from engine_problems import (
    DEGENERATE,
    KINDS,
    LOSSES,
    STARTS,
    as_kind,
    documents,
    naive_objective,
    pairwise,
    quiet,
    swept,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from odsymnmf import similarity
from odsymnmf.paper.algorithm_4 import odsymnmf_l1
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.objective import clean_columns
from odsymnmf.solvers.run import Run

FORMS = [np.asarray, sparse.csr_array]
EACH_FORM = pytest.mark.parametrize("form", FORMS)


# --- one entry dominates its column ----------------------------------------------------------


def exact_sweep(A, H):
    """One l2 sweep by rows in rational numbers."""
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
            H[k][l] = max(Fraction(0), b / a) if a > 0 else Fraction(0)
            H[k][l] = Fraction(float(H[k][l]))  # as stored
    return np.array([[float(x) for x in row] for row in H])


@pytest.mark.parametrize(
    ("form", "t", "tolerance"),
    # A dense block takes the old entry out of products that it has already entered.
    [(sparse.csr_array, 10.0**e, 1e-9) for e in (2, 4, 6)]
    + [(np.asarray, 10.0**e, 1e-15 * 100.0**e) for e in (2, 3, 4)],
)
def test_a_dominating_entry_in_exact_arithmetic(form, t, tolerance):
    rng = np.random.default_rng(3)
    A = symmetric(0.5 + rng.random((6, 6)))
    H = rng.random((6, 3))
    H[:, 1] /= t
    H[2, 1] = t
    H[4, 2] = t / 7
    expected = exact_sweep(A, H)
    np.testing.assert_allclose(swept(form(A), H, count=1), expected, rtol=tolerance, atol=0)


@pairwise({"form": FORMS, "loss": ["l2", "l1"], "t": [1e3, 1e5, 1e8]})
def test_the_pair_of_the_errata_stays(form, loss, t):
    # (t, 1/t) is an exact fit; Algorithm 2 as printed loses it. In l1, W_l - H_kl cancels.
    A = np.array([[0.0, 1.0], [1.0, 0.0]])
    H = np.array([[t], [1 / t]])
    np.testing.assert_allclose(swept(form(A), H, loss, count=30), H, rtol=1e-12)


@EACH_FORM
@pytest.mark.parametrize("t", [1e3, 1e6, 1e9])
def test_a_dominating_entry_in_l1(form, t):
    rng = np.random.default_rng(3)
    A = symmetric(0.5 + rng.random((7, 7)))
    H = rng.random((7, 2)) / t
    H[2, 0], H[4, 1] = t, 7 * t
    expected = odsymnmf_l1(A, H, sweeps=1, order="rows", empty=0.0, upper=np.inf)
    np.testing.assert_allclose(swept(form(A), H, "l1", count=1), expected, rtol=1e-9)


@EACH_FORM
def test_sums_that_shrink(form):
    # Entries a thousand times too large leave nothing of what they were behind.
    rng = np.random.default_rng(0)
    A = symmetric(0.5 + rng.random((12, 12)))
    H = 1e3 * (0.5 + rng.random((12, 2)))
    expected = H
    for _ in range(3):
        expected = exact_sweep(A, expected)
    np.testing.assert_allclose(swept(form(A), H, count=3), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("diagonal", ["ignore", "fit"])
def test_running_sums_stay_true(kind, diagonal):
    A = similarity.as_similarity(as_kind(kind, documents(3)))
    measure = make_solver("l2", A, np.inf, diagonal=diagonal)
    H = 100 * np.random.default_rng(0).random((40, 5))  # decreases by a lot in the first sweep
    measure.H = H
    measure.refresh()
    for _ in range(9):
        measure.sweep(np.arange(40))
        kept = measure.state()
        np.testing.assert_allclose(kept["D"], H.T @ H, rtol=0, atol=1e-9)
        if isinstance(A, similarity.Gram):
            np.testing.assert_allclose(kept["Z"], A.X.T @ H, rtol=0, atol=1e-9)


def test_running_sums_are_computed_anew_every_now_and_then(monkeypatch):
    measure, made = make_solver("l2", similarity.as_similarity(np.ones((9, 9))), np.inf), []
    original = type(measure).refresh
    monkeypatch.setattr(type(measure), "refresh", lambda *a: made.append(a) or original(*a))
    measure.H = np.random.default_rng(0).random((9, 3))
    Run(measure, max_iter=25, tol=-1.0).complete()
    assert len(made) == 3


# --- dead columns and dust -------------------------------------------------------------------


@EACH_FORM
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_a_dead_column_stays_dead(form, loss):
    rng = np.random.default_rng(1)
    died = 0
    for seed in range(60):
        A = symmetric(rng.random((9, 9)) * (rng.random((9, 9)) < 0.5))
        dead = []

        def callback(sweep, dead=dead):
            dead.append(~sweep.H.any(axis=0))

        init = 2 * np.random.default_rng(seed).random((9, 4))
        quiet(form(A), 4, loss=loss, init=init, callback=callback, max_iter=25, restarts=0)
        dead = np.array(dead)
        assert (dead[1:] >= dead[:-1]).all()
        died += dead[-1].any()
    assert died > 3


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("init", STARTS)
def test_rounding_does_not_grow_into_entries(loss, init):
    # More columns than needed: what is left for them is rounding, and must not be fitted.
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = int(rng.integers(3, 9))
        H = rng.random((n, 2))
        for A in (np.ones((n, n)), H @ H.T, np.kron(np.eye(2), np.ones((n, n)))):
            for form in FORMS:
                options = {"loss": loss, "init": init, "restarts": 0, "random_state": 0}
                found = quiet(form(A), len(A) + 2, **options)
                assert found.H.max() < 1e3


@EACH_FORM
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_what_another_column_explains_leaves_no_dust(form, loss):
    # The second column explains the pair but for the last bit; the first must go.
    rng = np.random.default_rng(0)
    for a, b in 0.1 + rng.random((200, 2)):
        c = np.nextafter(a * b, np.inf)
        found = swept(form(np.array([[0, c], [c, 0]])), [[1.0, a], [1.0, b]], loss, count=1)
        assert found[0, 0] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_cancels_leaves_no_dust(kind):
    # Similarities that are zero, entries that go to zero: the sums of them must not linger on.
    dusty = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        n, m, r = rng.integers(3, 10), rng.integers(3, 9), rng.integers(1, 4)
        X = rng.random((n, m)) * (rng.random((n, m)) < 0.3)
        H = rng.random((n, r)) * (rng.random((n, r)) < 0.7)
        H = swept(as_kind(kind, X), H, count=2)
        dusty += H[H > 0].min(initial=1.0) < 1e-14
    assert dusty <= 1


def test_the_greedy_start_leaves_no_dust():
    A = np.array([[0.0, 1 / 3], [1 / 3, 0.0]])
    for loss in ("l2", "l1"):
        H = od.factorize(A, 6, loss=loss, max_iter=0).H
        assert H[H > 0].min() > 0.1


def test_the_spectral_start_leaves_no_dust():
    for A in (np.ones((7, 7)), np.kron(np.eye(3), np.ones((4, 4)))):
        H = od.factorize(A, 5, init="spectral", random_state=0, max_iter=0).H
        assert H[H > 0].min() > 1e-6


# --- columns that explain nothing, or one pair -----------------------------------------------


def test_clean_columns():
    H = np.array([[3.0, 0, 8, 1, 0], [0, 0, 0, 1, 0], [0, 0, 0.5, 1, 0], [0, 0, 0, 0, 0]])
    clean_columns(H)
    expected = [[0, 0, 2, 1, 0], [0, 0, 0, 1, 0], [0, 0, 2, 1, 0], [0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(H, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_balanced_pair_is_not_touched(dtype):
    rng = np.random.default_rng(0)
    for value in [2.0, 0.6, 3.0, *rng.random(200)]:
        H = np.full((2, 1), value, dtype=dtype)
        clean_columns(H)
        np.testing.assert_array_equal(H, np.full((2, 1), value, dtype=dtype))


def test_cleaning_never_goes_beyond_the_larger_of_a_pair():
    rng = np.random.default_rng(0)
    for pair in np.append(rng.random((300, 2)), 10.0 ** rng.uniform(-9, 9, (300, 2)), axis=0):
        H = pair[:, None].copy()
        clean_columns(H)
        assert pair.min() <= H[0, 0] == H[1, 0] <= pair.max()
        assert H[0, 0] ** 2 == pytest.approx(pair.prod(), rel=1e-15)


@EACH_FORM
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_lone_entries_go_and_pairs_are_balanced(form, loss):
    A = symmetric(np.diag([1.0, 0.0, 4.0], k=1))
    H = np.array([[5.0, 0], [0, 0], [0, 8], [0, 0.5]])
    before = od.objective(form(A), H, loss)
    found = od.factorize(form(A), 2, loss=loss, init=H, restarts=0)
    np.testing.assert_array_equal(found.H, [[0, 0], [0, 0], [0, 2], [0, 2]])
    assert found.objective == before == 2.0


def test_symnmf_keeps_lone_entries():
    # There they explain the diagonal.
    H = np.array([[2.0, 0], [0, 3], [0, 0]])
    found = od.factorize(np.diag([4.0, 9.0, 0.0]), 2, diagonal="fit", init=H)
    np.testing.assert_allclose(found.H, H, atol=1e-12)
    assert found.objective == pytest.approx(0, abs=1e-20)


# --- bounds ----------------------------------------------------------------------------------


@pairwise({"form": FORMS, "loss, diagonal": LOSSES, "upper": [0.1, 0.7, 2.0]})
def test_upper_is_respected(form, loss, diagonal, upper):
    A = 4 * symmetric(0.5 + np.random.default_rng(0).random((10, 10)))
    for init in [*STARTS, np.full((10, 3), 50.0)]:
        options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0}
        seen = []
        found = quiet(
            form(A), 3, upper=upper, callback=lambda s, seen=seen: seen.append(s.H.max()), **options
        )
        assert max(seen) <= upper
        assert found.H.max() <= upper
    assert (upper <= found.H).any() or upper == 2.0


def test_upper_is_respected_to_the_last_bit():
    # sqrt(2) * sqrt(2) > 2
    for value in (2.0, 0.6, 3.0):
        A = np.array([[0, 9.0], [9.0, 0]])
        assert od.factorize(A, 1, upper=value).H.max() <= value


@EACH_FORM
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_the_star(form, loss):
    A = form(DEGENERATE["star"])
    bounded = quiet(A, 1, loss=loss, upper=3.0, max_iter=500)
    assert bounded.H.max() <= 3.0
    assert bounded.converged
    free = quiet(A, 1, loss=loss, max_iter=500)
    assert np.isfinite(free.H).all()
    assert free.objective <= bounded.objective


@EACH_FORM
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_hubs_stop_somewhere(form, loss):
    A = DEGENERATE["star"] * 9.0
    init = np.full((8, 1), 1e-7)
    init[0] = 1e9
    found = quiet(form(A), 1, loss=loss, init=init)
    assert found.H.max() <= 3.0 * 1e4
    assert found.objective == pytest.approx(naive_objective(A, found.H, loss), abs=1e-9)


@pairwise({"form": FORMS, "loss": ["l2", "l1"], "size": [1e-300, 1e-30, 1e30, 1e100, 1e300]})
def test_starts_of_any_size(form, loss, size):
    rng = np.random.default_rng(0)
    A = symmetric(rng.random((12, 12)))
    found = quiet(form(A), 2, loss=loss, init=size * rng.random((12, 2)))
    assert np.isfinite(found.H).all()
    assert np.isfinite(found.history).all()
    assert found.objective == pytest.approx(naive_objective(A, found.H, loss), rel=1e-6)
