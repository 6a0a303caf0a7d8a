"""Absolute errors with sparse memberships: sweeps, and the objective."""

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.many.memberships import Memberships
from odsymnmf.engine.many.sweep import CAP, Progress, Swept, exceptions, one_by_one
from odsymnmf.kernels import sparse_l1, sparse_objective, sparse_rounds
from odsymnmf.kernels.sparse_arrays import Links, Log
from odsymnmf.kernels.sparse_l1 import ColumnSums
from odsymnmf.problem.weights import ORDINARY, Weights

if TYPE_CHECKING:
    from odsymnmf.engine.many.rounds import SparseRounds


class SparseL1:
    """sum_{i != j} w_ij |A_ij - h_i . h_j| by coordinate descent; the bits of full storage.

    Parameters are those of `SparseL2`; there is no price: l1 is sparse by itself.
    """

    relative: ClassVar[bool] = False
    power: ClassVar[int] = 1
    # Whether the largest similarity bounds H where the user gives no bound.
    bounded: ClassVar[bool] = False

    def __init__(
        self,
        A: Links,
        H: Memberships,
        weights: Weights = ORDINARY,
        *,
        upper: float = np.inf,
        cap: int | None = CAP,
        rounds: "SparseRounds | None" = None,
    ):
        self.A, self.H, self.rounds = A, H, rounds
        self.w0, self.E = float(weights.background), exceptions(weights)
        self.upper, self.cap = upper, cap
        # Until they are computed; and what they were before any row was solved.
        self.sums = self._first = ColumnSums(*[np.empty(0)] * 5)

    def price_of(self, M: Memberships) -> float:
        """Return zero: l1 is sparse without a price."""
        return 0.0

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
        self.ready()
        swept = (self.rounds or one_by_one)(self, progress)
        self.H.compact()
        rows = self.H.rows
        top = float(rows.value[: rows.top[0]].max(initial=0.0))
        return swept._replace(violation=swept.violation / top) if top > 0 else swept

    def solve(self, items: Array, out: Log, put: bool, position: int = 1) -> tuple[int, int, Swept]:
        """As `SparseL2.solve`."""
        done, need, fallen, largest = sparse_l1.rows(
            items, position, self.A, self.w0, self.E, self.H.rows, self.sums, out,
            self.upper, self.H.r if self.cap is None else self.cap, put,
        )  # fmt: skip
        return done, need, Swept(float(fallen), float(fallen), float(largest))

    def together(self, passes: list[Swept]) -> Swept:
        """Return what all of them did: the violation is the largest."""
        decreases, priced, violations = zip(*passes, strict=True)
        return Swept(sum(decreases), sum(priced), max(violations))

    def state(self) -> dict[str, Array]:
        """Return nothing: sums are made anew for every sweep."""
        return {}

    def load(self, state: dict[str, Array]) -> None:
        """Go on from there."""

    def begin(self) -> None:
        """Do nothing: the sums were made for this sweep."""

    def ready(self) -> None:
        """Compute what rows are solved against."""
        span, r = self.H.rows.span, self.H.r
        W, held = self.H.column_sums(), span[:, 1] > span[:, 0]
        self.sums = ColumnSums(W, held, W.copy(), np.zeros(r), np.full(r, -1))
        self._first = ColumnSums(*(part.copy() for part in self.sums))

    def take_out(self) -> tuple[Array, Array]:
        """Return the columns and values of the last row, and leave it empty."""
        for part, first in zip(self.sums, self._first, strict=True):
            part[:] = first
        return self.H.take_out()

    def make_room(self, entries: int) -> None:
        """Make room for a row of so many entries."""
        self.H.reserve(entries)

    def changes(self, items: Array, New: Log) -> tuple[Array, float, Array]:
        """Say which items of a piece of a round move, what their pairs add, how W changes."""
        moved, change = np.empty(len(items), dtype=np.bool_), np.zeros(self.H.r)
        clash = sparse_rounds.sum_changes(items, New, self.H.rows, moved, change)
        return moved, float(clash), change

    def join(self, changes: list[Array]) -> tuple[float, Array]:
        """Return what pairs of items in different pieces add, and the whole change of W."""
        whole, across = changes[0], 0.0
        for change in changes[1:]:
            across += 2.0 * float(np.sum(whole * change))  # no BLAS, whose threads add up in parts
            whole += change
        return across, whole

    def put(self, change: Array) -> None:
        """W += change; the new rows are in H already."""
        W, held, peak, *_ = self.sums
        sparse_rounds.put_sums(change, self.E, self.H.rows, W, peak)
        span = self.H.rows.span
        held |= span[:, 1] > span[:, 0]
