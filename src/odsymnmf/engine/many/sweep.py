"""Sweeps over sparse memberships, block by block, and the objective.

`SparseL2` is f(H) + sum_kl p_k [H_kl > 0] with f(H) = sum_{i != j} w_ij (A_ij - h_i . h_j)^2;
`SparseL1` is f(H) = sum_{i != j} w_ij |A_ij - h_i . h_j|. Both know A as plain arrays only.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.many.pair_sums import FULL_SIDE, gram, with_room
from odsymnmf.kernels import sparse_l1, sparse_l2, sparse_objective
from odsymnmf.kernels.sparse_arrays import Exceptions, Links

Array = NDArray[Any]
Progress = Callable[[int], None]

# Rows between two calls of ``progress``, and so between two moments at which Ctrl-C is heard.
BLOCK = 2**14
# The price of a membership, as a share of what the item's best column alone would gain.
SHARE = 0.05
# Most candidates a row: an item is in few clusters, but a hub's neighbours are in many.
CAP = 64
# D and the prices are made anew every so many sweeps, and once early: the first two sweeps change
# most of H.
REFRESH, EARLY = 10, 2


class Swept(NamedTuple):
    """What a sweep did: the decrease of f, of f with its price, and the violation it met."""

    decrease: float
    priced: float
    violation: float


def links(A: Any) -> Links:
    """Return the arrays of a symmetric CSR array, with sorted indices and no diagonal."""
    A = sparse.csr_array(A)
    rows = np.repeat(np.arange(A.shape[0], dtype=A.indices.dtype), np.diff(A.indptr))
    if (rows == A.indices).any():
        off = rows != A.indices
        counts = np.bincount(rows[off], minlength=A.shape[0])
        indptr = np.concatenate([[0], np.cumsum(counts)])
        A = sparse.csr_array((A.data[off], A.indices[off], indptr), shape=A.shape)
    del rows
    if not A.has_sorted_indices:
        A = A.sorted_indices()
    data = A.data if A.data.dtype in (np.float64, np.float32) else A.data.astype(np.float64)
    return Links(A.indptr.astype(np.int64), A.indices.astype(np.int32, copy=False), data)


def exceptions(A: Links, background: float = 1.0, weights: Any = None) -> Exceptions:
    """Return the pairs whose weight is not the background's.

    Parameters
    ----------
    A : Links
    background : float
        The weight w0 of all pairs but the exceptions.
    weights : scipy sparse array of shape (n, n), optional
        Its stored entries, zeros included, are the weights w_ij of the exceptions.
    """
    none = np.empty(0, dtype=np.int64)
    if weights is None:
        return Exceptions(float(background), none, none.astype(np.int32), np.empty(0), np.empty(0))
    W = links(weights)
    value = np.zeros(len(W.indices))
    ours, theirs = _keys(W), _keys(A)
    at = np.minimum(np.searchsorted(theirs, ours), max(len(theirs) - 1, 0))
    if len(theirs):
        same = theirs[at] == ours
        value[same] = A.data[at[same]]
    return Exceptions(float(background), W.indptr, W.indices, W.data - float(background), value)


def _keys(M: Links) -> Array:
    """Return a number for each stored pair; they rise from one to the next."""
    n = len(M.indptr) - 1
    return np.repeat(np.arange(n), np.diff(M.indptr)) * n + M.indices


class SparseL2:
    """sum_{i != j} w_ij (A_ij - h_i . h_j)^2 + sum_k p_k |h_k|_0 by coordinate descent.

    Parameters
    ----------
    A : Links
    H : Memberships
        Changed in place.
    E : Exceptions, optional
    upper : float
    share : float
        The price p_k of a membership of item k, as a share of what the best column alone would
        gain for k. It is set in the sweep that follows a refresh of D, and then fixed. 0: no price,
        the answer of full storage.
    cap : int or None
        Most columns to consider for one item, its own aside.
    """

    def __init__(
        self,
        A: Links,
        H: Memberships,
        E: Exceptions | None = None,
        *,
        upper: float = np.inf,
        share: float = SHARE,
        cap: int | None = CAP,
        full_side: int = FULL_SIDE,
    ):
        self.A, self.H, self.E = A, H, E or exceptions(A)
        self.upper, self.share, self.cap, self.full_side = upper, share, cap, full_side
        self.price = np.full(H.n, -1.0 if share > 0 else 0.0)
        self._sweeps, self._worn = 0, False

    def objective(self) -> float:
        """f(H), without its price."""
        H = self.H.csr()
        _, squares = gram(H, self.full_side)
        rest = sparse_objective.stored_terms(
            self.A, self.E, H.indptr, H.indices, H.data, self.H.r, False
        )
        return max(0.0, self.E.background * squares + float(rest))

    def priced_objective(self) -> float:
        """f(H) + sum_k p_k |h_k|_0, with the prices of the last sweep."""
        span = self.H.rows.span
        return self.objective() + float(np.maximum(self.price, 0.0) @ (span[:, 1] - span[:, 0]))

    def refresh(self, prices: bool = True) -> None:
        """Compute D anew, and have the prices set anew by the next sweep."""
        self.D, _ = gram(self.H.csr(), self.full_side)
        if prices and self.share > 0:
            self.price[:] = -1.0

    def sweep(self, progress: Progress | None = None) -> Swept:
        """Update every row of H once, in the order of the items."""
        regular = self._sweeps % REFRESH == 0
        if regular:
            self.H.tidy()
        if regular or self._sweeps == EARLY:
            self.refresh()
        elif self._worn:
            self.refresh(prices=False)
        self._sweeps += 1
        np.maximum(self.D.peak, self.D.diagonal, out=self.D.peak)
        decrease = priced = violation = 0.0
        anew, done, n = 0, 0, self.H.n
        cap = self.H.r if self.cap is None else self.cap
        while done < n:
            items = np.arange(done, min(done + BLOCK, n))
            rows, need, *sums, again = sparse_l2.rows(
                items, self.A, self.E, self.H.rows, self.D, self.H.rows,
                self.price, self.share, self.upper, cap, True,
            )  # fmt: skip
            decrease, priced, violation = (
                total + float(part)
                for total, part in zip((decrease, priced, violation), sums, strict=True)
            )
            done, anew = done + rows, anew + again
            if rows < len(items):
                self._make_room(need)
            elif progress is not None:
                progress(done)
        self.H.compact()
        self._worn = anew > self.H.r  # many columns have shrunk: D has lost digits
        return Swept(decrease, priced, violation)

    def _make_room(self, entries: int) -> None:
        self.H.reserve(entries)
        self.D = with_room(self.D, entries * (entries - 1) // 2)


class SparseL1:
    """sum_{i != j} w_ij |A_ij - h_i . h_j| by coordinate descent; the bits of full storage.

    Parameters are those of `SparseL2`; there is no price: l1 is sparse by itself.
    """

    def __init__(
        self,
        A: Links,
        H: Memberships,
        E: Exceptions | None = None,
        *,
        upper: float = np.inf,
        cap: int | None = CAP,
    ):
        self.A, self.H, self.E = A, H, E or exceptions(A)
        self.upper, self.cap = upper, cap

    def objective(self) -> float:
        """f(H), at the cost of the stored pairs and the memberships."""
        H = self.H.csr()
        args = (H.indptr, H.indices, H.data, self.H.r)
        products = sparse_objective.all_products(*args)
        rest = sparse_objective.stored_terms(self.A, self.E, *args, True)
        return max(0.0, self.E.background * float(products) + float(rest))

    def sweep(self, progress: Progress | None = None) -> Swept:
        """Update every row of H once; the violation is the largest change of an entry."""
        self.H.tidy()
        span, r = self.H.rows.span, self.H.r
        W, held = self.H.column_sums(), span[:, 1] > span[:, 0]
        state = (W, held, W.copy(), np.zeros(r), np.full(r, -1))
        decrease = violation = 0.0
        done, n = 0, self.H.n
        while done < n:
            items = np.arange(done, min(done + BLOCK, n))
            rows, need, fallen, largest = sparse_l1.rows(
                items, done, self.A, self.E, self.H.rows, *state, self.H.rows,
                self.upper, r if self.cap is None else self.cap, True,
            )  # fmt: skip
            decrease, violation = decrease + float(fallen), max(violation, float(largest))
            done += rows
            if rows < len(items):
                self.H.reserve(need)
            elif progress is not None:
                progress(done)
        self.H.compact()
        return Swept(decrease, decrease, violation)
