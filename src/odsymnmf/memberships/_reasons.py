"""Why: the pairs behind a membership, and the features behind a cluster."""

from collections.abc import Sequence
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import pair_losses
from odsymnmf.inputs import is_frame
from odsymnmf.memberships._checks import as_memberships, scales_of, similarity_of


def supporting_pairs(
    H: Any, A: Any, item: int, cluster: int, *, loss: Literal["l2", "l1", "mixed"] = "l2"
) -> tuple[NDArray[np.intp], Array]:
    """Return the items that support the membership of ``item`` in ``cluster``, and how much.

    The support of i in l by j is |A_ij - h_i . h_j + H_il H_jl|^p - |A_ij - h_i . h_j|^p: how much
    worse the pair (i, j) would be explained if i were not in l. Items with positive support are
    returned. Over all j != i, support sums to what ``overlapping_sets(H, rule="harm")`` looks at.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        What H was fitted to.
    item, cluster : int
        A row and a column of H.
    loss : {"l2", "l1", "mixed"}
        p = 2, p = 1, or both.

    Returns
    -------
    items : ndarray
        The strongest support first.
    support : ndarray
        The support of each item.

    Examples
    --------
    >>> from odsymnmf.memberships import supporting_pairs
    >>> A = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> supporting_pairs([[1, 0], [1, 1], [0, 1]], A, item=1, cluster=0)
    (array([0]), array([1.]))
    """
    M: Any = sparse.csr_array(H) if sparse.issparse(H) else as_memberships(H)
    H = M.astype(np.float64)
    item, cluster = _place("item", item, H.shape[0]), _place("cluster", cluster, H.shape[1])
    similarity = similarity_of(A, H)
    scales, this = scales_of(loss, similarity), np.array([item])
    own, column = (_full(part) for part in (H[[item]], H[:, [cluster]]))
    residual = similarity.full_rows(this)[0] - H @ own
    without = residual + own[cluster] * column
    # For the item itself, A_ii counts as zero here, and its support is never positive.
    support = pair_losses(without, scales) - pair_losses(residual, scales)
    support *= similarity.weights.of(this, similarity.n)[0]
    order = np.argsort(-support, kind="stable")
    order = order[support[order] > 0]
    return order, support[order]


def _place(name: str, given: Any, size: int) -> int:
    """Return the number of a row or column of H."""
    try:
        number = index(given)
    except TypeError:
        raise ValueError(
            f"{name} must be a number from 0 to {size - 1}; got {given!r}. To find the number of a "
            f"name, use list(names).index({given!r})."
        ) from None
    if not 0 <= number < size:
        raise ValueError(f"{name}={number} does not exist; H has {size}, counted from 0.")
    return number


def _full(part: Any) -> Array:
    """Return a row or column of H as an array."""
    return np.asarray(part.toarray() if sparse.issparse(part) else part).ravel()


def top_features(
    H: Any, X: Any, names: Sequence[Any] | None = None, n_top: int = 10
) -> list[list[tuple[Any, float]]]:
    """Return the features that are most characteristic of every cluster: its top words.

    With p_l(t) the share of feature t in sum_i H_il X_it, and q(t) the mean of p_l(t) over the
    clusters, the score of feature t in l is p_l(t) log(p_l(t) / q(t)): its contribution to the
    Kullback-Leibler divergence of the cluster from the mean. So a top word is frequent in the
    cluster and rarer in the others.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    X : array-like, scipy sparse matrix or array, or DataFrame of shape (n, m)
        Nonnegative features, for example the tf-idf weights of words, or the expression of genes.
    names : sequence of m names, optional
        Of the features; by default the columns of a DataFrame, else numbers.
    n_top : int
        Maximum number of features per cluster.

    Returns
    -------
    list of r lists of (name, weight)
        Ordered by score, largest first. Features without a positive score are left out.

    Examples
    --------
    >>> from odsymnmf.memberships import top_features
    >>> X = [[4, 0, 1], [3, 0, 1], [0, 2, 1]]
    >>> top = top_features([[1, 0], [1, 0], [0, 1]], X, ["ship", "cow", "the"])
    >>> [[word for word, _ in words] for words in top]
    [['ship'], ['cow', 'the']]
    """
    if names is None and is_frame(X):
        names = list(X.columns)
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    H = H if sparse.issparse(H) else as_memberships(H)
    if X.ndim != 2 or X.shape[0] != H.shape[0]:
        raise ValueError(f"X has shape {X.shape}, but H has {H.shape[0]} rows: one row per item.")
    m = X.shape[1]
    if names is not None and len(names) != m:
        raise ValueError(f"{len(names)} names were given for the {m} columns of X.")
    if X.size and X.min() < 0:
        raise ValueError("X has negative entries; top features need weights >= 0, such as counts.")
    weights = H.T @ X
    weights = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
    totals = weights.sum(axis=1, keepdims=True)
    p = np.divide(weights, totals, out=np.zeros_like(weights, dtype=np.float64), where=totals > 0)
    q = p.mean(axis=0)
    ratio = np.divide(p, q, out=np.ones_like(p), where=(p > 0) & (q > 0))
    speaks = p * np.log(ratio)
    top = []
    for row in speaks:
        order = np.argsort(-row, kind="stable")[:n_top]
        top.append(
            [(int(t) if names is None else names[t], float(row[t])) for t in order if row[t] > 0]
        )
    return top
