"""Dense, sparse and Gram input, float32 and float64, blocks and threads: one answer."""

import numpy as np
import pytest
from engine_problems import (
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
from threadpoolctl import threadpool_limits

import odsymnmf as od
from odsymnmf import similarity
from odsymnmf.similarity import base, products
from odsymnmf.similarity.base import pair_squares

EACH_LOSS = pytest.mark.parametrize(("loss", "diagonal"), LOSSES, ids=["l2", "l1", "symnmf"])
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


@pairwise({"loss, diagonal": LOSSES, "kind": KINDS, "init": [*STARTS, "array"]})
def test_kinds_agree(monkeypatch, loss, diagonal, kind, init):
    X = documents(4, twins=False)
    # A Gram matrix only knows a bound on its largest entry.
    largest = float(symmetric(X @ X.T).max())
    monkeypatch.setattr(similarity.Gram, "max_value", largest)
    if init == "array":
        init = 0.1 + np.random.default_rng(0).random((40, 4))
    options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0, "max_iter": 12}
    expected = quiet(as_kind("dense", X), 4, **options)
    found = quiet(as_kind(kind, X), 4, **options)
    np.testing.assert_allclose(found.H, expected.H, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-9, atol=1e-9)
    assert found.n_iter == expected.n_iter


@EACH_KIND
def test_what_a_sweep_may_ask(kind):
    X = documents(5, n=700, m=30)
    A = similarity.as_similarity(as_kind(kind, X))
    dense = as_kind("dense", X)
    off = symmetric(dense)
    V = np.random.default_rng(0).random((700, 3))
    assert A.n == 700
    np.testing.assert_allclose(A.matmul(V), off @ V, rtol=1e-12)
    np.testing.assert_allclose(A.matmul(V[:, 0]), off @ V[:, 0], rtol=1e-12)
    np.testing.assert_allclose(A.sum_of_squares, np.sum(off**2), rtol=1e-12)
    np.testing.assert_allclose(A.diagonal, np.diagonal(dense), rtol=1e-12)
    np.testing.assert_allclose(A.max_value, 1.0, rtol=1e-12)
    items = np.array([3, 699, 0])
    rows, indptr, indices, data = A.rows(items)
    for item, row in zip(items, rows, strict=True):
        found = np.zeros(700)
        here = slice(indptr[row], indptr[row + 1])
        found[indices[here]] = data[here]
        np.testing.assert_allclose(found, off[item], rtol=1e-12, atol=1e-15)
    covered = np.concatenate([np.arange(700)[b] for b in A.item_blocks()])
    np.testing.assert_array_equal(covered, np.arange(700))


@pytest.mark.parametrize("shape", [(30, 200), (200, 30), (1, 5), (5, 1)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_energy_of_a_gram_matrix_from_either_side(shape, form):
    rng = np.random.default_rng(0)
    X = rng.random(shape) * (rng.random(shape) < 0.3)
    expected = np.sum(symmetric(X @ X.T) ** 2)
    assert similarity.gram(form(X)).sum_of_squares == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_energy_without_the_diagonal_that_dwarfs_it():
    X = np.eye(300, 40) + 1e-6 * np.random.default_rng(0).random((300, 40))
    X[0] *= 1e4
    expected = np.sum(symmetric(X @ X.T) ** 2)
    assert pair_squares(X) == pytest.approx(expected, rel=1e-12)
    assert pair_squares(X[:30]) == pytest.approx(
        np.sum(symmetric(X[:30] @ X[:30].T) ** 2), rel=1e-12
    )


@pairwise({"loss, diagonal": LOSSES, "kind": KINDS, "init": STARTS})
def test_float32(loss, diagonal, kind, init):
    X = documents(6, dtype=np.float32)
    options = {"loss": loss, "diagonal": diagonal, "init": init, "random_state": 0, "restarts": 0}
    single = quiet(as_kind(kind, X), 4, **options)
    double = quiet(as_kind(kind, X.astype(np.float64)), 4, **options)
    assert single.H.dtype == np.float32
    assert double.H.dtype == np.float64
    assert single.objective == pytest.approx(double.objective, rel=1e-4)
    A = as_kind("dense", X.astype(np.float64))
    assert single.objective == pytest.approx(naive_objective(A, single.H, loss, diagonal), rel=1e-4)


@EACH_KIND
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_float32_converges_at_a_bound_it_cannot_hold(kind, loss):
    # float32(0.7) < 0.7: an entry at the bound must not look as if it could grow.
    X = 2 * documents(7, n=20, m=5, dtype=np.float32)
    found = od.factorize(as_kind(kind, X), 2, loss=loss, upper=0.7)
    assert found.converged
    assert found.H.max() == np.float32(0.7)


@pairwise(
    {
        "loss, diagonal": LOSSES,
        "size": [1, 2, 7, 40, 1000],
        "kind": ["dense", "gram of dense"],
    }
)
def test_blocks_do_not_matter(monkeypatch, loss, diagonal, kind, size):
    X = documents(8, n=90, m=25)
    H = 0.1 + np.random.default_rng(0).random((90, 4))
    expected = swept(as_kind("sparse", X), H, loss, diagonal, count=12)
    monkeypatch.setattr(products, "BLOCK", size)
    monkeypatch.setattr(base, "BLOCK_ENTRIES", 90 * size)
    found = swept(as_kind(kind, X), H, loss, diagonal, count=12)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * expected.max())


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_do_not_matter_to_the_greedy_start(monkeypatch, loss, kind):
    X = documents(9, n=30, twins=False)
    expected = quiet(as_kind(kind, X), 3, loss=loss, max_iter=0).H
    monkeypatch.setattr(base, "BLOCK_ENTRIES", 70)
    np.testing.assert_array_equal(quiet(as_kind(kind, X), 3, loss=loss, max_iter=0).H, expected)


def big_sparse(n=20000):
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, (2, 4 * n))
    A = sparse.coo_array((rng.random(4 * n), (i, j)), shape=(n, n)).tocsr()
    return A + A.T


