"""The range of similarities and of H: powers of two for A, and an upper bound for H.

A 2^-e with an even e has the memberships H 2^(-e/2), exactly: powers of two change no digit.
Squares, cubes and fourth powers of what remains neither overflow nor vanish.
"""

import numpy as np

from odsymnmf.similarity import Similarity

# Exponents of the largest |A_ij| that need no change: squares of sums of squares of H are in range.
IN_RANGE = {np.dtype(np.float64): 200, np.dtype(np.float32): 40}
# Largest entry of H, in roots of the largest similarity: larger entries could only belong to a hub
# that grows without bound, and in the end takes all digits of its partners with it.
LARGEST = 1e4
# The same where some pairs weigh less than others: two items whose own pair weighs nothing can grow
# together at no cost, and the fourth power of their entries is what all sums must have digits for.
LARGEST_WEIGHED = 32.0


def exponent(A: Similarity) -> int:
    """Return the even e for which A 2^-e is in range: 0 for nearly all A."""
    e = int(np.frexp(A.max_abs)[1])
    return 0 if abs(e) <= IN_RANGE[A.dtype] or A.max_abs == 0 else e - e % 2


def scaled(A: Similarity, e: int) -> Similarity:
    """Return A 2^-e, a copy unless e = 0."""
    return A.scale(np.full(A.n, 2.0 ** (-e // 2))) if e else A


def limit_upper(A: Similarity, upper: float, diagonal: str, has_lighter: bool) -> float:
    """Return the upper bound, or that which keeps entries from growing without bound, if lower.

    ``has_lighter``: whether some pairs weigh less than the others.
    """
    if diagonal == "ignore" and A.max_value > 0:
        largest = LARGEST_WEIGHED if has_lighter else LARGEST
        upper = min(upper, largest * float(np.sqrt(A.pair_bound if has_lighter else A.max_value)))
    # In the precision of H, or entries at the bound would seem able to grow.
    return float(A.dtype.type(upper))
