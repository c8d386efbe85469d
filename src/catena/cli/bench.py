"""`catena bench`: the benchmarks, where they are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click

import catena
from catena.cli._files import AS_JSON
from catena.errors import UnknownNameError, UnsupportedError


def folder() -> Path:
    """Where the benchmarks are: beside `src` in a clone. Raises UnsupportedError, which says how to get them."""
    found = Path(catena.__file__).parents[2] / "benchmarks"
    if not (found / "bench.py").is_file():
        raise UnsupportedError(
            "bench: the benchmarks are not part of the installed package; clone the repository, and in it: "
            "pip install -e '.[bench]', then catena bench"
        )
    return found


@click.command(
    short_help="Run the benchmarks, side by side with other engines.",
    context_settings={"ignore_unknown_options": True},
    epilog="Example: catena bench bench",
)
@click.argument("name", required=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@AS_JSON
def command(name: str | None, arguments: tuple[str, ...], as_json: bool) -> None:
    """Run the benchmark NAME with its own ARGUMENTS; without a name, list them.

    Timings are ratios to other engines in the same run: close other programs first.
    """
    place = folder()
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(place.glob("*.py"))}
    found = {stem: _title(text) for stem, text in texts.items() if "__main__" in text}
    if name is None:
        if as_json:
            click.echo(json.dumps(found, indent=2))
            return
        for stem, title in found.items():
            click.echo(f"{stem:<18} {title[:60]}")
        return
    if name not in found:
        raise UnknownNameError.among("benchmark", name, found)
    sys.exit(subprocess.call([sys.executable, str(place / f"{name}.py"), *arguments], cwd=place.parent))


def _title(text: str) -> str:
    """The first line of the docstring."""
    return text.split('"""')[1].splitlines()[0].strip()
