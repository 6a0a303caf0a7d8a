"""Interpret H: labels, overlapping sets, strengths, and the pairs that support a membership.

In A_ij ~ h_i . h_j all columns have the same scale: a cluster in which two items have memberships s
and t contributes s t to their similarity. So memberships may be compared along rows and columns.

H may be a scipy sparse array: then no n x r array is formed. It may also be a fitted model or a
`Factorization`, or a DataFrame whose index holds the names of the items (`frame` makes one): labels
are then a Series and strengths a DataFrame. Sets hold names where there are any.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_scalar

from odsymnmf.inputs import features_and_names, kind_of
from odsymnmf.membership_view import MembershipView, as_matrix, as_view, names_of
from odsymnmf.similarity import Gram, Similarity, as_similarity
from odsymnmf.solvers.losses import make_solver
from odsymnmf.solvers.objective import Scales, deletion_loss, pair_losses
from odsymnmf.utils import Array, blocks, check_memory, optional_import, plain_signature

__all__ = [
    "assign_unassigned",
    "canonical_order",
    "frame",
    "labels",
    "overlapping_sets",
    "refine_labels",
    "strength",
    "supporting_pairs",
    "top_features",
]

Rule = Literal["strength", "row", "column", "loss"]
RefineRule = Literal["links", "mean", "centroid"]

# The default threshold of each rule; docs/choices.md has the reasons.
THRESHOLDS: dict[Rule, float] = {"strength": 0.2, "row": 0.5, "column": 0.15, "loss": 0.01}
# Maximum number of passes of `refine_labels`: more passes hardly change a label.
MAX_REFINEMENTS = 10
# Number of items that are processed at a time.
BLOCK_ITEMS = 2**14


def labels(H: Any) -> Any:
    """Return argmax_l H_il for each item i, and -1 (unassigned) where its row is all zero.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
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
    if hasattr(H, "labels_"):
        return H.labels_
    M = as_matrix(H)
    if sparse.issparse(M):
        return as_view(H).labels
    values = np.where(M.any(axis=1), M.argmax(axis=1), -1)
    return values if M is H else _like(H, values)


def canonical_order(H: Any) -> NDArray[np.intp]:
    """Return the order of the columns that puts the largest total membership sum_i H_il first.

    Totals that agree to six digits count as equal. Such columns are ordered by their first strong
    item, the first entry of at least half of the column's largest. ``H[:, order]`` is the same for
    all H that are equal up to the order of their columns.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
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
    M = as_matrix(H)
    totals = M.sum(axis=0, dtype=np.float64)
    if sparse.issparse(M):
        view = as_view(H)
        columns = view.H.indices
        strong = np.flatnonzero(view.H.data >= 0.5 * view.column_peaks[columns])[::-1]
        first_strong = np.zeros(view.r, dtype=np.intp)
        first_strong[columns[strong]] = view.rows[strong]  # in reverse: the first one stays
    else:
        first_strong = (0.5 * M.max(axis=0) <= M).argmax(axis=0)
    return np.lexsort((first_strong, -np.round(totals / (totals.max() or 1.0), 6)))


def strength(H: Any) -> Any:
    """Return the fraction of item i's explained similarity that cluster l explains.

    It is H_il sum_{j != i} H_jl divided by the same summed over all clusters: a row sums to one,
    unless the item shares no cluster with any other item.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
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
    view = as_view(H)
    fractions = sparse.csr_array((view.strength, view.H.indices, view.H.indptr), view.H.shape)
    return fractions if sparse.issparse(as_matrix(H)) else _like(H, fractions.toarray())


