"""Commands, run in this process as the shell would run them."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from catena.cli import main


def run(*arguments: Any, stdin: str | None = None, **environment: str) -> Result:
    """What a command with these words prints, and its exit code."""
    return CliRunner().invoke(main, [str(a) for a in arguments], input=stdin, env=environment, prog_name="catena")
