"""Initializations from arrays, labels and sets, and random or zero ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.similarity import Similarity
from odsymnmf.utils import Array, RandomSource, as_csr, blocks

# Rows of H that are processed at a time.
BLOCK_ROWS = 2**14


def random(solver: Any, r: int, rng: RandomSource) -> Array:
    """Return uniform random entries, scaled to the data."""
    A = solver.A
    H = np.empty((A.n, r), dtype=A.dtype)
    for b in blocks(A.n, BLOCK_ROWS):
        H[b] = rng.uniform(size=(b.stop - b.start, r))
    return scale_to_fit(A, H)


def scale_to_fit(A: Similarity, H: Array) -> Array:
    """Scale H to fit A best and return it: t H with t^2 = <w A, H H^T> / <w H H^T, H H^T>."""
    inner, squares = A.explained(H)
    if squares <= 0:
        return H
    if inner <= 0:  # negative on average: only the size of A determines the scale
        inner = np.sqrt(A.sum_of_squares * squares)
    t = np.asarray(np.sqrt(inner / squares), dtype=H.dtype)
    for b in blocks(len(H), BLOCK_ROWS):
        H[b] *= t
    return H


def zero(solver: Any, r: int, rng: RandomSource | None = None) -> Array:
    """Return H after one sweep from an H with a single entry per column.

    With H = 0 the optimum of an entry is undefined, and no entry would change.
    """
    H = np.minimum(single_entries(solver, r), np.asarray(solver.upper, dtype=solver.A.dtype))
    empty_column_value = float(H.max(initial=0.0))
    if empty_column_value > 0:
        solver.H = H
        solver.refresh()
        solver.sweep(np.arange(len(H)), empty=empty_column_value)
        solver.clean_columns(H)
    return H


def single_entries(solver: Any, r: int) -> Array:
    """Return H with one entry per column, each of a different item.

    The items are those of largest degree that are not linked to each other, if possible.
    """
    A = solver.A
    H = np.zeros((A.n, r), dtype=A.dtype)
    score = A.degrees()
    for l in range(min(r, A.n)):
        k = int(np.argmax(score))
        H[k, l] = np.sqrt(A.max_value)
        linked = np.flatnonzero(A.dense_rows(np.array([k]))[0] > 0)
        score[linked] -= np.ptp(score[np.isfinite(score)]) + A.max_value
        score[k] = -np.inf
    return H


def from_array(A: Similarity, r: int, H: Any, name: str = "init") -> Array:
    """Return a copy of the array H in the dtype of A; ValueError if it cannot be memberships."""
    is_sparse = sparse.issparse(H) and H.shape == (A.n, r)
    H = as_csr(H, name).toarray() if is_sparse else np.asarray(H)
    if H.shape != (A.n, r):
        raise ValueError(f"{name} has shape {H.shape}; it must be (n, r) = ({A.n}, {r}).")
    if H.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers; got dtype {H.dtype}.")
    H = H.astype(A.dtype, copy=not is_sparse)
    bad = np.argwhere(~(np.isfinite(H) & (H >= 0)))
    if len(bad):
        i, l = bad[0]
        raise ValueError(f"{name}[{i}, {l}] is {H[i, l]}; entries must be finite and >= 0.")
    return H


def from_sets(A: Similarity, r: int, sets: list[Array]) -> Array:
    """Return H whose column l is the root of the mean similarity in set l, for its items."""
    M = np.zeros((A.n, r), dtype=A.dtype)
    for l, items in enumerate(sets):
        M[items, l] = 1
    inside = np.einsum("il,il->l", M, A.matmul(M, weighted=True)).astype(np.float64)
    sizes = M.sum(axis=0, dtype=np.float64)
    density = np.maximum(inside, 0.0) / np.maximum(sizes * (sizes - 1.0), 1.0)
    return M * np.sqrt(density).astype(A.dtype)


def as_sets(init: Any, n: int, r: int | None) -> list[Array] | None:
    """Return ``init`` as sets of items, or None if it is an array (n x r).

    Whole numbers in one dimension are labels, -1 for none. A list of sets, of arrays of whole
    numbers, or of lists that are not the rows of an (n x r) array, is a list of sets.

    Parameters
    ----------
    init : labels, list of sets, or array
    n : int
        Number of items.
    r : int or None
        Maximum number of sets; None for any number.
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
    """Return the items of each label, in the order of the labels; negative ones are in no set."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or (n is not None and len(labels) != n):
        unit = "item" if n is None else f"item ({n} in all)"
        raise ValueError(
            f"labels must be one whole number per {unit}, not {labels.dtype} of shape "
            f"{labels.shape}."
        )
    order = np.argsort(labels, kind="stable")
    order = order[labels[order] >= 0]
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(order) else []


def _is_list_of_sets(init: Any, n: int, r: int | None) -> bool:
    """Return whether init is a list of sets, not labels or the rows of an (n x r) array."""
    if not isinstance(init, Sequence) or isinstance(init, str) or not len(init):
        return False
    if all(isinstance(items, set | frozenset) for items in init):
        return True
    if not all(np.ndim(items) == 1 for items in init):
        return False
    lengths = {len(items) for items in init}
    has_row_shape = len(init) == n and (lengths == {r} if r is not None else len(lengths) == 1)
    if has_row_shape and not isinstance(init[0], np.ndarray):
        return False
    return all(np.asarray(items).dtype.kind in "iu" or not len(items) for items in init)


def _checked(items: Any, n: int, number: int) -> Array:
    """Return the sorted items of a set without duplicates; ValueError if one is not an item."""
    indices = np.unique(np.asarray(list(items)))
    if indices.size == 0:
        return indices.astype(np.int64)
    if indices.dtype.kind not in "iu":
        raise ValueError(f"set {number} must hold whole numbers, not {indices.dtype}.")
    if indices[0] < 0 or indices[-1] >= n:
        bad = indices[0] if indices[0] < 0 else indices[-1]
        raise ValueError(f"set {number} holds item {bad}, but items go from 0 to {n - 1}.")
    return indices.astype(np.int64)
