"""Rows of A in CSR form, the position of an item in every array of a kernel, and bounds on H."""

from typing import Any, NamedTuple


class CsrRows(NamedTuple):
    """Rows of A: row which[p] of the CSR arrays belongs to the p-th of the items asked for."""

    which: Any
    indptr: Any
    indices: Any
    data: Any


class RowRef(NamedTuple):
    """Positions of an item: in H, among the rows of A, among the exceptions, in the output."""

    item: Any
    row: Any
    pairs: Any
    out: Any


class Bounds(NamedTuple):
    """Entries are at most ``upper``; one whose column is zero elsewhere becomes ``empty``."""

    upper: float
    empty: float
