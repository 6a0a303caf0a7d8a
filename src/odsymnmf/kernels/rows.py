"""Rows of A in CSR form, positions of an item, bounds on H, and the tolerances of all kernels."""

from typing import Any, NamedTuple

# A leave-one-out sum below this fraction of the largest value of its running sum is recomputed: the
# rounding of the running sum would be a too large part of it.
CANCELLED = 1e-4
# A new entry below this fraction of the terms of which it is a difference is rounding and set to
# zero: if it were the only entry of its column, other entries could diverge.
ROUNDING = 1e-13
# Residuals below this fraction of A_ik are rounding (l1).
RESIDUAL_ROUNDING = 1e-14
# Relative difference of a weight from half of the total that is a tie: the smaller minimizer is
# taken (l1).
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
    """Positions of an item: in H, in the rows of A, in the exceptions, and in ``out``."""

    item: Any
    row: Any
    exceptions: Any
    out: Any


class Bounds(NamedTuple):
    """The upper bound, and the value of an entry whose column is zero in all other rows."""

    upper: float
    empty_column_value: float
