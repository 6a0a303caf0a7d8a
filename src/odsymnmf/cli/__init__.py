"""The command line: parse, call, print. Heavy imports wait inside the commands."""

import io
import sys

from odsymnmf.cli.ending import listen

__all__ = ["main"]


def main() -> None:
    """Run the command `odsymnmf`."""
    try:
        import click  # noqa: F401
    except ImportError:
        sys.exit('The command odsymnmf needs click: pip install "odsymnmf[cli]"')
    from odsymnmf.cli.app import app

    # A name that the terminal cannot show must not undo what was done.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Who is told to end by a batch system leaves nothing half-written either.
    listen()
    app(prog_name="odsymnmf")
