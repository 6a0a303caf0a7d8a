"""The command line. Heavy packages are imported inside the commands."""

import io
import signal
import sys
import warnings

try:
    import click
except ImportError:
    sys.exit('The command odsymnmf needs click: pip install "odsymnmf[cli]"')

import odsymnmf
from odsymnmf.cli import cluster, predict, tools
from odsymnmf.cli.options import EXIT_CODE, one_line

__all__ = ["app", "main"]


class Commands(click.Group):
    """Commands with errors of one line on stderr, and the exit codes of docs/command_line.md."""

    def invoke(self, ctx: click.Context) -> None:
        """Run a command; SIGTERM interrupts it as Ctrl-C does."""
        ctx.meta[EXIT_CODE] = 128 + signal.SIGINT

        def terminate(number: int, frame: object) -> None:
            ctx.meta[EXIT_CODE] = 128 + number
            raise KeyboardInterrupt

        previous = signal.signal(signal.SIGTERM, terminate)
        try:
            with warnings.catch_warnings(record=True) as messages:
                warnings.simplefilter("default", UserWarning)
                super().invoke(ctx)
            for warning in messages:
                click.echo(f"warning: {warning.message}", err=True)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(ctx.meta[EXIT_CODE])
        except BrokenPipeError:  # handled by click
            raise
        except (ImportError, MemoryError, OSError, ValueError) as error:
            raise click.ClickException(one_line(error)) from error
        finally:
            signal.signal(signal.SIGTERM, previous)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(odsymnmf.__version__, message="odsymnmf %(version)s")
def app() -> None:
    """Cluster the items of a graph or a table of similarities, with soft, overlapping clusters.

    \b
    odsymnmf cluster graph.csv -o run
    """


for command in (cluster.cluster, predict.predict, tools.score, tools.plot, tools.info):
    app.add_command(command)


def main() -> None:
    """Run the command `odsymnmf`."""
    # Characters that the terminal cannot show are replaced.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name="odsymnmf")
