"""Collada (.dae): the triangles of a scene, in metres, by their colours; textures are left out.

Axes stay as they are written: `up_axis` is not obeyed, as RViz, MoveIt and Gazebo do not, so many files of robots have
a wrong one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np
import numpy.typing as npt

from catena.drawing.surfaces import Surface, surface

Array = npt.NDArray[Any]
Color = tuple[float, ...] | None

DEEPEST = 64
"""Nodes inside nodes that are followed."""
MOST_TRIANGLES = 5_000_000


def read_collada(data: bytes) -> list[Surface]:
    """All geometry of the file's scene, a surface for each colour.

    Document types are refused, so that nothing in it can name other files.
    """
    if b"\0" in data or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ValueError("holds a document type, or is not UTF-8; save it without")
    try:
        root = fromstring(data)
    except ParseError as error:
        raise ValueError(f"is not well-formed XML: {error}") from None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # without the name space
    file = _File(root)
    scene = root.find("scene/instance_visual_scene")
    place = np.diag([_unit(root)] * 3 + [1.0])
    if scene is None:
        for geometry in file.geometries.values():
            file.add(geometry, place, {})
    else:
        for node in file.by_id[_target(scene)].findall("node"):
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
        self._read: dict[str, list[tuple[str, Array]]] = {}

    def follow(self, node: Element, place: Array, depth: int) -> None:
        """Add what hangs on a node."""
        if depth == 0:
            raise ValueError(f"holds nodes more than {DEEPEST} deep")
        for element in node:
            if element.tag in ("matrix", "translate", "rotate", "scale"):
                place = place @ _step(element)
        for element in node:
            if element.tag == "node":
                self.follow(element, place, depth - 1)
            elif element.tag == "instance_node":
                self.follow(self.by_id[_target(element)], place, depth - 1)
            elif element.tag == "instance_geometry":
                bound = {x.get("symbol", ""): _target(x, "target") for x in element.iter("instance_material")}
                self.add(self.by_id[_target(element)], place, bound)

    def add(self, geometry: Element, place: Array, materials: Mapping[str, str]) -> None:
        """Add the triangles of one geometry at a place, its symbols standing for materials."""
        name = geometry.get("id", "")
        if name not in self._read:
            self._read[name] = self._triangles(geometry)
        for symbol, corners in self._read[name]:
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
                inputs = part.findall("input")
                width = 1 + max(int(x.get("offset", "0")) for x in inputs)
                vertex = next(x for x in inputs if x.get("semantic") == "VERTEX")
                points = self._points(self.by_id[_target(vertex, "source")])
                numbers = _numbers(part.find("p"), int).reshape(-1, width)[:, int(vertex.get("offset", "0"))]
                found.append((part.get("material", ""), points[_cut(part, numbers)]))
        return found

    def _points(self, vertices: Element) -> Array:
        position = next(x for x in vertices.findall("input") if x.get("semantic") == "POSITION")
        source = self.by_id[_target(position, "source")]
        accessor = source.find("technique_common/accessor")
        stride = 3 if accessor is None else int(accessor.get("stride", "3"))
        return _numbers(source.find("float_array"), float).reshape(-1, stride)[:, :3]


def _cut(part: Element, numbers: Array) -> Array:
    """Corners of triangles, (m, 3), from the corners of polygons in a row."""
    if part.tag == "triangles":
        return numbers.reshape(-1, 3)
    sizes = _numbers(part.find("vcount"), int)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    fans = np.repeat(starts, np.maximum(sizes - 2, 0))
    step = np.concatenate([np.arange(1, size - 1) for size in sizes if size > 2])
    return np.stack([numbers[fans], numbers[fans + step], numbers[fans + step + 1]], -1)


def _target(element: Element, attribute: str = "url") -> str:
    return element.get(attribute, "").removeprefix("#")


def _numbers(element: Element | None, kind: type) -> Array:
    if element is None or not element.text:
        return np.zeros(0, kind)
    return np.array(element.text.split(), dtype=kind)


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
        axis, angle = numbers[:3] / np.linalg.norm(numbers[:3]), np.radians(numbers[3])
        x, y, z = axis
        across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        found[:3, :3] = np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * across @ across
    return found


def _unit(root: Element) -> float:
    unit = root.find("asset/unit")
    return 1.0 if unit is None else float(unit.get("meter", "1"))
