"""`odsymnmf plot`: a picture of a run, in a file."""

import io
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from odsymnmf.cli.options import FilePath
from odsymnmf.cli.text import plain

KINDS = ("matrix", "convergence", "memberships")
# By suffix: what would put the time of day into the file.
TIME = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


@click.command(short_help="Draw a picture of a run.")
@click.argument("run", type=FilePath(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="matrix",
    show_default=True,
    help="What to draw.",
)
@click.option(
    "-o",
    "--output",
    type=FilePath(path_type=Path),
    required=True,
    help="Picture to write: .png, .svg or .pdf.",
)
@click.option("--force", is_flag=True, help="Replace the picture if it exists.")
def plot(run: Path, kind: str, output: Path, force: bool) -> None:
    """Draw the matrix, convergence or memberships of RUN, a folder written by cluster."""
    suffix = output.suffix.lower()
    if suffix not in TIME:
        raise click.UsageError(f"{output} must end in .png, .svg or .pdf")
    try:
        import matplotlib
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "odsymnmf[cli]"') from error
    target = Path(os.path.realpath(output))
    if target.exists() and not target.is_file():
        raise FileExistsError(f"{target} is not a file; choose another name")
    if target.exists() and not force:
        raise FileExistsError(f"{target} already exists; use --force to replace it")
    matplotlib.use("Agg")  # there may be no screen
    figure = _axes(run, kind).figure
    # The same run gives the same file.
    with (
        matplotlib.rc_context({"svg.hashsalt": "odsymnmf"}),
        warnings.catch_warnings(record=True) as heard,
    ):
        warnings.simplefilter("always")
        drawn = io.BytesIO()
        figure.savefig(drawn, format=suffix[1:], dpi=150, metadata=TIME[suffix])
    plt.close(figure)
    _write(target, drawn.getvalue())
    for note in {_note(str(warning.message)) for warning in heard}:
        click.echo(f"note: {note}", err=True)
    click.echo(f"wrote {output}")


def _write(target: Path, picture: bytes) -> None:
    """Write the picture and the folders that are missing; leave none of them if that fails."""
    from odsymnmf.atomic import replaced
    from odsymnmf.io.write import check_place

    check_place(target)
    made = [parent for parent in target.parents if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replaced(target) as file:
            file.write(picture)
    except BaseException:
        for parent in made:
            with suppress(OSError):  # somebody else has put something there
                parent.rmdir()
        raise


def _note(warning: str) -> str:
    if "missing from" in warning:  # matplotlib names each glyph
        return "the font lacks letters of some names; report.html shows them"
    return plain(warning, 500)


def _axes(run: Path, kind: str) -> Any:
    from odsymnmf import plots, runs

    if kind == "convergence":
        return plots.plot_convergence(*runs.read_history(run))
    if kind == "matrix":
        return plots.plot_matrix(runs.read_picture(run), None)
    names, H = runs.read_membership(run)
    return plots.plot_memberships(H, names)
