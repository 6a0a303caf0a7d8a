"""Checks of plain options, in the words of every error."""

from numbers import Integral, Real
from typing import Any


def whole_number(name: str, value: Any, least: int) -> int:
    """Return the value as an int, if it is a whole number of at least ``least``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}; got {value!r}.")
    return int(value)


def number(name: str, value: Any, least: float) -> float:
    """Return the value as a float, if it is a number of at least ``least``."""
    if not isinstance(value, Real) or not float(value) >= least:
        raise ValueError(f"{name} must be a number >= {least}; got {value!r}.")
    return float(value)


def bound(upper: Any) -> float:
    """Return the upper bound on the entries of H, infinity for None."""
    if upper is None:
        return float("inf")
    if not isinstance(upper, Real) or not float(upper) > 0:
        raise ValueError(f"upper must be a number > 0, or None for no bound; got {upper!r}.")
    return float(upper)
