"""The objective never rises, is what it says it is, and ends where no entry wants to move."""

import numpy as np
import pytest
from engine_problems import (
    DEGENERATE,
    KINDS,
    LOSSES,
    STARTS,
    as_kind,
    energy,
    pairwise,
    quiet,
    symmetric,
)
from scipy import sparse

import odsymnmf as od
from odsymnmf.similarity import Gram

EACH_LOSS = pytest.mark.parametrize(("loss", "diagonal"), LOSSES, ids=["l2", "l1", "symnmf"])


def matrix_objective(A, H, loss, diagonal):
    P = H @ H.T
    error = np.abs(A - P)
    if diagonal == "ignore":
        np.fill_diagonal(error, 0)
    return float(error.sum() if loss == "l1" else np.sum(error**2))


def random_problem(rng):
    """Return (what as_similarity takes, the same as an array); small, of many flavours."""
    n = int(rng.integers(1, 10))
    flavour = rng.integers(8)
    if flavour == 0:
        A = rng.random((n, n))
    elif flavour == 1:
        A = rng.standard_normal((n, n))
    elif flavour == 2:
        A = (rng.random((n, n)) < rng.random()).astype(float)
    elif flavour == 3:  # isolated items, more than one component
        A = rng.random((n, n)) * (rng.random((n, n)) < 0.25)
    elif flavour == 4:  # hubs, entries of every size
        weights = 10.0 ** rng.uniform(-4, 4, n)
        A = rng.random((n, n)) * np.outer(weights, weights)
    elif flavour == 5:  # exact
        H = rng.random((n, 2)) * (rng.random((n, 2)) < 0.7)
        A = H @ H.T
    elif flavour == 6:  # stars
        A = np.zeros((n, n))
        A[0] = 1.0
    else:
        X = rng.random((n, 4)) * (rng.random((n, 4)) < 0.6)
        kind = KINDS[rng.integers(4)]
        return as_kind(kind, X), as_kind("dense", X)
    A = symmetric(A) + np.diag(rng.standard_normal(n))
    return (sparse.csr_array(A) if rng.random() < 0.5 else A), A


def check_run(given, A, r, loss, diagonal, init, upper, max_iter, tol=1e-4, seed=0):
    """Factorize, and check every sweep on the way from scratch."""
    seen = []
    found = quiet(
        given,
        r,
        loss=loss,
        diagonal=diagonal,
        init=init,
        upper=upper,
        max_iter=max_iter,
        tol=tol,
        random_state=seed,
        restarts=0,  # they have tests of their own
        callback=lambda sweep: seen.append((sweep.n_iter, sweep.objective, sweep.H.copy())),
    )
    top = np.inf if upper is None else upper
    # Of a Gram matrix, products with the diagonal are made and taken out again.
    size = energy(A, loss, "fit" if isinstance(given, Gram) else diagonal)
    assert found.H.shape == (len(A), r)
    assert np.isfinite(found.H).all()
    assert (found.H >= 0).all()
    assert (top >= found.H).all()
    assert found.objective == found.history[-1]
    assert found.objective == pytest.approx(
        matrix_objective(A, found.H, loss, diagonal), rel=1e-9, abs=1e-9 * size
    )
    assert len(found.history) == found.n_iter + 1 == len(seen) + 1
    assert [n for n, _, _ in seen] == list(range(1, found.n_iter + 1))
    assert found.converged or found.n_iter == max_iter
    values = np.array([matrix_objective(A, H, loss, diagonal) for _, _, H in seen])
    slack = 1e-10 * max(size, found.history[0])
    assert (np.diff(values) <= slack).all()
    assert (np.diff(found.history) <= slack).all()
    assert (values <= found.history[0] + slack).all()
    np.testing.assert_allclose([v for _, v, _ in seen], values, rtol=1e-9, atol=slack)
    return found


@EACH_LOSS
def test_never_rises_on_random_problems(loss, diagonal):
    rng = np.random.default_rng(LOSSES.index((loss, diagonal)))
    for _ in range(300):
        given, A = random_problem(rng)
        r = int(rng.integers(1, 6))
        if rng.random() < 0.4:
            scale = np.sqrt(np.abs(symmetric(A)).max(initial=0.0) or 1.0)
            zeros = rng.random((len(A), r)) < rng.choice([0.0, 0.3, 0.7])
            init = scale * rng.uniform(0, 2, (len(A), r)) * ~zeros
        else:
            init = STARTS[rng.integers(4)]
        upper = [None, None, 1.0, 0.3][rng.integers(4)]
        seed = int(rng.integers(2**31))
        check_run(given, A, r, loss, diagonal, init, upper, max_iter=15, seed=seed)


@EACH_LOSS
@pytest.mark.parametrize("init", STARTS)
def test_degenerate_graphs(loss, diagonal, init):
    for name, A in DEGENERATE.items():
        for form in (np.asarray, sparse.csr_array):
            for r in (1, 2, len(A) + 1):
                for upper in (None, 1.0):
                    try:
                        check_run(form(A), A, r, loss, diagonal, init, upper, max_iter=40)
                    except AssertionError as error:
                        raise AssertionError(f"{name}, {form.__name__}, {r=}, {upper=}") from error