@plain_signature
def overlapping_sets(
    H: Any,
    threshold: float | None = None,
    *,
    rule: Rule = "strength",
    A: Any = None,
    loss: Literal["l2", "l1", "mixed"] | Scales = "l2",
) -> list[list[Any]]:
    """Return the items of every cluster; an item may be in several, or in none.

    Item i belongs to cluster l if H_il > 0 and, depending on the rule,

    - "strength": at least the fraction ``threshold`` (0.2) of the explained similarity of i is
      explained by l, see `strength`;
    - "row": H_il >= threshold (0.5) max_t H_it, a fraction of the item's largest membership;
    - "column": H_il >= threshold (0.15) max_j H_jl, a fraction of the cluster's largest membership;
    - "loss": the loss would increase without the membership. With H_il set to zero and nothing
      else changed, f_i = sum_{j != i} |A_ij - h_i . h_j|^p would increase by more than
      ``threshold`` (0.01) times sum_{j != i} |A_ij|^p, the value of f_i without memberships.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    threshold : float from 0 to 1, optional
        Threshold of the rule; each rule has its own default, given above.
    rule : {"strength", "row", "column", "loss"}
        The rule by which an item belongs to a cluster.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        The similarities that H was fitted to, normalized as in the fit; for "loss" only.
    loss : {"l2", "l1", "mixed"} or Scales
        p = 2, p = 1, or both; for "loss" only. `Scales` are the weights of both, as in a fit.

    Returns
    -------
    list of r lists
        The items of each cluster, the strongest member first: their names if H has names, else
        their numbers.

    Examples
    --------
    >>> from odsymnmf.memberships import overlapping_sets
    >>> H = [[1.0, 0.0], [1.0, 0.4], [0.0, 2.5]]
    >>> overlapping_sets(H)
    [[0, 1], [2, 1]]
    >>> overlapping_sets(H, rule="row")
    [[0, 1], [2]]
    >>> A = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> overlapping_sets(H, rule="loss", A=A)
    [[0, 1], [2, 1]]
    """
    if rule not in THRESHOLDS:
        known = ", ".join(map(repr, THRESHOLDS))
        raise ValueError(f"rule={rule!r} is not known; use one of {known}.")
    if threshold is None:
        threshold = THRESHOLDS[rule]
    if isinstance(threshold, str) or not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be from 0 to 1; got {threshold!r}.")
    view = as_view(H)
    data, columns = view.H.data, view.H.indices
    if rule == "strength":
        belongs = view.strength >= threshold
    elif rule == "row":
        belongs = data >= threshold * view.peaks[view.rows]
    elif rule == "column":
        belongs = data >= threshold * view.column_peaks[columns]
    else:
        similarity = _similarity(A, view.n)
        increase, zero_loss = deletion_loss(similarity, view.H, _scales(loss, similarity))
        belongs = increase > threshold * zero_loss[view.rows]
    entries = np.flatnonzero(belongs)
    entries = entries[np.lexsort((view.rows[entries], -data[entries], columns[entries]))]
    ends = np.cumsum(np.bincount(columns[entries], minlength=view.r))
    sets, names = np.split(view.rows[entries], ends[:-1]), names_of(H)
    return [items.tolist() if names is None else [names[i] for i in items] for items in sets]


