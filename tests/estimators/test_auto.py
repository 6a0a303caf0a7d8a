"""What "auto" stands for; the labels, scores and sets that follow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import odsymnmf as od
from odsymnmf import ODSymNMF, SymNMF, memberships
from odsymnmf.similarity import as_similarity


@pytest.fixture(scope="module")
def graph():
    return od.datasets.planted_partition([30] * 4, degree_in=9, degree_out=3, random_state=0)


def scaled_by_hand(A, t):
    A = A.copy()
    np.fill_diagonal(A, 0)
    d = np.abs(A).sum(axis=1)
    s = 1 / np.sqrt(d + t * d.mean())
    return A * s[:, None] * s


KINDS = {
    "graph": lambda X: (X @ X.T > 1.2).astype(float),
    "kernel": lambda X: X @ X.T,
    "signed": lambda X: np.corrcoef(X),
}


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
@pytest.mark.parametrize("kind", KINDS)
def test_similarities_are_divided_by_regularized_degrees(kind, make):
    A = KINDS[kind](np.random.default_rng(0).uniform(size=(40, 8)) ** 2)
    model = ODSymNMF(3, tol=1e-2).fit(make(A))
    assert model.settings_["kind"] == kind
    upper = 1 / np.sqrt(max(6, 40 / 15))
    init = "multilevel" if kind == "graph" else "spectral"
    assert (model.settings_["init"], model.settings_["upper"]) == (init, upper)
    S = scaled_by_hand(A, 0.25)
    H = model.membership_
    assert_allclose(model.similarity_.matmul(np.eye(40)), S - np.diag(np.diag(S)), atol=1e-12)
    derivation, labels = {
        "graph": ("refined", model.labels_),
        "kernel": ("largest membership", memberships.labels(H)),
        "signed": ("refined by mean similarity", memberships.refine_labels(H, A, rule="mean")),
    }[kind]
    assert model.settings_["labels"] == derivation
    assert_array_equal(model.labels_, labels)
    if kind != "graph":
        f = od.factorize(S, 3, init=init, upper=upper, tol=1e-2)
        assert model.objective_ == pytest.approx(f.objective)
        assert_allclose(H, f.H[:, memberships.canonical_order(f.H)], atol=1e-6)


def test_documents_have_more_regularization():
    X = np.random.default_rng(0).poisson(0.6, size=(40, 30)).astype(float)
    model = ODSymNMF(3, affinity="cosine").fit(sparse.csr_array(X))
    assert model.settings_ | {"upper": None} == {
        "kind": "documents",
        "normalize": "degree",
        "regularization": 1.0,
        "upper": None,
        "init": "spectral",
        "labels": "refined by mean similarity, then by cosine to the centroid",
    }
    unit = X / np.linalg.norm(X, axis=1, keepdims=True).clip(1e-9)
    expected = as_similarity(scaled_by_hand(unit @ unit.T, 1.0)).matmul(np.eye(40))
    assert_allclose(model.similarity_.matmul(np.eye(40)), expected, atol=1e-12)


def test_degrees_of_features_with_both_signs_are_those_of_some(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 6))
    K = np.abs(X @ X.T)
    np.fill_diagonal(K, 0)
    exact = od.similarity.gram(X).summary
    assert_allclose(exact.degrees, K.sum(axis=1))
    assert exact.has_negative
    monkeypatch.setattr("odsymnmf.similarity.features.N_SIGN_SAMPLES", 30)
    assert_allclose(od.similarity.gram(X).summary.degrees, K.sum(axis=1), rtol=0.5)


def test_unknown_pairs_have_no_part_in_degrees(graph):
    A = graph[0].toarray()
    missing = A.copy()
    missing[3, :60] = missing[:60, 3] = np.nan
    missing[3, 3] = 0
    emptied = A.copy()
    emptied[3, :60] = emptied[:60, 3] = 0
    for make in (np.array, sparse.csr_array):
        assert_allclose(as_similarity(make(missing)).summary.degrees, emptied.sum(axis=1))


def test_normalize_none_is_the_method_of_the_paper(graph):
    A, _ = graph
    model = ODSymNMF(4, normalize=None).fit(A)
    f = od.factorize(A, 4, init="greedy")
    assert model.objective_ == f.objective
    assert_array_equal(model.labels_, memberships.labels(model.membership_))
    assert model.settings_["upper"] is None
    assert SymNMF(4, normalize=None).fit(A).settings_["init"] == "greedy"
    robust = ODSymNMF(4, loss="l1").fit(A)
    assert (robust.settings_["normalize"], robust.settings_["init"]) == (None, "greedy")


def test_large_graphs_start_from_a_partition_and_signed_ones_from_eigenvectors():
    A, _ = od.datasets.planted_partition([130] * 4, degree_in=9, degree_out=3, random_state=0)
    f = od.factorize(A, 4)
    assert f.objective == od.factorize(A, 4, init="multilevel").objective
    A.data = np.random.default_rng(0).choice([-1.0, 1.0], A.nnz)
    A = A + A.T
    signed = od.factorize(A, 4, tol=0.1)
    assert signed.objective == od.factorize(A, 4, init="spectral", tol=0.1).objective
    assert od.factorize(A, 4, loss="l1", max_iter=0).objective == (
        od.factorize(A, 4, loss="l1", init="greedy", max_iter=0).objective
    )


def test_only_items_without_links_are_unassigned(graph):
    A, groups = graph
    model = ODSymNMF(4).fit(A)
    assert model.n_unassigned_ == 0
    assert od.metrics.scores(model.labels_, groups)["nmi"] > 0.9
    lonely = sparse.block_diag([A, sparse.csr_array((2, 2))], format="csr")
    model = ODSymNMF(4).fit(lonely)
    assert model.n_unassigned_ == 2
    assert_array_equal(model.labels_[-2:], -1)


def test_reasons_for_unassigned_items_are_reported():
    rng = np.random.default_rng(0)
    groups = np.repeat(range(3), 20)
    sign = np.where(groups[:, None] == groups, 1.0, -1.0)
    A = np.triu(sign * (rng.uniform(size=(60, 60)) < 0.3), 1)
    A += A.T
    A[7] = A[:, 7] = 0.0
    model = ODSymNMF(3).fit(A)
    assert_array_equal(np.flatnonzero(model.labels_ < 0), [7])
    assert model.settings_["unassigned"] == "1 similar to no other item"
    nowhere = np.zeros((60, 3))
    nowhere[:2] = 1.0
    model = ODSymNMF(3, normalize=None, init=nowhere, max_iter=0).fit(A)
    assert model.settings_["unassigned"] == (
        "1 similar to no other item, 57 whose similarities no cluster explains"
    )


def test_nearly_complete_groups_give_the_hint_to_use_l1():
    A, _ = od.datasets.cliques([8, 8, 8])
    assert 'loss="l1"' in ODSymNMF(3).fit(A).settings_["hint"]
    assert "hint" not in ODSymNMF(3, loss="l1").fit(A).settings_
    assert "hint" not in ODSymNMF(3).fit(A * np.arange(1, 25)[:, None] * np.arange(1, 25)).settings_


def test_the_number_of_clusters_can_be_found(graph):
    A, _ = graph
    model = ODSymNMF("auto").fit(A)
    assert model.n_clusters_ == model.n_clusters_search_.n_clusters == 4
    assert_array_equal(model.membership_, ODSymNMF(4).fit(A).membership_)
    assert ODSymNMF(range(3, 6)).fit(A).n_clusters_ == 4
    assert ODSymNMF([2, 3]).fit(A).n_clusters_ == 3
    for bad, message in [
        ("many", "n_clusters='many' is not known"),
        *((bad, "n_clusters must be a whole number >= 1") for bad in (0, 2.5, True)),
    ]:
        with pytest.raises(ValueError, match=message):
            ODSymNMF(bad).fit(A)


@pytest.mark.parametrize("make", [sparse.csr_array, np.array])
def test_scores_choose_the_number_of_clusters(graph, make):
    A = make(graph[0].toarray())
    folds = KFold(5, shuffle=True, random_state=0)  # the items come group by group
    search = GridSearchCV(ODSymNMF(), {"n_clusters": [2, 3, 4, 5, 6, 12]}, cv=folds).fit(A)
    assert search.best_params_ == {"n_clusters": 4}
    assert np.isfinite(cross_val_score(ODSymNMF(4, loss="l1"), A, cv=3)).all()


def test_score_ignores_the_diagonal(graph):
    A = graph[0].toarray()
    model = ODSymNMF(4).fit(A)
    value = model.score(A)
    assert 0 < value < 1
    assert model.score(sparse.csr_array(A)) == pytest.approx(value)
    np.fill_diagonal(A, 1e30)
    assert model.score(A) == value
    assert ODSymNMF(4, affinity="rbf", tol=0.1).fit(A[:, :3]).score(A[:7, :3]) <= 1


def test_overlapping_sets_are_those_of_the_fitted_similarities(graph):
    model = ODSymNMF(4).fit(graph[0])
    for rule in ("strength", "row", "column", "loss"):
        expected = memberships.overlapping_sets(model.membership_, rule=rule, A=model.similarity_)
        assert model.overlapping_sets(rule=rule) == expected
    strict = model.overlapping_sets(0.9)
    assert sum(map(len, strict)) < sum(map(len, model.overlapping_sets()))


@pytest.mark.parametrize(("l1_ratio", "loss"), [(0, "l2"), (1, "l1")])
def test_mixed_at_its_ends_takes_the_defaults_of_l2_and_l1(l1_ratio, loss):
    # With more than 500 items, the default initializations of l1 and l2 differ.
    A, _ = od.datasets.planted_partition([260, 260], 0.05, 0.01, random_state=0)
    mixed = {"loss": "mixed", "l1_ratio": l1_ratio}
    model, other = (od.ODSymNMF(2, **options).fit(A) for options in (mixed, {"loss": loss}))
    assert model.settings_ == other.settings_
    assert np.array_equal(model.membership_, other.membership_)
    assert np.array_equal(od.factorize(A, 2, **mixed).H, od.factorize(A, 2, loss=loss).H)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_defaults_converge_on_the_bundled_data(loss):
    data = od.datasets.les_miserables()
    for r in range(2, 11):
        assert ODSymNMF(r, loss=loss).fit(data).converged_
