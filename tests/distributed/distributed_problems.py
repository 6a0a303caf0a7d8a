"""Problems in memory, and the same in blocks for Dask."""

import warnings

import dask.array as da
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od

RANDOM = {"init": "random", "random_state": 0, "max_iter": 5}


def features(seed, n, m=40, density=0.3):
    rng = np.random.default_rng(seed)
    return rng.random((n, m)) * (rng.random((n, m)) < density)


def problem(kind, seed=0, n=90, dtype=np.float64):
    """Return similarities ("sparse", "dense") or features ("documents", "features")."""
    X = features(seed, n)
    if kind in ("documents", "features"):
        return sparse.csr_array(X.astype(dtype)) if kind == "documents" else X.astype(dtype)
    A = X @ X.T
    A[np.quantile(A, 0.7) > A] = 0
    np.fill_diagonal(A, 1.0 + np.arange(n) / n)
    return sparse.csr_array(A.astype(dtype)) if kind == "sparse" else A.astype(dtype)


def with_unknown(A, seed=0, share=0.1):
    """Return A with some pairs NaN in both directions."""
    rng = np.random.default_rng(seed)
    full = A.toarray() if sparse.issparse(A) else A.copy()
    unknown = np.triu(rng.random(full.shape) < share, 1)
    if sparse.issparse(A):
        unknown &= full != 0
    full[unknown | unknown.T] = np.nan
    return sparse.csr_array(full) if sparse.issparse(A) else full


def in_blocks(A, chunks=(30, 20)):
    """Return a Dask array with dense blocks, or with CSR blocks if A is sparse."""
    if sparse.issparse(A):
        return da.from_array(A.toarray(), chunks=chunks).map_blocks(sparse.csr_array)
    return da.from_array(A, chunks=chunks)


def factorize(A, r=3, **options):
    """factorize with a few sweeps, without the warning that max_iter was reached."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(A, r, **RANDOM | options)


def fit(X, **options):
    """ODSymNMF with a few sweeps."""
    options = {"n_clusters": 3, "max_iter": 5, "init": "random", "random_state": 0} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.ODSymNMF(**options).fit(X)


def assert_same(f, expected):
    assert_array_equal(f.H, expected.H)
    assert_array_equal(f.history, expected.history)
    assert (f.n_iter, f.status) == (expected.n_iter, expected.status)


def assert_same_model(model, expected):
    """The same memberships; |A|^2 of documents is summed in another order."""
    assert_array_equal(model.membership_, expected.membership_)
    assert_allclose(model.history_, expected.history_, rtol=1e-9, atol=1e-8)
    assert (model.n_iter_, model.status_) == (expected.n_iter_, expected.status_)
