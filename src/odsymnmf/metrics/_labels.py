"""Memberships and labels against a known truth."""

from collections.abc import Hashable, Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

UNKNOWN = -1
# Rows of a table that are matched at a time, if nothing ties them to others.
PART_ROWS = 500


def membership_accuracy(H: ArrayLike, H_true: ArrayLike) -> float:
    r"""Accuracy of memberships, 1 - min_P sqrt(||H_P - H_true||_F^2 / (r n)).

    The minimum runs over the permutations P of the r columns of H. It is 1 if H equals H_true up
    to the order of the columns. Columns are compared as they are, not normalised, so the value
    is negative when H has entries far above those of H_true.

    Parameters
    ----------
    H, H_true : array of shape (n, r)
        Memberships found, and true ones.

    Returns
    -------
    float
        At most 1.

    Notes
    -----
    The paper prints a maximum over permutations; the minimum is meant.

    Examples
    --------
    >>> from odsymnmf.metrics import membership_accuracy
    >>> H_true = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> membership_accuracy([[0, 1], [0, 1], [1, 0], [1, 0]], H_true)
    1.0
    >>> membership_accuracy([[0, 1], [1, 0], [1, 0], [1, 0]], H_true)
    0.5
    """
    H, H_true = _as_memberships("H", H), _as_memberships("H_true", H_true)
    if H.shape != H_true.shape:
        raise ValueError(
            f"H and H_true must have the same shape, got {H.shape} and {H_true.shape}; the "
            "accuracy compares as many columns as there are true clusters"
        )
    # Distances, not the cheaper inner products: those lose small differences next to large entries.
    _, columns = linear_sum_assignment(cdist(H_true.T, H.T, "sqeuclidean"))
    return float(1 - np.sqrt(np.mean((H[:, columns] - H_true) ** 2)))


def label_accuracy(labels: Iterable[Hashable], truth: Iterable[Hashable]) -> float:
    """Share of correctly labelled items, max_m #{i : m(labels_i) = truth_i} / n.

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
    return _matched_share(*_encode(labels, truth))


def scores(labels: Iterable[Hashable], truth: Iterable[Hashable]) -> dict[str, float]:
    """Accuracy, normalised mutual information and adjusted Rand index of labels.

    `accuracy` is :func:`label_accuracy`; `nmi` and `ari` are scikit-learn's
    ``normalized_mutual_info_score`` and ``adjusted_rand_score``. All three leave out the items
    whose class is unknown (-1). For `nmi` and `ari` the unassigned items (label -1) form one
    cluster of their own.

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
    found, classes = _encode(labels, truth)
    return {
        "accuracy": _matched_share(found, classes),
        "nmi": float(normalized_mutual_info_score(classes, found)),
        "ari": float(adjusted_rand_score(classes, found)),
    }


def _as_memberships(name: str, H: ArrayLike) -> NDArray[np.float64]:
    remedy = "pass an array of shape (n, r), and call .toarray() on a sparse matrix"
    try:
        array = np.asarray(H, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a dense array of numbers; {remedy}") from error
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{name} must be n x r and not empty, got shape {array.shape}; {remedy}")
    if not np.isfinite(array).all():
        i, l = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name}[{i}, {l}] is {array[i, l]}; memberships must be finite numbers")
    return array


def _encode(
    labels: Iterable[Hashable], truth: Iterable[Hashable]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number clusters and classes 0, 1, ...; -1 stays; items of unknown class are dropped."""
    found, classes = _codes("labels", labels), _codes("truth", truth)
    if len(found) != len(classes):
        raise ValueError(
            f"labels and truth must have the same length, got {len(found)} and {len(classes)}; "
            "pass one of each per item"
        )
    known = classes != UNKNOWN
    if not known.any():
        raise ValueError(
            f"truth has no known class among its {len(classes)} items (-1 means unknown); "
            "a score needs at least one"
        )
    return found[known], classes[known]


def _codes(name: str, values: Iterable[Hashable]) -> NDArray[np.intp]:
    # Not np.unique: an array of mixed values turns numbers into strings, and -1 into "-1".
    codes: dict[Hashable, int] = {UNKNOWN: UNKNOWN}
    numbers: list[int] = []
    # Python scalars of a NumPy array or pandas Series hash faster than its own.
    for value in values.tolist() if hasattr(values, "tolist") else values:
        if not isinstance(value, Hashable):
            raise ValueError(
                f"{name} must be a flat sequence of hashable values, but it holds {value!r}; "
                "pass one label per item"
            )
        if value != value:
            raise ValueError(f"{name} holds {value!r} at place {len(numbers)}; mark it with -1")
        numbers.append(codes.setdefault(value, len(codes) - 1))
    return np.array(numbers, dtype=np.intp)


def _matched_share(found: NDArray[np.intp], classes: NDArray[np.intp]) -> float:
    """Best matching on the table of how many items cluster and class have in common.

    Only the pairs that occur are stored: 100,000 clusters and classes take megabytes.
    """
    assigned = found != UNKNOWN
    pairs = (found[assigned], classes[assigned])
    shape = (found.max(initial=-1) + 1, classes.max() + 1)
    if not shape[0]:
        return 0.0
    table = sparse.coo_array((np.ones(len(pairs[0])), pairs), shape=shape).tocsr()
    return sum(map(_best_matching, _parts(table))) / len(classes)


def _parts(table: sparse.csr_array) -> Iterator[sparse.csr_array]:
    """Yield parts of the table, of some rows each, that have no row or column in common."""
    k = table.shape[0]
    # A graph of rows and columns; with its parts side by side, each is a slice of both.
    graph = sparse.block_array([[None, table], [table.T, None]])
    parts = connected_components(graph, directed=False)[1]
    rows, columns = np.argsort(parts[:k], kind="stable"), np.argsort(parts[k:], kind="stable")
    of_row, of_column = parts[:k][rows], parts[k:][columns]
    table = table[rows][:, columns]
    start = 0
    while start < k:
        # Whole parts, until there are enough rows: the matching takes their square.
        last = of_row[min(start + PART_ROWS, k) - 1]
        end = int(np.searchsorted(of_row, last, side="right"))
        a, b = np.searchsorted(of_column, [of_row[start], last + 1])
        yield table[start:end, a:b]
        start = end


def _best_matching(table: sparse.csr_array) -> float:
    """Return the largest sum of entries, no two in the same row or column.

    A row may stay without a column: each has one of its own for that. As the matching takes a zero
    for a pair that does not exist, one is added to all pairs, and taken off again.
    """
    k = table.shape[0]
    shifted = table.copy()
    shifted.data += 1
    choices = sparse.hstack([shifted, sparse.eye_array(k)], format="csr")
    rows, columns = min_weight_full_bipartite_matching(choices, maximize=True)
    return float(choices[rows, columns].sum() - k)
