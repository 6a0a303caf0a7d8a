"""The command line: parse, call, print. Heavy imports wait inside the commands."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command `odsymnmf`."""
    try:
        import click  # noqa: F401
    except ImportError:
        sys.exit('The command odsymnmf needs click: pip install "odsymnmf[cli]"')
    from odsymnmf.cli.app import app

    app(prog_name="odsymnmf")
