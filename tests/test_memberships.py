"""Interpretation of H, compared with sums over all pairs."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import odsymnmf as od
from odsymnmf import memberships
from odsymnmf.membership_view import as_view
from odsymnmf.memberships import (
    assign_unassigned,
    canonical_order,
    labels,
    overlapping_sets,
    refine_labels,
    strength,
    supporting_pairs,
    top_features,
)
from odsymnmf.similarity import as_similarity, cosine, gram

KINDS = ["dense", "sparse", "gram"]


def problem(kind="dense", n=20, r=4, seed=0):
    """Return A as input, A as an array with a zero diagonal, and some H."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n, 6)) * (rng.uniform(size=(n, 6)) < 0.5)
    A = cosine(X).matmul(np.eye(n))
    A = (A + A.T) / 2
    H = 0.6 * rng.uniform(size=(n, r)) * (rng.uniform(size=(n, r)) < 0.6)
    if kind == "gram":
        return cosine(X), A, H
    A = A * (A > 0.4)
    if kind == "sparse":
        return sparse.csr_array(A + 3 * np.eye(n)), A, H
    noisy = A.copy()
    np.fill_diagonal(noisy, np.nan)
    return noisy, A, H


def test_labels():
    assert_array_equal(labels([[0, 0], [0, 2], [3, 2], [1, 1]]), [-1, 1, 0, 0])


def test_canonical_order_ignores_column_order_and_rounding():
    rng = np.random.RandomState(0)
    H = np.kron(np.eye(4), np.ones((5, 1)))  # equal totals: the earliest items decide
    H[-1, 3] = 2.0
    assert_array_equal(canonical_order(H), [3, 0, 1, 2])
    for _ in range(5):
        shuffled = (H * (1 + 1e-9 * rng.uniform(size=H.shape)))[:, rng.permutation(4)]
        assert_allclose(shuffled[:, canonical_order(shuffled)], H[:, [3, 0, 1, 2]], rtol=1e-8)
    assert_array_equal(canonical_order(np.zeros((3, 2))), [0, 1])


def test_strength_is_a_fraction_of_the_explained_similarity():
    _, _, H = problem()
    H[3] = 0
    P = np.einsum("il,jl->ijl", H, H)
    P[np.arange(20), np.arange(20)] = 0
    parts = P.sum(axis=1)
    fractions = strength(H)
    assert_allclose(fractions * parts.sum(axis=1, keepdims=True), parts, atol=1e-12)
    assert_array_equal(fractions[3], 0)
    assert_allclose(np.delete(fractions, 3, axis=0).sum(axis=1), 1)
    assert_allclose(strength(7 * H), fractions)


def test_thresholds():
    H = np.array([[1.0, 0.5, 0.0], [0.1, 0.0, 0.2], [0.0, 0.0, 0.0]])
    assert overlapping_sets(H, rule="row") == [[0, 1], [0], [1]]
    assert overlapping_sets(H, 0.51, rule="row") == [[0], [], [1]]
    assert overlapping_sets(H, 0) == [[0, 1], [0], [1]]
    assert overlapping_sets(H) == [[0, 1], [], []]  # alone in a cluster
    assert overlapping_sets(H, 0.2, rule="column") == [[0], [0], [1]]
    assert overlapping_sets(np.array([[1.0], [3.0], [2.0]])) == [[1, 2, 0]]


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("kind", KINDS)
def test_loss_rule_and_supporting_pairs_match_brute_force(kind, loss):
    given, A, H = problem(kind)
    p = 2 if loss == "l2" else 1
    increase = np.zeros_like(H)
    for i, l in np.argwhere(H > 0):
        dropped = H.copy()
        dropped[i, l] = 0
        expected = np.abs(A[i] - dropped @ dropped[i]) ** p - np.abs(A[i] - H @ H[i]) ** p
        expected[i] = 0
        increase[i, l] = expected.sum() / (np.abs(A[i]) ** p).sum()
        items, support = supporting_pairs(H, given, i, l, loss=loss)
        assert set(items) == set(np.flatnonzero(expected > 0))
        assert_allclose(support, expected[items], atol=1e-12)
        assert (np.diff(support) <= 0).all()
    assert (increase < 0).any()
    for value in np.sort(increase[increase > 0])[::5]:
        for threshold in (value * (1 - 1e-9), value * (1 + 1e-9)):
            sets = overlapping_sets(H, threshold, rule="loss", A=given, loss=loss)
            for l in range(H.shape[1]):
                assert set(sets[l]) == set(np.flatnonzero(increase[:, l] > threshold))


