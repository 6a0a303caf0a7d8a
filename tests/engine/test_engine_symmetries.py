"""What must not matter, or matter in a known way: the diagonal, the order, the scale."""

import numpy as np
import pytest
from engine_problems import (
    LOSSES,
    STARTS,
    documents,
    greedy,
    naive_objective,
    pairwise,
    quiet,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from odsymnmf import similarity
from odsymnmf.init import arrays
from odsymnmf.solvers.losses import make_solver

FORMS = {"dense": np.asarray, "sparse": sparse.csr_array, "coo": sparse.coo_matrix}
EACH_FORM = pytest.mark.parametrize("form", ["dense", "sparse"])
EACH_LOSS = pytest.mark.parametrize("loss", ["l2", "l1"])


def generic(seed, n=30):
    rng = np.random.default_rng(seed)
    return symmetric(rng.random((n, n)) * (rng.random((n, n)) < 0.6))


# --- the diagonal ----------------------------------------------------------------------------


@pairwise(
    {
        "form": list(FORMS),
        "loss": ["l2", "l1"],
        "init": [*STARTS, "array"],
        "value": [np.nan, np.inf, -np.inf, 1e300, -1.0],
    }
)
def test_the_diagonal_changes_no_bit(form, loss, init, value):
    # More items than a block of rows, so that the diagonal lies in more than one.
    A = generic(0, n=150)
    if init == "array":
        init = np.random.default_rng(1).random((150, 3))
    options = {"loss": loss, "init": init, "random_state": 0, "max_iter": 4}
    expected = quiet(FORMS[form](A), 3, **options)
    np.fill_diagonal(A, value)
    found = quiet(FORMS[form](A), 3, **options)
    np.testing.assert_array_equal(found.H, expected.H)
    np.testing.assert_array_equal(found.history, expected.history)
    assert od.objective(FORMS[form](A), found.H, loss) == found.objective


@EACH_LOSS
def test_a_float32_diagonal_changes_no_bit(loss):
    A = generic(0).astype(np.float32)
    expected = quiet(A, 3, loss=loss).H
    np.fill_diagonal(A, np.nan)
    np.testing.assert_array_equal(quiet(A, 3, loss=loss).H, expected)


@EACH_FORM
def test_symnmf_does_read_the_diagonal(form):
    A = generic(0)
    first = quiet(FORMS[form](A), 3, diagonal="fit").H
    np.fill_diagonal(A, 1.0)
    second = quiet(FORMS[form](A), 3, diagonal="fit")
    assert np.abs(first - second.H).max() > 0.01
    assert second.objective == pytest.approx(naive_objective(A, second.H, "l2", "fit"))


# --- the order of the items ------------------------------------------------------------------


def permuted(A, seed=0):
    order = np.random.default_rng(seed).permutation(len(A))
    return order, A[np.ix_(order, order)]


@EACH_FORM
@EACH_LOSS
def test_the_greedy_start_follows_the_items(form, loss):
    # Nothing ties in generic data, so the order of the items has no say.
    A = generic(2)
    order, B = permuted(A)
    H, P = (greedy(FORMS[form](M), 3, loss) for M in (A, B))
    np.testing.assert_allclose(P, H[order], rtol=1e-10)


@EACH_LOSS
def test_the_zero_start_follows_the_items(loss):
    A = generic(2)
    order, B = permuted(A)
    H, P = (
        arrays.lone_items(make_solver("l2", similarity.as_similarity(M), np.inf), 4) for M in (A, B)
    )
    np.testing.assert_array_equal(P, H[order])


@EACH_FORM
@pytest.mark.parametrize(("loss", "diagonal"), LOSSES)
def test_a_permuted_fixed_point_is_one(form, loss, diagonal):
    # Sweeps visit items in order, so their path depends on it; where they end does not move.
    rng = np.random.default_rng(0)
    H = np.eye(3)[np.arange(24) % 3] + (rng.random((24, 3)) < 0.15)
    A = symmetric(H @ H.T + 0.1 * rng.random((24, 24))) + np.diag(rng.random(24))
    options = {"loss": loss, "diagonal": diagonal, "max_iter": 3000, "restarts": 0}
    fixed = od.factorize(FORMS[form](A), 3, tol=1e-12, **options)
    order, B = permuted(A)
    again = quiet(FORMS[form](B), 3, init=fixed.H[order], tol=0.0, **options)
    np.testing.assert_allclose(again.H, fixed.H[order], atol=1e-7)
    assert again.objective == pytest.approx(fixed.objective, rel=1e-9)


@pytest.mark.parametrize(("loss", "diagonal"), LOSSES)
def test_the_objective_of_permuted_items(loss, diagonal):
    A = generic(5) + np.diag(np.arange(30.0))
    H = np.random.default_rng(0).random((30, 3))
    order, B = permuted(A)
    assert od.objective(B, H[order], loss, diagonal) == pytest.approx(
        od.objective(A, H, loss, diagonal), rel=1e-12
    )


# --- scale -----------------------------------------------------------------------------------


@EACH_FORM
@pytest.mark.parametrize(("loss", "diagonal"), LOSSES)
def test_any_factor_scales_h_by_its_root(form, loss, diagonal):
    A = generic(4)
    for init in ("greedy", "spectral", "random"):
        options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0}
        H = quiet(FORMS[form](A), 3, max_iter=5, **options).H
        found = quiet(FORMS[form](1.7 * A), 3, max_iter=5, **options).H
        np.testing.assert_allclose(found, np.sqrt(1.7) * H, rtol=0, atol=1e-8)