@EACH_LOSS
def test_nothing_to_explain(loss, diagonal):
    # Without a positive similarity the best H is zero, from whatever start.
    for name in ["one item", "two strangers", "two enemies", "all zero", "all negative"]:
        A = DEGENERATE[name]
        for init in [*STARTS, np.ones((len(A), 2))]:
            found = quiet(A, 2, loss=loss, diagonal=diagonal, init=init, random_state=0)
            assert np.abs(found.H).max() <= 1e-3 if diagonal == "fit" else not found.H.any(), name


def planted(seed, n=18, r=3):
    """Overlapping clusters and some noise: a minimum that sweeps come close to in no time."""
    rng = np.random.default_rng(seed)
    H = np.eye(r)[np.arange(n) % r] + (rng.random((n, r)) < 0.1)
    return symmetric(H @ H.T * rng.uniform(0.7, 1.3, (n, n)) + 0.1 * rng.random((n, n)))


@pairwise({"form": [np.asarray, sparse.csr_array], "upper": [None, 0.8], "seed": [0, 1, 2, 3]})
def test_l2_ends_where_the_optimality_conditions_hold(form, upper, seed):
    A = planted(seed)
    H = od.factorize(form(A), 3, upper=upper, tol=1e-10, max_iter=3000).H
    R = A - H @ H.T
    np.fill_diagonal(R, 0)
    slope = R @ H  # minus the gradient, up to a factor
    bound = np.inf if upper is None else upper
    within = (H > 0) & (bound > H)
    scale = 1e-8 * np.abs(A @ H).max()
    assert np.abs(slope[within]).max(initial=0.0) <= scale
    assert slope[H == 0].max(initial=-1.0) <= scale
    assert (H == 0).any()
    assert (bound <= H).any() == (upper is not None)
    assert slope[bound <= H].min(initial=1.0) >= -scale


def test_symnmf_ends_where_the_optimality_conditions_hold():
    A = planted(0) + np.diag(np.random.default_rng(0).random(18))
    H = od.factorize(A, 3, diagonal="fit", tol=1e-10, max_iter=3000).H
    slope = (A - H @ H.T) @ H
    scale = 1e-8 * np.abs(A @ H).max()
    assert np.abs(slope[H > 0]).max() <= scale
    assert slope[H == 0].max() <= scale


@pytest.mark.parametrize("seed", range(5))
def test_l1_ends_where_no_entry_alone_can_do_better(seed):
    rng = np.random.default_rng(seed)
    A = symmetric(rng.random((10, 10)) * (rng.random((10, 10)) < 0.8))
    found = od.factorize(sparse.csr_array(A), 2, loss="l1", tol=0.0)
    assert found.converged
    for k, l in np.ndindex(found.H.shape):
        for x in np.linspace(0, 2, 201):
            H = found.H.copy()
            H[k, l] = x
            assert matrix_objective(A, H, "l1", "ignore") >= found.objective - 1e-12


@pairwise({"loss, diagonal": LOSSES, "dtype": [np.float64, np.float32], "kind": KINDS})
def test_a_fit_that_cannot_get_better_converges(loss, diagonal, dtype, kind):
    # Whatever tol asks for: what rounding leaves of the violation must not keep it going.
    X = np.linalg.cholesky(planted(1) + 8 * np.eye(18)).astype(dtype)
    A = as_kind(kind, X)
    tol = 1e-6 if (loss, dtype) == ("l1", np.float32) else 1e-14
    options = {"loss": loss, "diagonal": diagonal, "tol": tol}
    best = od.factorize(A, 3, max_iter=2000, **options)
    again = od.factorize(A, 3, init=best.H, max_iter=11, **options)
    np.testing.assert_allclose(again.H, best.H, rtol=0, atol=1e-3)
    rounding = 10 * np.finfo(dtype).eps * energy(X @ X.T, loss, diagonal)
    assert again.objective <= best.objective + rounding


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("init", STARTS)
def test_planted_cliques_are_found(loss, init):
    truth = np.kron(np.eye(4), np.ones((6, 1)))
    A = sparse.csr_array(truth @ truth.T)
    found = od.factorize(A, 4, loss=loss, init=init, random_state=0, upper=1.0)
    if (loss, init) == ("l1", "random"):
        return  # l1 may stall from a random start
    assert found.objective == pytest.approx(0.0, abs=1e-9)
    order = np.argsort(np.argmax(found.H, axis=0))
    np.testing.assert_allclose(found.H[:, order], truth, atol=1e-6)


def test_the_objective_of_a_given_membership():
    rng = np.random.default_rng(3)
    for _ in range(50):
        given, A = random_problem(rng)
        H = rng.random((len(A), 3))
        for loss, diagonal in LOSSES:
            size = energy(A, loss, diagonal)
            assert od.objective(given, H, loss, diagonal) == pytest.approx(
                matrix_objective(A, H, loss, diagonal), rel=1e-9, abs=1e-9 * size
            )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("t", [1e3, 1e6])
def test_the_objective_with_an_entry_that_dominates(form, t):
    # (t, 1/t, 1/t, ...) on a star: t^4 must not enter the sum only to be taken out again.
    A = DEGENERATE["star"]
    H = np.full((8, 1), 1 / t)
    H[0] = t
    assert od.objective(form(A), H, "l2") == pytest.approx(7 * 6 / t**4, abs=1e-13)
    assert od.objective(form(A), H, "l1") == pytest.approx(7 * 6 / t**2, abs=1e-13)
