"""The command line: parse, call, print. Heavy imports wait inside the commands."""

import io
import os
import signal
import sys

from odsymnmf.cli.ending import TERMINATED

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
    signal.signal(signal.SIGTERM, _end)
    app(prog_name="odsymnmf")


def _end(number: int, frame: object) -> None:
    # Past Python's own stream, which may be in the middle of a line.
    os.write(2, b"\n" + TERMINATED.encode() + b"\n")
    sys.exit(128 + number)
