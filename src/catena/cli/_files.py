"""What commands are given: models by path or by name, "-" for standard input; runs; configurations."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from catena.errors import LoadError, ModelWarning, ShapeError, check_place
from catena.load import Base, load_document, load_with_loops, opened
from catena.model.readers.files import MAX_BYTES
from catena.model.readers.xml import Document, open_document
from catena.robot import Robot
from catena.robots import names
from catena.system import System, restored
from catena.system_file import is_toml

Array = npt.NDArray[Any]


Kind: Any = click.ParamType  # which has a parameter from click 8.4 on


class ModelFile(Kind):  # type: ignore[misc]
    """A path, or the name of a model that comes with Catena, which the shell completes."""

    name = "model"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Names of models, and files by the shell itself: first, since bash forgets what came before."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *found]


MODEL = ModelFile()
BASE = click.option(
    "--base",
    type=click.Choice(["fixed", "floating"]),
    default="fixed",
    show_default=True,
    help="Whether the root link stands still or moves freely.",
)
PACKAGES = click.option(
    "--packages",
    "roots",
    multiple=True,
    metavar="FOLDER",
    help="A folder in which meshes may lie besides the model's own; repeat for more.",
)
COLUMNS = 80
SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For random states.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


def read_document(file: str) -> Document:
    """The document in a file, on standard input, or of a model that comes with Catena."""
    if file != "-":
        return opened(file)
    if sys.stdin is None:
        raise LoadError("standard input: is closed; expected URDF or MJCF")
    return open_document(sys.stdin.buffer.read(MAX_BYTES + 1), name="standard input")


def read_robot(file: str, base: Base, roots: tuple[str, ...] = ()) -> Robot:
    """The robot in a file; what is odd about it is left to the command."""
    if is_toml(file):
        raise LoadError(
            f"{file}: expected one robot (URDF or MJCF), found a system (TOML), which catena info, check, "
            "simulate and view take"
        )
    return load_document(read_document(file), base, roots)


def read_model(file: str, base: Base, roots: tuple[str, ...] = ()) -> Robot | System:
    """The robot in a file, or the system if the file closes loops; what is odd about it is left to the command."""
    if is_toml(file):
        return _without_warnings(file, roots)
    document = read_document(file)
    if file == "-" and is_toml(document.data):
        return _without_warnings(document.data, roots)
    robot, constraints = load_with_loops(document, base, roots)
    return restored(robot.tree, tuple(constraints)) if constraints else robot


def _without_warnings(toml: str | bytes, roots: tuple[str, ...]) -> System:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return System.load(toml, package_roots=roots)


def closed(system: System, q: Array | None, seed: int | None = None) -> Array:
    """A configuration at which the loops of a system are closed: near q, or if that is None near the neutral one.

    With a seed and no q it is a random one. Raises ClosureError where none is found.
    """
    if q is None and seed is not None:
        return system.random_configuration(seed)
    return system.close(system.neutral() if q is None else system.normalize(q))


def outputs(given: dict[str, Any], kinds: Sequence[str]) -> dict[str, str]:
    """The files that a command shall write, by kind; what cannot be written is refused before anything is computed."""
    from catena.drawing.pictures import ending  # only here: commands that draw nothing start sooner without it

    found: dict[str, str] = {kind: given[kind] for kind in kinds if given[kind]}
    for kind, path in found.items():
        check_place(path) if kind == "out" else ending(path)
    return found


def numbers(text: str | None, what: str, size: int, least: float = -np.inf) -> Array | None:
    """Numbers, none below `least`, with commas or blanks between them; one stands for all."""
    if text is None:
        return None
    try:
        found = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        raise ShapeError(f"{what}: expected numbers with commas between them, got {text!r}") from None
    if len(found) not in (1, size) or not np.isfinite(found).all():
        raise ShapeError(f"{what}: expected 1 or {size} finite numbers, got {len(found)}: {text!r}")
    if found.min(initial=least) < least:
        raise ShapeError(f"{what}: expected numbers of at least {least:g}, got {text!r}")
    return np.array(np.broadcast_to(found, (size,)))


def put(table: Table, console: Console) -> None:
    """Print a table as wide as it needs, up to 80 columns: where there are fewer, the terminal breaks its lines."""
    Console(file=console.file, highlight=False, width=max(console.width, COLUMNS)).print(table)


def busy(what: str) -> Any:
    """A sign on the terminal that something takes its time; nothing where stderr is no terminal."""
    return Console(stderr=True).status(f"{what} …")
