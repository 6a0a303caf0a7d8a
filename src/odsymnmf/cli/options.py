"""What an option may be, where click lets more through."""

import math
from typing import TYPE_CHECKING, Any

import click

# Generic for type checkers; older versions of click do not know of that.
if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType

__all__ = ["ClusterCount", "FilePath", "Number", "OrAuto", "Share", "jobs"]


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


class Share(click.types.StringParamType):
    """A number of texts (2), or a share of them (0.5, 1.0), as scikit-learn takes them."""

    name = "number or share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return an int or a float."""
        if not isinstance(value, str):
            return value
        if value.isdecimal() and int(value) >= 1:
            return int(value)
        try:
            share = float(value)
        except ValueError:
            share = math.nan
        if value.isdecimal() or not 0 <= share <= 1:
            wanted = "neither a number of texts (1, 2, ...) nor a share (0.0 to 1.0)"
            self.fail(f"{value!r} is {wanted}", param, ctx)
        return share


def jobs(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    """Return a number of threads that is not zero."""
    if value == 0:
        raise click.BadParameter("0 threads can do nothing; -1 stands for all cores", ctx, param)
    return value


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
