"""Criteria for the number of clusters: description length, and agreement of clusterings."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln
from sklearn.metrics.pairwise import cosine_similarity

from odsymnmf.membership_view import as_matrix
from odsymnmf.similarity import as_similarity
from odsymnmf.utils import Array, plain_signature


@plain_signature
def description_length(A: Any, labels: ArrayLike) -> float:
    """Return the description length of a graph, in nats, under a degree-corrected block model.

    It describes the groups, the numbers of links between them, the degrees, and the graph given all
    these (Peixoto, "Nonparametric Bayesian inference of the microcanonical stochastic block model",
    2017). The numbers of links are given for every pair of groups, or only inside and between
    groups (Zhang and Peixoto, "Statistical inference of assortative community structures in
    networks", 2020), whichever is shorter. Of two partitions, the one with the shorter description
    explains the graph better.

    Parameters
    ----------
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        The graph. Links of weight w count as w / u, where u = sum w^2 / sum w: sums of weights then
        vary as much as numbers of links.
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
    W = as_similarity(A).to_csr()
    groups = np.unique(np.asarray(labels), return_inverse=True)[1]
    n = len(groups)
    Z = sparse.csr_array((np.ones(n), (np.arange(n), groups)))
    W = W / link_weight(W.data)
    degrees = _log_factorial(W.sum(axis=1)).sum()
    return block_model_length(Z.T @ W @ Z, np.bincount(groups)) - float(degrees)


def link_weight(weights: Array) -> float:
    """Return the weight that counts as one link: sum w^2 / sum w."""
    total = weights.sum(dtype=np.float64)
    return float((weights.astype(np.float64) ** 2).sum() / total) if total > 0 else 1.0


def block_model_length(W: sparse.sparray, sizes: Array) -> float:
    """Return the description length without the term that depends on the degrees of items only.

    W contains the links between groups, its diagonal twice the links inside a group.
    """
    B, n, ends = len(sizes), sizes.sum(), W.sum(axis=1)
    E, inside, across = ends.sum() / 2, W.diagonal() / 2, sparse.triu(W, k=1).data
    length = _log_factorial(n) - _log_factorial(sizes).sum() + _log_choose(n - 1, B - 1)
    length += np.log(n) + (_log_factorial(ends + sizes - 1) - _log_factorial(sizes - 1)).sum()
    by_pair = _log_choose(B * (B + 1) / 2 + E - 1, E) - _log_factorial(across).sum()
    by_pair -= (inside * np.log(2) + _log_factorial(inside)).sum()
    n_in, n_out = inside.sum(), across.sum()
    assortative = n_in * np.log(B / 2) - _log_factorial(n_in) - _log_factorial(n_out)
    if B > 1:
        assortative += n_out * np.log(B * (B - 1) / 2) + np.log(E + 1)
    return float(length + min(by_pair, assortative))


def _log_factorial(x: Any) -> Array:
    return gammaln(np.asarray(x, dtype=np.float64) + 1)


def _log_choose(n: float, k: float) -> float:
    return float(_log_factorial(n) - _log_factorial(k) - _log_factorial(n - k))


def adjusted_rand_index(a: Array, b: Array) -> float:
    """Return the adjusted Rand index of labels >= 0."""
    table = sparse.coo_array((np.ones(len(a)), (a, b))).tocsr().data
    # Ordered pairs of items in the same group of both, of a, of b, and all pairs.
    in_both, in_a, in_b, pairs = (
        float(np.square(sizes, dtype=np.float64).sum() - len(a))
        for sizes in (table, np.bincount(a), np.bincount(b), len(a))
    )
    if in_a + in_b in (0.0, 2 * pairs):
        return 1.0
    expected = in_a * in_b / pairs
    return (in_both - expected) / ((in_a + in_b) / 2 - expected)


@plain_signature
def agreement(H: Any, K: Any) -> Array:
    """Return the cosine of every column of H with the matching column of K.

    Columns are matched one to one, so that the sum of h_l . k_m / (|h_l| |k_m|) over the matched
    pairs is maximal.

    Parameters
    ----------
    H, K : ODSymNMF, Factorization, or array-like or sparse of shapes (n, r) and (n, s)
        Memberships of the same items, for example from two initializations.

    Returns
    -------
    ndarray of shape (r,)
        From 0 to 1, in the order of the columns of H; 0 for a column that is zero or, if s < r, not
        matched.

    Examples
    --------
    >>> from odsymnmf.choose import agreement
    >>> agreement([[1, 0], [1, 0], [0, 1], [0, 1]], [[0, 2], [0, 2], [0, 2], [3, 0]])
    array([0.81649658, 0.70710678])
    """
    first, second = (as_matrix(M).astype(np.float64) for M in (H, K))
    if first.shape[0] != second.shape[0]:
        raise ValueError(
            "agreement compares memberships of the same items, arrays of shapes (n, r) and (n, s); "
            f"got shapes {first.shape} and {second.shape}."
        )
    cosines = cosine_similarity(first.T, second.T)
    matched = np.zeros(first.shape[1])
    columns, partners = linear_sum_assignment(cosines, maximize=True)
    matched[columns] = cosines[columns, partners]
    return matched
