"""Rows of A in CSR form, positions of an item, bounds on H, and the tolerances of all kernels."""

from typing import Any, NamedTuple

# A leave-one-out sum this small relative to the largest value of its running sum is recomputed:
# rounding in the running sum has taken too many of its digits.
CANCELLED = 1e-4
# A new entry this small relative to the terms that it is the difference of is rounding. It must
# not stay: alone in its column, it would drive other entries towards infinity.
ROUNDING = 1e-13
# Residuals below this fraction of A_ik are rounding (l1).
RESIDUAL_ROUNDING = 1e-14
# Weights this close to half of the total are a tie: the smaller minimizer is taken (l1).
TIE = 1e-12
# A column with a smaller sum of squares a counts as zero; 1 / a may overflow.
TINY = 1e-290


class CsrRows(NamedTuple):
    """Rows of A: row which[p] of the CSR arrays belongs to the p-th item."""

    which: Any
    indptr: Any
    indices: Any
    data: Any


class RowRef(NamedTuple):
    """Positions of an item: in H, among the rows of A, among the exceptions, and in ``out``."""

    item: Any
    row: Any
    exceptions: Any
    out: Any


class Bounds(NamedTuple):
    """The upper bound, and the value of an entry whose column is zero in all other rows."""

    upper: float
    empty_column_value: float
