"""Sparse memberships in the estimator, and everything that reads them."""

from unittest import mock

import numpy as np
import pytest
from scipy import sparse

from odsymnmf import ODSymNMF, SymNMF
from odsymnmf.solvers.new_items import solve_new_rows
from odsymnmf.solvers.objective import Scales
from odsymnmf.solvers.sparse_losses import SparseL2


def cliques(count=5, size=6):
    return sparse.csr_array(np.kron(np.eye(count), np.ones((size, size))))


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_the_estimator_finds_labels_and_number(loss):
    A = cliques()
    model = ODSymNMF("auto", sparse_membership=True, loss=loss)
    H = model.fit_transform(A)
    assert isinstance(H, sparse.csr_array)
    assert H.shape == (30, 5)
    assert np.array_equal(model.labels_, np.repeat(np.arange(5), 6))
    assert model.converged_
    assert len(model.get_feature_names_out()) == 5
    # rows of the fitted matrix, each without its diagonal entry, get their own memberships
    rows = A.toarray()
    np.fill_diagonal(rows, np.nan)
    membership = model.predict_membership(rows)
    assert isinstance(membership, sparse.csr_array)
    np.testing.assert_allclose(membership.toarray(), H.toarray(), atol=1e-6)
    assert np.array_equal(model.predict(sparse.csr_array(A)), model.labels_)


def test_options_that_sparse_memberships_exclude():
    for model, message in [
        (ODSymNMF("auto", n_init=3, init="ego"), "n_init=3, but sparse"),
        (ODSymNMF(3, sparse_membership=True, n_init=2), "n_init=2, but sparse memberships have no"),
        (SymNMF("auto", init="ego"), "cannot fit the diagonal"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(cliques())


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_score_matches_its_definition(loss):
    rng = np.random.default_rng(1)
    A = cliques().toarray()
    flips = np.triu(rng.random(A.shape) < 0.05, 1)
    A = np.where(flips | flips.T, 1 - A, A)
    np.fill_diagonal(A, 0.0)
    model = ODSymNMF("auto", sparse_membership=True, loss=loss, zero_weight=0.5)
    model.fit(sparse.csr_array(A))
    H, scales = model.membership_, Scales(float(loss == "l1"), float(loss == "l2"))
    rows, n = A.copy(), len(A)
    np.fill_diagonal(rows, np.nan)
    loss, zero_loss = 0.0, 0.0
    for part in range(5):
        test, train = np.arange(n) % 5 == part, np.arange(n) % 5 != part
        S = sparse.csr_array(rows[:, train])
        X = solve_new_rows(S, H[train], scales, model.settings_["upper"] or np.inf, 0.5).toarray()
        loss += cost(rows[:, test], X, H[test].toarray(), scales, 0.5).sum()
        zero_loss += cost(rows[:, test], 0 * X, H[test].toarray(), scales, 0.5).sum()
    assert model.score(sparse.csr_array(A)) == pytest.approx(1 - loss / zero_loss, rel=1e-10)
    assert model.score(sparse.csr_array(A)) > 0.2
    new = A[:4, :].copy()
    assert 0 < model.score(new) <= 1  # dense rows: a zero is a pair like any other
    assert model.score(sparse.csr_array(new.shape)) == 0.0


def test_auto_with_sparse_memberships():
    A = 4 * cliques()
    model = ODSymNMF("auto", sparse_membership=True).fit(A)
    wanted = {"normalize": None, "upper": 2.0, "init": "ego", "labels": "largest membership"}
    assert wanted.items() <= model.settings_.items()
    assert not hasattr(model, "n_clusters_search_")
    assert model.overlapping_sets() == np.arange(30).reshape(5, 6).tolist()
    scaled = ODSymNMF("auto", sparse_membership=True, normalize="degree").fit(A)
    assert scaled.settings_["normalize"] == "degree"
    assert np.array_equal(scaled.labels_, model.labels_)
    jobs = [ODSymNMF("auto", sparse_membership=True, n_jobs=j).fit(A) for j in (1, 2)]
    assert np.array_equal(*(m.membership_.toarray() for m in jobs))
    assert np.array_equal(jobs[0].labels_, model.labels_)
    assert ODSymNMF([2, 5], sparse_membership=True).fit(A).membership_.shape == (30, 5)


@pytest.mark.parametrize("scales", [Scales(0.0, 1.0), Scales(1.0, 0.0)])
@pytest.mark.parametrize("zero_weight", [1.0, 0.3])
def test_new_items_are_solved_as_with_full_memberships(scales, zero_weight):
    for seed in range(8):
        rng, other = np.random.default_rng(seed), np.random.default_rng(seed)
        H = other.random((30, 6)).round(2) * (other.random((30, 6)) < 0.4)
        S = rng.random((5, 30)).round(3) * (rng.random((5, 30)) < 0.4)
        S[0, 3] = np.nan
        S = sparse.csr_array(S)
        with mock.patch.dict(SparseL2.__init__.__kwdefaults__, share=0.0):
            ours = solve_new_rows(S, sparse.csr_array(H), scales, 0.9, zero_weight).toarray()
        theirs = solve_new_rows(S, H, scales, 0.9, zero_weight)
        costs = [cost(S.toarray(), X, H, scales, zero_weight) for X in (ours, theirs)]
        if scales.l1:  # coordinate descent ends where no entry improves: not always the minimum
            assert (costs[0] <= 1.1 * costs[1] + 1e-9).all()
        else:
            np.testing.assert_allclose(costs[0], costs[1], rtol=1e-6)


def cost(S, X, H, scales, zero_weight):
    e = np.nan_to_num(S) - X @ H.T
    w = np.where(np.isnan(S), 0.0, np.where(S == 0, zero_weight, 1.0))
    return (w * (scales.l1 * np.abs(e) + scales.l2 * e**2)).sum(axis=1)
