"""Labels with the similarities in view: settled by a block model, or taken from neighbours."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odsymnmf.arrays import Array
from odsymnmf.memberships._checks import as_memberships, refuse_sparse, similarity_of
from odsymnmf.memberships._labels import labels
from odsymnmf.problem import Similarity, outline, weighted_product

# Rounds of settling: more of them hardly change a label.
ROUNDS = 10


def settled_labels(H: ArrayLike, A: Any) -> NDArray[np.intp]:
    """Return the labels of H, improved under a degree-corrected stochastic block model.

    With d_i the degree of item i, k_il its total similarity to the items of cluster l, W_lm the
    total similarity between clusters l and m, v_l the sum of the degrees in l, and
    omega_lm = (W_lm + 1) / (v_l v_m / sum(v) + 1), item i moves to the cluster l with the largest
    sum_m k_im log(omega_lm) - d_i sum_m v_m omega_lm / sum(v). All items move at once, and stay
    where there is a tie, until none moves (at most ten times). This uses the sizes of clusters and
    the links between them, which a single row of H does not contain. An item without memberships
    also gets a cluster, unless no item is similar to it.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        The graph, >= 0, as it was before any normalisation.

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
    refuse_sparse(H, "settled_labels")
    H = as_memberships(H)
    similarity = similarity_of(A, H)
    seen = outline(similarity)
    if seen.negative:
        raise ValueError("A has negative similarities; labels settle on graphs with links >= 0.")
    d, found = seen.degrees, labels(H)
    # Links count as events: in units of the mean link, so that A and 2 A give the same labels.
    pairs = seen.filled * similarity.n * (similarity.n - 1)
    unit = d.sum() / pairs if pairs > 0 else 0.0
    if unit <= 0 or not (found >= 0).any():
        return found
    d = d / unit
    for _ in range(ROUNDS):
        settled = _settled_once(similarity, found, H.shape[1], d, unit)
        if np.array_equal(settled, found):
            break
        found = settled
    return found


def _settled_once(A: Similarity, found: Array, r: int, d: Array, unit: float) -> Array:
    held = found >= 0
    Z = np.zeros((A.n, r), dtype=A.dtype)
    Z[held, found[held]] = 1.0
    K = weighted_product(A, Z).astype(np.float64) / unit
    W, v = Z.T @ K, Z.T @ d
    omega = (W + 1) / (np.outer(v, v) / v.sum() + 1)
    worth = K @ np.log(omega).T - np.outer(d, omega @ v / v.sum())
    worth[held, found[held]] += 1e-9 * d[held]  # ties: stay
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
