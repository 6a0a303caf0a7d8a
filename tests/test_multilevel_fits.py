"""Fits from multilevel partitions, with both storages of H."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

import odsymnmf as od
from odsymnmf import ODSymNMF
from odsymnmf.datasets import planted_partition

STORAGES = [False, True]


@pytest.fixture(scope="module")
def graph():
    A, truth = planted_partition([40] * 10, degree_in=9, degree_out=4, random_state=0)
    rows, columns = A.nonzero()
    A.data = 1 + (rows * columns % 7) / 10
    return A, truth


def multilevel(r, sparse_membership, **options):
    return ODSymNMF(r, init="multilevel", sparse_membership=sparse_membership, **options)


def dense(H):
    return H.toarray() if sparse.issparse(H) else H


def test_both_storages_give_the_same_fit(graph):
    A, truth = graph
    dense_fit, sparse_fit = (multilevel(10, storage, tol=1e-6).fit(A) for storage in STORAGES)
    assert sparse.issparse(sparse_fit.membership_)
    assert sparse_fit.objective_ == pytest.approx(dense_fit.objective_, rel=1e-3)
    np.testing.assert_array_equal(dense_fit.labels_, sparse_fit.labels_)
    assert normalized_mutual_info_score(dense_fit.labels_, truth) > 0.9


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("storage", STORAGES)
def test_labels_do_not_depend_on_scale_and_hardly_on_precision(graph, storage, binary):
    A = (graph[0] > 0).astype(float) if binary else graph[0]
    labels = multilevel(10, storage).fit(A).labels_
    for factor in (1e-14, 1e14):
        np.testing.assert_array_equal(multilevel(10, storage).fit(factor * A).labels_, labels)
    single = multilevel(10, storage).fit(A.astype(np.float32))
    assert single.membership_.dtype == np.float32
    assert adjusted_rand_score(single.labels_, labels) >= 0.99


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("r", [4, 9, 12])
def test_items_of_components_are_assigned_and_have_memberships(storage, r):
    blocks = [planted_partition([30, 30], degree_in=8, degree_out=1, random_state=0)[0]] * 3
    small = [np.ones((k, k)) - np.eye(k) for k in (2, 2, 3, 3, 4, 5)]
    A = sparse.csr_array(sparse.block_diag([*blocks, *small, np.zeros((2, 2))]))
    model = multilevel(r, storage).fit(A)
    assigned = np.asarray(A.sum(axis=0)) > 0
    np.testing.assert_array_equal(model.labels_ >= 0, assigned)
    np.testing.assert_array_equal(dense(model.membership_).any(axis=1), assigned)


@pytest.mark.parametrize("storage", STORAGES)
def test_predict_agrees_with_labels(graph, storage):
    A, _ = graph
    model = multilevel(10, storage).fit(A)
    assert (model.predict(A) == model.labels_).mean() > 0.95


@pytest.mark.parametrize("storage", STORAGES)
def test_sweeps_end_near_the_converged_fit(graph, storage):
    A, _ = graph
    early, late = (multilevel(10, storage, tol=tol, max_iter=500).fit(A) for tol in (1e-4, 1e-7))
    total = early.similarity_.sum_of_squares
    assert early.n_iter_ < late.n_iter_
    assert total - early.objective_ >= 0.985 * (total - late.objective_)


@pytest.mark.parametrize("storage", STORAGES)
def test_fewer_groups_than_clusters_are_a_warning(storage):
    A = sparse.csr_array(np.ones((2, 2)) - np.eye(2))
    with pytest.warns(UserWarning, match="1 groups found, fewer than the 2 clusters"):
        model = multilevel(2, storage).fit(A)
    assert model.n_clusters_ == model.membership_.shape[1] == 2
    assert model.labels_.tolist() == [0, 0]
    assert dense(model.membership_)[:, 0].all()


def test_unknown_pairs_keep_the_spectral_initialization(graph):
    A, truth = graph
    known = A.toarray()
    unknown = np.triu(np.random.default_rng(0).random(A.shape) < 0.2, k=1)
    known[unknown | unknown.T] = np.nan
    assert ODSymNMF(10).fit(known).settings_["init"] == "spectral"
    model = multilevel(10, False).fit(known)
    assert normalized_mutual_info_score(model.labels_, truth) > 0.8


@pytest.mark.parametrize("loss", ["l2", "l1", "mixed", "robust"])
def test_every_loss_starts_from_the_partition(graph, loss):
    A, _ = graph
    initial = od.factorize(A, 10, loss=loss, init="multilevel", max_iter=0)
    assert initial.H.any(axis=0).all()
    assert ((initial.H > 0).sum(axis=1) <= 1).all()
    f = od.factorize(A, 10, loss=loss, init="multilevel", max_iter=3, restarts=0, tol=0.5)
    assert f.objective < initial.objective
