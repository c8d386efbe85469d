"""URDF's simple shapes and colours: `<box>`, `<sphere>`, `<cylinder>`, `<capsule>`, `<color>`."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from catena.model.readers.xml import LARGEST, FieldError, Vector, number, vector
from catena.model.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, Color


def primitive(shape: Element, *more: Element) -> tuple[str, Vector]:
    """The kind and the extent of a shape; FieldError for what is not one, or has no extent."""
    if more:
        raise FieldError(more[0], "is a second shape in one <geometry>")
    if shape.tag == "box":
        return BOX, _positive(shape, vector(shape, "size", (0.0, 0.0, 0.0)))
    if shape.tag not in ("sphere", "cylinder", "capsule"):
        raise FieldError(shape, "is not a shape of URDF")
    width = 2 * number(shape, "radius", None, LARGEST)
    if shape.tag == "sphere":
        return ELLIPSOID, _positive(shape, (width, width, width))
    length = number(shape, "length", None, LARGEST)
    return CYLINDER if shape.tag == "cylinder" else CAPSULE, _positive(shape, (width, width, length))


def _positive(shape: Element, size: Vector) -> Vector:
    if min(size) <= 0:
        raise FieldError(shape, "has no extent")
    return size


def colors_of(material: Element) -> dict[str, Color]:
    """The colour of a material by its name; nothing if it gives none that can be read."""
    for inside in material:
        if inside.tag == "color":
            try:
                red, green, blue, opacity = (min(max(float(x), 0.0), 1.0) for x in inside.get("rgba", "").split())
            except ValueError:
                return {}
            return {material.get("name", ""): (red, green, blue, opacity)}
    return {}
