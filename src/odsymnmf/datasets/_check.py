"""What the generators ask of their arguments."""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sizes = Sequence[int] | NDArray[np.integer[Any]]


def as_sizes(sizes: Sizes) -> NDArray[np.int64]:
    remedy = "pass one positive integer per group, such as [10, 10, 5]"
    try:
        checked = np.asarray(sizes)
    except ValueError as error:  # ragged lists
        raise ValueError(f"sizes must be a flat list of integers; {remedy}") from error
    if checked.ndim != 1 or checked.size == 0:
        raise ValueError(f"sizes must be a flat, non-empty list, got {sizes!r}; {remedy}")
    if checked.dtype.kind not in "iu":
        raise ValueError(f"sizes must be integers, got {sizes!r}; {remedy}")
    if checked.min() < 1:
        group = int(checked.argmin())
        raise ValueError(f"sizes[{group}] is {checked[group]}, not positive; {remedy}")
    return checked.astype(np.int64)


def as_real(name: str, value: float, most: float = math.inf) -> float:
    """Return a number from 0 to `most`; NaN and infinity are refused."""
    allowed = "a finite number >= 0" if most == math.inf else f"a number from 0 to {most:g}"
    if not isinstance(value, Real) or not 0 <= value <= most or math.isinf(value):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return float(value)