@plain_signature
def supporting_pairs(
    H: Any, A: Any, item: int, cluster: int, *, loss: Literal["l2", "l1", "mixed"] = "l2"
) -> tuple[NDArray[np.intp], Array]:
    """Return the items that support the membership of ``item`` in ``cluster``, and their support.

    The support of i in l by j is |A_ij - h_i . h_j + H_il H_jl|^p - |A_ij - h_i . h_j|^p: the
    increase of the error of the pair (i, j) if i were not in l. Items with positive support are
    returned. Summed over all j != i, the support is the increase that ``overlapping_sets(H,
    rule="loss")`` compares with its threshold.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        The similarities that H was fitted to.
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
    M = as_view(H).H.astype(np.float64)
    check_scalar(item, "item", Integral, min_val=0, max_val=M.shape[0] - 1)
    check_scalar(cluster, "cluster", Integral, min_val=0, max_val=M.shape[1] - 1)
    similarity = _similarity(A, M.shape[0])
    scales = _scales(loss, similarity)
    h = M[[item]].toarray()[0]
    residual = similarity.dense_rows(np.array([item]))[0] - M @ h
    without = residual + h[cluster] * M[:, [cluster]].toarray()[:, 0]
    # For the item itself, A_ii counts as zero here, and its support is never positive.
    support = pair_losses(without, scales) - pair_losses(residual, scales)
    support *= similarity.weights.dense_rows(np.array([item]), similarity.n)[0]
    order = np.argsort(-support, kind="stable")[: np.count_nonzero(support > 0)]
    return order, support[order]


def top_features(
    H: Any, X: Any, names: Sequence[Any] | None = None, n_top: int = 10
) -> list[list[tuple[Any, float]]]:
    """Return the features that are most characteristic of every cluster: its top words.

    With p_l(t) the fraction of feature t in sum_i H_il X_it, and q(t) the mean of p_l(t) over the
    clusters, the score of feature t in l is p_l(t) log(p_l(t) / q(t)), its contribution to the
    Kullback-Leibler divergence of the cluster from the mean. A top word is thus frequent in the
    cluster and rarer in the others.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    X : array-like, scipy sparse matrix or array, DataFrame or Dataset of shape (n, m)
        Nonnegative features, for example the tf-idf weights of words, or the expression of genes.
    names : sequence of m names, optional
        Names of the features; by default those of a DataFrame or Dataset, else numbers.
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
    if names is None:
        is_frame = kind_of(X) == "pandas"
        names = list(X.columns) if is_frame else getattr(X, "feature_names", None)
    X, _ = features_and_names(X)
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    M = as_matrix(H)
    if X.ndim != 2 or X.shape[0] != M.shape[0]:
        raise ValueError(f"X has shape {X.shape}, but H has {M.shape[0]} rows: one row per item.")
    m = X.shape[1]
    if names is not None and len(names) != m:
        raise ValueError(f"{len(names)} names were given for the {m} columns of X.")
    if X.size and X.min() < 0:
        raise ValueError("X has negative entries; top features need weights >= 0, such as counts.")
    weights = M.T @ X
    weights = weights.toarray() if sparse.issparse(weights) else np.asarray(weights)
    totals = weights.sum(axis=1, keepdims=True)
    p = np.divide(weights, totals, out=np.zeros_like(weights, dtype=np.float64), where=totals > 0)
    q = p.mean(axis=0)
    ratio = np.divide(p, q, out=np.ones_like(p), where=(p > 0) & (q > 0))
    top = []
    for score in p * np.log(ratio):
        best = np.argsort(-score, kind="stable")[:n_top]
        top.append(
            [(int(t) if names is None else names[t], float(score[t])) for t in best if score[t] > 0]
        )
    return top


