"""Sets of items as a start: labels, or a list of sets, as users give them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array


def as_sets(init: Any, n: int, r: int | None) -> list[Array] | None:
    """Return the sets of items that ``init`` is, or None if it is an array (n x r).

    Whole numbers in one dimension are labels, -1 for none. A list of sets, of arrays of whole
    numbers, or of lists that are not the rows of an (n x r) array, is a list of sets.

    Parameters
    ----------
    init : labels, list of sets, or array
    n : int
        Number of items.
    r : int or None
        Most sets; None for any number.

    Examples
    --------
    >>> from odsymnmf.engine.sets import as_sets
    >>> [items.tolist() for items in as_sets([1, 0, -1, 1], 4, 2)]
    [[1], [0, 3]]
    >>> [items.tolist() for items in as_sets([{2, 0}, {1}], 3, None)]
    [[0, 2], [1]]
    >>> as_sets([[1.0, 0.0], [0.0, 1.0]], 2, 2)
    """
    if sparse.issparse(init):
        return None
    if _is_list_of_sets(init, n, r):
        sets = [_checked(items, n, number) for number, items in enumerate(init)]
    elif np.ndim(init) == 1:
        sets = sets_from_labels(init, n)
    else:
        return None
    if r is not None and len(sets) > r:
        raise ValueError(f"init has {len(sets)} sets, but r={r}; raise r, or merge sets.")
    return sets


def sets_from_labels(labels: Any, n: int | None = None) -> list[Array]:
    """Return the items of each label, in the order of the labels; negative ones are in no set.

    Examples
    --------
    >>> from odsymnmf.engine.sets import sets_from_labels
    >>> [items.tolist() for items in sets_from_labels([1, 0, -1, 1])]
    [[1], [0, 3]]
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or (n is not None and len(labels) != n):
        wanted = "item" if n is None else f"item ({n} in all)"
        raise ValueError(
            f"labels must be one whole number per {wanted}, not {labels.dtype} of shape "
            f"{labels.shape}."
        )
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []


def _is_list_of_sets(init: Any, n: int, r: int | None) -> bool:
    if not isinstance(init, Sequence) or isinstance(init, str) or not len(init):
        return False
    if all(isinstance(items, set | frozenset) for items in init):
        return True
    if not all(np.ndim(items) == 1 for items in init):
        return False
    lengths = {len(items) for items in init}
    like_rows = len(init) == n and (lengths == {r} if r is not None else len(lengths) == 1)
    if like_rows and not isinstance(init[0], np.ndarray):
        return False
    return all(np.asarray(items).dtype.kind in "iu" or not len(items) for items in init)


def _checked(items: Any, n: int, number: int) -> Array:
    found = np.unique(np.asarray(list(items)))
    if found.size == 0:
        return found.astype(np.int64)
    if found.dtype.kind not in "iu":
        raise ValueError(f"set {number} must hold whole numbers, not {found.dtype}.")
    if found[0] < 0 or found[-1] >= n:
        bad = found[0] if found[0] < 0 else found[-1]
        raise ValueError(f"set {number} holds item {bad}, but items go from 0 to {n - 1}.")
    return found.astype(np.int64)
