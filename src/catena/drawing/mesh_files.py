"""Meshes from files: STL, OBJ and Collada (.dae), as triangles with their colours and no more.

A file is not trusted: it is opened through `model/readers/files.py`, its size is bounded, numbers must be finite and
faces must name vertices that are there.
"""

from __future__ import annotations

import io
import os
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.drawing.collada import MOST_TRIANGLES, Color, in_color, pieces, read_collada
from catena.drawing.surfaces import Surface, surface
from catena.errors import LoadError
from catena.model.readers.files import Refused, read_regular

Array = npt.NDArray[Any]

MOST_BYTES = 128 * 2**20
MOST_MATERIALS = 100
"""Files of materials that one mesh may name."""
FARTHEST = 1e12
"""Beyond, products of coordinates are no numbers of single precision."""


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
        with np.errstate(all="ignore"):  # what is not finite is refused below
            found = tuple(reader(read_regular(path, MOST_BYTES), Path(path).parent))
        if not any(len(each.faces) for each in found):
            raise ValueError("holds no triangles")
        for each in found:
            _check(each)
    except OverflowError:
        raise LoadError(f"mesh {path}: holds numbers that are too large") from None
    except (Refused, ValueError, KeyError, IndexError) as error:
        raise LoadError(f"mesh {path}: {error}") from None
    except MemoryError:
        raise LoadError(f"mesh {path}: takes more memory than there is") from None
    return tuple(each for each in found if len(each.faces))


def _check(found: Surface) -> None:
    if not len(found.faces):
        return
    if not np.isfinite(found.vertices).all():
        raise ValueError("holds vertices that are not finite")
    if np.abs(found.vertices).max() > FARTHEST:
        raise ValueError(f"holds vertices more than {FARTHEST:g} m away")
    if found.faces.min() < 0 or found.faces.max() >= len(found.vertices):
        raise ValueError("holds faces between vertices that are not there")


def read_stl(data: bytes, folder: Path) -> list[Surface]:
    """STL, binary (known by its length) or as text."""
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        rows = np.frombuffer(data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", 9), ("extra", "<u2")]), offset=84)
        corners = rows["corners"]
    else:
        words = chain.from_iterable(piece.split() for piece in pieces(data))
        if next(words, b"").lower() != b"solid":
            raise ValueError("expected an STL file, found something else, or one that is cut off")
        numbers = array("d")
        for _ in filter(b"vertex".__eq__, words):
            numbers.extend(map(float, islice(words, 3)))
            if len(numbers) % 3:
                raise ValueError("is cut off in the middle of a vertex")
        corners = np.array(numbers, float)
    points = corners.reshape(-1, 3)
    return [surface(points, np.arange(len(points) // 3 * 3))]


def read_obj(data: bytes, folder: Path) -> list[Surface]:
    """OBJ: its vertices and faces, by the colours of their materials; polygons are cut into triangles."""
    points = array("d")
    faces: defaultdict[Color, array[int]] = defaultdict(lambda: array("q"))
    materials = _Materials(folder)
    color: Color = None
    for line in _lines(data):
        words = line.split()
        if words[:1] == [b"v"]:
            points.extend(map(float, words[1:4]))
            if len(words) < 4:
                raise ValueError("holds a vertex of less than three numbers")
        elif words[:1] == [b"f"]:
            _fan(words[1:], len(points) // 3, faces[color])
        elif words[:1] == [b"mtllib"]:
            materials.read(b" ".join(words[1:]))
        elif words[:1] == [b"usemtl"]:
            color = materials.known.get(b" ".join(words[1:]))
    vertices, found = np.array(points, float).reshape(-1, 3), []
    for color, some in faces.items():
        numbered = np.array(some, int).reshape(-1, 3)
        if len(numbered) and (numbered.min() < 0 or numbered.max() >= len(vertices)):
            raise ValueError("holds faces between vertices that are not there")
        found.append(in_color(vertices[numbered], color))
    return found


def _lines(data: bytes) -> Iterable[bytes]:
    """Lines one by one, however they end."""
    return io.BytesIO(data if b"\n" in data else data.replace(b"\r", b"\n"))


def _fan(words: list[bytes], count: int, found: array[int]) -> None:
    """Add the triangles of a polygon, whose corners are counted from the first or, below zero, from the last of all."""
    numbers = [int(word.split(b"/")[0]) for word in words]
    corners = [k - 1 if k > 0 else count + k for k in numbers]
    for pair in pairwise(corners[1:]):
        found.extend((corners[0], *pair))
    if len(found) > 3 * MOST_TRIANGLES:
        raise ValueError(f"holds more than {MOST_TRIANGLES:,} triangles")


class _Materials:
    """The colours of materials in files beside a mesh; none of what is not there, or elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._files = folder, set[bytes]()
        self.known: dict[bytes, Color] = {}

    def read(self, name: bytes) -> None:
        """Add what one more file says."""
        path = self._folder / os.fsdecode(name)
        if name in self._files or path.parent != self._folder:
            return
        self._files.add(name)
        if len(self._files) > MOST_MATERIALS:
            raise ValueError(f"names more than {MOST_MATERIALS} files of materials")
        with suppress(OSError, Refused):
            self._add(_lines(read_regular(str(path), MOST_BYTES)))

    def _add(self, lines: Iterable[bytes]) -> None:
        material = b""
        for line in lines:
            words = line.split()
            if words[:1] == [b"newmtl"]:
                material = b" ".join(words[1:])
            elif words[:1] == [b"Kd"] and len(words) == 4:
                numbers = tuple(map(float, words[1:]))
                self.known[material] = numbers if all(0 <= x <= 1 for x in numbers) else None
            elif words[:1] == [b"map_Kd"]:
                self.known[material] = None  # its texture is not drawn


def read_dae(data: bytes, folder: Path) -> list[Surface]:
    """Collada."""
    return read_collada(data)


_READERS: dict[str, Callable[[bytes, Path], list[Surface]]] = {".stl": read_stl, ".obj": read_obj, ".dae": read_dae}
