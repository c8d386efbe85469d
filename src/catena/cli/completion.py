"""`catena completion`: what makes the shell complete commands, options and models."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(
    short_help="Print what makes your shell complete commands.",
    epilog='Example, in ~/.bashrc: eval "$(catena completion bash)"',
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion of commands, options and models for SHELL."""
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(ctx.find_root().command, {}, "catena", "_CATENA_COMPLETE").source())
