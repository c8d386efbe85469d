"""URDF's `<visual>` and `<collision>`: meshes, `<box>`, `<sphere>`, `<cylinder>`, `<capsule>`, `<color>`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from xml.etree.ElementTree import Element

from catena.model.readers.attributes import LARGEST, Vector, number, vector
from catena.model.readers.meshes import MeshReference
from catena.model.readers.urdf_places import ORIGIN, pose
from catena.model.readers.xml import FieldError, children
from catena.model.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, Color, Primitive

Shape = MeshReference | Primitive
Note = Callable[[str, str], None]

ONES = (1.0, 1.0, 1.0)
ROUND = {"sphere": ELLIPSOID, "cylinder": CYLINDER, "capsule": CAPSULE}


class UrdfShapes:
    """What the links of one document are drawn with and collide with.

    `note` is told what is odd, and in which link.
    """

    def __init__(self, directory: str | None, package_roots: tuple[str, ...], note: Note) -> None:
        self._directory, self._package_roots, self._note = directory, package_roots, note
        self._colors: dict[str, Color] = {}  # of materials, by name

    def of_link(self, link: Element, name: str) -> list[tuple[Shape, str]]:
        """The shapes of a link, each with the name of its material, which may be defined further down."""
        found = []
        for element in link:
            if element.tag in ("visual", "collision"):
                inside = children(element, "geometry", "origin")
                material = inside.get("material")
                self.define(material)
                named = "" if material is None else material.get("name", "")
                found += [(shape, named) for shape in self._shapes(element.tag, inside, name)]
        return found

    def define(self, material: Element | None) -> None:
        """Reads the colour of a material."""
        name, color = (None, None) if material is None else (material.get("name"), _color_of(material))
        if name and color:
            self._colors[name] = color

    def colored(self, shapes: list[tuple[Shape, str]]) -> tuple[Shape, ...]:
        """Shapes in the colours of their materials, once all of them are defined."""
        named = ((shape, self._colors.get(name)) for shape, name in shapes)
        return tuple(replace(shape, color=color) if shape.color is None and color else shape for shape, color in named)

    def _shapes(self, role: str, inside: dict[str, Element], name: str) -> Iterator[Shape]:
        """The shape of a <visual> or <collision>, if it has one."""
        kinds = children(inside["geometry"], "mesh") if "geometry" in inside else {}
        if not kinds:
            return
        origin, material = inside.get("origin"), inside.get("material")
        color = None if material is None else _color_of(material)
        if "mesh" in kinds:
            mesh = kinds["mesh"]
            if uri := mesh.get("filename", "").strip():
                place = *pose(origin), self._scale(mesh, name)
                yield MeshReference(uri, role, *place, self._directory, self._package_roots, color)
            return
        try:
            kind, size = _primitive(*kinds.values())
            yield Primitive(kind, size, role, *pose(origin), color)
        except FieldError:  # it does not matter to the mechanism
            self._note("links with shapes that cannot be drawn, passed over", name)

    def _scale(self, mesh: Element, name: str) -> Vector:
        """The mesh's scale; of four numbers, which some exporters write, the first three."""
        written = mesh.get("scale", "").split()
        if len(written) != 4:
            return vector(mesh, "scale", ONES)
        try:
            scale = vector(Element("mesh", scale=" ".join(written[:3])), "scale", ONES)
        except FieldError:
            return vector(mesh, "scale", ONES)  # says what is wrong with all of it
        self._note("meshes with a scale of four numbers, of which three are used, in", name)
        return scale


def _primitive(shape: Element, *more: Element) -> tuple[str, Vector]:
    """The kind and the extent of a shape; FieldError for what is not one, or has no extent."""
    if more:
        raise FieldError(more[0], "is a second shape in one <geometry>")
    if shape.tag == "box":
        kind, size = BOX, vector(shape, "size", ORIGIN)
    elif shape.tag in ROUND:
        kind, width = ROUND[shape.tag], 2 * number(shape, "radius", None, LARGEST)
        size = width, width, width if kind == ELLIPSOID else number(shape, "length", None, LARGEST)
    else:
        raise FieldError(shape, "is not a shape of URDF")
    if min(size) <= 0:
        raise FieldError(shape, "has no extent")
    return kind, size


def _color_of(material: Element) -> Color | None:
    """The colour that a material has in place; None if there is none, or if it cannot be read."""
    colors = (_color(inside.get("rgba", "")) for inside in material if inside.tag == "color")
    return next(colors, None)


@lru_cache(maxsize=64)
def _color(rgba: str) -> Color | None:
    """Red, green, blue and opacity, 0 to 1; None if they cannot be read."""
    try:
        red, green, blue, opacity = (min(max(float(x), 0.0), 1.0) for x in rgba.split())
    except ValueError:
        return None
    return red, green, blue, opacity
