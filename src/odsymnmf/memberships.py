"""How to read H: labels, overlapping sets, strengths, and the pairs behind a membership.

In A_ij ~ h_i . h_j the columns share one scale: two items with memberships s and t in the same
cluster have a modelled similarity of s t. So memberships may be compared along rows and columns.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Scales, harm, make_loss, pair_losses
from odsymnmf.problem import Similarity, as_similarity

__all__ = ["canonical_order", "labels", "overlapping_sets", "strength", "supporting_pairs"]

UNASSIGNED = -1


def labels(H: ArrayLike) -> NDArray[np.intp]:
    """Return argmax_l H_il for each item i, and -1 (unassigned) where its row is all zero.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from odsymnmf.memberships import labels
    >>> labels([[0.9, 0.1], [0.2, 0.7], [0.0, 0.0]])
    array([ 0,  1, -1])
    """
    H = _as_memberships(H)
    return np.where(H.any(axis=1), H.argmax(axis=1), UNASSIGNED)


def canonical_order(H: ArrayLike) -> NDArray[np.intp]:
    """Return the order of the columns that puts the largest total membership sum_i H_il first.

    Totals that agree to six digits count as equal; of such columns, the one whose first strong
    item (at least half of the column's largest entry) comes earlier goes first. ``H[:, order]``
    is the same in all runs that found the same H up to the order of its columns.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.

    Returns
    -------
    ndarray of shape (r,)

    Examples
    --------
    >>> from odsymnmf.memberships import canonical_order
    >>> canonical_order([[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    array([1, 2, 0])
    """
    H = _as_memberships(H)
    totals = H.sum(axis=0, dtype=np.float64)
    top = totals.max(initial=0.0)
    digits = np.round(totals / top, 6) if top > 0 else totals
    first_strong = np.argmax(0.5 * H.max(axis=0) <= H, axis=0)
    return np.lexsort((first_strong, -digits))


def strength(H: ArrayLike) -> Array:
    """Return the share of item i's explained similarity that cluster l explains.

    It is H_il sum_{j != i} H_jl divided by the same summed over all clusters: a row sums to one,
    unless the item shares no cluster with any other item.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.

    Returns
    -------
    ndarray of shape (n, r)

    Examples
    --------
    >>> from odsymnmf.memberships import strength
    >>> strength([[1, 0], [1, 1], [0, 1], [0, 1]])
    array([[1. , 0. ], [0.33333333, 0.66666667], [0. , 1. ], [0. , 1. ]])
    """
    H = _as_memberships(H).astype(np.float64, copy=False)
    ties = H * np.maximum(H.sum(axis=0) - H, 0.0)
    total = ties.sum(axis=1, keepdims=True)
    return np.divide(ties, total, out=np.zeros_like(ties), where=total > 0)


def overlapping_sets(
    H: ArrayLike,
    threshold: float | Literal["auto"] = 0.5,
    *,
    A: Any = None,
    loss: Literal["l2", "l1", "mixed"] = "l2",
    tolerance: float = 0.01,
) -> list[NDArray[np.intp]]:
    """Return the items of every cluster; an item may be in several, or in none.

    With a number, i belongs to l if H_il >= threshold max_t H_it, H_il > 0. With "auto", i belongs
    to l unless its removal would hardly matter: setting H_il to zero, and changing nothing else,
    would increase the objective f_i = sum_{j != i} |A_ij - h_i . h_j|^p by no more than
    tolerance sum_{j != i} |A_ij|^p, which is what f_i would be for an item without memberships.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.
    threshold : float from 0 to 1, or "auto"
        The smallest membership that counts, relative to the item's largest one.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        What H was fitted to; for "auto" only.
    loss : {"l2", "l1", "mixed"}
        p = 2, p = 1, or both; for "auto" only.
    tolerance : float
        The increase that is allowed; for "auto" only.

    Returns
    -------
    list of r arrays
        The items of each cluster, the strongest member first.

    Examples
    --------
    >>> from odsymnmf.memberships import overlapping_sets
    >>> H = [[1.0, 0.0], [1.0, 0.4], [0.0, 2.5]]
    >>> [items.tolist() for items in overlapping_sets(H)]
    [[0, 1], [2]]
    >>> A = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> [items.tolist() for items in overlapping_sets(H, "auto", A=A)]
    [[0, 1], [2, 1]]
    """
    H = _as_memberships(H)
    if isinstance(threshold, str):
        if threshold != "auto":
            raise ValueError(f'threshold={threshold!r} is not known; use a number or "auto".')
        similarity = _similarity_of(A, H)
        rises, alone = harm(similarity, H, _scales(loss, similarity))
        belongs = rises > tolerance * alone[:, None]
    elif 0 <= threshold <= 1:
        belongs = threshold * H.max(axis=1, keepdims=True) <= H
    else:
        raise ValueError(f'threshold must be from 0 to 1, or "auto"; got {threshold!r}.')
    belongs &= H > 0
    order = np.argsort(-H, axis=0, kind="stable")
    return [order[belongs[order[:, l], l], l] for l in range(H.shape[1])]


def supporting_pairs(
    H: ArrayLike, A: Any, item: int, cluster: int, *, loss: Literal["l2", "l1", "mixed"] = "l2"
) -> tuple[NDArray[np.intp], Array]:
    """Return the items that hold ``item`` in ``cluster``, and by how much each does.

    The support of i in l by j is |A_ij - h_i . h_j + H_il H_jl|^p - |A_ij - h_i . h_j|^p: how much
    worse the pair (i, j) would be explained, were i not in l. Items with positive support are
    returned. Over all j != i, support sums to what ``overlapping_sets(H, "auto")`` looks at.

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
        The support of each.

    Examples
    --------
    >>> from odsymnmf.memberships import supporting_pairs
    >>> A = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> supporting_pairs([[1, 0], [1, 1], [0, 1]], A, item=1, cluster=0)
    (array([0]), array([1.]))
    """
    H = _as_memberships(H).astype(np.float64, copy=False)
    for name, number, size in zip(("item", "cluster"), (item, cluster), H.shape, strict=True):
        if not 0 <= number < size:
            raise ValueError(f"{name}={number} does not exist; H has {size}, from 0 on.")
    similarity = _similarity_of(A, H)
    scales, this = _scales(loss, similarity), np.array([item])
    residual = similarity.full_rows(this)[0] - H @ H[item]
    without = residual + H[item, cluster] * H[:, cluster]
    # For the item itself, A_ii counts as zero here, and its support is never positive.
    support = pair_losses(without, scales) - pair_losses(residual, scales)
    support *= similarity.weights.of(this, similarity.n)[0]
    order = np.argsort(-support, kind="stable")
    order = order[support[order] > 0]
    return order, support[order]


def _similarity_of(A: Any, H: Array) -> Similarity:
    if A is None:
        raise ValueError('threshold="auto" needs the similarities: pass A.')
    similarity = as_similarity(A)
    if similarity.n != len(H):
        raise ValueError(f"A is of {similarity.n} items, but H has {len(H)} rows.")
    return similarity


def _scales(loss: str, A: Similarity) -> Scales:
    return make_loss(loss, A, np.inf).scales


def _as_memberships(H: ArrayLike) -> Array:
    H = np.asarray(H)
    if H.ndim != 2:
        raise ValueError(f"H must have shape (n, r); got {H.shape}.")
    return H
