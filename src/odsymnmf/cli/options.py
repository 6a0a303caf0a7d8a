"""What an option may be, where click lets more through."""

import math
from typing import Any

import click

__all__ = ["FilePath", "Number", "Share", "jobs"]


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