@plain_signature
def refine_labels(H: ArrayLike, A: Any, *, rule: RefineRule = "links") -> NDArray[np.intp]:
    """Return the labels of H, improved by using all similarities.

    With "links", the rule for graphs, under a degree-corrected stochastic block model: with d_i the
    degree of item i, k_il its total similarity to the items of cluster l, W_lm the total similarity
    between clusters l and m, v_l the sum of the degrees in l, and
    omega_lm = (W_lm + 1) / (v_l v_m / sum(v) + 1), item i moves to the cluster l with the largest
    sum_m k_im log(omega_lm) - d_i sum_m v_m omega_lm / sum(v). With "mean", the rule for
    similarities of both signs, item i moves to the cluster with the largest mean similarity of its
    other members to i. "centroid", the rule for documents, first does so, then moves item i to the
    cluster with the largest cosine of x_i to the sum of x_j over its other members j. All items
    move at the same time and keep their cluster in a tie, until none moves (at most ten times).
    Unlike a row of H, the rules depend on the sizes of the clusters and the similarities between
    them. An item without memberships also gets a cluster, unless no item is similar to it.

    Parameters
    ----------
    H : array-like of shape (n, r)
        Memberships.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Similarities before any normalization; >= 0 for "links", and `odsymnmf.similarity.cosine`
        or `gram` for "centroid".
    rule : {"links", "mean", "centroid"}
        The rule by which items are assigned to clusters.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    Item 2 is linked to 0 and 1 only, but its largest entry is in the other cluster:

    >>> from odsymnmf.memberships import refine_labels
    >>> H = [[1, 0], [1, 0], [0.4, 0.5], [0, 1], [0, 1], [0, 1]]
    >>> A = [[0, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0],
    ...      [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 1], [0, 0, 0, 1, 1, 0]]
    >>> refine_labels(H, A)
    array([0, 0, 0, 1, 1, 1])
    """
    if rule not in ("links", "mean", "centroid"):
        raise ValueError(f'rule={rule!r} is not known; use "links", "mean" or "centroid".')
    view = MembershipView(as_view(H).H)  # without the labels of a model
    check_memory(16 * view.n * view.r, "refining labels", "use labels(H)")
    similarity = _similarity(A, view.n)
    if rule == "centroid" and not isinstance(similarity, Gram):
        raise ValueError('rule="centroid" needs similarity.cosine(X) or gram(X); use rule="mean".')
    summary = similarity.summary
    if summary.has_negative and rule == "links":
        raise ValueError('A has negative similarities; use rule="mean", which allows them.')
    d, current = summary.degrees, view.labels
    # In units of the mean nonzero similarity, so that A and 2 A give the same labels.
    pairs = summary.density * similarity.n * (similarity.n - 1)
    unit = d.sum() / pairs if pairs > 0 else 0.0
    if unit <= 0 or not (current >= 0).any():
        return current
    d = d / unit
    for step in ("mean", "centroid") if rule == "centroid" else (rule,):
        for _ in range(MAX_REFINEMENTS):
            Z = _indicator(current, view.H.shape, similarity.dtype)
            K = similarity.matmul(Z, weighted=True).astype(np.float64) / unit
            if step == "links":
                scores = _block_model_scores(K, current, d)
            elif step == "mean":
                scores = _mean(K, Z, similarity)
            else:
                scores = _centroid_cosine(K, current, similarity.diagonal / unit)
            assigned = current >= 0
            scores[assigned, current[assigned]] += 1e-9 * d[assigned]  # ties stay
            moved = np.where(d > 0, scores.argmax(axis=1), current)
            if np.array_equal(moved, current):
                break
            current = moved
    return current


def _block_model_scores(K: Array, current: Array, d: Array) -> Array:
    """Return the log-likelihood of every item in every cluster; overwrites K."""
    assigned = current >= 0
    indptr = np.concatenate([[0], np.cumsum(assigned)])
    Z = sparse.csr_array((np.ones(indptr[-1]), current[assigned], indptr), shape=K.shape)
    W, v = Z.T @ K, Z.T @ d
    omega = (W + 1) / (np.outer(v, v) / v.sum() + 1)
    log_omega, expected = np.log(omega).T, omega @ v / v.sum()
    for b in blocks(len(K), BLOCK_ITEMS):
        K[b] = K[b] @ log_omega - np.outer(d[b], expected)
    return K


def _mean(K: Array, Z: Array, A: Similarity) -> Array:
    """Return the mean similarity of every item to the other members of every cluster."""
    weight = A.weights.default * (Z.sum(axis=0, dtype=np.float64) - Z)
    if A.weights.excess is not None:
        weight = weight + A.weights.excess @ Z
    return np.divide(K, weight, out=np.zeros_like(K), where=weight > 0)


