"""What every function that solves a row is told: which item it is of, and the limits."""

from typing import Any, NamedTuple


class At(NamedTuple):
    """Where an item is: its row of H, of A as given, of the exceptions, and of the answers."""

    item: Any
    row: Any
    pairs: Any
    out: Any


class Limits(NamedTuple):
    """Entries are at most ``upper``; one whose column is zero elsewhere becomes ``empty``."""

    upper: float
    empty: float
