"""Agreement of memberships, labels and covers with a known ground truth.

A cover is a list of sets of items, such as ``overlapping_sets`` returns: an item may be in
several sets, or in none.
"""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import check_array

from odsymnmf.utils import Array, plain_signature, whole_number

__all__ = [
    "best_match_f1",
    "label_accuracy",
    "membership_accuracy",
    "omega_index",
    "overlapping_nmi",
    "scores",
]

Cover = Sequence[ArrayLike]

UNKNOWN = -1


@plain_signature
def membership_accuracy(H: ArrayLike, H_true: ArrayLike) -> float:
    r"""Accuracy of memberships, 1 - min_P sqrt(||H_P - H_true||_F^2 / (r n)).

    The minimum runs over the permutations P of the r columns of H. It is 1 if H equals H_true up
    to the order of the columns. Columns are not normalized before they are compared, so the value
    is negative when H has entries far above those of H_true.

    Parameters
    ----------
    H, H_true : array of shape (n, r)
        Memberships, and the true memberships.

    Returns
    -------
    float
        At most 1.

    Notes
    -----
    The paper has a maximum over permutations where the minimum is meant.

    Examples
    --------
    >>> from odsymnmf.metrics import membership_accuracy
    >>> H_true = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> membership_accuracy([[0, 1], [0, 1], [1, 0], [1, 0]], H_true)
    1.0
    >>> membership_accuracy([[0, 1], [1, 0], [1, 0], [1, 0]], H_true)
    0.5
    """
    M: Array = check_array(H, dtype=np.float64, input_name="H")
    M_true: Array = check_array(H_true, dtype=np.float64, input_name="H_true")
    if M.shape != M_true.shape:
        raise ValueError(
            f"H and H_true must have the same shape, got {M.shape} and {M_true.shape}; pass as "
            "many columns as there are true clusters"
        )
    # Distances, not inner products: those lose small differences next to large entries.
    _, columns = linear_sum_assignment(cdist(M_true.T, M.T, "sqeuclidean"))
    return float(1 - np.sqrt(np.mean((M[:, columns] - M_true) ** 2)))


def label_accuracy(labels: Iterable[Hashable], truth: Iterable[Hashable]) -> float:
    """Fraction of correctly labeled items, max_m #{i : m(labels_i) = truth_i} / n.

    The maximum runs over the one-to-one matchings m of clusters with classes. There may be more
    clusters than classes, or fewer; the items of an unmatched cluster or class count as wrong.

    Parameters
    ----------
    labels : sequence of length n
        The cluster of each item. -1 means unassigned and always counts as wrong.
    truth : sequence of length n
        The class of each item: integers, strings or anything hashable. Items of class -1
        (unknown) are left out, n then counts the others.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from odsymnmf.metrics import label_accuracy
    >>> label_accuracy([1, 1, 0, 0], ["sport", "sport", "music", "music"])
    1.0
    >>> label_accuracy([1, 1, 0, -1], ["sport", "sport", "music", "music"])
    0.75
    """
    clusters, classes = _encode(labels, truth)
    assigned = clusters != UNKNOWN
    if not assigned.any():
        return 0.0
    table = contingency_matrix(classes[assigned], clusters[assigned])
    return float(table[linear_sum_assignment(table, maximize=True)].sum()) / len(classes)


def scores(labels: Iterable[Hashable], truth: Iterable[Hashable]) -> dict[str, float]:
    """Accuracy, normalized mutual information and adjusted Rand index of labels.

    `accuracy` is :func:`label_accuracy`; `nmi` and `ari` are scikit-learn's
    ``normalized_mutual_info_score`` and ``adjusted_rand_score``. All three leave out the items
    whose class is unknown (-1). For `nmi` and `ari` the unassigned items (label -1) form a
    separate cluster.

    Parameters
    ----------
    labels, truth : sequence of length n
        As for :func:`label_accuracy`.

    Returns
    -------
    dict
        With keys "accuracy", "nmi" and "ari".

    Examples
    --------
    >>> from odsymnmf.metrics import scores
    >>> scores([1, 1, 0, 0, 0], ["a", "a", "b", "b", -1])
    {'accuracy': 1.0, 'nmi': 1.0, 'ari': 1.0}
    """
    clusters, classes = _encode(labels, truth)
    return {
        "accuracy": label_accuracy(clusters.tolist(), classes.tolist()),
        "nmi": float(normalized_mutual_info_score(classes, clusters)),
        "ari": float(adjusted_rand_score(classes, clusters)),
    }


