"""What the links of a graph say of the number of groups, and of a partition into groups."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import gammaln

from odsymnmf.arrays import Array
from odsymnmf.engine.eigenvectors import leading
from odsymnmf.problem import Similarity, as_similarity

# Up to so many items all eigenvalues are computed; beyond, the smallest, first so many and then
# twice as many until one is positive, but not more than MOST.
FULL, FIRST, MOST = 400, 24, 256
# Of the eigenvalues, and how many restarts they are worth.
ACCURACY, RESTARTS = 1e-2, 300


def links(A: Similarity) -> Any:
    """Return a CSR matrix of ones where similarities are not zero."""
    found = A.links()
    return sparse.csr_array((np.ones(found.nnz), found.indices, found.indptr), shape=found.shape)


def bethe_hessian(A: Any) -> int:
    """Count the negative eigenvalues of (b^2 - 1) I - b A + diag(d), b^2 = sum d^2 / sum d - 1.

    Each corresponds to a group that can be detected in a sparse graph (Saade, Krzakala and
    Zdeborová, "Spectral clustering of graphs with the Bethe Hessian", 2014). The weights of links
    are ignored. At most 256 are counted.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        The graph.

    Returns
    -------
    int

    Examples
    --------
    >>> from scipy.linalg import block_diag
    >>> import numpy as np
    >>> from odsymnmf.choose import bethe_hessian
    >>> bethe_hessian(block_diag(*[np.ones((8, 8))] * 3))
    3
    """
    M = links(as_similarity(A))
    n, d = M.shape[0], np.asarray(M.sum(axis=1)).ravel()
    if d.sum() == 0:
        return 0
    b = np.sqrt(max((d @ d) / d.sum() - 1, 0.0))
    M = sparse.csr_array(sparse.diags_array(d + b**2 - 1) - b * M)
    if n <= FULL:
        return int((np.linalg.eigvalsh(M.toarray()) < 0).sum())
    k, start = FIRST, np.random.default_rng(0).uniform(size=n)
    while True:
        k = min(k, MOST, n // 2)
        values = leading(lambda v: -(M @ v), start, k, ACCURACY, RESTARTS)[0]
        count = int((values > 0).sum())
        if count < k or k == min(MOST, n // 2):
            return count
        k *= 2


def description_length(A: Any, labels: ArrayLike) -> float:
    """Return the description length of a graph, in nats, under a degree-corrected block model.

    The groups, the links between them, the degrees, and the graph given all these (Peixoto,
    "Nonparametric Bayesian inference of the microcanonical stochastic block model", 2017). Links
    between groups are described one by one, or as inside and outside alone (Zhang and Peixoto,
    "Statistical inference of assortative community structures in networks", 2020), whichever is
    shorter. Of two partitions, the one with the shorter description says more about the graph.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        The graph; the weights of links are ignored.
    labels : array-like of shape (n,)
        The group of every item.

    Returns
    -------
    float

    Examples
    --------
    >>> from scipy.linalg import block_diag
    >>> import numpy as np
    >>> from odsymnmf.choose import description_length
    >>> A = block_diag(*[np.ones((8, 8))] * 3)
    >>> one, three, six = (np.repeat(range(k), 24 // k) for k in (1, 3, 6))
    >>> description_length(A, three) < min(description_length(A, k) for k in (one, six))
    True
    """
    return of_links(links(as_similarity(A)), labels)


def of_links(M: Any, labels: ArrayLike) -> float:
    """Return the description length of a graph that `links` has made."""
    groups = np.unique(np.asarray(labels), return_inverse=True)[1]
    n, B = len(groups), int(groups.max()) + 1
    Z = sparse.csr_array((np.ones(n), (np.arange(n), groups)), shape=(n, B))
    W = (Z.T @ M @ Z).toarray()
    sizes, ends, E = np.bincount(groups), W.sum(axis=1), W.sum() / 2
    inside, across = np.diag(W) / 2, W[np.triu_indices(B, 1)]
    partition = _log_factorial(n) - _log_factorial(sizes).sum()
    partition += _log_choose(n - 1, B - 1) + np.log(n)
    degrees = (_log_factorial(ends + sizes - 1) - _log_factorial(sizes - 1)).sum()
    degrees -= _log_factorial(np.asarray(M.sum(axis=1)).ravel()).sum()
    each = _log_choose(B * (B + 1) / 2 + E - 1, E) - _log_factorial(across).sum()
    each -= (inside * np.log(2) + _log_factorial(inside)).sum()
    near, far = inside.sum(), across.sum()
    alike = near * np.log(B / 2) - _log_factorial(near) - _log_factorial(far)
    if B > 1:
        alike += far * np.log(B * (B - 1) / 2) + np.log(E + 1)
    return float(partition + degrees + min(each, alike))


def _log_factorial(x: Any) -> Array:
    return gammaln(np.asarray(x, dtype=np.float64) + 1)


def _log_choose(n: float, k: float) -> float:
    return float(_log_factorial(n) - _log_factorial(k) - _log_factorial(n - k))
