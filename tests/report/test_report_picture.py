import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from odsymnmf import memberships
from odsymnmf.report import matrix_picture
from odsymnmf.similarity import cosine, gram


def problem(n, r, seed, negative=False):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n)) if negative else rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    A = np.triu(A, 1)
    H = rng.random((n, r)) * (rng.random((n, r)) < 0.7)
    return A + A.T, H


def brute_force(A, H, pixels):
    """Sort, then look at every pair of every pixel."""
    label = memberships.labels(H)
    n, r = H.shape
    order = sorted(range(n), key=lambda i: (label[i] if label[i] >= 0 else r, -H[i].max(), i))
    p = min(n, pixels)
    cells = [[[] for _ in range(p)] for _ in range(p)]
    for s, i in enumerate(order):
        for t, j in enumerate(order):
            if i != j:
                cells[s * p // n][t * p // n].append(A[i, j])
    return np.array([[np.mean(c) if c else np.nan for c in row] for row in cells])


@given(
    n=st.integers(1, 25),
    r=st.integers(1, 5),
    pixels=st.integers(1, 30),
    seed=st.integers(0, 10**6),
    negative=st.booleans(),
)
def test_every_kind_of_input_gives_the_block_means(n, r, pixels, seed, negative):
    A, H = problem(n, r, seed, negative)
    expected = brute_force(A, H, pixels)
    noisy = A + np.diag(np.full(n, np.nan))
    for kind in (A, noisy, sparse.csr_array(A), sparse.coo_matrix(noisy)):
        picture = matrix_picture(kind, H, pixels)
        assert picture.values.dtype == np.float32
        np.testing.assert_allclose(picture.values, expected, rtol=1e-5, atol=1e-6)
    X = A[:, : max(1, n // 2)]
    for kind in (X, sparse.csr_array(X)):
        for make, rows in ((gram, X), (cosine, unit_rows(X))):
            picture = matrix_picture(make(kind), H, pixels)
            expected = brute_force(rows @ rows.T, H, pixels)
            np.testing.assert_allclose(picture.values, expected, rtol=1e-5, atol=1e-5)


def unit_rows(X):
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)


def test_clusters_in_order_and_the_unassigned_last():
    H = np.array([[0, 0, 2.0], [0, 0, 0], [3, 0, 1], [0, 0, 4], [1, 0, 0]])
    A = np.arange(25.0).reshape(5, 5)
    picture = matrix_picture(A + A.T, H)
    assert picture.edges.tolist() == [0, 2, 2, 4]
    assert picture.n == 5
    order = [2, 4, 3, 0, 1]
    expected = (A + A.T)[np.ix_(order, order)]
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(picture.values[off], expected[off])
    assert np.isnan(np.diagonal(picture.values)).all()


def test_large_documents_are_never_multiplied_out():
    # 200,000 x 200,000 numbers would be 320 GB.
    n = 200_000
    X = sparse.csr_array((np.ones(n), (np.arange(n), np.arange(n) % 2)), shape=(n, 2))
    picture = matrix_picture(cosine(X), X.toarray(), pixels=4)
    expected = np.kron(np.eye(2), np.ones((2, 2)))
    np.testing.assert_allclose(picture.values, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("A", "H", "pixels", "message"),
    [
        (np.eye(3), np.ones((2, 1)), 10, "A is of 3 items, but H has 2 rows"),
        (np.eye(3), np.ones((3, 0)), 10, "H must have shape"),
        (np.eye(3), np.ones(3), 10, "H must have shape"),
        (np.eye(3), np.ones((3, 1)), 0, "pixels must be at least 1"),
    ],
)
def test_bad_input_is_named(A, H, pixels, message):
    with pytest.raises(ValueError, match=message):
        matrix_picture(A, H, pixels)
