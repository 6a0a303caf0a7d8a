"""sum_{i != j} w_ij (A_ij - h_i . h_j)^2: every row of H a nonnegative least squares problem."""

from typing import Any, ClassVar

import numpy as np

from odsymnmf import kernels
from odsymnmf.arrays import Array
from odsymnmf.engine.losses.measures import swept, tidy, total_error, worth
from odsymnmf.engine.losses.protocol import Scales, Step, Worth
from odsymnmf.problem import Similarity


class GramSums:
    """D = H^T H, the largest that its diagonal has been, and the products with A."""

    def __init__(self, A: Similarity, H: Array):
        H64 = H.astype(np.float64, copy=False)
        self.D = H64.T @ H64
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

    def state(self) -> dict[str, Array]:
        """Return the arrays that the next sweep goes on from, by name."""
        return {"D": self.D, "peak": self.peak, **self.products.state()}

    def load(self, state: dict[str, Array]) -> None:
        """Go on from the arrays that `state` has returned."""
        for name, array in self.state().items():
            array[:] = state[name]


class L2:
    """Squared errors."""

    name: ClassVar[str] = "l2"
    restarts: ClassVar[int] = 0
    refresh: ClassVar[int] = 10
    relative: ClassVar[bool] = True
    scales = Scales(0.0, 1.0)
    # What symNMF fits besides.
    diagonal: Array | None = None

    def __init__(self, A: Similarity, upper: float = np.inf):
        self.A = A
        self.upper = upper

    def objective(self, H: Array) -> float:
        """Return f(H)."""
        return total_error(self.A, H, self.scales)

    def sums(self, H: Array) -> GramSums:
        """Compute what sweeps keep up to date."""
        return GramSums(self.A, H)

    def sweep(self, H: Array, sums: GramSums, items: Array, empty: float = 0.0) -> Step:
        """Bring the rows of the items to their optimum in turn, and the sums with them."""
        l2, weights = kernels.l2, self.A.weights
        w0, exceptions = weights.background, weights.exceptions
        kept, row = l2.Sums(sums.D, sums.peak), l2.workspace(H.shape[1])
        room = l2.room_for(exceptions, items, H.shape[1])
        limits = (self.diagonal, w0, self.upper, empty)
        decrease = violation = 0.0
        for some, source in sums.products.blocks(items, H):
            found = l2.sweep(some, source, exceptions, H, kept, row, room, *limits)
            decrease += found[0]
            violation += found[1]
        if violation <= _rounding(swept(H, items), sums.D):
            violation = 0.0
        return Step(decrease if exceptions is not None else w0 * decrease, violation)

    def tidy(self, H: Array) -> None:
        """Clear columns with one entry, balance those with two."""
        tidy(H)

    def worth(self, H: Array, j: int, items: Array) -> Worth:
        """Say what column j is worth; its entries are among the items."""
        return worth(self.A, H, j, items, self.scales)

    def place(self, items: Array, H: Array, column: Any) -> None:
        """Give the items their entries in a column that is being built, each in turn."""
        kernels.greedy.place_l2(items, self.A.rows(items), H, column, self.upper)

    def mix(self, H: Array) -> None:
        """Say that this is a loss of one part."""


def _rounding(H: Array, D: Array) -> float:
    """What rounding leaves of the violation: the sum of H D, which A H balances, times eps."""
    total = np.ones(len(H), dtype=H.dtype) @ H @ D.sum(axis=1)
    return 16.0 * float(np.finfo(H.dtype).eps * total)
