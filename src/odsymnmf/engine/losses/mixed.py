"""l1_ratio f_1(H) / f_1(0) + (1 - l1_ratio) f_2(H) / f_2(0): between the two errors."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array
from odsymnmf.engine.losses import meetings
from odsymnmf.engine.losses.l1 import ColumnSums
from odsymnmf.engine.losses.l2 import GramSums
from odsymnmf.engine.losses.measures import (
    relative_to,
    row_tiles,
    swept,
    total_error,
    zero_error,
)
from odsymnmf.engine.losses.pairs import PairLoss
from odsymnmf.engine.losses.protocol import Change, Pass, Proposal, Scales, Step
from odsymnmf.problem import Similarity
from odsymnmf.problem.blocking import rows_of
from odsymnmf.problem.rounds import Moves, Share, Task


class BothSums:
    """What l1 keeps up to date, and what l2 does."""

    def __init__(self, A: Similarity, H: Array):
        self.gram = GramSums(A, H)
        self.columns = ColumnSums(H)

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""
        self.gram.column_changed(H, j, items)
        self.columns.column_changed(H, j, items)

    def column_sums(self, H: Array) -> Array:
        """Return sum_i H_il for each column l."""
        return self.columns.column_sums(H)

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""
        return self.gram.save(items), self.columns.save(items)

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""
        self.gram.restore(saved[0])
        self.columns.restore(saved[1])

    def begin_round(self) -> None:
        """Note the largest that the sums have been."""
        self.gram.begin_round()
        self.columns.begin_round()

    def add(self, change: Change, H: Array) -> None:
        """Learn of a round that H now holds."""
        self.gram.add(change, H)
        self.columns.add(change, H)

    def rows_changed(self, items: Array, moved: Array) -> None:
        """Learn of the rows of H that have moved."""
        self.columns.rows_changed(items, moved)

    def put(self) -> list[Task]:
        """Return no tasks: no product with A is made use of."""
        return []

    def shared(self) -> None:
        """Return None: no product with A is made use of."""

    def state(self) -> dict[str, Array]:
        """Return the arrays that the next sweep goes on from, by name."""
        mine = {f"{name}_1": array for name, array in self.columns.state().items()}
        return {**mine, **self.gram.state()}

    def load(self, state: dict[str, Array]) -> None:
        """Go on from the arrays that `state` has returned."""
        for name, array in self.state().items():
            array[:] = state[name]


def zero_losses(A: Similarity) -> Scales:
    """Return f_1(0) and f_2(0), or 1 where there is nothing to explain."""
    return Scales(*(zero_error(A, power) or 1.0 for power in (1, 2)))


class Mixed(PairLoss):
    """Absolute and squared errors, each relative to what there is to explain."""

    name: ClassVar[str] = "mixed"
    restarts: ClassVar[int] = 10
    refresh: ClassVar[int] = 10
    relative: ClassVar[bool] = False
    power: ClassVar[int] = 0
    by_products: ClassVar[bool] = False
    normalized: ClassVar[bool] = False
    sparse: ClassVar[bool] = False
    explains: ClassVar[str] = "similarities, absolute and squared"

    def __init__(
        self,
        A: Similarity,
        upper: float = np.inf,
        l1_ratio: float = 0.5,
        zero: Scales | None = None,
    ):
        super().__init__(A, upper)
        self.l1_ratio = l1_ratio
        self.zero = zero_losses(A) if zero is None else zero

    @property
    def scales(self) -> Scales:  # type: ignore[override]
        """The scales of f_1 and f_2."""
        return Scales(self.l1_ratio / self.zero.l1, (1.0 - self.l1_ratio) / self.zero.l2)

    def for_parts(self) -> Callable[[Any], "Mixed"]:
        """Return what makes the mix as it is; both losses are relative to all of the problem."""
        return partial(Mixed, upper=self.upper, l1_ratio=self.l1_ratio, zero=self.zero)

    def sums(self, H: Array) -> BothSums:
        """Compute what sweeps keep up to date."""
        return BothSums(self.A, H)

    def sweep(
        self, H: Array, sums: BothSums, items: Array, empty: float = 0.0, rounds: Any = None
    ) -> Step:
        """Bring the rows of the items to their optimum in turn, and the sums with them."""
        found = self.sweep_both(H, sums, items, empty, rounds)
        decrease = self.scales.l1 * found.l1 + self.scales.l2 * found.l2
        return Step(decrease, found.violation)

    def sweep_both(self, H: Array, sums: BothSums, items: Array, empty: float, rounds: Any) -> Pass:
        """As `sweep`; say what became of either loss."""
        absolute, squared, furthest = (
            self._one_by_one(H, sums, items, empty) if rounds is None else rounds(H, sums)
        )
        return Pass(absolute, squared, relative_to(furthest, swept(H, items)))

    def _one_by_one(self, H: Array, sums: BothSums, items: Array, empty: float) -> Pass:
        l1, l2, mixed, r = kernels.l1, kernels.l2, kernels.mixed, H.shape[1]
        limits, uneven = kernels.items.Limits(self.upper, empty), self.A.weights.uneven(items, r)
        gram = l2.Sums(sums.gram.D, sums.gram.peak)
        kept, row = mixed.Sums(l1.Sums(*sums.columns.arrays), gram), l2.workspace(r)
        total = np.zeros(2)
        furthest = 0.0
        for some, rows in rows_of(self.A, items, r):
            stored = self.A.row_weights(some)
            room = mixed.Room(l1.workspace(rows, stored is not None, r), row)
            *decreases, largest = mixed.sweep(
                some, rows, stored, uneven, H, kept, room, tuple(self.scales), limits
            )
            total += decreases
            furthest = max(furthest, largest)
        total *= self.A.weights.even
        return Pass(float(total[0]), float(total[1]), furthest)

    def tiles(self, sums: BothSums, r: int) -> list[slice]:
        """Cut the items into tiles for rounds."""
        return row_tiles(self.A, r)

    def propose(self, H: Array, sums: BothSums, items: Array, New: Array, moved: Array) -> Proposal:
        """Set New[p] to the optimum of row items[p], all others as they are in H."""
        l1, l2, mixed = kernels.l1, kernels.l2, kernels.mixed
        weights, r = self.A.weights, H.shape[1]
        rows, stored = self.A.rows(items), self.A.row_weights(items)
        change = Change(np.zeros(r), np.zeros((r, r)))
        gram = l2.Sums(sums.gram.D.copy(), sums.gram.peak.copy())
        kept = l1.Sums(sums.columns.W.copy(), sums.columns.peak.copy(), sums.columns.held)
        room = mixed.Room(l1.workspace(rows, stored is not None, r), l2.workspace(r))
        *decreases, furthest, clash_1, clash_2 = kernels.rounds.propose_mixed(
            items, rows, stored, weights.uneven(items, r), H, mixed.Sums(kept, gram), room,
            tuple(self.scales), kernels.items.Limits(self.upper, 0.0), New, moved, tuple(change),
        )  # fmt: skip
        clashes = np.array([clash_1, clash_2])
        found = weights.even * np.array(decreases) - weights.background * clashes
        return Proposal(found, furthest, change)

    def meetings(self, sums: BothSums, moves: Moves, shares: list[Share]) -> list[Task]:
        """Return tasks whose sum is what listed pairs inside a round add to f_1 and f_2."""
        found = meetings.stored(self.A, moves, shares, [1, 2])
        return [*found, *meetings.exceptions(self.A, moves, shares, [1, 2])]

    def together(self, violations: list[float]) -> float:
        """Return the largest."""
        return max(violations)

    def place(self, items: Array, H: Array, column: Any) -> None:
        """Give the items their entries in a column that is being built, each in turn."""
        greedy = kernels.greedy
        place = greedy.place_l1 if self.l1_ratio >= 0.5 else greedy.place_l2
        place(items, self.A.rows(items), H, column, self.upper)

    def both(self, H: Array) -> tuple[float, float]:
        """Return f_1(H) / f_1(0) and f_2(H) / f_2(0)."""
        absolute = total_error(self.A, H, Scales(1.0 / self.zero.l1, 0.0))
        return absolute, total_error(self.A, H, Scales(0.0, 1.0 / self.zero.l2))

    def mix(self, H: Array | None) -> dict[str, float]:
        """Return the share of l1, and both losses relative to what there is to explain."""
        absolute, squared = (np.nan, np.nan) if H is None else self.both(H)
        return {"l1_ratio": self.l1_ratio, "l1": absolute, "l2": squared}
