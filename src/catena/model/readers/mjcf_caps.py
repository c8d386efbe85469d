"""How much MuJoCo's compiler is asked to build.

Few words of MJCF can ask for any number of bodies. MuJoCo takes time as the square of their number (some seconds for
10,000 elements) and cannot be stopped, so what a model comes to is counted before, generously towards more.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from math import prod
from xml.etree.ElementTree import Element

from catena.model.readers.files import Refused, too_large
from catena.model.readers.xml import FieldError, shorten

MAX_DEPTH = 500  # MuJoCo's XML reader has the same
MAX_TAG_BYTES = 16 * 2**20  # meshes and flexible bodies may be written out in an attribute
MAX_TEXT = 16 * 2**20  # bytes of an included or attached file
MAX_ASSET = 64 * 2**20  # bytes of a mesh or height field
MAX_FILES = 512 * 2**20  # bytes of all of them
MAX_WRITTEN = 30_000  # elements, those of included files with them, and those of attached ones as often as they are
MAX_COPIES = 10_000  # elements that replicate, composite and flexcomp make
MAX_CELLS = 10_000_000  # of a height field
MAX_NUMBER = 10_000  # of what an attribute counts

PNG = b"\x89PNG\r\n\x1a\n"
FLEXCOMP_COUNT = "10 10 10"  # unless it is given
BYTES_A_POINT = 50  # of a file that a flexible body is made from, at least
COUNTED = ("nsample", "actdim", "dim", "num", "subgrid")

_WHOLE = re.compile(r"[+-]?[0-9]{1,10}")


@dataclass
class Weight:
    """What a model comes to so far."""

    total: int = 0  # elements, written and copied
    copies: int = 0
    bytes: int = 0

    def written(self, depth: int) -> None:
        """Counts one element that is written in a file, at this depth."""
        if depth > MAX_DEPTH:
            raise Refused(f"lies more than {MAX_DEPTH} deep")
        self.attached(1)

    def attached(self, number: int) -> None:
        """Counts elements that are written in a file, once more."""
        self.total += number
        if self.total - self.copies > MAX_WRITTEN:
            raise Refused(f"and what precedes it are more than {MAX_WRITTEN:,} elements; use URDF for longer models")

    def copied(self, number: int) -> None:
        """Counts elements that are made from one that is written."""
        self.total += number
        self.copies += number
        if self.copies > MAX_COPIES:
            raise Refused(f"makes {self.copies:,} copies of elements or more; at most {MAX_COPIES:,} are built")

    def bytes_read(self, number: int) -> None:
        """Counts bytes of files."""
        self.bytes += number
        if self.bytes > MAX_FILES:
            raise Refused(f"with the files before it {too_large(self.bytes, MAX_FILES)}")


def copies_of(element: Element, file_bytes: int) -> int:
    """How many times MuJoCo builds what is in the element; `file_bytes` is the size of a flexible body's file.

    Raises Refused or FieldError for numbers that MuJoCo has no room for.
    """
    tag = element.tag
    for name in COUNTED:
        if name in element.attrib:
            _whole_numbers(element, name, "", MAX_NUMBER)
    if tag == "hfield":
        _check_product(element, ("nrow", "ncol"), MAX_CELLS, "cells")
    elif tag == "camera":
        _check_product(element, ("resolution",), MAX_CELLS, "pixels")
    elif tag == "mesh":
        _check_resolution(element)
    elif tag in ("replicate", "composite"):
        return prod(_whole_numbers(element, "count", "1", MAX_COPIES))
    elif tag == "flexcomp":
        return _points(element, file_bytes)
    return 1


def check_elevation(data: bytes) -> None:
    """A height field's file, a PNG or numbers after two sizes, is no larger than a height field may be."""
    if data.startswith(PNG):
        columns, rows = struct.unpack_from(">II", data.ljust(24, b"\0"), 16)
    else:
        rows, columns = struct.unpack_from("<ii", data.ljust(8, b"\0"))
    if rows < 0 or columns < 0 or rows * columns > MAX_CELLS:
        raise Refused(f"holds {rows} x {columns} cells; at most {MAX_CELLS:,} are read")


def _points(element: Element, file_bytes: int) -> int:
    """At least as many as a flexible body gets."""
    lattice = prod(number + 1 for number in _whole_numbers(element, "cellcount", "0", MAX_NUMBER))
    given = len(element.get("point", "").split()) // 3 + file_bytes // BYTES_A_POINT
    grid = 1
    if element.get("type", "grid") not in ("mesh", "gmsh", "direct"):
        grid = prod(_whole_numbers(element, "count", FLEXCOMP_COUNT, MAX_NUMBER))
    return max(lattice, given, grid)


def _check_product(element: Element, names: tuple[str, ...], most: int, what: str) -> None:
    numbers = [number for name in names for number in _whole_numbers(element, name, "0", most)]
    if prod(numbers) > most:
        raise Refused(f"{' x '.join(map(str, numbers))} {what}: at most {most:,} are built")


def _check_resolution(element: Element) -> None:
    """A built-in shape's parameters, the first one or two of which are how finely it is made."""
    if "builtin" not in element.attrib:
        return
    for text in element.get("params", "").split()[:2]:
        try:
            fine = abs(float(text)) <= 100.0
        except ValueError:
            fine = False
        if not fine:
            given = shorten(element.get("params", ""))
            raise FieldError(element, f"params={given!r}: expected a resolution of up to 100")


def _whole_numbers(element: Element, name: str, default: str, most: int) -> list[int]:
    """Attribute `name` as whole numbers up to `most`."""
    text = element.get(name, default)
    words = text.split()
    if not all(map(_WHOLE.fullmatch, words)):
        raise FieldError(element, f"{name}={shorten(text)!r}: expected whole numbers")
    numbers = [int(word) for word in words]
    if any(abs(number) > most for number in numbers):
        raise FieldError(element, f"{name}={shorten(text)!r}: expected numbers up to {most:,}")
    return [max(number, 0) for number in numbers]
