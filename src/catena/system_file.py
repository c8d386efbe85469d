"""Systems in TOML files: the models that a file names, found and loaded, and put together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from catena import robots
from catena.build import Builder
from catena.errors import CatenaError, LoadError
from catena.load import Base, Source, load
from catena.model.readers.files import Places, Refused, folders, read_regular
from catena.model.readers.system_toml import MAX_BYTES, ModelPart, SystemParts, read_toml
from catena.robot import Robot

if TYPE_CHECKING:
    from catena.system import System


def is_toml(source: Source) -> bool:
    """Whether this is TOML: a path that ends in ".toml", or text, of several lines, that is not XML."""
    if isinstance(source, bytes | bytearray | memoryview):
        return not bytes(source).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    text = os.fspath(source) if isinstance(source, os.PathLike) else source
    if not isinstance(text, str) or text.lstrip("\ufeff \t\r\n").startswith("<"):
        return False
    return "\n" in text or text.lower().endswith(".toml")


def system_of(source: Any, package_roots: Iterable[str | os.PathLike[str]], made: Callable[..., System]) -> System:
    """The system that a TOML file, or the text of one, describes; `made` makes it of robots and constraints."""
    data, label, folder = _read(source)
    roots = folders(package_roots)
    parts = read_toml(data, label)
    places = Places(folder, roots)
    found = [
        {n: _robot(parts, part, places, roots) for n, part in kind.items()} for kind in (parts.robots, parts.objects)
    ]
    standing = {n: _place(part) for n, part in parts.robots.items() if part.place is not None}
    try:
        return made(
            *found,
            parts.constraints,
            placements=standing,
            gravity=parts.gravity,
            mimic=parts.mimic,
            name=parts.name,
        )
    except LoadError:
        raise
    except CatenaError as error:
        raise LoadError(f"{label}: {error}") from error


def _read(source: Any) -> tuple[bytes, str, str | None]:
    """The bytes of a file or text, what messages call it, and the folder that it may open files in."""
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), "TOML text", None
    if isinstance(source, str) and "\n" in source:
        return source.encode("utf-8", "replace"), "TOML text", None
    label = os.fspath(source)
    try:
        return read_regular(source, MAX_BYTES), label, os.path.dirname(os.path.abspath(source))
    except FileNotFoundError:
        raise LoadError(f"{label}: no such file (TOML text would have several lines)") from None
    except Refused as error:
        raise LoadError(f"{label}: {error}") from None


def _robot(parts: SystemParts, part: ModelPart, places: Places, roots: tuple[str, ...]) -> Robot:
    """The robot or object of one table."""
    base: Base = "floating" if part.base == "floating" else "fixed"
    try:
        if part.source == "mass":
            name = part.where.partition(".")[2]
            return Builder(name).link("body", **part.body).build(base="floating")
        path = robots.path(part.value) if part.source == "model" else places.find(part.value)
        return load(path, base, package_roots=roots, mimic="independent")  # the system couples them
    except Refused as error:
        raise LoadError(f"{parts.source}: [{part.where}]: file {part.value!r} {error}") from None
    except CatenaError as error:
        raise LoadError(f"{parts.source}: [{part.where}]: {error}") from error


def _place(part: ModelPart) -> tuple[Any, Any]:
    assert part.place is not None
    position, rotation = part.place
    return position, (0.0, 0.0, 0.0) if rotation is None else rotation
