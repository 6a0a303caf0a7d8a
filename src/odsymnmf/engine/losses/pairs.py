"""What the losses l1 f_1(H) + l2 f_2(H) have in common."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from odsymnmf.arrays import Array
from odsymnmf.engine.losses.measures import tidy, total_error, worth
from odsymnmf.engine.losses.protocol import Scales, Worth
from odsymnmf.problem import Similarity


class PairLoss:
    """A sum over pairs, for one problem; its `scales` say of what."""

    scales: Scales

    def __init__(self, A: Similarity, upper: float = np.inf):
        self.A = A
        self.upper = upper

    def for_parts(self) -> Callable[[Any], Any]:
        """Return what makes the loss that sweeps lower, for any part of the problem."""
        return partial(type(self), upper=self.upper)

    def objective(self, H: Array) -> float:
        """Return f(H)."""
        return total_error(self.A, H, self.scales)

    def tidy(self, H: Array) -> None:
        """Clear columns with one entry, balance those with two."""
        tidy(H)

    def worth(self, H: Array, j: int, items: Array) -> Worth:
        """Say what column j is worth; its entries are among the items."""
        return worth(self.A, H, j, items, self.scales)

    def mix(self, H: Array | None) -> dict[str, float] | None:
        """Say that this is a loss of one part."""
        return None
