"""How to read H: labels, overlapping sets, strengths, and the pairs behind a membership.

In A_ij ~ h_i . h_j the columns share one scale: two items with memberships s and t in the same
cluster are explained a similarity of s t. So memberships may be compared along rows and columns.

H may be a scipy sparse array: then nothing of n x r is made. It may also be a DataFrame whose index
holds the names of the items (`frame` makes one): labels are then a Series, strengths a DataFrame,
and sets hold names.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Scales, harm, make_loss, pair_losses
from odsymnmf.inputs import called, is_frame
from odsymnmf.members import Members, as_members
from odsymnmf.problem import Similarity, Sparse, as_similarity, outline, weighted_product
from odsymnmf.signals import held

__all__ = [
    "assign_rest",
    "canonical_order",
    "frame",
    "labels",
    "overlapping_sets",
    "settled_labels",
    "strength",
    "supporting_pairs",
    "top_features",
]

Rule = Literal["strength", "row", "column", "harm"]

UNASSIGNED = -1
# Rounds of settling: more move next to nothing.
ROUNDS = 10
# What each rule asks of a member, unless the user says otherwise: docs/choices.md has why.
LEAST: dict[Rule, float] = {"strength": 0.2, "row": 0.5, "column": 0.15, "harm": 0.01}


def labels(H: Any) -> Any:
    """Return argmax_l H_il for each item i, and -1 (unassigned) where its row is all zero.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.

    Returns
    -------
    ndarray of shape (n,), or Series if H is a DataFrame

    Examples
    --------
    >>> from odsymnmf.memberships import labels
    >>> labels([[0.9, 0.1], [0.2, 0.7], [0.0, 0.0]])
    array([ 0,  1, -1])
    """
    if sparse.issparse(H):
        return as_members(H).label
    M = _as_memberships(H)
    best = np.where(M.any(axis=1), M.argmax(axis=1), UNASSIGNED)
    return _like(H, best)


def settled_labels(H: ArrayLike, A: Any) -> NDArray[np.intp]:
    """Return the labels of H, moved to where a degree-corrected block model has them most likely.

    With k_il the total similarity of item i to the items of cluster l, W_lm the total similarity
    between clusters l and m, v_l = sum_m W_lm, and omega_lm = (W_lm + 1) / (v_l v_m / sum(v) + 1),
    item i goes to the cluster l with the largest sum_m k_im log(omega_lm) - d_i sum_m v_m omega_lm
    / sum(v); all at once, ties stay, until none moves (at most ten times). One row of H has r free
    entries and little evidence; sizes and links of clusters are shared by many items. An item
    without memberships gets a cluster this way, unless nothing is similar to it.

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
    _refuse_sparse(H, "settled_labels")
    H = _as_memberships(H)
    similarity = _similarity_of(A, H)
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
    _refuse_sparse(H, "assign_rest")
    H = _as_memberships(H)
    similarity, found = _similarity_of(A, H), labels(H)
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
    if sparse.issparse(H):
        return as_members(H).canonical_order
    H = _as_memberships(H)
    totals = H.sum(axis=0, dtype=np.float64)
    top = totals.max(initial=0.0)
    digits = np.round(totals / top, 6) if top > 0 else totals
    first_strong = np.argmax(0.5 * H.max(axis=0) <= H, axis=0)
    return np.lexsort((first_strong, -digits))


def strength(H: Any) -> Any:
    """Return the share of item i's explained similarity that cluster l explains.

    It is H_il sum_{j != i} H_jl divided by the same summed over all clusters: a row sums to one,
    unless the item shares no cluster with any other item.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.

    Returns
    -------
    ndarray of shape (n, r), a CSR array if H is sparse, or a DataFrame if H is one

    Examples
    --------
    >>> from odsymnmf.memberships import strength
    >>> strength([[1, 0], [1, 1], [0, 1], [0, 1]])
    array([[1. , 0. ], [0.33333333, 0.66666667], [0. , 1. ], [0. , 1. ]])
    """
    if sparse.issparse(H):
        members = as_members(H)
        by_entry = (members.strength, members.H.indices, members.H.indptr)
        return sparse.csr_array(by_entry, shape=members.H.shape)
    M = _as_memberships(H).astype(np.float64, copy=False)
    ties = M * np.maximum(M.sum(axis=0) - M, 0.0)
    total = ties.sum(axis=1, keepdims=True)
    return _like(H, np.divide(ties, total, out=np.zeros_like(ties), where=total > 0))


