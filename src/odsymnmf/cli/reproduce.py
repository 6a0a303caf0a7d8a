"""`odsymnmf reproduce`: the tables and figures of the paper, with options of their own."""

import click

from odsymnmf.cli.cluster import INTERRUPTED


@click.command(
    short_help="Reproduce a table or figure of the paper.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def reproduce(ctx: click.Context, /, arguments: tuple[str, ...]) -> None:
    """Reproduce a table or figure of the paper; --help shows which, and the options."""
    from odsymnmf.reproduce import main

    try:
        main(arguments, prog="odsymnmf reproduce")
    except KeyboardInterrupt:
        click.echo(
            "interrupted; run the same command again to continue after the cells that are finished",
            err=True,
        )
        ctx.exit(INTERRUPTED)
