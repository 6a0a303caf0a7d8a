"""Which numbers of clusters are worth a try."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from odsymnmf.options import whole_number

# Candidates are this far apart: one is within 10 % of any number in between.
STEP = 2**0.25
# Of more candidates than this, so many are tried, and then those about the best.
MANY, SPREAD, ABOUT = 15, 10, 5


def around(centre: int, low: int, high: int) -> list[int]:
    """Return the numbers centre STEP^j, j whole, from low to high.

    Examples
    --------
    >>> around(10, 5, 20)
    [5, 6, 7, 8, 10, 12, 14, 17, 20]
    """
    found = np.unique(np.round(centre * STEP ** np.arange(-40, 41)).astype(np.int64))
    return [int(r) for r in found if low <= r <= high]


def given(candidates: Iterable[Any], n: int) -> list[int]:
    """Return the user's candidates, checked and in ascending order."""
    if isinstance(candidates, str):
        raise ValueError(f"candidates must be numbers, as in range(2, 31); got {candidates!r}.")
    numbers = sorted({whole_number("candidates", r, 1) for r in candidates})
    if not numbers:
        raise ValueError("candidates is empty; give at least one number of clusters, or None.")
    if numbers[0] > n:
        raise ValueError(f"candidates begin with {numbers[0]}, but there are {n} items only.")
    return [r for r in numbers if r <= n]


def spread(numbers: list[int]) -> list[int]:
    """Return those to try first: of many, some at equal ratios, the first and the last too.

    Examples
    --------
    >>> spread(list(range(2, 31)))
    [2, 3, 4, 5, 7, 9, 12, 16, 22, 30]
    """
    if len(numbers) <= MANY:
        return numbers
    wanted = np.geomspace(numbers[0], numbers[-1], SPREAD)
    return sorted({min(numbers, key=lambda r: abs(r - w)) for w in wanted})


def about(numbers: list[int], tried: Iterable[int], best: int) -> list[int]:
    """Return numbers that were not tried between the neighbours of the best that was."""
    tried = sorted(tried)
    place = tried.index(best)
    low, high = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]
    rest = [r for r in numbers if low < r < high and r not in tried]
    if len(rest) > ABOUT:
        rest = [rest[int(i)] for i in np.linspace(0, len(rest) - 1, ABOUT)]
    return rest
