"""Affinities and degree normalization."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

import odsymnmf as od
from odsymnmf import ODSymNMF
from odsymnmf.similarity import cosine, degree_normalized


def test_cosine_is_the_cosine_matrix(A):
    start = np.random.RandomState(0).uniform(size=(27, 3))
    direct = ODSymNMF(3, init=start, normalize=None).fit(cosine_similarity(A))
    for X in (A, sparse.csr_array(A)):
        model = ODSymNMF(3, affinity="cosine", init=start, normalize=None).fit(X)
        assert_allclose(model.membership_, direct.membership_, atol=1e-8)
        assert_allclose(
            model.predict_membership(X), direct.predict_membership(cosine_similarity(A))
        )


@pytest.mark.parametrize("gamma", [None, 0.7])
def test_rbf_is_the_kernel_matrix(blobs, gamma):
    model = ODSymNMF(3, affinity="rbf", gamma=gamma).fit(blobs[0])
    K = rbf_kernel(blobs[0], gamma=gamma)
    assert_allclose(model.membership_, ODSymNMF(3).fit(K).membership_, atol=1e-10)


def test_nearest_neighbors_is_a_sparse_symmetric_graph(blobs):
    X, y = blobs
    nearest = np.argsort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, 1:6]
    G = np.zeros((60, 60))
    np.put_along_axis(G, nearest, 1, axis=1)
    G = np.maximum(G, G.T)
    model = ODSymNMF(3, affinity="nearest_neighbors", n_neighbors=5).fit(X)
    assert_allclose(model.membership_, ODSymNMF(3).fit(sparse.csr_array(G)).membership_)
    assert adjusted_rand_score(y, model.predict(X)) > 0.9
    few = ODSymNMF(2, affinity="nearest_neighbors", n_neighbors=10).fit(X[:3])
    assert few.membership_.shape == (3, 2)


def test_a_callable_is_called_with_both_sides(blobs):
    X, _ = blobs
    shapes = []

    def affinity(X, Y):
        shapes.append((len(X), len(Y)))
        return rbf_kernel(X, Y)

    model = ODSymNMF(3, affinity=affinity).fit(X)
    assert_allclose(model.membership_, ODSymNMF(3, affinity="rbf").fit(X).membership_)
    model.predict(X[:7])
    assert shapes == [(60, 60), (7, 60)]


def degree_normalized_dense(A):
    d = A.sum(axis=1)
    s = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return A * s[:, None] * s


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_degree_normalization(A, container):
    A[5] = A[:, 5] = 0  # an isolated item stays one
    options = {"init": "greedy", "upper": None}
    direct = ODSymNMF(3, normalize=None, **options).fit(degree_normalized_dense(A))
    np.fill_diagonal(A, np.resize([np.nan, np.inf, 1e300], len(A)))  # ignored
    model = ODSymNMF(3, normalize="degree", **options).fit(container(A))
    assert_allclose(model.membership_, direct.membership_, atol=1e-6)
    for fitted in (model, direct):
        value = od.objective(fitted.similarity_, fitted.membership_)
        assert fitted.objective_ == pytest.approx(value)
    assert model.labels_[5] == -1


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_degree_normalization_of_documents(container):
    X = np.random.RandomState(0).poisson(0.3, size=(40, 30)).astype(float)
    X[7] = 0
    X[8], X[:, 29] = 0, 0
    X[8, 29] = 2  # a word of its own: similar to nothing
    K = cosine_similarity(X)
    np.fill_diagonal(K, 0)
    start = np.random.RandomState(0).uniform(size=(40, 3))
    options = {"init": start, "upper": None}
    model = ODSymNMF(3, affinity="cosine", normalize="degree", **options).fit(container(X))
    direct = ODSymNMF(3, normalize=None, **options).fit(degree_normalized_dense(K))
    assert_allclose(model.membership_, direct.membership_, atol=1e-7)
    assert_array_equal(model.labels_[[7, 8]], -1)
    A = degree_normalized(K)
    assert od.objective(A, model.membership_) == pytest.approx(model.objective_)


def test_documents_with_no_word_in_common_have_no_degree():
    words = np.random.RandomState(0).uniform(size=(30, 40))
    X = (np.eye(30)[:, :, None] * words).reshape(30, -1)
    A = cosine(X)
    assert A.matmul(np.ones(30)).any()  # rounding
    assert_array_equal(A.inverse_sqrt_degrees(), 0)


def test_negative_degrees_are_refused(A):
    A[3] = A[:, 3] = -1
    with pytest.raises(ValueError, match="the similarities of item 3 sum to -26"):
        ODSymNMF(3, normalize="degree").fit(A)
