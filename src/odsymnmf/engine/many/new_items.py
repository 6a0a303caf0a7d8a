"""Sparse memberships of new items, those of the known ones held fixed.

A new item becomes the last row of H, is solved as every row of a sweep is, with its price, and is
taken out again: the same kernels, and the cost of its own neighbours.
"""

from typing import Any

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.losses import Scales
from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.many.pair_sums import with_room
from odsymnmf.engine.many.sweep import CAP, SHARE, SparseL2
from odsymnmf.kernels import sparse_l1, sparse_l2
from odsymnmf.kernels.sparse_arrays import Links, add_pair
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
    kind = _L1 if scales.l1 > 0 else _L2
    solver = kind(known, w0, upper)
    # Where rows begin: all but the last are empty. Made once, as there may be many new items.
    begins = np.zeros(n + 2, dtype=np.int64), np.zeros(n + 2, dtype=np.int64)
    rows = []
    for p in range(S.shape[0]):
        part = slice(S.indptr[p], S.indptr[p + 1])
        row = solver.solve(*_pairs(*begins, S.indices[part], S.data[part], w0))
        rows.append(row)
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


class _L2:
    def __init__(self, H: Memberships, w0: float, upper: float):
        none = Links(np.zeros(H.n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
        self.fit = SparseL2(none, H, upper=upper, share=SHARE)
        self.fit.refresh()
        self.w0 = w0

    def solve(self, A: Links, E: Exceptions) -> tuple[Array, Array]:
        fit, done = self.fit, 0
        fit.price[-1] = -1.0
        np.maximum(fit.D.peak, fit.D.diagonal, out=fit.D.peak)
        while done < PASSES:
            items = np.full(PASSES - done, fit.H.n - 1)
            rows, need, *_ = sparse_l2.rows(
                items, A, self.w0, E, fit.H.rows, fit.D, fit.H.rows,
                fit.price, fit.share, fit.upper, CAP, True,
            )  # fmt: skip
            done += rows
            if rows < len(items):
                fit.H.reserve(max(need, PASSES * CAP))
                fit.D = with_room(fit.D, need * (need - 1) // 2)
        found = _taken(fit.H)
        for p, (l, x) in enumerate(zip(*found, strict=True)):
            fit.D.diagonal[l] -= x * x
            for t, y in zip(found[0][:p], found[1][:p], strict=True):
                # The pair is there: the sweep has put it in.
                add_pair(
                    np.int64(l), np.int64(t), -x * y, fit.D.side, fit.D.key, fit.D.value, fit.D.used
                )
        return found


class _L1:
    def __init__(self, H: Memberships, w0: float, upper: float):
        self.H, self.w0, self.upper = H, w0, upper
        self.W, self.held = H.column_sums(), H.rows.span[:, 1] > H.rows.span[:, 0]

    def solve(self, A: Links, E: Exceptions) -> tuple[Array, Array]:
        H, done = self.H, 0
        W = self.W.copy()
        state = (W, self.held, W.copy(), np.zeros(H.r), np.full(H.r, -1))
        while done < PASSES:
            items = np.full(PASSES - done, H.n - 1)
            rows, need, *_ = sparse_l1.rows(
                items, done, A, self.w0, E, H.rows, *state, H.rows, self.upper, CAP, True
            )
            done += rows
            if rows < len(items):
                H.reserve(max(need, PASSES * CAP))
        return _taken(H)


def _taken(H: Memberships) -> tuple[Array, Array]:
    """Return the last row, and leave it empty."""
    begin, end = H.rows.span[-1]
    found = H.rows.column[begin:end].copy(), H.rows.value[begin:end].astype(np.float64)
    H.rows.span[-1] = begin
    return found