@pytest.mark.parametrize("init", ["greedy", "random", "zero", "spectral", "nndsvd"])
def test_same_bits_for_any_number_of_threads(init):
    A = big_sparse()
    for loss, diagonal in LOSSES:
        runs = []
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
                options = {"loss": loss, "diagonal": diagonal, "init": init, "max_iter": 2}
                runs.append(quiet(A, 6, random_state=0, **options))
        np.testing.assert_array_equal(runs[0].H, runs[1].H)
        np.testing.assert_array_equal(runs[0].history, runs[1].history)


def test_same_bits_of_the_objective_for_any_number_of_threads():
    # More than the 10,000 numbers from which BLAS adds up in parts.
    A = big_sparse(3000)
    for r in (3, 120):
        H = np.random.default_rng(0).random((3000, r))
        for loss, diagonal in LOSSES:
            values = []
            for threads in (1, 2):
                with threadpool_limits(threads, user_api="blas"):
                    values.append(od.objective(A, H, loss, diagonal))
            assert values[0] == values[1]


def test_cosine_is_gram_of_unit_rows():
    X = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 0.0], [1.0, 0.0]])
    expected = [[0, 1, 0, 0.6], [1, 0, 0, 0.6], [0, 0, 0, 0], [0.6, 0.6, 0, 0]]
    for given in (X, X.tolist(), X.astype(int), sparse.csr_array(X), sparse.coo_matrix(X)):
        A = similarity.cosine(given)
        np.testing.assert_allclose(A.matmul(np.eye(4)), expected, atol=1e-15)
        assert A.dtype == np.float64
    assert similarity.cosine(X.astype(np.float32)).dtype == np.float32
    assert similarity.cosine(sparse.csr_array(X.astype(np.float32))).dtype == np.float32
    np.testing.assert_allclose(similarity.gram(X).diagonal, [25, 100, 0, 1])


@EACH_LOSS
def test_documents_without_words(loss, diagonal):
    X = documents(1, n=20, m=10)
    X[[4, 11]] = 0
    for kind in KINDS:
        found = quiet(as_kind(kind, X), 3, loss=loss, diagonal=diagonal)
        np.testing.assert_array_equal(found.H[[4, 11]], 0)


@pytest.mark.parametrize("make", [similarity.cosine, similarity.gram])
def test_documents_are_checked(make):
    for wrong in (np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3), np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match=r"items x features\); got shape"):
            make(wrong)
    for form in (np.asarray, sparse.csr_array):
        with pytest.raises(ValueError, match="NaN or infinite"):
            make(form(np.array([[1.0, np.nan]])))
        with pytest.raises(ValueError, match="complex"):
            make(form(np.array([[1.0, 1j]])))
    with pytest.raises(ValueError, match="must hold numbers"):
        make([["a", "b"]])


def test_documents_are_not_changed():
    X = sparse.csr_array(documents(0))
    before = X.copy()
    dense, dense_before = documents(0), documents(0)
    for make in (similarity.cosine, similarity.gram):
        for given in (X, dense):
            for loss in ("l2", "l1"):
                quiet(make(given), 3, loss=loss, max_iter=3)
    np.testing.assert_array_equal(X.data, before.data)
    np.testing.assert_array_equal(X.indices, before.indices)
    np.testing.assert_array_equal(dense, dense_before)


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_of_a_hub_in_float32(kind):
    # The diagonal of a Gram matrix times a large entry must not drown the rest.
    X = documents(2, dtype=np.float32)
    H = np.zeros((40, 1), dtype=np.float32)
    H[0], H[1] = 4096.0, 2.0**-12
    expected = naive_objective(as_kind("dense", X.astype(np.float64)), H)
    assert od.objective(as_kind(kind, X), H) == pytest.approx(expected, rel=1e-5)
