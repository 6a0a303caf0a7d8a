"""Labels with the similarities in view: settled, or taken from neighbours."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from odsymnmf.arrays import Array, blocks
from odsymnmf.memberships._checks import as_memberships, refuse_sparse, similarity_of
from odsymnmf.memberships._labels import labels
from odsymnmf.problem import Similarity, outline, weighted_product

# Rounds of settling: more of them hardly change a label.
ROUNDS = 10
# Items at a time.
FEW = 2**14


def settled_labels(
    H: ArrayLike, A: Any, *, rule: Literal["links", "mean"] = "links"
) -> NDArray[np.intp]:
    """Return the labels of H, improved with all similarities in view.

    With "links", the rule for graphs, under a degree-corrected stochastic block model: with d_i the
    degree of item i, k_il its total similarity to the items of cluster l, W_lm the total similarity
    between clusters l and m, v_l the sum of the degrees in l, and
    omega_lm = (W_lm + 1) / (v_l v_m / sum(v) + 1), item i moves to the cluster l with the largest
    sum_m k_im log(omega_lm) - d_i sum_m v_m omega_lm / sum(v). With "mean", the rule for documents
    and for similarities of both signs, item i moves to the cluster to whose other members it is, on
    average, most similar. All items move at once, and stay where there is a tie, until none moves
    (at most ten times). This uses the sizes of clusters and what is between them, which a single
    row of H does not contain. An item without memberships also gets a cluster, unless no item is
    similar to it.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Similarities as they were before any normalisation; >= 0 for "links".
    rule : {"links", "mean"}
        Where an item belongs.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    Item 2 is linked to 0 and 1 only, whatever its row of H says:

    >>> from odsymnmf.memberships import settled_labels
    >>> H = [[1, 0], [1, 0], [0.4, 0.5], [0, 1], [0, 1], [0, 1]]
    >>> A = [[0, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0],
    ...      [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 1], [0, 0, 0, 1, 1, 0]]
    >>> settled_labels(H, A)
    array([0, 0, 0, 1, 1, 1])
    """
    if rule not in ("links", "mean"):
        raise ValueError(f'rule={rule!r} is not known; use "links" or "mean".')
    refuse_sparse(H, "settled_labels")
    H = as_memberships(H)
    similarity = similarity_of(A, H)
    seen = outline(similarity)
    if seen.negative and rule == "links":
        raise ValueError('A has negative similarities; use rule="mean", which may have these.')
    d, found = seen.degrees, labels(H)
    # Links count as events: in units of the mean link, so that A and 2 A give the same labels.
    pairs = seen.filled * similarity.n * (similarity.n - 1)
    unit = d.sum() / pairs if pairs > 0 else 0.0
    if unit <= 0 or not (found >= 0).any():
        return found
    d = d / unit
    for _ in range(ROUNDS):
        Z = np.zeros(H.shape, dtype=similarity.dtype)
        Z[found >= 0, found[found >= 0]] = 1.0
        K = weighted_product(similarity, Z).astype(np.float64) / unit
        worth = _by_links(K, found, d) if rule == "links" else _by_mean(K, Z, similarity)
        settled = _moved(worth, found, d)
        if np.array_equal(settled, found):
            break
        found = settled
    return found


def _by_links(K: Array, found: Array, d: Array) -> Array:
    """Return what the block model says of every item in every cluster; K is used up."""
    held = found >= 0
    begin = np.concatenate([[0], np.cumsum(held)])
    Z = sparse.csr_array((np.ones(begin[-1]), found[held], begin), shape=K.shape)
    W, v = Z.T @ K, Z.T @ d
    omega = (W + 1) / (np.outer(v, v) / v.sum() + 1)
    turn, rest = np.log(omega).T, omega @ v / v.sum()
    for b in blocks(len(K), FEW):  # between which Ctrl-C is heard
        K[b] = K[b] @ turn - np.outer(d[b], rest)
    return K


def _by_mean(K: Array, Z: Array, A: Similarity) -> Array:
    """Return the mean similarity of every item to the members of every cluster but itself."""
    weight = A.weights.background * (Z.sum(axis=0, dtype=np.float64) - Z)
    if A.weights.pattern is not None:
        weight = weight + A.weights.pattern @ Z
    return np.divide(K, weight, out=np.zeros_like(K), where=weight > 0)


def _moved(worth: Array, found: Array, d: Array) -> Array:
    """Return the best cluster of every item; ties stay, and so do items that nothing is like."""
    held = found >= 0
    worth[held, found[held]] += 1e-9 * d[held]
    return np.where(d > 0, worth.argmax(axis=1), found)


def assign_rest(H: ArrayLike, A: Any) -> NDArray[np.intp]:
    """Return the labels of H, and for items without memberships those of their neighbours.

    Such an item i goes to the cluster l with the largest sum of A_ij over the items j of l, if that
    is positive; items without such a neighbour are looked at again in the next round, until nothing
    changes.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Similarities.

    Returns
    -------
    ndarray of shape (n,)
        -1 where no chain of positive similarities leads to a cluster.

    Examples
    --------
    >>> from odsymnmf.memberships import assign_rest
    >>> A = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    >>> assign_rest([[1], [1], [0], [0]], A)
    array([ 0,  0,  0, -1])
    """
    refuse_sparse(H, "assign_rest")
    H = as_memberships(H)
    similarity, found = similarity_of(A, H), labels(H)
    while (found < 0).any() and (found >= 0).any():
        held = found >= 0
        Z = np.zeros(H.shape, dtype=similarity.dtype)
        Z[held, found[held]] = 1.0
        ties = weighted_product(similarity, Z)
        joins = ~held & (ties.max(axis=1) > 0)
        if not joins.any():
            break
        found[joins] = ties[joins].argmax(axis=1)
    return found