def test_scaling_documents():
    X = documents(1)
    H = quiet(similarity.gram(X), 3, max_iter=5).H
    np.testing.assert_array_equal(quiet(similarity.gram(4 * X), 3, max_iter=5).H, 4 * H)


# --- the paper's examples ----------------------------------------------------------------------


EXAMPLE_1 = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("init", ["greedy", "spectral"])
def test_example_1_without_an_error(form, init):
    found = quiet(FORMS[form](EXAMPLE_1), 2, init=init, random_state=0, tol=1e-12)
    assert found.objective == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(symmetric(found.H @ found.H.T), symmetric(EXAMPLE_1), atol=1e-6)
    # Without a bound, t and 1/t do as well as 1 and 1.
    bounded = od.factorize(FORMS[form](EXAMPLE_1), 2, init=init, random_state=0, upper=1.0).H
    order = np.argsort(-bounded[0])
    np.testing.assert_allclose(bounded[:, order], [[1, 0], [1, 1], [0, 1]], atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("upper", [None, 1.0])
def test_example_1_exactly(form, upper):
    found = od.factorize(FORMS[form](EXAMPLE_1), 2, loss="l1", upper=upper)
    np.testing.assert_array_equal(found.H, [[1, 0], [1, 1], [0, 1]])
    assert found.objective == 0.0
    assert found.converged


@pairwise({"form": list(FORMS), "loss": ["l2", "l1"], "seed": [0, 1, 2]})
def test_an_exact_factorisation_stays(form, loss, seed):
    # A column for every edge (Section 2.1 of the paper): r far above n.
    rng = np.random.default_rng(seed)
    A = symmetric(rng.integers(1, 9, (9, 9)) ** 2 * (rng.random((9, 9)) < 0.6)).astype(float)
    edges = np.argwhere(np.triu(A))
    H = np.zeros((9, len(edges)))
    for l, (i, j) in enumerate(edges):
        H[[i, j], l] = np.sqrt(A[i, j])
    found = od.factorize(FORMS[form](A), len(edges), loss=loss, init=H)
    np.testing.assert_array_equal(found.H, H)
    np.testing.assert_array_equal(found.history, [0.0, 0.0])
    assert found.converged


def test_as_many_columns_as_edges_reach_zero():
    A = generic(1, n=7)
    r = np.count_nonzero(A) // 2
    found = quiet(A, r, max_iter=2000)
    assert found.objective <= 1e-6 * np.sum(A**2)
