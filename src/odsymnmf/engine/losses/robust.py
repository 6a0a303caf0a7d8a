"""max(f_1(H) / f_1(0), f_2(H) / f_2(0)): good under either error, whichever is the right one.

After Gillis, Hien, Leplat and Tan, "Distributionally robust and multi-objective nonnegative matrix
factorization" (2019). A sweep lowers a mix of the two losses, and the mix moves towards the larger
one. A sweep that would raise the larger one is taken back, and only the mix moves.
"""

from typing import Any, ClassVar

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.losses.mixed import BothSums, Mixed
from odsymnmf.engine.losses.protocol import Step, Worth
from odsymnmf.problem import Similarity

# By what power of the two losses their shares of the mix move towards the larger in a sweep.
STEP = 2.0
# Sweeps taken back in a row after which there is nothing left to gain.
PATIENCE = 8


class RobustSums(BothSums):
    """The sums of a mix, and its course: share of l1, both losses, sweeps taken back in a row."""

    def __init__(self, loss: "Robust", H: Array):
        super().__init__(loss.A, H)
        self.loss = loss
        self.course = np.array([loss.l1_ratio, *loss.both(H), 0.0])

    def column_changed(self, H: Array, j: int, items: Array) -> None:
        """Learn of a new column j, and of the losses with it."""
        super().column_changed(H, j, items)
        self.course[1:3] = self.loss.both(H)

    def save(self, items: Array) -> Any:
        """Return what changes of the items' rows can change."""
        return super().save(items), self.course.copy()

    def restore(self, saved: Any) -> None:
        """Put back what was saved."""
        super().restore(saved[0])
        self.course = saved[1]
        self.loss.l1_ratio = float(self.course[0])

    def state(self) -> dict[str, Array]:
        """Return the arrays that the next sweep goes on from, by name."""
        return {"course": self.course, **super().state()}

    def load(self, state: dict[str, Array]) -> None:
        """Go on from the arrays that `state` has returned, and from the mix in them."""
        super().load(state)
        self.loss.l1_ratio = float(self.course[0])


class Robust(Mixed):
    """The larger of the two relative losses; ``l1_ratio`` is the mix that it is minimised by."""

    name: ClassVar[str] = "robust"
    restarts: ClassVar[int] = 0
    explains: ClassVar[str] = "similarities, absolute or squared, whichever is less"

    def __init__(self, A: Similarity, upper: float = np.inf):
        super().__init__(A, upper, 0.5)

    def objective(self, H: Array) -> float:
        """Return the larger of the two."""
        return max(self.both(H))

    def worth(self, H: Array, j: int, items: Array) -> Worth:
        """Say what column j is worth, but for what f is without it: the larger has no parts."""
        value = self.objective(H)
        return Worth(-value, value)

    def sums(self, H: Array) -> RobustSums:
        """Compute what sweeps keep up to date."""
        return RobustSums(self, H)

    def sweep(
        self, H: Array, sums: BothSums, items: Array, empty: float = 0.0, rounds: Any = None
    ) -> Step:
        """Sweep for the mix as it is; take it back where the larger loss rises; move the mix."""
        assert isinstance(sums, RobustSums)
        before, saved = H[items].copy(), sums.save(items)
        self.l1_ratio, absolute, squared, refused = sums.course.tolist()
        found = self.sweep_both(H, sums, items, empty, rounds)
        new = absolute - found.l1 / self.zero.l1, squared - found.l2 / self.zero.l2
        decrease, violation = max(absolute, squared) - max(new), found.violation
        if decrease > 0.0:
            refused = 0.0
            # Both shares times a power of their loss, so that the larger loss weighs more.
            shares = np.array([self.l1_ratio, 1.0 - self.l1_ratio]) * np.power(new, STEP)
            mix = float(shares[0] / shares.sum()) if shares.sum() > 0 else self.l1_ratio
        else:
            H[items] = before
            sums.restore(saved)
            new, decrease, refused = (absolute, squared), 0.0, refused + 1.0
            violation = 1.0 if refused < PATIENCE else 0.0
            mix = 0.5 * (self.l1_ratio + float(absolute > squared))
        self.l1_ratio = min(max(mix, 1e-3), 1.0 - 1e-3)
        sums.course = np.array([self.l1_ratio, *new, refused])
        return Step(decrease, violation)