def overlapping_sets(
    H: Any,
    threshold: float | None = None,
    *,
    rule: Rule = "strength",
    A: Any = None,
    loss: Literal["l2", "l1", "mixed"] | Scales = "l2",
) -> list[Any]:
    """Return the items of every cluster; an item may be in several, or in none.

    Item i belongs to cluster l if H_il > 0 and, depending on the rule,

    - "strength": at least the share ``threshold`` (0.2) of what is explained of i's similarities
      is explained by l, `strength`;
    - "row": H_il >= threshold (0.5) max_t H_it, a share of the item's largest membership;
    - "column": H_il >= threshold (0.15) max_j H_jl, a share of the cluster's largest membership;
    - "harm": the fit would become worse without the membership. With H_il set to zero and nothing
    else changed, the
      objective f_i = sum_{j != i} |A_ij - h_i . h_j|^p would increase by more than ``threshold``
      (0.01) times sum_{j != i} |A_ij|^p, which is what f_i would be for an item without
      memberships.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.
    threshold : float from 0 to 1, optional
        Threshold of the rule; each rule has its own default, given above.
    rule : {"strength", "row", "column", "harm"}
        Which items belong.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        What H was fitted to, normalised as it was then; for "harm" only.
    loss : {"l2", "l1", "mixed"} or Scales
        p = 2, p = 1, or both; for "harm" only. The `Scales` of a fit say how much of each.

    Returns
    -------
    list of r arrays
        The items of each cluster, the strongest member first: their numbers, or if H is a
        DataFrame, their names (then lists).

    Examples
    --------
    >>> from odsymnmf.memberships import overlapping_sets
    >>> H = [[1.0, 0.0], [1.0, 0.4], [0.0, 2.5]]
    >>> [items.tolist() for items in overlapping_sets(H)]
    [[0, 1], [2, 1]]
    >>> [items.tolist() for items in overlapping_sets(H, rule="row")]
    [[0, 1], [2]]
    >>> A = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> [items.tolist() for items in overlapping_sets(H, rule="harm", A=A)]
    [[0, 1], [2, 1]]
    """
    names = list(H.index) if is_frame(H) else None
    if rule not in LEAST:
        known = ", ".join(repr(name) for name in LEAST)
        raise ValueError(f"rule={rule!r} is not known; use one of {known}.")
    least = LEAST[rule] if threshold is None else threshold
    if isinstance(least, str) or not 0 <= least <= 1:
        raise ValueError(f"threshold must be from 0 to 1; got {threshold!r}.")
    if sparse.issparse(H):
        return _sparse_sets(as_members(H), rule, least, A, loss)
    H = _as_memberships(H)
    if rule == "strength":
        belongs = strength(H) >= least
    elif rule == "row":
        belongs = least * H.max(axis=1, keepdims=True) <= H
    elif rule == "column":
        belongs = least * H.max(axis=0, initial=0.0) <= H
    else:
        similarity = _similarity_of(A, H)
        rises, alone = harm(similarity, H, _scales(loss, similarity))
        belongs = rises > least * alone[:, None]
    belongs &= H > 0
    order = np.argsort(-H, axis=0, kind="stable")
    sets = [order[belongs[order[:, l], l], l] for l in range(H.shape[1])]
    return called(sets, names)


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
    M: Any = sparse.csr_array(H) if sparse.issparse(H) else _as_memberships(H)
    H = M.astype(np.float64)
    for name, number, size in zip(("item", "cluster"), (item, cluster), H.shape, strict=True):
        if not 0 <= number < size:
            raise ValueError(f"{name}={number} does not exist; H has {size}, counted from 0.")
    similarity = _similarity_of(A, H)
    scales, this = _scales(loss, similarity), np.array([item])
    own, column = (_full(part) for part in (H[[item]], H[:, [cluster]]))
    residual = similarity.full_rows(this)[0] - H @ own
    without = residual + own[cluster] * column
    # For the item itself, A_ii counts as zero here, and its support is never positive.
    support = pair_losses(without, scales) - pair_losses(residual, scales)
    support *= similarity.weights.of(this, similarity.n)[0]
    order = np.argsort(-support, kind="stable")
    order = order[support[order] > 0]
    return order, support[order]


