"""Similarities of any size, brought to the middle of the range of floating point, and back.

A 2^-e with an even e has the memberships H 2^(-e/2), exactly: powers of two change no digit.
Squares, cubes and fourth powers of what remains neither overflow nor vanish.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odsymnmf.similarity import Similarity
from odsymnmf.solvers.base import PairwiseLoss
from odsymnmf.solvers.objective import Scales
from odsymnmf.solvers.run import Callback, Sweep
from odsymnmf.utils import Array

# Exponents of the largest |A_ij| that need no change: squares of sums of squares of H are in range.
IN_RANGE = {np.dtype(np.float64): 200, np.dtype(np.float32): 40}
# No entry of H exceeds the root of the largest similarity by more: it could only belong to a hub
# that runs away, and in the end takes all digits of its partners with it.
LARGEST = 1e4
# Where some pairs weigh less than others, two items whose own pair weighs nothing can grow together
# at no cost; the fourth power of their entries is what all sums must have digits for.
LARGEST_WEIGHED = 32.0


@dataclass(frozen=True)
class Magnitude:
    """2^e, by which A is divided; e is even, and 0 unless A is out of range."""

    e: int

    @classmethod
    def of(cls, A: Similarity) -> "Magnitude":
        """Return that of the largest similarity."""
        e = int(np.frexp(A.max_abs)[1])
        return cls(0 if abs(e) <= IN_RANGE[A.dtype] or A.max_abs == 0 else e - e % 2)

    def similarity(self, A: Similarity) -> Similarity:
        """Return A 2^-e, a copy unless e = 0."""
        return A.scale(np.full(A.n, 2.0 ** (-self.e // 2))) if self.e else A

    def down(self, H: Any) -> Any:
        """Return memberships, or a bound on them, as the scaled problem has them."""
        return np.ldexp(H, -self.e // 2) if self.e else H

    def up(self, H: Array) -> Array:
        """Return memberships as the problem has them."""
        return np.ldexp(H, self.e // 2) if self.e else H

    def value(self, loss: PairwiseLoss, value: Any) -> Any:
        """Return the objective as the problem has it; infinite where no number is so large."""
        if not self.e:
            return value
        with np.errstate(over="ignore"):
            return np.ldexp(value, self.e * loss.degree)

    def scales(self, loss: PairwiseLoss) -> Scales:
        """Return the scales of both losses as the problem has them."""
        if not self.e or loss.degree:
            return loss.scales
        l1, l2 = np.ldexp(loss.scales, (-self.e, -2 * self.e)).tolist()
        return Scales(l1, l2)

    def callback(self, loss: PairwiseLoss, callback: Callback | None) -> Callback | None:
        """Return a callback that sees the problem as it was given."""
        if callback is None or not self.e:
            return callback
        seen = callback

        def scaled(sweep: Sweep) -> Any:
            value = float(self.value(loss, sweep.objective))
            return seen(replace(sweep, objective=value, H=self.up(sweep.H)))

        return scaled


def within_reason(A: Similarity, upper: float, diagonal: str, lighter: bool) -> float:
    """Return the upper bound, or that which keeps entries from running away, if it is lower.

    ``lighter`` says whether some pairs weigh less than the others.
    """
    if diagonal == "ignore" and A.max_value > 0:
        largest = LARGEST_WEIGHED if lighter else LARGEST
        upper = min(upper, largest * float(np.sqrt(A.pair_bound if lighter else A.max_value)))
    # In the precision of H, or entries at the bound would look as if they could still grow.
    return float(A.dtype.type(upper))
