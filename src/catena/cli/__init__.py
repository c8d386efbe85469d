"""The command line, `catena`: one file per command in this package, loaded when it is called.

A command `name` is the object `command` of the module `catena.cli.name`; modules that start with "_" are not commands.
Exit codes: 0 for success; 1 if a check found faults, the command was interrupted, or nobody reads what it prints; 2 for
input that is refused, memory that is not to be had and output that cannot be written, with one line on stderr.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from typing import Any

import click

from catena.cli._surroundings import drop_what_is_left, ended_as_by_ctrl_c, show_every_character
from catena.errors import CatenaError, CatenaWarning
from catena.version import __version__


class Commands(click.Group):
    """The commands found in this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command called `cmd_name`, its module imported only now."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Runs what the command line asks for; output that cannot be written is one line and exit code 2.

        Where nobody reads the output any more, click ends quietly with exit code 1.
        """
        show_every_character()
        with ended_as_by_ctrl_c():
            try:
                return super().main(*args, **kwargs)
            except OSError as error:
                with suppress(OSError):  # it may be stderr that is full
                    click.echo(f"catena: cannot go on: {printable(str(error))}", err=True)
                drop_what_is_left()
                sys.exit(2)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that is asked for; where there is none, the message says what is near."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; a CatenaError becomes one line and exit code 2, Ctrl-C one line and exit code 1.

        Warnings of Catena are one line too, without the line of code they come from, and each is told once; where
        Python is told to make them errors, they end the command like one.
        """
        try:
            with warnings.catch_warnings():
                warnings.showwarning = partial(_tell, set(), warnings.showwarning)
                return super().invoke(ctx)
        except (CatenaError, CatenaWarning) as error:
            click.echo(f"catena: {printable(str(error))}", err=True)
            ctx.exit(2)
        except MemoryError as error:
            click.echo(f"catena: not enough memory for that; ask for less: {printable(str(error))}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt:
            click.echo("catena: interrupted", err=True)
            ctx.exit(1)


def _tell(told: set[str], otherwise: Any, message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Shows a warning: one of Catena that was not told yet on one line of stderr, any other as Python does."""
    if issubclass(category, CatenaWarning):
        if str(message) not in told:
            click.echo(f"catena: {printable(str(message))}", err=True)
        told.add(str(message))
    else:
        otherwise(message, category, *where)


def printable(text: str) -> str:
    """`text` on one line, with whatever could steer a terminal replaced."""
    line = text.replace("\n", " ")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="Models are URDF or MJCF files, or come along: catena info seven_dof_arm",
)
@click.version_option(__version__, prog_name="catena")
def main() -> None:
    """Dynamics of robots and chains, fast and in O(n)."""
