"""Leading eigenvectors and pivots, against LAPACK."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from odsymnmf import arrays
from odsymnmf.engine import eigenvectors
from odsymnmf.engine.eigenvectors import leading, pivots
from odsymnmf.signals import stoppable


def symmetric(n, values, seed=0):
    Q = linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    return Q * np.append(values, np.zeros(n - len(values))) @ Q.T


def found(A, r, dtype=np.float64, accuracy=1e-6, restarts=300):
    start = np.random.default_rng(1).uniform(size=len(A)).astype(dtype)
    return leading(lambda v: A @ v, start, r, accuracy, restarts)


@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize(("n", "r"), [(30, 1), (60, 5), (150, 40)])
def test_eigenvectors_are_those_of_lapack(n, r, dtype, accuracy, monkeypatch):
    monkeypatch.setattr(eigenvectors, "PIECE", 37)
    monkeypatch.setattr(eigenvectors, "FEW", 11)
    A = np.random.default_rng(n).standard_normal((n, n))
    A += A.T
    values, V = found(A, r, dtype, accuracy)
    assert V.dtype == dtype
    assert V.flags.c_contiguous
    assert_allclose(values, linalg.eigvalsh(A)[::-1][:r], rtol=10 * accuracy)
    assert_allclose(V.T @ V, np.eye(r), atol=1000 * np.finfo(dtype).eps)
    assert np.linalg.norm(A @ V - V * values, axis=0).max() < 10 * accuracy * values[0]


@pytest.mark.parametrize("values", [[1.0], [2.0, 1.0, 1.0, 1.0], np.ones(50), [-1.0, -2.0]])
def test_where_there_are_few_eigenvalues_it_goes_on_with_anything(values):
    A = symmetric(50, values)
    got, V = found(A, 6)
    assert_allclose(got, linalg.eigvalsh(A)[::-1][:6], atol=1e-9)
    assert_allclose(V.T @ V, np.eye(6), atol=1e-12)


def test_without_restarts_it_gives_what_there_is():
    A = np.diag(np.linspace(1, 2, 400))
    values, V = found(A, 5, accuracy=0, restarts=0)
    assert_allclose(V.T @ V, np.eye(5), atol=1e-12)
    assert_allclose(np.einsum("il,il->l", V, A @ V), values)
    assert 1.8 < values[4] < found(A, 5)[0][4]


def test_the_same_bits_every_time():
    A = np.random.default_rng(0).random((120, 120))
    A += A.T
    for one, other in zip(found(A, 7, np.float32), found(A, 7, np.float32), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "r"), [(7, 5), (40, 1), (300, 12)])
def test_pivots_are_those_of_lapack(n, r, dtype, monkeypatch):
    monkeypatch.setattr(eigenvectors, "PIECE", 64)
    V = linalg.qr(np.random.default_rng(n).standard_normal((n, r)), mode="economic")[0]
    V = V.astype(dtype)
    assert_array_equal(pivots(V), linalg.qr(V.T, mode="r", pivoting=True)[1][:r])


def test_pivots_of_rows_that_are_alike_are_different_rows():
    assert sorted(pivots(np.ones((3, 3)))) == [0, 1, 2]


def test_it_can_be_stopped_between_two_pieces(monkeypatch):
    """Restarts and pivots, too, where ARPACK and LAPACK would go on."""
    monkeypatch.setattr(eigenvectors, "PIECE", 50)
    V, stop = np.random.default_rng(0).random((200, 3)), threading.Event()
    stop.set()
    for work in (lambda: pivots(V), lambda: leading(lambda v: v, V[:, 0], 3, 1e-3, 9)):
        with stoppable(stop), pytest.raises(KeyboardInterrupt):
            work()


def test_squares_in_pieces(monkeypatch):
    X = np.random.default_rng(0).random((1000, 4)).astype(np.float32)
    X64 = X.astype(np.float64)
    assert_array_equal(arrays.squared(X), X64.T @ X64)
    monkeypatch.setattr(arrays, "MOMENT", 2**8)
    assert_allclose(arrays.squared(X), X64.T @ X64, rtol=1e-14)
    assert arrays.squared(X[:, :0]).shape == (0, 0)
