"""Where a link's meshes lie. References are kept as written and looked up only when somebody wants to draw them.

A model file is not trusted to name any file it likes: a mesh is found only inside the model's own directory, inside the
package it names when the model lies in that package (a directory of that name with a package.xml), or inside roots that
the caller allows; never through "..", and symbolic links are followed before the check.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from catena.errors import LoadError
from catena.model.shapes import Color, Vector


@dataclass(frozen=True)
class MeshReference:
    """A mesh as the model names it, and its place in the link's frame.

    `rotation` holds the rows of a 3x3 rotation, `position` is in metres, `scale` is per axis; `role` is "visual" or
    "collision". `directory` is the model's own (None for text), `roots` are directories in which packages may lie.
    `color` is red, green, blue and opacity, 0 to 1, or None where the model gives none.
    """

    uri: str
    role: str = "visual"
    rotation: tuple[Vector, Vector, Vector] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    position: Vector = (0.0, 0.0, 0.0)
    scale: Vector = (1.0, 1.0, 1.0)
    directory: str | None = None
    roots: tuple[str, ...] = ()
    color: Color | None = None

    def resolve(self) -> Path:
        """The mesh's file, with symbolic links followed. Raises LoadError if there is none in an allowed place."""
        scheme, path = self._split()
        candidates = self._in_package(path) if scheme == "package" else self._on_disk(path)
        outside: Path | None = None
        for allowed, candidate in candidates:
            try:
                found, root = candidate.resolve(strict=True), allowed.resolve(strict=True)
            except (OSError, RuntimeError, ValueError):
                continue
            if not found.is_relative_to(root):
                outside = root
            elif found.is_file():
                return found
        raise self._refused(self._why_not(scheme, path, [allowed for allowed, _ in candidates], outside))

    def _why_not(self, scheme: str, path: PurePosixPath, looked: list[Path], outside: Path | None) -> str:
        """Why there is no file, and what to do."""
        name = _parts(path)[0] if scheme == "package" else ""
        folder = f"the folder that holds {name!r}" if name else "the folder it lies in"
        remedy = f"allow {folder}: --packages FOLDER in the shell, package_roots=[FOLDER] in catena.load"
        if outside is not None:
            return f"it leads out of {outside}; {remedy}"
        if looked:
            return f"not found in {', '.join(map(str, looked))}; {remedy}"
        place = "is text without a place" if self.directory is None else f"lies in no package {name!r}"
        return f"not found: the model {place}; {remedy}"

    def _split(self) -> tuple[str, PurePosixPath]:
        scheme, separator, rest = self.uri.partition("://")
        if not separator:
            scheme, rest = "", self.uri
        scheme = scheme.lower()
        if scheme not in ("", "file", "package"):
            raise self._refused(f"{scheme}:// is not supported, only package://, file:// and plain paths")
        path = PurePosixPath(unquote(rest).replace("\\", "/") if scheme else rest.replace("\\", "/"))
        if ".." in path.parts:
            raise self._refused('paths through ".." are not followed')
        if "\0" in str(path):
            raise self._refused("the path holds a NUL character")
        return scheme, path

    def _in_package(self, path: PurePosixPath) -> list[tuple[Path, Path]]:
        """Package directories and the mesh in them: under the allowed roots, then around the model itself."""
        parts = _parts(path)
        if not parts:
            raise self._refused("it names no package")
        package, inside = parts[0], parts[1:]
        roots = [Path(root) for root in self.roots]
        places = [root / package for root in roots] + [root for root in roots if root.name == package]
        if self.directory is not None:
            here, real = Path(self.directory).absolute(), Path(os.path.realpath(self.directory))
            around = dict.fromkeys((here, *here.parents, real, *real.parents))
            places += [place for place in around if place.name == package and (place / "package.xml").is_file()]
        return [(place, place.joinpath(*inside)) for place in places]

    def _on_disk(self, path: PurePosixPath) -> list[tuple[Path, Path]]:
        """The model's directory and the allowed roots, each with the path in it (an absolute path stays as it is)."""
        places = [Path(root) for root in self.roots]
        if self.directory is not None:
            places.insert(0, Path(self.directory))
        return [(place, place / path) for place in places]

    def _refused(self, why: str) -> LoadError:
        return LoadError(f"mesh {self.uri[:200]!r}: {why}")


def _parts(path: PurePosixPath) -> list[str]:
    """A package and what comes after it."""
    return [part for part in path.parts if part != "/"]
