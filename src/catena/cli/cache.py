"""`catena cache`: the machine code kept on disk."""

from __future__ import annotations

import json

import click

from catena.cli._files import AS_JSON
from catena.errors import CatenaError


@click.group("cache", epilog="Example: catena cache info")
def command() -> None:
    """Look at, or empty, the cache of compiled kernels."""


@command.command("info")
@AS_JSON
def info(as_json: bool) -> None:
    """Say where the cache is and how much is in it."""
    from catena.kernels.machine.cache import Cache

    found = Cache.default().info()
    if as_json:
        told = {"directory": str(found.directory) if found.directory else None, "kernels": found.files}
        click.echo(json.dumps({**told, "bytes": found.bytes, "limit": found.limit, "problem": found.problem}, indent=2))
        return
    click.echo(f"directory  {found.directory or 'none'}")
    click.echo(f"kernels    {found.files}")
    click.echo(f"size       {found.bytes / 2**20:.1f} of {found.limit / 2**20:.0f} MB")
    if found.problem:
        click.echo(f"not used   {found.problem}")


@command.command("clear")
def clear() -> None:
    """Remove all compiled kernels; they are compiled again when needed."""
    from catena.kernels.machine.cache import Cache

    cache = Cache.default()
    try:
        count = cache.clear()
    except OSError as error:
        raise CatenaError(f"cannot clear the cache: {error}") from error
    click.echo(f"removed {count} kernel{'' if count == 1 else 's'}")
