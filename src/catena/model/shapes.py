"""Simple shapes that a model file draws its links with: boxes, ellipsoids, cylinders, capsules."""

from __future__ import annotations

from dataclasses import dataclass

Vector = tuple[float, float, float]
Color = tuple[float, float, float, float]

BOX, ELLIPSOID, CYLINDER, CAPSULE = "box", "ellipsoid", "cylinder", "capsule"


@dataclass(frozen=True)
class Primitive:
    """A shape and its place in the link's frame.

    `kind` is "box", "ellipsoid", "cylinder" or "capsule"; `size` its extent along its own axes in m, all of it: edges,
    diameters, and the length along z, which of a capsule does not count the two half balls at its ends. `rotation`
    holds the rows of a 3x3 rotation, `position` is in m; `role` is "visual" or "collision"; `color` is red, green, blue
    and opacity, 0 to 1, or None where the file gives none.
    """

    kind: str
    size: Vector
    role: str = "visual"
    rotation: tuple[Vector, Vector, Vector] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    position: Vector = (0.0, 0.0, 0.0)
    color: Color | None = None
