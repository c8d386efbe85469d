"""Meshes from files: STL, OBJ and Collada (.dae), as triangles with their colours and no more.

A file is not trusted: it is opened through `model/readers/files.py`, its size is bounded, numbers must be finite and
faces must name vertices that are there.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.drawing.collada import Color, in_color, read_collada
from catena.drawing.surfaces import Surface, surface
from catena.errors import LoadError
from catena.model.readers.files import Refused, read_regular

Array = npt.NDArray[Any]

MOST_BYTES = 128 * 2**20


def read_mesh(path: str | os.PathLike[str]) -> tuple[Surface, ...]:
    """The triangles of a mesh file, a surface for each colour. Raises LoadError, which names the file."""
    place = Path(path)
    try:
        return _read(str(place), place.stat().st_mtime_ns)
    except OSError as error:
        raise LoadError(f"mesh {place}: cannot be read: {error.strerror}") from None


@lru_cache(maxsize=256)
def _read(path: str, changed: int) -> tuple[Surface, ...]:
    """Read once for each state of the file, by the time of its last change."""
    kind = Path(path).suffix.lower()
    reader = _READERS.get(kind)
    if reader is None:
        raise LoadError(f"mesh {path}: {kind or 'files without an ending'} cannot be drawn; convert it to STL or OBJ")
    try:
        found = tuple(reader(read_regular(path, MOST_BYTES), Path(path).parent))
        if not any(len(each.faces) for each in found):
            raise ValueError("holds no triangles")
        for each in found:
            _check(each)
    except (Refused, ValueError, KeyError, IndexError, UnicodeDecodeError) as error:
        raise LoadError(f"mesh {path}: {error}") from None
    return tuple(each for each in found if len(each.faces))


def _check(found: Surface) -> None:
    if not len(found.faces):
        return
    if not np.isfinite(found.vertices).all():
        raise ValueError("holds vertices that are not finite")
    if found.faces.min() < 0 or found.faces.max() >= len(found.vertices):
        raise ValueError("holds faces between vertices that are not there")


def read_stl(data: bytes, folder: Path) -> list[Surface]:
    """STL, binary (known by its length) or as text."""
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        rows = np.frombuffer(data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", 9), ("extra", "<u2")]), offset=84)
        corners = rows["corners"]
    else:
        words = data.split()
        if not words or words[0].lower() != b"solid":
            raise ValueError("expected an STL file, found something else, or one that is cut off")
        at = [i for i, word in enumerate(words) if word == b"vertex"]
        corners = np.array([words[i + 1 : i + 4] for i in at], float)
    points = corners.reshape(-1, 3)
    return [surface(points, np.arange(len(points) // 3 * 3))]


def read_obj(data: bytes, folder: Path) -> list[Surface]:
    """OBJ: its vertices and faces, by the colours of their materials; polygons are cut into triangles."""
    points: list[list[bytes]] = []
    faces: defaultdict[Color, list[tuple[int, int, int]]] = defaultdict(list)
    known: dict[bytes, Color] = {}
    color: Color = None
    for line in data.splitlines():
        words = line.split()
        if words[:1] == [b"v"]:
            points.append(words[1:4])
        elif words[:1] == [b"f"]:
            numbers = [int(word.split(b"/")[0]) for word in words[1:]]
            corners = [k - 1 if k > 0 else len(points) + k for k in numbers]
            faces[color] += [(corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1)]
        elif words[:1] == [b"mtllib"]:
            known |= _materials(folder / os.fsdecode(b" ".join(words[1:])), folder)
        elif words[:1] == [b"usemtl"]:
            color = known.get(b" ".join(words[1:]))
    vertices, found = np.array(points, float).reshape(-1, 3), []
    for color, some in faces.items():
        numbered = np.array(some, int).reshape(-1, 3)
        if len(numbered) and (numbered.min() < 0 or numbered.max() >= len(vertices)):
            raise ValueError("holds faces between vertices that are not there")
        found.append(in_color(vertices[numbered], color))
    return found


def _materials(path: Path, folder: Path) -> dict[bytes, Color]:
    """The colours of the materials in a file beside the mesh; none if it is not there, or elsewhere."""
    found: dict[bytes, Color] = {}
    if path.parent != folder:
        return found
    try:
        lines = read_regular(str(path), MOST_BYTES).splitlines()
    except (OSError, Refused):
        return found
    name = b""
    for line in lines:
        words = line.split()
        if words[:1] == [b"newmtl"]:
            name = b" ".join(words[1:])
        elif words[:1] == [b"Kd"] and len(words) == 4:
            numbers = tuple(map(float, words[1:]))
            found[name] = numbers if all(0 <= x <= 1 for x in numbers) else None
        elif words[:1] == [b"map_Kd"]:
            found[name] = None  # its texture is not drawn
    return found


def read_dae(data: bytes, folder: Path) -> list[Surface]:
    """Collada."""
    return read_collada(data)


_READERS: dict[str, Callable[[bytes, Path], list[Surface]]] = {".stl": read_stl, ".obj": read_obj, ".dae": read_dae}
