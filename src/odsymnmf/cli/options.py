"""Types of options, and text for the terminal."""

import math
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

# Generic in type stubs only with older versions of click.
if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType

# Copied from odsymnmf.io, so that help texts need not import it; a test compares them.
FORMATS = (
    *("edges", "table", "npy", "npz", "mtx", "parquet"),
    *("graphml", "gexf", "gml", "pajek", "adjlist"),
)
# Key of the exit code of an interrupted command in the context of click.
EXIT_CODE = "odsymnmf.exit_code"


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


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that tell how a file is read; they are arguments of `odsymnmf.io.read`."""
    options = [
        click.option(
            "--format",
            type=click.Choice(FORMATS),
            help="Format of the file; by default it is recognised.",
        ),
        click.option(
            "--header/--no-header",
            default=None,
            show_default="by its names and by the rows below it",
            help="Whether the first row of an edge list or a table is a header.",
        ),
        click.option(
            "--columns",
            metavar="SOURCE,TARGET[,WEIGHT]",
            callback=lambda ctx, param, value: None if value is None else value.split(","),
            help="Columns of an edge list, by name or by number from 1.",
        ),
        click.option(
            "--weight-column",
            metavar="NAME",
            help="Column of the weights of an edge list, by name or number; of a graph file, the "
            "edge attribute.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


class ClusterCount(ParamType):
    """A number of clusters, a range of them to choose from (2-30), or auto."""

    name = "n_clusters"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the text that the help shows."""
        return "N|N-N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a number, the numbers of a range, or "auto"."""
        if value == "auto" or isinstance(value, int | list):
            return value
        low, dash, high = value.partition("-")
        if not (low.isdecimal() and (high.isdecimal() or not dash)):
            self.fail(f"{value!r} is neither a whole number, a range such as 2-30, nor auto", param)
        first, last = int(low), int(high or low)
        if not 1 <= first <= last <= 10**9 or last - first >= 10_000:
            self.fail(f"{value} is empty, contains 0 or is too large", param)
        return list(range(first, last + 1)) if dash else first


class OrAuto(ParamType):
    """Values of another type, or auto, or none, which becomes None."""

    name = "text"

    def __init__(self, other: ParamType, metavar: str):
        self.other, self.metavar = other, metavar

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the text that the help shows."""
        return self.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return "auto", None, or the value converted by the other type."""
        if value in ("auto", "none", None):
            return None if value == "none" else value
        return self.other.convert(value, param, ctx)


def one_line(error: BaseException) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename is not None else ""
        return plain(f"{where}{error.strerror}", 2000)
    if isinstance(error, MemoryError):
        return plain(f"not enough memory: {str(error) or 'the input is too large'}", 2000)
    return plain(str(error), 2000)


def plain(name: str, most: int = 30) -> str:
    """Return a name in one line without control characters, which terminals interpret."""
    line = " ".join(str(name).split())
    line = "".join("?" if unicodedata.category(c) in {"Cc", "Cf", "Cs"} else c for c in line)
    return line if len(line) <= most else line[: most - 1] + "…"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text in columns; the first row is the heading."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
