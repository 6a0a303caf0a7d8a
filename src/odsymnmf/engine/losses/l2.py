"""sum_{i != j} w_ij (A_ij - h_i . h_j)^2: every row of H a nonnegative least squares problem."""

from typing import Any, ClassVar

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array, squared
from odsymnmf.engine.losses import meetings
from odsymnmf.engine.losses.measures import swept
from odsymnmf.engine.losses.pairs import PairLoss
from odsymnmf.engine.losses.protocol import Change, Pass, Proposal, Scales, Step
from odsymnmf.kernels.rounding import CANCELLED
from odsymnmf.problem import Similarity
from odsymnmf.problem.rounds import Moves, Share, Task, tiles


class GramSums:
    """D = H^T H, the largest that its diagonal has been, and the products with A."""

    def __init__(self, A: Similarity, H: Array):
        self.D = squared(H)
        self.peak = np.zeros(H.shape[1])
        self.products = A.following(H)

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, whose entries are among the items."""
        h = H[items, j].astype(np.float64)
        self.D[j] = self.D[:, j] = h @ H[items]
        self.peak[j] = 0.0
        self.products.column_changed(H, j, items)

    def column_sums(self, H: Array) -> Array:
        """Return sum_i H_il for each column l."""
        return H.sum(axis=0, dtype=np.float64)

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""
        return self.D.copy(), self.peak.copy(), self.products.save(items)

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""
        self.D, self.peak, products = saved
        self.products.restore(products)

    def begin_round(self) -> None:
        """Note the largest that the diagonal of D has been."""
        np.maximum(self.peak, self.D.diagonal(), out=self.peak)

    def add(self, change: Change, H: Array) -> None:
        """Learn of a round that H now holds; compute anew what has cancelled."""
        assert change.D is not None
        self.D += change.D
        for l in np.flatnonzero(self.D.diagonal() < CANCELLED * self.peak):
            self.D[l] = self.D[:, l] = np.einsum("i,ij->j", H[:, l], H, dtype=np.float64)
            self.peak[l] = self.D[l, l]

    def rows_changed(self, items: Array, moved: Array) -> None:
        """Learn of new rows of H: the sums have them from `add`."""

    def put(self) -> list[Task]:
        """Return the tasks that let the products with A learn of a round."""
        return self.products.put()

    def shared(self) -> Any:
        """Return the products with A whose changes in a round workers tell each other, or None."""
        return self.products.shared()

    def state(self) -> dict[str, Array]:
        """Return the arrays that the next sweep goes on from, by name."""
        return {"D": self.D, "peak": self.peak, **self.products.state()}

    def load(self, state: dict[str, Array]) -> None:
        """Go on from the arrays that `state` has returned."""
        for name, array in self.state().items():
            array[:] = state[name]


class L2(PairLoss):
    """Squared errors."""

    name: ClassVar[str] = "l2"
    restarts: ClassVar[int] = 0
    refresh: ClassVar[int] = 10
    relative: ClassVar[bool] = True
    power: ClassVar[int] = 2
    by_products: ClassVar[bool] = True
    normalized: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    explains: ClassVar[str] = "squared similarities"
    scales, l1_ratio = Scales(0.0, 1.0), 0.0
    # What symNMF fits besides.
    diagonal: Array | None = None

    def sums(self, H: Array) -> GramSums:
        """Compute what sweeps keep up to date."""
        return GramSums(self.A, H)

    def sweep(
        self, H: Array, sums: GramSums, items: Array, empty: float = 0.0, rounds: Any = None
    ) -> Step:
        """Bring the rows of the items to their optimum in turn, and the sums with them."""
        _, decrease, violation = (
            self._one_by_one(H, sums, items, empty) if rounds is None else rounds(H, sums)
        )
        return Step(decrease, 0.0 if violation <= _rounding(swept(H, items), sums.D) else violation)

    def _one_by_one(self, H: Array, sums: GramSums, items: Array, empty: float) -> Pass:
        l2, r, limits = kernels.l2, H.shape[1], kernels.items.Limits(self.upper, empty)
        kept, row = l2.Sums(sums.D, sums.peak), l2.workspace(r)
        uneven = self.A.weights.uneven(items, r)
        decrease = violation = 0.0
        for some, source in sums.products.blocks(items, H):
            found = l2.sweep(some, source, uneven, self.diagonal, H, kept, row, limits)
            decrease += found[0]
            violation += found[1]
        return Pass(0.0, self.A.weights.even * decrease, violation)

    def tiles(self, sums: GramSums, r: int) -> list[slice]:
        """Cut the items into tiles for rounds."""
        return tiles(self.A.n, r, sums.products.entries)

    def propose(self, H: Array, sums: GramSums, items: Array, New: Array, moved: Array) -> Proposal:
        """Set New[p] to the optimum of row items[p], all others as they are in H."""
        l2, weights, r = kernels.l2, self.A.weights, H.shape[1]
        kept, change = l2.Sums(sums.D.copy(), sums.peak.copy()), np.zeros((r, r))
        decrease, violation, clash = kernels.rounds.propose_l2(
            items, sums.products.source(items, H), weights.uneven(items, r), self.diagonal, H, kept,
            l2.workspace(r), kernels.items.Limits(self.upper, 0.0), New, moved, change,
        )  # fmt: skip
        decrease = weights.even * decrease - weights.background * clash
        return Proposal(np.array([0.0, decrease]), violation, Change(None, change))

    def meetings(self, sums: GramSums, moves: Moves, shares: list[Share]) -> list[Task]:
        """Return tasks whose sum is what listed pairs inside a round add to f_1 and f_2."""
        found = meetings.products(self.A, sums.products.meetings(moves, shares))
        return [*found, *meetings.exceptions(self.A, moves, shares, [2])]

    def together(self, violations: list[float]) -> float:
        """Return the sum."""
        return float(sum(violations))

    def place(self, items: Array, H: Array, column: Any) -> None:
        """Give the items their entries in a column that is being built, each in turn."""
        kernels.greedy.place_l2(items, self.A.rows(items), H, column, self.upper)


def _rounding(H: Array, D: Array) -> float:
    """What rounding leaves of the violation: the sum of H D, which A H balances, times eps."""
    total = np.ones(len(H), dtype=H.dtype) @ H @ D.sum(axis=1)
    return 16.0 * float(np.finfo(H.dtype).eps * total)
