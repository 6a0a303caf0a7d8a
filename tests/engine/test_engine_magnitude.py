"""Similarities of any size: the same digits at every scale, and nothing overflows or vanishes."""

import warnings

import numpy as np
import pytest
from engine_problems import pairwise
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf import similarity
from odsymnmf.solvers.rescale import Magnitude

FORMS = ("dense", "sparse", "gram", "unknown")
# Kernels are compiled for each form and precision: two losses with all, the others with one.
CASES = [(form, loss, "ignore") for form in FORMS for loss in ("l2", "l1")]
CASES += [("dense", "mixed", "ignore"), ("dense", "robust", "ignore"), ("dense", "l2", "fit")]
# Powers of four, whose roots are exact: about 1e150, 1e-150, and 1e18, 1e-18 in single precision.
EXTREMES = [(np.float64, 498), (np.float64, -498), (np.float32, 58), (np.float32, -58)]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def problem(dtype, form):
    rng = np.random.default_rng(0)
    X = rng.random((20, 4)) * (rng.random((20, 4)) < 0.6)
    A = np.triu(X @ X.T - 0.1, 1)
    A = (A + A.T + np.diag(X.sum(axis=1))).astype(dtype)
    if form == "gram":
        return lambda root: similarity.gram(root * X.astype(dtype))
    if form == "unknown":
        A[2, 5] = A[5, 2] = np.nan
    made = sparse.csr_array if form == "sparse" else np.asarray
    return lambda root: made(A * dtype(root) * dtype(root))


@pytest.mark.parametrize(
    ("dtype", "e", "form", "loss", "diagonal"),
    [(*EXTREMES[k % 4], *case) for k, case in enumerate(CASES)],
)
def test_every_scale_gives_the_same_digits(dtype, e, form, loss, diagonal):
    at, root = problem(dtype, form), dtype(2.0) ** (e // 2)
    options = {"loss": loss, "diagonal": diagonal, "restarts": 1, "max_iter": 15}
    seen = []
    one = od.factorize(at(dtype(1)), 3, **options)
    other = od.factorize(at(root), 3, **options, callback=lambda s: seen.append((s.objective, s.H)))
    np.testing.assert_array_equal(other.H, one.H * root)
    power = {"l1": 1, "l2": 2}.get(loss, 0) * float(e)
    np.testing.assert_array_equal(other.history, np.ldexp(one.history, int(power)))
    assert np.isfinite(other.history).all()
    np.testing.assert_array_equal(
        seen[-1][1], other.H if not one.restart_steps.size else seen[-1][1]
    )
    again = od.objective(at(root), other.H, loss, diagonal, l1_ratio=0.5)
    assert again == pytest.approx(other.objective, rel=1e-5)
    if form != "gram":
        S = at(root)[:4]
        new = od.ODSymNMF(3, loss=loss, affinity="precomputed", restarts=0, max_iter=15)
        if diagonal == "ignore" and form == "dense":
            new.fit(at(root))
            assert np.isfinite(new.predict_membership(S)).all()


@pairwise(
    {
        "start": ["greedy", "spectral", "nndsvd", "random", "zero"],
        "size": [1e150, 1e-150, 1e-310, 5e-324, 1e153],
        "loss": ["l2", "l1"],
    }
)
def test_every_start_is_finite_at_every_scale(start, size, loss):
    A = np.kron(np.eye(3), np.ones((4, 4))) * size
    f = od.factorize(A, 3, loss=loss, init=start, random_state=0, upper=2 * np.sqrt(size))
    assert np.isfinite(f.H).all()
    assert f.objective >= 0
    if start in ("greedy", "spectral"):
        np.testing.assert_allclose(np.sort(f.H, axis=1)[:, -1], np.sqrt(size), rtol=1e-6)


def test_large_repulsion_is_out_of_range_too():
    A = np.array([[0.0, 1.0, -1e150], [1.0, 0.0, 1.0], [-1e150, 1.0, 0.0]])
    assert Magnitude.of(similarity.as_similarity(A)).e > 0
    f = od.factorize(A, 2)
    assert np.isfinite(f.H).all()
    assert np.isfinite(f.history).all()


def test_ordinary_similarities_are_not_copied():
    A = similarity.as_similarity(np.ones((3, 3), dtype=np.float32) * 1e6)
    assert Magnitude.of(A).similarity(A) is A


def test_an_objective_beyond_all_numbers_is_infinite_and_not_a_perfect_fit():
    A = np.full((4, 4), 1e200)
    assert od.objective(A, np.zeros((4, 1))) == np.inf
    f = od.factorize(A, 1)
    np.testing.assert_allclose(f.H, 1e100)


def test_a_restart_that_claims_the_impossible_is_refused():
    """Squares of a Gram block in single precision once hid a rise from 1e-8 to 0.0075."""
    X = [[1, 1, 1], [0, 0, 0.55043167], [0.5014722, 0, 0], [0.5274339, 0, 0]]
    X = np.array(X, dtype=np.float32)
    f = od.factorize(similarity.gram(X), 8, init="zero", restarts=3, max_iter=400, tol=0)
    A = X.astype(np.float64) @ X.T.astype(np.float64)
    P = np.float64(f.H) @ np.float64(f.H).T
    off = ~np.eye(4, dtype=bool)
    assert f.objective == pytest.approx(np.sum((A - P)[off] ** 2), rel=1e-3, abs=1e-12)
    assert f.objective < 2e-8


def test_history_shows_a_rise_that_decreases_hide(monkeypatch):
    """If a restart lies about its decrease, the audit puts the true value into the history."""
    from odsymnmf.solvers import run as room

    rng = np.random.default_rng(0)
    A = np.triu(rng.random((12, 12)) < 0.4, 1).astype(float)
    A += A.T
    original, told = room.restart_column, []

    def lie(solver, *rest):
        trial, H = original(solver, *rest), solver.H
        if told:
            return trial
        told.append(True)
        H[:] = 3.0
        return trial._replace(items=np.arange(len(H)), decrease=1e-3)

    monkeypatch.setattr(room, "restart_column", lie)
    f = od.factorize(A, 3, loss="l1", init="random", random_state=0, restarts=2, max_iter=30)
    assert told
    assert (np.diff(f.history) > 0).any()
    assert f.history[-1] == od.objective(A, f.H, "l1")