def _centroid_cosine(K: Array, current: Array, squares: Array) -> Array:
    """Return x_i . s / |s| for every item and cluster, s the sum of the other members."""
    items = np.flatnonzero(current >= 0)
    clusters = current[items]
    added = 2 * K[items, clusters] + squares[items]  # |s + x_i|^2 - |s|^2
    total = np.bincount(clusters, K[items, clusters] + squares[items], K.shape[1])
    lengths = np.tile(total, (len(K), 1))
    lengths[items, clusters] -= added
    positive = lengths > 1e-9 * squares.max()  # zero for the only member of a cluster
    return np.divide(K, np.sqrt(np.abs(lengths)), out=np.zeros_like(K), where=positive)


@plain_signature
def assign_unassigned(H: ArrayLike, A: Any) -> NDArray[np.intp]:
    """Return the labels of H; items without memberships get the label of their neighbors.

    Such an item i goes to the cluster l with the largest sum of A_ij over the items j of l, if that
    is positive. This is repeated for the remaining items until nothing changes.

    Parameters
    ----------
    H : array-like of shape (n, r), or ODSymNMF
        Memberships, or a model, whose ``labels_`` are used.
    A : array-like, scipy sparse matrix or array, or a similarity of n items
        Similarities.

    Returns
    -------
    ndarray of shape (n,)
        -1 for items that no path of positive similarities connects to a cluster.

    Examples
    --------
    >>> from odsymnmf.memberships import assign_unassigned
    >>> A = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    >>> assign_unassigned([[1], [1], [0], [0]], A)
    array([ 0,  0,  0, -1])
    """
    view = as_view(H)
    check_memory(16 * view.n * view.r, "assigning items", "use labels(H)")
    similarity, current = _similarity(A, view.n), view.labels.copy()
    while (current < 0).any() and (current >= 0).any():
        Z = _indicator(current, view.H.shape, similarity.dtype)
        K = similarity.matmul(Z, weighted=True)
        joins = (current < 0) & (K.max(axis=1) > 0)
        if not joins.any():
            break
        current[joins] = K[joins].argmax(axis=1)
    return current


def frame(H: Any, names: Any = None, columns: Any = None) -> Any:
    """Return memberships as a pandas DataFrame, one row per item and one column per cluster.

    Parameters
    ----------
    H : array-like or scipy sparse array of shape (n, r)
        Memberships.
    names : sequence of n names, optional
        The index; by default the names in H, else numbers.
    columns : sequence of r names, optional
        "cluster_0", "cluster_1", ... if not given.

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
    pd = optional_import("pandas", "a DataFrame", '"odsymnmf[frames]"')
    M = as_matrix(H)
    make = pd.DataFrame.sparse.from_spmatrix if sparse.issparse(M) else pd.DataFrame
    names = names_of(H) if names is None else names
    columns = [f"cluster_{l}" for l in range(M.shape[1])] if columns is None else columns
    # pandas would turn nodes that are tuples into an index of several levels.
    rows = None if names is None else pd.Index(list(names), tupleize_cols=False)
    return make(M, index=rows, columns=columns)


def _similarity(A: Any, n: int) -> Similarity:
    """Return A as a similarity of n items."""
    if A is None:
        raise ValueError("the similarities that H was fitted to are needed: pass A.")
    similarity = as_similarity(A)
    if similarity.n != n:
        raise ValueError(f"A has {similarity.n} items, but H has {n} rows.")
    return similarity


def _scales(loss: str | Scales, A: Similarity) -> Scales:
    """Return the weights of f_1 and f_2 in a loss."""
    return loss if isinstance(loss, Scales) else make_solver(loss, A, np.inf).scales


def _indicator(labels: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """Return Z with Z_il = 1 where labels_i = l."""
    Z = np.zeros(shape, dtype=dtype)
    assigned = labels >= 0
    Z[assigned, labels[assigned]] = 1.0
    return Z


def _like(H: Any, values: Array) -> Any:
    """Return values of the items as a Series or DataFrame if H is a DataFrame."""
    if kind_of(H) != "pandas":
        return values
    if values.ndim == 2:
        return type(H)(values, index=H.index, columns=H.columns)
    return H.iloc[:, :0].assign(cluster=values)["cluster"]
