"""Sparse memberships of new items, those of the known ones held fixed.

A new item becomes the last row of H, is solved as every row of a sweep is, with its price, and is
taken out again: the same kernels, and the cost of its own neighbours.
"""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Scales
from odsymnmf.engine.many.losses import SparseFit, kind_for
from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.kernels.sparse_arrays import Links
from odsymnmf.kernels.weights import Exceptions

# Passes over the entries of a row: it is a small convex problem.
PASSES = 50


def solve_sparse_rows(
    S: Any, H: Any, scales: Scales, upper: float = np.inf, zero_weight: float = 1.0
) -> sparse.csr_array:
    """Return X whose row p minimises sum_i w_pi phi(S_pi - x . h_i) over 0 <= x <= upper.

    Parameters
    ----------
    S : ndarray or CSR of shape (m, n)
        Similarities of m new items to n known ones; NaN is an unknown pair. A pair that a sparse
        S does not store weighs ``zero_weight``.
    H : CSR of shape (n, r)
        Memberships of the known items.
    scales : Scales
        l1 or l2; l2 with the price of a membership.
    upper : float
    zero_weight : float

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from odsymnmf.engine.losses import Scales
    >>> from odsymnmf.engine.many.new_items import solve_sparse_rows
    >>> H = sparse.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> S = np.array([[1.0, 1.0, 0.0], [1.0, np.nan, 1.0]])
    >>> solve_sparse_rows(S, H, Scales(l1=0, l2=1)).toarray().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    w0 = zero_weight if sparse.issparse(S) else 1.0
    S = sparse.csr_array(S)
    S.sum_duplicates()
    n, r = H.shape
    known = Memberships(sparse.vstack([H, sparse.csr_array((1, r))], format="csr"), H.dtype)
    none = Links(np.zeros(n + 2, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
    fit = kind_for(scales)(none, known, upper=upper)
    fit.w0 = w0
    fit.ready()
    # Where rows begin: all but the last are empty. Made once, as there may be many new items.
    begins = np.zeros(n + 2, dtype=np.int64), np.zeros(n + 2, dtype=np.int64)
    rows = []
    for p in range(S.shape[0]):
        part = slice(S.indptr[p], S.indptr[p + 1])
        fit.A, fit.E = _pairs(*begins, S.indices[part], S.data[part], w0)
        _solve_last(fit)
        rows.append(fit.take_out())
    indptr = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in rows])])
    columns = np.concatenate([c for c, _ in rows]) if rows else np.empty(0, dtype=np.int32)
    values = np.concatenate([x for _, x in rows]) if rows else np.empty(0)
    return sparse.csr_array((values.astype(H.dtype), columns, indptr), shape=(len(rows), r))


def _pairs(
    indptr: Array, own: Array, items: Array, values: Array, w0: float
) -> tuple[Links, Exceptions]:
    """Return the pairs of a new item as the last row of n + 1, and those that weigh otherwise.

    ``indptr`` and ``own`` are arrays of n + 2 zeros but for their last entry.
    """
    items, unknown = items.astype(np.int32, copy=False), np.isnan(values)
    known = ~unknown
    indptr[-1] = np.count_nonzero(known)
    stored = Links(indptr, items[known], values[known])
    v = np.where(unknown, 0.0, 1.0) - w0
    differ = v != 0
    if not differ.any():
        return stored, Exceptions(own[:0], items[:0], np.empty(0), np.empty(0))
    own[-1] = np.count_nonzero(differ)
    a = np.where(unknown, 0.0, values).astype(np.float64)
    return stored, Exceptions(own, items[differ], v[differ], a[differ])


def _solve_last(fit: SparseFit) -> None:
    """Bring the last row to its optimum, all others as they are."""
    fit.begin()
    last, done = fit.H.n - 1, 0
    while done < PASSES:
        items = np.full(PASSES - done, last)
        rows, need, _ = fit.solve(items, fit.H.rows, True, done)
        done += rows
        if rows < len(items):
            fit.make_room(need)
