"""The group of commands, and what becomes of an error."""

import errno
from typing import Any

import click

import odsymnmf
from odsymnmf.cli.cluster import cluster
from odsymnmf.cli.completion import completion
from odsymnmf.cli.ending import words_and_code
from odsymnmf.cli.info import info
from odsymnmf.cli.plot import plot
from odsymnmf.cli.predict import predict
from odsymnmf.cli.reproduce import reproduce
from odsymnmf.cli.score import score
from odsymnmf.cli.stream import forgiving_stderr
from odsymnmf.cli.text import one_line
from odsymnmf.cli.wording import in_options


class Commands(click.Group):
    """Commands whose errors are one line on stderr: 1 bad input, 2 usage, 130 or 143 signals."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and turn what the user can mend into a message."""
        try:
            with forgiving_stderr():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            said, code = words_and_code(error)
            click.echo(said, err=True)
            ctx.exit(code)
        except (ImportError, MemoryError, OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.EPIPE:  # nobody reads on: click is silent
                raise
            raise click.ClickException(self._in_options(one_line(error), error, ctx)) from error

    def _in_options(self, message: str, error: BaseException, ctx: click.Context) -> str:
        """Name options where the library names arguments; readers do that themselves."""
        command = self.commands.get(ctx.invoked_subcommand or "")
        is_reader = hasattr(error, "command_line")
        return message if command is None or is_reader else in_options(message, command)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"odsymnmf {odsymnmf.__version__}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def app() -> None:
    """Cluster the items behind a graph or a table of similarities, softly and with overlaps.

    \b
    odsymnmf cluster graph.csv -o run
    """


for command in (cluster, predict, score, plot, reproduce, info, completion):
    app.add_command(command)
