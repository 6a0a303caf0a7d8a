"""Problems as they are here, and the same in blocks of rows for Dask."""

import warnings

import dask.array as da
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import odsymnmf as od
from odsymnmf.distributed import looked_at
from odsymnmf.similarity import cosine

SIMILARITIES = ("sparse", "dense")
KINDS = (*SIMILARITIES, "documents", "features")


def words(seed, n, m=40, filled=0.3):
    rng = np.random.default_rng(seed)
    return rng.random((n, m)) * (rng.random((n, m)) < filled)


def problem(kind, seed=0, n=90, dtype=np.float64):
    """Return similarities as `factorize` takes them, or documents to be compared by cosine."""
    X = words(seed, n)
    if kind == "documents":
        return sparse.csr_array(X.astype(dtype))
    if kind == "features":
        return np.ascontiguousarray(X.astype(dtype))
    A = X @ X.T
    A[np.quantile(A, 0.7) > A] = 0
    np.fill_diagonal(A, 1.0 + np.arange(n) / n)
    return sparse.csr_array(A.astype(dtype)) if kind == "sparse" else A.astype(dtype)


def with_unknown(A, seed=0, share=0.1):
    """Return A with some pairs NaN, both ways."""
    rng = np.random.default_rng(seed)
    full = A.toarray() if sparse.issparse(A) else A.copy()
    unknown = np.triu(rng.random(full.shape) < share, 1)
    if sparse.issparse(A):
        unknown &= full != 0
    full[unknown | unknown.T] = np.nan
    return sparse.csr_array(full) if sparse.issparse(A) else full


def in_blocks(A, chunks):
    """Return a dask array of the same: full blocks, or CSR ones."""
    if sparse.issparse(A):
        return da.from_array(A.toarray(), chunks=chunks).map_blocks(sparse.csr_array)
    return da.from_array(A, chunks=chunks)


def quiet(*args, **options):
    """factorize without the warning that max_iter was hit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return od.factorize(*args, **options)


def here(A, kind, r, **options):
    """Fit on this machine, in rounds."""
    A = A if kind in SIMILARITIES else cosine(A)
    return quiet(A, r, n_jobs=2, restarts=0, **options)


def there(client, A, kind, chunks, r, **options):
    """Fit on the workers of a client."""
    D = in_blocks(A, chunks)
    return quiet(
        D if kind in SIMILARITIES else looked_at(client, D, affinity="cosine"), r, **options
    )


def assert_same(one, other, kind="sparse"):
    """The same bits; but |A|^2 of documents is added up in another order than on one machine."""
    assert_array_equal(one.H, other.H)
    if kind in SIMILARITIES:
        assert_array_equal(one.history, other.history)
    else:
        n = len(one.H)  # |A|^2 is at most n^2: cosines
        assert_allclose(one.history, other.history, rtol=1e-9, atol=1e-12 * n**2)
    assert (one.n_iter, one.status, one.mix) == (other.n_iter, other.status, other.mix)
