"""New items: the convex row problem, and fitted items predicted by the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog, lsq_linear

import odsymnmf as od
from odsymnmf import ODSymNMF, SymNMF
from odsymnmf.solvers.new_items import solve_new_rows
from odsymnmf.solvers.objective import Scales

SCALES = {"l2": Scales(0.0, 1.0), "l1": Scales(1.0, 0.0)}


def problem(seed, n=25, r=4, m=30, density=0.6):
    rng = np.random.RandomState(seed)
    H = rng.uniform(size=(n, r)) * (rng.uniform(size=(n, r)) < 0.7)
    S = rng.uniform(-0.3, 1.5, size=(m, n)) * (rng.uniform(size=(m, n)) < density)
    return S, H


def planted(seed=0, noise=0.08):
    rng = np.random.RandomState(seed)
    groups = np.repeat([0, 1, 2], [14, 11, 8])
    A = (groups[:, None] == groups) * rng.uniform(0.5, 1.5, size=(33, 33))
    A = np.where(rng.uniform(size=A.shape) < noise, rng.uniform(size=A.shape), A)
    A = np.triu(A, 1)
    return A + A.T


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


EACH_STORAGE = pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])


@EACH_STORAGE
@pytest.mark.parametrize("upper", [np.inf, 0.6])
@pytest.mark.parametrize("difference", [1.0, 0.03, 1e-5])  # of three columns
def test_l2_rows_are_optimal(upper, difference, storage):
    S, H = problem(0)
    H[:, 1:3] = (1 - difference) * H[:, :1] + difference * H[:, 1:3]
    X = dense(solve_new_rows(S, storage(H), SCALES["l2"], upper, penalized=False))
    best = np.array([lsq_linear(H, s, (0, upper), method="bvls", tol=1e-15).x for s in S])
    assert X.min() >= (0 if difference > 1e-3 else -1e-15)  # bvls of SciPy rounds
    assert 0.5 < X.max() <= upper  # the bound is active
    if storage is np.asarray or difference == 1:
        errors = [np.linalg.norm(S - x @ H.T, axis=1) for x in (X, best)]
        assert (errors[0] <= (1 + 1e-9) * errors[1]).all()
    if difference == 1 or (storage is np.asarray and difference > 1e-3):
        assert_allclose(X, best, rtol=1e-6, atol=1e-6)


def least_absolute_deviations(s, H, upper):
    """As a linear program: min sum t, -t <= s - H x <= t."""
    n, r = H.shape
    c = np.r_[np.zeros(r), np.ones(n)]
    lhs = np.block([[-H, -np.eye(n)], [H, -np.eye(n)]])
    bounds = [(0, upper)] * r + [(0, None)] * n
    return linprog(c, lhs, np.r_[-s, s], bounds=bounds).fun


@EACH_STORAGE
@pytest.mark.parametrize("upper", [None, 0.6])
def test_l1_rows_cannot_be_improved_entry_by_entry(upper, storage):
    S, H = problem(1)
    bound = np.inf if upper is None else upper
    X = dense(solve_new_rows(S, storage(H), SCALES["l1"], bound))
    assert X.min() >= 0
    assert X.max() <= bound
    values = np.abs(S - X @ H.T).sum(axis=1)
    for l in range(4):
        # A piecewise linear function has its minimum at a breakpoint or at a bound.
        residual = S - X @ H.T + X[:, [l]] * H[:, l]
        with np.errstate(divide="ignore", invalid="ignore"):
            points = np.nan_to_num(residual / H[:, l], nan=0, posinf=0, neginf=0)
        for x in np.clip(np.c_[points, np.zeros(len(S))], 0, bound).T:
            tried = np.abs(residual - x[:, None] * H[:, l]).sum(axis=1)
            assert (tried >= values - 1e-9).all()
    optimum = np.array([least_absolute_deviations(s, H, upper) for s in S])
    assert (values >= optimum - 1e-9).all()
    assert values.sum() < 1.02 * optimum.sum()


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_nan_leaves_a_pair_out(loss):
    S, H = problem(2)
    rng = np.random.RandomState(0)
    S[:20][rng.uniform(size=(20, 25)) < 0.3] = np.nan
    X = solve_new_rows(S, H, SCALES[loss])
    for s, x in zip(S, X, strict=True):
        known = ~np.isnan(s)
        assert_allclose(x, solve_new_rows(s[None, known], H[known], SCALES[loss])[0], atol=1e-10)
    assert_allclose(solve_new_rows(sparse.csr_array(S), H, SCALES[loss]), X, atol=1e-10)
    assert (solve_new_rows(np.nan_to_num(S), H, SCALES[loss]) != X).any()


@pytest.mark.parametrize("normalize", [None, "degree", "auto"])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize(("loss", "upper"), [("l2", None), ("l2", 0.8), ("l1", None), ("l1", 0.8)])
def test_a_fitted_item_is_predicted_by_the_others(loss, upper, container, normalize):
    A = planted()
    model = ODSymNMF(3, loss=loss, upper=upper, normalize=normalize, tol=1e-12, max_iter=10000)
    model.fit(A)
    assert model.converged_
    S = A.copy()
    np.fill_diagonal(S, np.nan)
    X = model.predict_membership(container(S))
    assert_allclose(X, model.membership_, atol=1e-6)
    assert_array_equal(model.predict(container(S)), model.labels_)


def test_symnmf_predicts_by_least_squares():
    A = planted() + 0.7 * np.eye(33)
    model = SymNMF(3, upper=0.9, normalize=None).fit(A)
    best = [lsq_linear(model.membership_, a, (0, 0.9), method="bvls").x for a in A[:5]]
    assert_allclose(model.predict_membership(A[:5]), best, atol=1e-9)


def test_blocks_change_nothing(monkeypatch):
    A = planted()
    model = ODSymNMF(3, affinity="rbf", loss="l1").fit(A)
    expected = model.predict_membership(A)
    monkeypatch.setattr("odsymnmf.utils.BLOCK_ENTRIES", 5 * 33)
    assert_allclose(model.predict_membership(A), expected, atol=1e-12)


def test_items_without_similar_items_are_unassigned():
    model = ODSymNMF(3, normalize="degree").fit(planted())
    assert_array_equal(model.predict(np.zeros((2, 33))), [-1, -1])
    assert_array_equal(model.predict(sparse.csr_array((2, 33))), [-1, -1])


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_clusters_without_items_and_items_without_clusters(loss):
    H = np.zeros((5, 3))
    H[:2, 0] = 1
    X = solve_new_rows(np.ones((2, 5)), H, SCALES[loss], np.inf)
    assert_allclose(X, [[1, 0, 0], [1, 0, 0]])


def test_prediction_agrees_with_a_fit_of_all():
    A = planted(noise=0.0)
    old, new = np.arange(0, 33, 2), np.arange(1, 33, 2)
    model = ODSymNMF(3).fit(A[np.ix_(old, old)])
    labels = np.r_[model.labels_, model.predict(A[np.ix_(new, old)])]
    groups = np.repeat([0, 1, 2], [14, 11, 8])[np.r_[old, new]]
    assert od.metrics.label_accuracy(labels, groups) == 1
