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


def threads(n_jobs: Any) -> int | None:
    """Return how many threads ``n_jobs`` stands for: -1 is all cores, -2 all but one; None stays.

    Within a worker of joblib, all cores means those that the worker has.
    """
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(
            f"n_jobs must be a whole number >= 1, -1 for all cores, or None; got {n_jobs!r}."
        )
    if int(n_jobs) > 0:
        return int(n_jobs)
    from joblib import effective_n_jobs  # takes a while to import

    return int(effective_n_jobs(int(n_jobs)))
