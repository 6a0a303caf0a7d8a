"""Sweeps over sparse memberships, block by block, and the objective of l2.

`SparseL2` is f(H) + sum_kl p_k [H_kl > 0] with f(H) = sum_{i != j} w_ij (A_ij - h_i . h_j)^2;
`SparseL1`, in `l1`, is f(H) = sum_{i != j} w_ij |A_ij - h_i . h_j|. Both know A as plain arrays.
"""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse

from odsymnmf.arrays import Array
from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.many.pair_sums import FULL_SIDE, empty_pairs, gram, with_room
from odsymnmf.kernels import sparse_l2, sparse_objective, sparse_rounds
from odsymnmf.kernels.sparse_arrays import Links, Log, Pairs, add_pair
from odsymnmf.kernels.weights import Exceptions
from odsymnmf.problem.weights import ORDINARY, Weights
from odsymnmf.signals import check

if TYPE_CHECKING:
    from odsymnmf.engine.many.rounds import SparseRounds

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


def one_by_one(fit: Any, progress: Progress | None = None) -> Swept:
    """Bring every row to its optimum in turn, each put in place before the next is solved."""
    fit.begin()
    passes, done, n = [], 0, fit.H.n
    while done < n:
        check()
        items = np.arange(done, min(done + BLOCK, n))
        rows, need, swept = fit.solve(items, fit.H.rows, True, done)
        passes.append(swept)
        done += rows
        if rows < len(items):
            fit.make_room(need)
        elif progress is not None:
            progress(done)
    found: Swept = fit.together(passes)
    return found


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
    rounds : SparseRounds, optional
        Who shares a sweep; without, it goes row by row.
    """

    # Whether the violation of a sweep is to be compared with that of the first.
    relative: ClassVar[bool] = True
    power: ClassVar[int] = 2
    # No cluster calls a pair more similar than the most similar pair is.
    bounded: ClassVar[bool] = True

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
        rounds: "SparseRounds | None" = None,
    ):
        self.A, self.H, self.rounds = A, H, rounds
        self.w0, self.E = float(weights.background), exceptions(weights)
        self.upper, self.share, self.cap, self.full_side = upper, share, cap, full_side
        self.price = np.full(H.n, -1.0 if share > 0 else 0.0)
        self.D = empty_pairs(0, 1, full_side=-1)  # until it is computed
        self._sweeps, self._worn, self._anew = 0, False, 0
        self._counting = Lock()

    def objective(self, M: Memberships | None = None) -> float:
        """f(H), without its price; or that of other memberships."""
        H = (M or self.H).csr()
        _, squares = gram(H, self.full_side)
        rest = sparse_objective.stored_terms(
            self.A, self.w0, self.E, H.indptr, H.indices, H.data, H.shape[1], False
        )
        return max(0.0, self.w0 * squares + float(rest))

    def price_of(self, M: Memberships) -> float:
        """sum_k p_k |h_k|_0, with the prices of the last sweep."""
        span = M.rows.span
        return float(np.maximum(self.price, 0.0) @ (span[:, 1] - span[:, 0]))

    def tidy(self, M: Memberships) -> None:
        """Clear columns with one entry, balance those with two."""
        M.tidy()

    def refresh(self, prices: bool = True) -> None:
        """Compute D anew, and have the prices set anew by the next sweep."""
        self.D, _ = gram(self.H.csr(), self.full_side)
        if prices and self.share > 0:
            self.price[:] = -1.0

    def sweep(self, progress: Progress | None = None) -> Swept:
        """Update every row of H once, in the order of the items or in rounds."""
        regular = self._sweeps % REFRESH == 0
        if regular:
            self.H.tidy()
        if regular or self._sweeps == EARLY or self._worn:
            self.refresh(prices=self._sweeps in (0, EARLY))
        self._sweeps += 1
        self._anew = 0
        swept = (self.rounds or one_by_one)(self, progress)
        self.H.compact()
        self._worn = self._anew > self.H.r  # many columns have shrunk: D has lost digits
        return swept if swept.violation > self._rounding() else swept._replace(violation=0.0)

    def solve(self, items: Array, out: Log, put: bool, position: int = 1) -> tuple[int, int, Swept]:
        """Solve the rows of the items into ``out``; return how many, the room to go on, and sums.

        With ``put`` each takes its place at once, and out is the log of H; ``position`` is how
        many rows have done so before in this sweep.
        """
        cap = self.H.r if self.cap is None else self.cap
        done, need, *sums, again = sparse_l2.rows(
            items, self.A, self.w0, self.E, self.H.rows, self.D, out,
            self.price, self.share, self.upper, cap, put,
        )  # fmt: skip
        with self._counting:
            self._anew += again
        return done, need, Swept(*(float(part) for part in sums))

    def together(self, passes: list[Swept]) -> Swept:
        """Return what all of them did."""
        return Swept(*(sum(parts) for parts in zip(*passes, strict=True)))

    def _rounding(self) -> float:
        """What rounding leaves of the violation: the sum of H D, which A H balances, times eps."""
        total = sparse_objective.sum_of_products(self.H.rows)
        return 16.0 * float(np.finfo(self.H.dtype).eps * total)

    def state(self) -> dict[str, Array]:
        """Return the arrays that the next sweep goes on from, by name."""
        state = {"price": self.price, "sweeps": np.array([self._sweeps, self._worn])}
        if self._sweeps > 0:
            side = np.array([self.D.side, self.D.used[0]])
            table = {"key": self.D.key, "value": self.D.value, "side": side}
            state |= {"diagonal": self.D.diagonal, "peak": self.D.peak, **table}
        return state

    def load(self, state: dict[str, Array]) -> None:
        """Go on from the arrays that `state` has returned."""
        self.price[:], (sweeps, worn) = state["price"], state["sweeps"]
        self._sweeps, self._worn = int(sweeps), bool(worn)
        if self._sweeps > 0:
            side, used = state["side"]
            bits = len(state["key"]).bit_length() - 1
            self.D = empty_pairs(self.H.r, bits, full_side=int(side) or -1)
            for name in ("diagonal", "peak", "key", "value"):
                getattr(self.D, name)[:] = state[name]
            self.D.used[0] = used

    def begin(self) -> None:
        """Note the largest sums so far, before rows are solved."""
        np.maximum(self.D.peak, self.D.diagonal, out=self.D.peak)

    def ready(self) -> None:
        """Compute what rows are solved against, without a sweep."""
        self.refresh()

    def take_out(self) -> tuple[Array, Array]:
        """Return the columns and values of the last row, and leave it empty, with its price."""
        columns, values = self.H.take_out()
        self.price[-1] = -1.0
        for p, (l, x) in enumerate(zip(columns, values, strict=True)):
            self.D.diagonal[l] -= x * x
            for t, y in zip(columns[:p], values[:p], strict=True):
                # The pair is there: solving the row has put it in.
                add_pair(
                    np.int64(l), np.int64(t), -x * y, self.D.side, self.D.key, self.D.value,
                    self.D.used,
                )  # fmt: skip
        return columns, values

    def make_room(self, entries: int) -> None:
        """Make room for a row of so many entries."""
        self.H.reserve(entries)
        self.D = with_room(self.D, entries * (entries - 1) // 2)

    def changes(self, items: Array, New: Log) -> tuple[Array, float, Pairs]:
        """Say which items of a piece of a round move, what their pairs add, how D changes."""
        moved = np.empty(len(items), dtype=np.bool_)
        change = empty_pairs(0, (8 * len(items)).bit_length(), full_side=-1)
        done, clash = 0, 0.0
        while done < len(items):
            done, need, more = sparse_rounds.gram_changes(
                done, items, New, self.H.rows, moved, change
            )
            clash += float(more)
            change = with_room(change, need * (need + 1) // 2)
        return moved, clash, change

    def join(self, changes: list[Pairs]) -> tuple[float, Pairs]:
        """Return what pairs of items in different pieces add, and the whole change of D."""
        whole, across = with_room(changes[0], sum(int(more.used[0]) for more in changes[1:])), 0.0
        for change in changes[1:]:
            across += float(sparse_rounds.join_pairs(change, whole))
        return across, whole

    def put(self, change: Pairs) -> None:
        """D += change."""
        self.D = with_room(self.D, int(change.used[0]))
        sparse_rounds.put_pairs(change, self.D)
