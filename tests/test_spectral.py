"""The spectral initialization, against LAPACK."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, aslinearoperator

from odsymnmf import utils
from odsymnmf.init import spectral
from odsymnmf.init.spectral import largest_eigenpairs


def random_symmetric(n, dtype=np.float64):
    A = np.random.default_rng(n).standard_normal((n, n))
    return (A + A.T).astype(dtype)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize(("n", "r"), [(30, 1), (60, 5), (150, 40)])
def test_largest_eigenpairs_match_lapack(n, r, dtype, tol):
    A = random_symmetric(n, dtype)
    values, V = largest_eigenpairs(aslinearoperator(A), r, tol, np.ones(n))
    assert V.dtype == dtype
    assert_allclose(values, linalg.eigvalsh(A)[::-1][:r], rtol=10 * tol)
    assert np.linalg.norm(A @ V - V * values, axis=0).max() < 10 * tol * values[0]


def test_eigenpairs_that_converged_are_returned(monkeypatch):
    A = random_symmetric(20)
    values, V = linalg.eigh(A)

    def fails(*args, **kwargs):
        raise ArpackNoConvergence("no convergence", values[-3:], V[:, -3:])

    monkeypatch.setattr(spectral, "eigsh", fails)
    values_found, V_found = largest_eigenpairs(aslinearoperator(A), 5, 1e-3, np.ones(20))
    assert_array_equal(values_found, values[:-4:-1])
    assert_array_equal(V_found, V[:, :-4:-1])


def test_squared_in_blocks_equals_the_product(monkeypatch):
    X = np.random.default_rng(0).random((1000, 4)).astype(np.float32)
    X64 = X.astype(np.float64)
    assert_array_equal(utils.squared(X), X64.T @ X64)
    monkeypatch.setattr(utils, "MAX_PRODUCT_WORK", 2**8)
    assert_allclose(utils.squared(X), X64.T @ X64, rtol=1e-14)
