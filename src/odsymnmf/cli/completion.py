"""`odsymnmf completion`: the script that lets a shell complete commands and options."""

import click


@click.command(short_help="Print the script for shell completion.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    bash   add to ~/.bashrc:  eval "$(odsymnmf completion bash)"
    zsh    add to ~/.zshrc:   eval "$(odsymnmf completion zsh)"
    fish   odsymnmf completion fish > ~/.config/fish/completions/odsymnmf.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # the argument allows no other
    click.echo(kind(ctx.find_root().command, {}, "odsymnmf", "_ODSYMNMF_COMPLETE").source())
