"""sum_{i != j} w_ij |A_ij - h_i . h_j|: every entry of H a weighted median over the neighbours."""

from typing import Any, ClassVar

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array
from odsymnmf.engine.losses import meetings
from odsymnmf.engine.losses.measures import (
    relative_to,
    row_tiles,
    swept,
)
from odsymnmf.engine.losses.pairs import PairLoss
from odsymnmf.engine.losses.protocol import Change, Pass, Proposal, Scales, Step
from odsymnmf.kernels.rounding import CANCELLED
from odsymnmf.problem.blocking import rows_of
from odsymnmf.problem.rounds import Moves, Share, Task


class ColumnSums:
    """W_l = sum_i H_il, the largest that it has been, and which items have entries at all."""

    def __init__(self, H: Array):
        self.W = H.sum(axis=0, dtype=np.float64)
        self.peak = np.zeros(H.shape[1])
        # H.any(axis=1), in a fifth of the time.
        self.held = H @ np.ones(H.shape[1], dtype=H.dtype) > 0

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """W, peak and held, as kernels take them."""
        return self.W, self.peak, self.held

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""
        self.W[j] = H[items, j].sum(dtype=np.float64)
        self.held[items] = True
        self.peak[j] = 0.0

    def column_sums(self, H: Array) -> Array:
        """Return sum_i H_il for each column l."""
        return self.W.copy()

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""
        return self.W.copy(), self.peak.copy()

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""
        self.W, self.peak = saved

    def begin_round(self) -> None:
        """Note the largest that W has been."""
        np.maximum(self.peak, self.W, out=self.peak)

    def add(self, change: Change, H: Array) -> None:
        """Learn of a round that H now holds; compute anew what has cancelled."""
        assert change.W is not None
        self.W += change.W
        for l in np.flatnonzero(CANCELLED * self.peak > self.W):
            self.W[l] = self.peak[l] = H[:, l].sum(dtype=np.float64)

    def rows_changed(self, items: Array, moved: Array) -> None:
        """Learn who may have entries now."""
        self.held[items] |= moved

    def put(self) -> list[Task]:
        """Return no tasks: there are no products with A to tell."""
        return []

    def shared(self) -> None:
        """Return None: there are no products with A to tell of."""

    def state(self) -> dict[str, Array]:
        """Return the arrays that the next sweep goes on from, by name."""
        return {"W": self.W, "peak": self.peak, "held": self.held}

    def load(self, state: dict[str, Array]) -> None:
        """Go on from the arrays that `state` has returned."""
        for name, array in self.state().items():
            array[:] = state[name]


class L1(PairLoss):
    """Absolute errors."""

    name: ClassVar[str] = "l1"
    restarts: ClassVar[int] = 10
    refresh: ClassVar[int] = 1
    relative: ClassVar[bool] = False
    power: ClassVar[int] = 1
    by_products: ClassVar[bool] = False
    normalized: ClassVar[bool] = False
    sparse: ClassVar[bool] = True
    explains: ClassVar[str] = "absolute similarities"
    scales, l1_ratio = Scales(1.0, 0.0), 1.0

    def sums(self, H: Array) -> ColumnSums:
        """Compute what sweeps keep up to date."""
        return ColumnSums(H)

    def sweep(
        self, H: Array, sums: ColumnSums, items: Array, empty: float = 0.0, rounds: Any = None
    ) -> Step:
        """Bring the rows of the items to their optimum in turn, and the sums with them.

        The violation is the largest change relative to the largest entry of these rows.
        """
        decrease, _, furthest = (
            self._one_by_one(H, sums, items, empty) if rounds is None else rounds(H, sums)
        )
        return Step(decrease, relative_to(furthest, swept(H, items)))

    def _one_by_one(self, H: Array, sums: ColumnSums, items: Array, empty: float) -> Pass:
        l1, r, limits = kernels.l1, H.shape[1], kernels.items.Limits(self.upper, empty)
        kept, uneven = l1.Sums(*sums.arrays), self.A.weights.uneven(items, 0)
        decrease = furthest = 0.0
        for some, rows in rows_of(self.A, items, r):
            stored = self.A.row_weights(some)
            room = l1.workspace(rows, stored is not None, r)
            found = l1.sweep(some, rows, stored, uneven, H, kept, room, limits)
            decrease += found[0]
            furthest = max(furthest, found[1])
        return Pass(self.A.weights.even * decrease, 0.0, furthest)

    def tiles(self, sums: ColumnSums, r: int) -> list[slice]:
        """Cut the items into tiles for rounds."""
        return row_tiles(self.A, r)

    def propose(
        self, H: Array, sums: ColumnSums, items: Array, New: Array, moved: Array
    ) -> Proposal:
        """Set New[p] to the optimum of row items[p], all others as they are in H."""
        l1, weights, r = kernels.l1, self.A.weights, H.shape[1]
        rows, stored, change = self.A.rows(items), self.A.row_weights(items), np.zeros(r)
        kept = l1.Sums(sums.W.copy(), sums.peak.copy(), sums.held)
        decrease, furthest, clash = kernels.rounds.propose_l1(
            items, rows, stored, weights.uneven(items, 0), H, kept,
            l1.workspace(rows, stored is not None, r), kernels.items.Limits(self.upper, 0.0), New,
            moved, change,
        )  # fmt: skip
        decrease = weights.even * decrease - weights.background * clash
        return Proposal(np.array([decrease, 0.0]), furthest, Change(change, None))

    def meetings(self, sums: ColumnSums, moves: Moves, shares: list[Share]) -> list[Task]:
        """Return tasks whose sum is what listed pairs inside a round add to f_1 and f_2."""
        found = meetings.stored(self.A, moves, shares, [1])
        return [*found, *meetings.exceptions(self.A, moves, shares, [1])]

    def together(self, violations: list[float]) -> float:
        """Return the largest."""
        return max(violations)

    def place(self, items: Array, H: Array, column: Any) -> None:
        """Give the items their entries in a column that is being built, each in turn."""
        kernels.greedy.place_l1(items, self.A.rows(items), H, column, self.upper)
