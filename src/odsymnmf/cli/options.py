"""What an option may be, where click lets more through."""

import math
from typing import TYPE_CHECKING, Any

import click

# Generic for type checkers; older versions of click do not know of that.
if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType

__all__ = ["ClusterCount", "FilePath", "Number", "OrAuto"]


class FilePath(click.Path):
    """A path that is not empty. Whether it can be read is said by who reads it, with a remedy."""

    def __init__(self, **options: Any):
        super().__init__(readable=False, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("the path is empty; give the name of a file or folder", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A finite number within a range: nan is in no range, but not outside either."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class ClusterCount(ParamType):
    """A number of clusters, a range of them to choose from (2-30), or auto."""

    name = "r"
    most = 10**9

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return what the help text shows."""
        return "N|N-N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number, the numbers of a range, or "auto"."""
        if value == "auto" or isinstance(value, int | list):
            return value
        low, dash, high = str(value).strip().partition("-")
        if not (low.isdecimal() and (high.isdecimal() or not dash)):
            self.fail(f"{value!r} is neither a whole number, a range such as 2-30, nor auto", param)
        first, last = int(low), int(high or low)
        if not 1 <= first <= self.most or last > self.most:
            self.fail(f"{value} is not in the range 1<=x<={self.most}", param)
        if not dash:
            return first
        if last < first:
            self.fail(f"the range {value} is empty; begin with the smaller number", param)
        if last - first >= 10_000:
            self.fail(f"the range {value} is too long; give 10,000 candidates at most", param)
        return list(range(first, last + 1))


class OrAuto(ParamType):
    """What another type takes, or auto, or none, which becomes None."""

    name = "text"

    def __init__(self, other: ParamType, metavar: str):
        self.other, self.metavar = other, metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return what the help text shows."""
        return self.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return "auto", None, or what the other type makes of it."""
        if value in ("auto", "none", None):
            return None if value == "none" else value
        return self.other.convert(value, param, ctx)