def frame(H: Any, names: Any = None, columns: Any = None) -> Any:
    """Return memberships as a pandas DataFrame, one row per item and one column per cluster.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    names : sequence of n names, optional
        The index; numbers if not given.
    columns : sequence of r names, optional
        0, 1, ... if not given.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> from odsymnmf import memberships
    >>> H = memberships.frame([[1.0, 0.0], [1.0, 0.6], [0.0, 2.5]], ["ann", "bob", "cleo"])
    >>> memberships.labels(H).to_dict()
    {'ann': 0, 'bob': 0, 'cleo': 1}
    >>> memberships.overlapping_sets(H)
    [['ann', 'bob'], ['cleo', 'bob']]
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'a DataFrame needs pandas; install it with: pip install "odsymnmf[frames]"'
        ) from error
    make = pd.DataFrame.sparse.from_spmatrix if sparse.issparse(H) else pd.DataFrame
    values = H if sparse.issparse(H) else _as_memberships(H)
    # Nodes may be tuples, of which pandas would make an index of several levels.
    index = None if names is None else pd.Index(list(names), tupleize_cols=False)
    return make(values, index=index, columns=columns)


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
    H = H if sparse.issparse(H) else _as_memberships(H)
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


def _like(H: Any, values: Array) -> Any:
    """Return values of the items as a Series or DataFrame, where H is a DataFrame."""
    if not is_frame(H):
        return values
    if values.ndim == 2:
        return type(H)(values, index=H.index, columns=H.columns)
    return H.iloc[:, :0].assign(cluster=values)["cluster"]


def _harmful_entries(members: Members, A: Any, loss: Any, least: float) -> Array:
    """Return which memberships could not go without harm, entry by entry."""
    with held():  # this imports Numba, which Ctrl-C must not cut in two
        from odsymnmf.engine.many.harm import entry_harm
    similarity = _similarity_of(A, members.H)
    if not isinstance(similarity, Sparse):
        raise ValueError("sparse memberships were fitted to a sparse A; pass that.")
    rises, alone = entry_harm(similarity, members.H, _scales(loss, similarity))
    found: Array = rises > least * alone[members.rows]
    return found


def _refuse_sparse(H: Any, name: str) -> None:
    if sparse.issparse(H):
        raise ValueError(
            f"{name} makes arrays of n x r, which sparse memberships are there to avoid; use "
            "labels(H), or H.toarray() if that fits into memory."
        )


def _sparse_sets(members: Members, rule: Rule, least: float, A: Any, loss: Any) -> list[Any]:
    """Return the sets that a rule makes of sparse memberships; nothing of n x r is made."""
    if rule == "strength":
        return members.sets(least)
    if rule == "row":
        return members.row_sets(least)
    if rule == "column":
        return members.column_sets(least)
    return members.sets_of(_harmful_entries(members, A, loss, least))


def _full(part: Any) -> Array:
    """Return a row or column of H as an array."""
    return np.asarray(part.toarray() if sparse.issparse(part) else part).ravel()


def _similarity_of(A: Any, H: Any) -> Similarity:
    if A is None:
        raise ValueError("the similarities that H was fitted to are needed: pass A.")
    similarity = as_similarity(A)
    if similarity.n != H.shape[0]:
        raise ValueError(f"A is of {similarity.n} items, but H has {H.shape[0]} rows.")
    return similarity


def _scales(loss: str | Scales, A: Similarity) -> Scales:
    if isinstance(loss, Scales):
        return loss
    return make_loss(loss, A, np.inf).scales


def _as_memberships(H: ArrayLike) -> Array:
    H = np.asarray(H)
    if H.ndim != 2:
        raise ValueError(f"H must have shape (n, r); got {H.shape}.")
    return H
