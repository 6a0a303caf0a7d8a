"""Sweeps over sparse memberships, block by block, and the objective.

`SparseL2` is f(H) + sum_kl p_k [H_kl > 0] with f(H) = sum_{i != j} w_ij (A_ij - h_i . h_j)^2;
`SparseL1` is f(H) = sum_{i != j} w_ij |A_ij - h_i . h_j|. Both know A as plain arrays only.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.many.pair_sums import FULL_SIDE, gram, with_room
from odsymnmf.kernels import sparse_l1, sparse_l2, sparse_objective
from odsymnmf.kernels.sparse_arrays import Links
from odsymnmf.kernels.weights import Exceptions
from odsymnmf.problem.weights import ORDINARY, Weights

Array = NDArray[Any]
Progress = Callable[[int], None]

# Rows between two calls of ``progress``, and so between two moments at which Ctrl-C is heard.
BLOCK = 2**14
# The price of a membership, as a share of what the item's best column alone would gain.
SHARE = 0.05
# Most candidates a row: an item is in few clusters, but a hub's neighbours are in many.
CAP = 64
# D is made anew every so many sweeps, and once early: the first two sweeps change most of H. That
# is when prices are set anew, too; then they stay, or there would be no end to the sweeps.
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


def exceptions(weights: Weights) -> Exceptions:
    """Return the exceptions as sparse kernels take them: arrays of length zero if there are none.

    Of the same types whatever the weights, so that kernels are compiled once.
    """
    E = weights.exceptions
    if E is None:
        none = np.empty(0, dtype=np.int64)
        return Exceptions(none, none.astype(np.int32), np.empty(0), np.empty(0))
    return Exceptions(E.indptr.astype(np.int64), E.indices.astype(np.int32, copy=False), E.v, E.a)


class SparseL2:
    """sum_{i != j} w_ij (A_ij - h_i . h_j)^2 + sum_k p_k |h_k|_0 by coordinate descent.

    Parameters
    ----------
    A : Links
    H : Memberships
        Changed in place.
    weights : Weights
        What pairs weigh.
    upper : float
    share : float
        The price p_k of a membership of item k, as a share of what the best column alone would
        gain for k. It is set in the first sweep, anew in the third, and then fixed. 0: no price,
        the answer of full storage.
    cap : int or None
        Most columns to consider for one item, its own aside.
    """

    # Whether the violation of a sweep is to be compared with that of the first.
    relative: ClassVar[bool] = True

    def __init__(
        self,
        A: Links,
        H: Memberships,
        weights: Weights = ORDINARY,
        *,
        upper: float = np.inf,
        share: float = SHARE,
        cap: int | None = CAP,
        full_side: int = FULL_SIDE,
    ):
        self.A, self.H = A, H
        self.w0, self.E = float(weights.background), exceptions(weights)
        self.upper, self.share, self.cap, self.full_side = upper, share, cap, full_side
        self.price = np.full(H.n, -1.0 if share > 0 else 0.0)
        self._sweeps, self._worn = 0, False

    def objective(self, M: Memberships | None = None) -> float:
        """f(H), without its price; or that of other memberships."""
        H = (M or self.H).csr()
        _, squares = gram(H, self.full_side)
        rest = sparse_objective.stored_terms(
            self.A, self.w0, self.E, H.indptr, H.indices, H.data, H.shape[1], False
        )
        return max(0.0, self.w0 * squares + float(rest))

    def priced_objective(self, M: Memberships | None = None) -> float:
        """f(H) + sum_k p_k |h_k|_0, with the prices of the last sweep."""
        span = (M or self.H).rows.span
        return self.objective(M) + float(np.maximum(self.price, 0.0) @ (span[:, 1] - span[:, 0]))

    def tidy(self, M: Memberships) -> None:
        """Clear columns with one entry, balance those with two."""
        M.tidy()

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
        if regular or self._sweeps == EARLY or self._worn:
            self.refresh(prices=self._sweeps in (0, EARLY))
        self._sweeps += 1
        np.maximum(self.D.peak, self.D.diagonal, out=self.D.peak)
        decrease = priced = violation = 0.0
        anew, done, n = 0, 0, self.H.n
        cap = self.H.r if self.cap is None else self.cap
        while done < n:
            items = np.arange(done, min(done + BLOCK, n))
            rows, need, *sums, again = sparse_l2.rows(
                items, self.A, self.w0, self.E, self.H.rows, self.D, self.H.rows,
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
        return Swept(decrease, priced, violation if violation > self._rounding() else 0.0)

    def _rounding(self) -> float:
        """What rounding leaves of the violation: the sum of H D, which A H balances, times eps."""
        H = self.H.csr()
        total = H.sum(axis=0, dtype=np.float64) @ (H.T @ H.sum(axis=1, dtype=np.float64))
        return 16.0 * float(np.finfo(self.H.dtype).eps * total)

    def _make_room(self, entries: int) -> None:
        self.H.reserve(entries)
        self.D = with_room(self.D, entries * (entries - 1) // 2)


class SparseL1:
    """sum_{i != j} w_ij |A_ij - h_i . h_j| by coordinate descent; the bits of full storage.

    Parameters are those of `SparseL2`; there is no price: l1 is sparse by itself.
    """

    relative: ClassVar[bool] = False

    def __init__(
        self,
        A: Links,
        H: Memberships,
        weights: Weights = ORDINARY,
        *,
        upper: float = np.inf,
        cap: int | None = CAP,
    ):
        self.A, self.H = A, H
        self.w0, self.E = float(weights.background), exceptions(weights)
        self.upper, self.cap = upper, cap

    def priced_objective(self, M: Memberships | None = None) -> float:
        """f(H): l1 has no price."""
        return self.objective(M)

    def objective(self, M: Memberships | None = None) -> float:
        """f(H), at the cost of the stored pairs and the memberships."""
        H = (M or self.H).csr()
        args = (H.indptr, H.indices, H.data, H.shape[1])
        products = sparse_objective.all_products(*args)
        rest = sparse_objective.stored_terms(self.A, self.w0, self.E, *args, True)
        return max(0.0, self.w0 * float(products) + float(rest))

    def tidy(self, M: Memberships) -> None:
        """Clear columns with one entry, balance those with two."""
        M.tidy()

    def sweep(self, progress: Progress | None = None) -> Swept:
        """Update every row of H once.

        The violation is the largest change of an entry, relative to the largest entry.
        """
        self.H.tidy()
        span, r = self.H.rows.span, self.H.r
        W, held = self.H.column_sums(), span[:, 1] > span[:, 0]
        state = (W, held, W.copy(), np.zeros(r), np.full(r, -1))
        decrease = violation = 0.0
        done, n = 0, self.H.n
        while done < n:
            items = np.arange(done, min(done + BLOCK, n))
            rows, need, fallen, largest = sparse_l1.rows(
                items, done, self.A, self.w0, self.E, self.H.rows, *state, self.H.rows,
                self.upper, r if self.cap is None else self.cap, True,
            )  # fmt: skip
            decrease, violation = decrease + float(fallen), max(violation, float(largest))
            done += rows
            if rows < len(items):
                self.H.reserve(need)
            elif progress is not None:
                progress(done)
        self.H.compact()
        top = float(self.H.csr().data.max(initial=0.0))
        return Swept(decrease, decrease, violation / top if top > 0 else violation)