@plain_signature
def overlapping_nmi(cover: Cover, truth: Cover, n: int | None = None) -> float:
    r"""Normalized mutual information of two covers, I(X : Y) / max(H(X), H(Y)).

    I(X : Y) = (H(X) - H(X|Y) + H(Y) - H(Y|X)) / 2. H(X) is the sum of the entropies of the sets,
    each taken as a binary variable, the membership of a random item. H(X|Y) is the sum over the
    sets of X of the remaining entropy given the most informative set of Y; a set that is
    informative only through its complement does not count.

    Parameters
    ----------
    cover, truth : list of arrays
        The items of every set. An item counts once per set; empty sets are left out.
    n : int, optional
        Total number of items, those in no set included. Default: the items of both covers.

    Returns
    -------
    float
        From 0 to 1; 1 for the same cover.

    References
    ----------
    McDaid, Greene and Hurley, "Normalized mutual information to evaluate overlapping community
    finding algorithms", 2011.

    Examples
    --------
    >>> from odsymnmf.metrics import overlapping_nmi
    >>> overlapping_nmi([[0, 1, 2], [2, 3, 4]], [[2, 3, 4], [0, 1, 2]])
    1.0
    >>> round(overlapping_nmi([[0, 1, 2], [3, 4]], [[0, 1, 2], [2, 3, 4]]), 3)
    0.716
    """
    X, Y, n = _indicators(cover, truth, n)
    size_x, size_y = _sizes(X), _sizes(Y)
    entropy_x, entropy_y = (_bits(size, n) + _bits(n - size, n) for size in (size_x, size_y))
    total = float(max(entropy_x.sum(), entropy_y.sum()))
    if total == 0:
        return 1.0  # both consist of sets of all items
    information = 0.0
    remaining_y = entropy_y.copy()
    for a, x, h in zip(size_x, X, entropy_x, strict=True):
        common = Y @ x.toarray().ravel()
        parts = (common, a - common, size_y - common, n - a - size_y + common)
        both, only_x, only_y, neither = (_bits(part, n) for part in parts)
        is_direct = both + neither >= only_x + only_y
        joint = np.where(is_direct, both + only_x + only_y + neither, np.inf)
        information += h - min(h, (joint - entropy_y).min())
        remaining_y = np.minimum(remaining_y, joint - h)
    information += (entropy_y - remaining_y).sum()
    return min(max(float(information) / 2 / total, 0.0), 1.0)


@plain_signature
def omega_index(cover: Cover, truth: Cover, n: int | None = None) -> float:
    r"""Agreement on how many sets each pair of items shares, corrected for chance.

    omega = (o - e) / (1 - e): o is the fraction of pairs that are together in as many sets of one
    cover as of the other, e = sum_t p_t q_t its expectation by chance, p_t and q_t the fractions
    of pairs together in t sets. For partitions it is the adjusted Rand index.

    Parameters
    ----------
    cover, truth : list of arrays
        The items of every set. An item counts once per set; empty sets are left out.
    n : int, optional
        Total number of items, those in no set included. Default: the items of both covers.

    Returns
    -------
    float
        At most 1; 0 is chance.

    Notes
    -----
    Time and memory are the sum of the squared sizes of the sets, because pairs are counted.

    References
    ----------
    Collins and Dent, "Omega: a general formulation of the Rand index of cluster recovery suitable
    for non-disjoint solutions", 1988.

    Examples
    --------
    >>> from odsymnmf.metrics import omega_index
    >>> omega_index([[0, 1, 2], [2, 3, 4]], [[2, 3, 4], [0, 1, 2]])
    1.0
    >>> round(omega_index([[0, 1, 2], [3, 4]], [[0, 1, 2], [2, 3, 4]]), 3)
    0.615
    """
    X, Y, n = _indicators(cover, truth, n)
    pairs = n * (n - 1) // 2
    shared = [sparse.triu(M.T @ M, 1).tocsr() for M in (X, Y)]
    # Number of pairs by the number of sets they share.
    counts = [np.bincount(part.data, minlength=X.shape[0] + Y.shape[0]) for part in shared]
    for count in counts:
        count[0] = pairs - count.sum()
    # Python integers: the squares exceed 64 bits, and the fractions may be close to one.
    agree = (pairs - int((shared[0] - shared[1]).count_nonzero())) * pairs
    chance = sum(a * b for a, b in zip(counts[0].tolist(), counts[1].tolist(), strict=False))
    return 1.0 if chance == pairs**2 else (agree - chance) / (pairs**2 - chance)


