"""What commands are given: models by path or by name, "-" for standard input; runs; configurations."""

from __future__ import annotations

import sys
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from rich.console import Console

from catena.errors import ShapeError
from catena.load import Base, load_document, opened
from catena.model.readers.files import MAX_BYTES
from catena.model.readers.xml import Document, open_document
from catena.robot import Robot
from catena.robots import names

Array = npt.NDArray[Any]


class ModelFile(click.ParamType[Any]):
    """A path, or the name of a model that comes with Catena, which the shell completes."""

    name = "model"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Names of models, and files by the shell itself."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")]


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
AS_JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


def read_document(file: str) -> Document:
    """The document in a file, on standard input, or of a model that comes with Catena."""
    if file != "-":
        return opened(file)
    return open_document(sys.stdin.buffer.read(MAX_BYTES + 1), name="standard input")


def read_robot(file: str, base: Base, roots: tuple[str, ...] = ()) -> Robot:
    """The robot in a file; what is odd about it is left to the command."""
    return load_document(read_document(file), base, roots)


def numbers(text: str | None, what: str, size: int) -> Array | None:
    """Numbers with commas or blanks between them; one stands for all."""
    if text is None:
        return None
    try:
        found = np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        raise ShapeError(f"{what}: expected numbers with commas between them, got {text!r}") from None
    if len(found) not in (1, size) or not np.isfinite(found).all():
        raise ShapeError(f"{what}: expected 1 or {size} finite numbers, got {len(found)}: {text!r}")
    return np.array(np.broadcast_to(found, (size,)))


def busy(what: str) -> Any:
    """A sign on the terminal that something takes its time; nothing where stderr is no terminal."""
    return Console(stderr=True).status(f"{what} …")
