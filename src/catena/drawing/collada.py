"""Collada (.dae): the triangles of a scene, in metres, by their colours; textures are left out.

Axes stay as they are written: `up_axis` is not obeyed, as RViz, MoveIt and Gazebo do not, so many files of robots have
a wrong one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np
import numpy.typing as npt

from catena.drawing.surfaces import Surface, surface

Array = npt.NDArray[Any]
Color = tuple[float, ...] | None
Text = TypeVar("Text", str, bytes)

DEEPEST = 64
"""Nodes inside nodes that are followed."""
MOST_TRIANGLES = 5_000_000
MOST_ELEMENTS = 2_000_000
"""Elements, and attributes, in a file."""
MOST_VISITS = 200_000
"""Elements that are looked at while nodes are followed: an instance of a node may hold two of another, and so on."""
PIECE = 2**20
"""Characters that are taken apart together."""


def read_collada(data: bytes) -> list[Surface]:
    """All geometry of the file's scene, a surface for each colour.

    Document types are refused, so that nothing in it can name other files.
    """
    if b"\0" in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ValueError("holds a document type, or is not UTF-8; save it without")
    if max(data.count(b"<"), data.count(b"=")) > MOST_ELEMENTS:
        raise ValueError(f"holds more than {MOST_ELEMENTS:,} elements or attributes")
    try:
        root = fromstring(data)
    except ParseError as error:
        raise ValueError(f"is not well-formed XML: {error}") from None
    except LookupError as error:
        raise ValueError(f"cannot be decoded: {error}; save it as UTF-8") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # without the name space
    file = _File(root)
    scene = root.find("scene/instance_visual_scene")
    place = np.diag([_unit(root)] * 3 + [1.0])
    if scene is None:
        for geometry in file.geometries.values():
            file.add(geometry, place, {})
    else:
        for node in file.named(scene).findall("node"):
            file.follow(node, place, DEEPEST)
    return [in_color(np.concatenate(some), color) for color, some in file.corners.items()]


def in_color(corners: Array, color: Color) -> Surface:
    """The surface of triangles (m, 3, 3)."""
    return replace(surface(corners, np.arange(3 * len(corners))), color=color)


class _File:
    """The elements of a file by their ids, and the triangles found so far."""

    def __init__(self, root: Element) -> None:
        self.by_id = {element.get("id", ""): element for element in root.iter()}
        self.geometries = {k: x for k, x in self.by_id.items() if x.tag == "geometry"}
        self.corners: defaultdict[Color, list[Array]] = defaultdict(list)
        self.count = 0
        self._visits = 0
        self._read: dict[Element, list[tuple[str, Array]]] = {}

    def named(self, element: Element, attribute: str = "url") -> Element:
        """What an attribute of an element names."""
        name = _target(element, attribute)
        if name not in self.by_id:
            raise ValueError(f"holds a <{element.tag[:60]}> of {name[:60]!r}, which is not there")
        return self.by_id[name]

    def _visit(self, count: int) -> None:
        self._visits += count
        if self._visits > MOST_VISITS:
            raise ValueError(f"holds nodes of more than {MOST_VISITS:,} elements, instances counted each time")

    def follow(self, node: Element, place: Array, depth: int) -> None:
        """Add what hangs on a node."""
        if depth == 0:
            raise ValueError(f"holds nodes more than {DEEPEST} deep")
        self._visit(1 + len(node))
        for element in node:
            if element.tag in ("matrix", "translate", "rotate", "scale"):
                place = place @ _step(element)
        for element in node:
            if element.tag == "node":
                self.follow(element, place, depth - 1)
            elif element.tag == "instance_node":
                self.follow(self.named(element), place, depth - 1)
            elif element.tag == "instance_geometry":
                inside = list(element.iter("instance_material"))
                self._visit(len(inside))
                bound = {x.get("symbol", ""): _target(x, "target") for x in inside}
                self.add(self.named(element), place, bound)

    def add(self, geometry: Element, place: Array, materials: Mapping[str, str]) -> None:
        """Add the triangles of one geometry at a place, its symbols standing for materials."""
        if geometry not in self._read:
            self._read[geometry] = self._triangles(geometry)
        self._visit(len(self._read[geometry]))
        for symbol, corners in self._read[geometry]:
            self.count += len(corners)
            if self.count > MOST_TRIANGLES:
                raise ValueError(f"holds more than {MOST_TRIANGLES:,} triangles")
            color = self._color(materials.get(symbol, symbol))
            self.corners[color].append(corners @ place[:3, :3].T + place[:3, 3])

    def _color(self, material: str) -> Color:
        """Red, green and blue of a material; None if it has none."""
        instance = self.by_id.get(material, Element("none")).find("instance_effect")
        effect = self.by_id.get(_target(instance)) if instance is not None else None
        written = None if effect is None else effect.find("profile_COMMON/technique/*/diffuse/color")
        numbers = _numbers(written, float)[:3].tolist()
        return tuple(numbers) if len(numbers) == 3 and all(0 <= x <= 1 for x in numbers) else None

    def _triangles(self, geometry: Element) -> list[tuple[str, Array]]:
        """Symbols of materials, and triangles of them, (m, 3, 3), in the axes of the geometry."""
        found = []
        for part in geometry.iterfind("mesh/*"):
            if part.tag in ("triangles", "polylist"):
                vertex = _input(part, "VERTEX")
                width = 1 + max(_offset(x) for x in part.findall("input"))
                points = self._points(self.named(vertex, "source"))
                numbers = _numbers(part.find("p"), int).reshape(-1, width)[:, _offset(vertex)]
                corners = _cut(part, numbers)
                if len(corners) and not 0 <= corners.min() <= corners.max() < len(points):
                    raise ValueError("holds faces between vertices that are not there")
                found.append((part.get("material", ""), points[corners]))
        return found

    def _points(self, vertices: Element) -> Array:
        source = self.named(_input(vertices, "POSITION"), "source")
        accessor = source.find("technique_common/accessor")
        stride = 3 if accessor is None else int(accessor.get("stride", "3"))
        if stride < 3:
            raise ValueError(f"holds positions of {stride} numbers, not of three")
        return _numbers(source.find("float_array"), float).reshape(-1, stride)[:, :3]


def _input(element: Element, semantic: str) -> Element:
    """The input of an element that has such a meaning."""
    found = next((x for x in element.findall("input") if x.get("semantic") == semantic), None)
    if found is None:
        raise ValueError(f"holds <{element.tag[:60]}> without an input of the semantic {semantic}")
    return found


def _offset(element: Element) -> int:
    """Where an input stands among the numbers of a corner."""
    offset = int(element.get("offset", "0"))
    if not 0 <= offset < 1000:
        raise ValueError(f"holds an input at the offset {offset}")
    return offset


def _cut(part: Element, numbers: Array) -> Array:
    """Corners of triangles, (m, 3), from the corners of polygons in a row."""
    if part.tag == "triangles":
        return numbers.reshape(-1, 3)
    sizes = _numbers(part.find("vcount"), int)
    if len(sizes) and (sizes.min() < 0 or sizes.max() > len(numbers) or sizes.sum() > len(numbers)):
        raise ValueError("holds polygons of more corners than it has")
    counts = np.maximum(sizes - 2, 0)
    fans = np.repeat(np.cumsum(sizes) - sizes, counts)
    step = 1 + np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.stack([numbers[fans], numbers[fans + step], numbers[fans + step + 1]], -1)


def _target(element: Element, attribute: str = "url") -> str:
    return element.get(attribute, "").removeprefix("#")


def _numbers(element: Element | None, kind: type) -> Array:
    """The numbers in an element, as many at a time as PIECE holds: words take ten times the memory of the text."""
    if element is None or not element.text:
        return np.zeros(0, kind)
    try:
        return np.concatenate([np.array(piece.split(), dtype=kind) for piece in pieces(element.text)])
    except OverflowError:
        raise ValueError(f"holds numbers in <{element.tag[:60]}> that are too large") from None


def pieces(text: Text) -> Iterator[Text]:
    """A text, or bytes, in pieces between words."""
    space = re.compile(r"\s" if isinstance(text, str) else rb"\s")
    start = 0
    while start < len(text):
        end = space.search(text, min(start + PIECE, len(text)))
        stop = len(text) if end is None else end.end()
        yield text[start:stop]
        start = stop


def _step(element: Element) -> Array:
    """The 4x4 matrix of one transformation of a node."""
    numbers, found = _numbers(element, float), np.eye(4)
    if element.tag == "matrix":
        return numbers.reshape(4, 4)
    if element.tag == "translate":
        found[:3, 3] = numbers
    elif element.tag == "scale":
        found[:3, :3] = np.diag(numbers)
    else:
        x, y, z, angle = numbers
        x, y, z = np.array([x, y, z]) / max(float(np.linalg.norm([x, y, z])), 1e-300)
        angle = np.radians(angle)
        across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        found[:3, :3] = np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * across @ across
    return found


def _unit(root: Element) -> float:
    unit = root.find("asset/unit")
    return 1.0 if unit is None else float(unit.get("meter", "1"))