@plain_signature
def best_match_f1(cover: Cover, truth: Cover) -> float:
    r"""Mean F1 of each set with the best-matching set of the other cover.

    (mean_i max_j F1(X_i, Y_j) + mean_j max_i F1(X_i, Y_j)) / 2, with
    F1(X, Y) = 2 |X and Y| / (|X| + |Y|).

    Parameters
    ----------
    cover, truth : list of arrays
        The items of every set. An item counts once per set; empty sets are left out.

    Returns
    -------
    float
        From 0 to 1.

    References
    ----------
    Yang and Leskovec, "Overlapping community detection at scale: a nonnegative matrix
    factorization approach", 2013.

    Examples
    --------
    >>> from odsymnmf.metrics import best_match_f1
    >>> best_match_f1([[0, 1, 2], [2, 3, 4]], [[2, 3, 4], [0, 1, 2]])
    1.0
    >>> round(best_match_f1([[0, 1, 2], [3, 4]], [[0, 1, 2], [2, 3, 4]]), 3)
    0.9
    """
    X, Y, _ = _indicators(cover, truth)
    f1 = (X @ Y.T).tocoo()
    f1.data = 2 * f1.data / (_sizes(X)[f1.row] + _sizes(Y)[f1.col])
    return float((f1.max(axis=1).mean() + f1.max(axis=0).mean()) / 2)


def _encode(
    labels: Iterable[Hashable], truth: Iterable[Hashable]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number clusters and classes 0, 1, ...; -1 stays; items of unknown class are dropped."""
    clusters, classes = _codes("labels", labels), _codes("truth", truth)
    if len(clusters) != len(classes):
        raise ValueError(
            f"labels and truth must have the same length, got {len(clusters)} and {len(classes)}; "
            "pass one of each per item"
        )
    known = classes != UNKNOWN
    if not known.any():
        raise ValueError(
            f"truth has no known class among its {len(classes)} items (-1 means unknown); "
            "a score needs at least one"
        )
    return clusters[known], classes[known]


def _codes(name: str, values: Iterable[Hashable]) -> NDArray[np.intp]:
    # Not np.unique: in an array of mixed values numbers become strings, and -1 "-1".
    codes: dict[Hashable, int] = {UNKNOWN: UNKNOWN}
    # Python scalars hash faster than those of NumPy arrays and pandas Series.
    items = values.tolist() if hasattr(values, "tolist") else list(values)
    for k, value in enumerate(items):
        if not isinstance(value, Hashable) or value != value:
            raise ValueError(
                f"{name}[{k}] is {value!r}; pass one label per item, such as a number or a "
                "string, and mark unknown items with -1"
            )
    return np.array([codes.setdefault(value, len(codes) - 1) for value in items], dtype=np.intp)


def _indicators(
    cover: Cover, truth: Cover, n: int | None = None
) -> tuple[sparse.csr_array, sparse.csr_array, int]:
    """Return a sparse sets x items matrix of each cover, without empty sets, and n."""
    covers = []
    for name, given in (("cover", cover), ("truth", truth)):
        sets = [np.asarray(items) for items in given]
        for k, items in enumerate(sets):
            if items.ndim != 1 or (items.size and items.dtype.kind not in "iuU"):
                raise ValueError(
                    f"{name}[{k}] must be a flat array of items, numbers or strings, got "
                    f"shape {items.shape} of {items.dtype}; a cover is a list of such arrays"
                )
        covers.append([items.tolist() for items in sets if items.size])
        if not covers[-1]:
            raise ValueError(f"{name} has only empty sets; there is nothing to compare")
    if len({type(items[0]) for cover in covers for items in cover}) > 1:
        raise ValueError("cover and truth mix numbers and names of items; use one of them")
    binarizer = MultiLabelBinarizer(sparse_output=True).fit(covers[0] + covers[1])
    X, Y = (sparse.csr_array(binarizer.transform(cover), dtype=np.int64) for cover in covers)
    n = X.shape[1] if n is None else whole_number("n, the number of items,", n, X.shape[1])
    return X, Y, n


def _sizes(X: sparse.csr_array) -> Array:
    return np.diff(X.indptr).astype(np.int64)


def _bits(w: Array, n: int) -> Array:
    """Return -w log2(w / n), 0 at w = 0."""
    w = w.astype(np.float64)
    return -w * np.log2(np.where(w > 0, w, n) / n)