def test_top_features_match_the_formula():
    rng = np.random.default_rng(0)
    H, X, names = rng.uniform(size=(20, 3)), rng.uniform(size=(20, 8)), list("abcdefgh")
    X[:, 7] = 0
    p = H.T @ X[:, :7]
    p /= p.sum(axis=1, keepdims=True)
    expected = p * np.log(p / p.mean(axis=0))
    for form in (np.asarray, sparse.csr_array):
        for l, words in enumerate(top_features(form(H), form(X))):
            assert_allclose([weight for _, weight in words], [expected[l, t] for t, _ in words])
            assert len(words) == (expected[l] > 0).sum()
    named = [[(names[t], weight) for t, weight in words[:2]] for words in top_features(H, X)]
    assert top_features(H, X, names, n_top=2) == named
    for table in (pd.DataFrame(X, columns=names), od.io.Dataset(X, None, feature_names=names)):
        assert top_features(H, table, n_top=2) == named


@given(n=st.integers(1, 12), r=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_view(n, r, seed):
    rng = np.random.default_rng(seed)
    H = rng.integers(0, 5, (n, r)) / 4 * (rng.random((n, r)) < 0.6)  # with equal values
    for form in (H, sparse.csr_array(H), sparse.coo_matrix(H)):
        view = as_view(form)
        fractions = strength(H)
        own = np.where(view.labels < 0, 0, fractions[np.arange(n), view.labels])
        assert_allclose(view.label_strength, own)
        totals = [np.sum(np.outer(h, h)) - h @ h for h in H.T]
        assert_allclose(np.bincount(view.H.indices, view.explained, r), totals, atol=1e-9)
        assert view.order.tolist() == sorted(
            range(n), key=lambda i: (view.labels[i] if view.labels[i] >= 0 else r, -H[i].max())
        )


def refined_by_links(A, current, r):
    """One pass: the log-likelihood of every item in every cluster."""
    d, Z = A.sum(axis=1), np.eye(r)[current]
    W, v = Z.T @ A @ Z, Z.T @ d
    omega = (W + 1) / (np.outer(v, v) / v.sum() + 1)
    scores = A @ np.log(omega)[:, current].T - np.outer(d, omega @ v) / v.sum()
    return (scores + 1e-9 * d[:, None] * Z).argmax(axis=1)


def test_refine_labels_by_links(monkeypatch):
    graph, groups = od.datasets.planted_partition([30] * 4, 0.4, 0.05, random_state=0)
    A = graph.toarray()
    H = np.random.default_rng(0).uniform(size=(120, 4)) + 2 * np.eye(4)[groups]
    H += 2.2 * (np.random.default_rng(1).uniform(size=H.shape) < 0.1)
    assert (refine_labels(H, A) == groups).mean() > (labels(H) == groups).mean()
    monkeypatch.setattr(memberships, "MAX_REFINEMENTS", 1)
    for form in (A, 0.01 * A, graph):
        assert_array_equal(refine_labels(H, form), refined_by_links(A, labels(H), 4))


def refined_by_mean(A, W, current, r):
    """One pass, item by item: the largest mean similarity over the known pairs."""
    moved = current.copy()
    for i in range(len(A)):
        score = np.zeros(r)
        for l in range(r):
            others = [j for j in range(len(A)) if current[j] == l and j != i and W[i, j] > 0]
            score[l] = np.average(A[i, others], weights=W[i, others]) if others else 0.0
        moved[i] = score.argmax()
    return moved


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_refine_labels_by_mean(make, monkeypatch):
    rng = np.random.default_rng(0)
    groups = np.repeat(range(3), 20)
    A = np.corrcoef(rng.standard_normal((3, 40))[groups] + 1.5 * rng.standard_normal((60, 40)))
    H = 0.7 * rng.uniform(size=(60, 3)) + 0.5 * np.eye(3)[groups]
    H[5] = 0.0
    W = np.triu(rng.integers(3, size=(60, 60)), 1).astype(float)
    W += W.T
    refine = partial(refine_labels, H, rule="mean")
    assert od.metrics.scores(refine(A), groups)["nmi"] > 0.9
    assert od.metrics.scores(labels(H), groups)["nmi"] < 0.8
    monkeypatch.setattr(memberships, "MAX_REFINEMENTS", 1)
    for weights in (np.ones_like(A), W):
        once = refine(as_similarity(make(A), weights))
        assert_array_equal(once, refined_by_mean(A, weights, labels(H), 3))


def test_assign_unassigned():
    A = np.diag([1.0, 1, 1, 0, 1], 1)
    A += A.T
    H = np.repeat([[0.0, 1], [0, 0]], [2, 4], axis=0)
    assert assign_unassigned(H, A).tolist() == [1, 1, 1, 1, -1, -1]
    A[4, 3] = A[3, 4] = -1
    assert assign_unassigned(H, A).tolist() == [1, 1, 1, 1, -1, -1]
    model = od.ODSymNMF(6).fit(od.datasets.les_miserables())
    model.labels_[:5] = -1
    before = model.labels_.copy()
    filled = assign_unassigned(model, od.datasets.les_miserables())
    assert_array_equal(filled[5:], before[5:])  # refined labels, not those of H
    assert (filled[:5] >= 0).all()
    assert_array_equal(model.labels_, before)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_refine_labels_by_cosine_to_the_centroid_matches_brute_force(make, monkeypatch):
    monkeypatch.setattr(memberships, "MAX_REFINEMENTS", 1)
    moved = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.random((14, 5)) * (rng.random((14, 5)) < 0.6)
        X[0] = 0
        H = rng.random((14, 3))
        H[1] = 0  # without a label
        A = gram(make(X))
        current = refine_labels(H, A, rule="mean")
        expected = current.copy()
        for i in range(14):
            scores = []
            for l in range(3):
                centroid = X[(current == l) & (np.arange(14) != i)].sum(axis=0)
                length = np.linalg.norm(centroid)
                scores.append(X[i] @ centroid / length if length > 0 else 0.0)
            if X[i] @ X.sum(axis=0) > X[i] @ X[i]:
                expected[i] = np.argmax(scores)
        assert_array_equal(refine_labels(H, A, rule="centroid"), expected)
        moved += int((expected != current).sum())
    assert moved > 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda H, A: refine_labels(H, A, rule="centroid"), "needs similarity.cosine"),
        (lambda H, A: labels(od.ODSymNMF()), "not fitted yet"),
        (lambda H, A: labels([1, 2]), r"H must have shape \(n items, r clusters\); got \(2,\)"),
        (lambda H, A: as_view(sparse.csr_array((0, 3))), r"H must have shape .*got \(0, 3\)"),
        (lambda H, A: overlapping_sets(H, rule="loss"), "pass A"),
        (lambda H, A: overlapping_sets(H, rule="otsu"), "rule='otsu' is not known"),
        (lambda H, A: overlapping_sets(H, 1.5), "threshold must be from 0 to 1; got 1.5"),
        (lambda H, A: supporting_pairs(H, np.eye(2), 0, 0), "A has 2 items, but H has 3 rows"),
        (lambda H, A: supporting_pairs(H, A, "Ann", 0), "item must be an instance of"),
        (lambda H, A: supporting_pairs(H, A, 3, 0), "item == 3, must be <= 2"),
        (lambda H, A: supporting_pairs(H, A, 0, -1), "cluster == -1, must be >= 0"),
        (lambda H, A: supporting_pairs(H, A, 0, 0, loss="l3"), "loss='l3' is not known"),
        (lambda H, A: refine_labels(H, -A), 'negative similarities; use rule="mean"'),
        (lambda H, A: refine_labels(H, A, rule="most"), "rule='most' is not known"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(np.ones((3, 2)), np.ones((3, 3)))
