"""URDF: links and joints from `<robot>`, read as a stream (see xml.py), handed to `assemble` as parts.

Follows https://wiki.ros.org/urdf/XML with these readings: a joint's axis is (1, 0, 0) unless given and need not be of
unit length; a planar joint moves in the plane perpendicular to its axis; rpy means Rz(yaw) Ry(pitch) Rx(roll), computed
as written, never rounded to right angles; mimic joints are independent joints that remember their master.
Meshes are kept by name, boxes, spheres, cylinders and capsules as they are, for those who draw the robot. Everything
that is not about the mechanism (transmissions, gazebo, sensors, ros2_control, calibration, safety controllers) is
passed over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from math import cos, sin
from typing import Any
from xml.etree.ElementTree import Element

from catena.errors import LoadError
from catena.model.parts import Mimic
from catena.model.readers.meshes import MeshReference
from catena.model.readers.urdf_shapes import colors_of, primitive
from catena.model.readers.xml import (
    LARGEST,
    Document,
    FieldError,
    Vector,
    children,
    elements,
    line_of,
    number,
    numbers,
    shorten,
    text,
    unread,
    vector,
)
from catena.model.shapes import Color, Primitive
from catena.model.topology import listed

Matrix = tuple[Vector, Vector, Vector]

INF = float("inf")
ORIGIN: Vector = (0.0, 0.0, 0.0)
X_AXIS: Vector = (1.0, 0.0, 0.0)
ZEROS: Matrix = (ORIGIN, ORIGIN, ORIGIN)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
JOINT_TYPES = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "planar": "planar",
    "floating": "free",
    "spherical": "spherical",  # Bullet's
    "fixed": "fixed",
}
JOINT_CHILDREN = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
MOMENTS = {"ixx": None, "iyy": None, "izz": None, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}
RATES = {"velocity": INF, "effort": INF}
LIMITS = {"lower": 0.0, "upper": 0.0, **RATES}
UNLIMITED = (-INF, INF, INF, INF)
NO_LOSSES = (0.0, 0.0)
UNDIRECTED = ("fixed", "free", "spherical")  # joints
LOSSES = {"damping": 0.0, "friction": 0.0}
IGNORED = {"transmission", "gazebo", "sensor", "ros2_control", "plugin", "mujoco", "group", "drake"}


class UrdfParts:
    """The parts of one URDF document: `name`, `links`, `joints`, and `warnings` about what is odd in them.

    Links and joints are plain tuples of the fields of LinkPart and JointPart.
    """

    def __init__(self, document: Document, package_roots: tuple[str, ...] = ()) -> None:
        self.document = document
        self.package_roots = package_roots
        self.directory = None if document.path is None else str(document.path.absolute().parent)
        self.name = "robot"
        self.links: list[tuple[Any, ...]] = []
        self.joints: list[tuple[Any, ...]] = []
        self.warnings: list[str] = []
        self._colors: dict[str, Color] = {}  # of materials, by name, as they come
        self._odd: defaultdict[str, list[str]] = defaultdict(list)  # what is odd -> the names it is odd in
        self._part = -1  # of the root: which child is being read
        self._read()

    def _read(self) -> None:
        stream = elements(self.document)
        root = next(stream)
        if root.tag != "robot":
            raise self._fault(f"expected <robot>, found <{shorten(root.tag)}>")
        self.name = root.get("name", "").strip() or "robot"
        self._part = 0
        for element in stream:
            try:
                self._element(element)
            except FieldError as fault:
                what, name = element.tag, element.get("name", "").strip()
                place = next(i for i, inside in enumerate(element.iter()) if inside is fault.element)
                error = self._fault(f"{what} {shorten(name)!r}: {fault}", place)
                raise LoadError(str(error), **{what: name or None}) from None
            self._part += 1
        if not self.links:
            self._part = -1
            raise self._fault("the <robot> has no links; expected at least one <link>")
        self.warnings += [f"{what}: {listed(names)}" for what, names in self._odd.items()]

    def _fault(self, message: str, place: int = 0) -> LoadError:
        """A LoadError at the element being read, or at one inside it, by its place in the order of the text."""
        return self.document.error(message, line_of(self.document, self._part, place))

    def _element(self, element: Element) -> None:
        """Reads a child of the <robot>."""
        if element.tag == "link":
            name = text(element, "name")
            mass, com, inertia = self._inertial(name, children(element, "inertial").get("inertial"))
            self.links.append((name, mass, com, inertia, self._shapes(name, element)))
        elif element.tag == "material":
            self._colors.update(colors_of(element))
        elif element.tag == "joint":
            self._joint(text(element, "name"), element)
        elif element.tag.startswith("xacro:"):
            raise self._fault(f"<{shorten(element.tag)}>: expand the file with xacro first")
        elif element.tag not in IGNORED:
            self._odd["elements that are not part of URDF, passed over"].append(shorten(element.tag))

    def _inertial(self, name: str, inertial: Element | None) -> tuple[float, Vector, Matrix]:
        """Mass, centre of mass and inertia about it, both in the link's frame."""
        if inertial is None:
            return 0.0, ORIGIN, ZEROS
        found = children(inertial, "origin", "mass", "inertia")
        mass, inertia = found.get("mass"), found.get("inertia")
        if mass is None:
            raise FieldError(inertial, "needs a <mass>")
        rotation, com = _pose(found.get("origin"))
        if inertia is None:
            self._odd["links with a <mass> but no <inertia>, taken as point masses"].append(name)
            return number(mass, "value", None, LARGEST), com, ZEROS
        moments = _symmetric(*numbers(inertia, MOMENTS, LARGEST))
        inertia_in_link = moments if rotation is IDENTITY else _turned(rotation, moments)
        return number(mass, "value", None, LARGEST), com, inertia_in_link

    def _shapes(self, name: str, link: Element) -> tuple[MeshReference | Primitive, ...]:
        """What the link is drawn with, and what it collides with."""
        found: list[MeshReference | Primitive] = []
        for shape in link:
            if shape.tag not in ("visual", "collision"):
                continue
            parts = children(shape, "geometry", "origin")
            geometry = parts.get("geometry")
            if geometry is None:
                continue
            kinds, color = children(geometry, "mesh"), self._color(parts.get("material"))
            mesh = kinds.get("mesh")
            if mesh is not None and mesh.get("filename", "").strip():
                uri, place = text(mesh, "filename"), _pose(parts.get("origin"))
                scale = self._scale(name, mesh)
                found.append(MeshReference(uri, shape.tag, *place, scale, self.directory, self.package_roots, color))
            elif mesh is None and kinds:
                found += self._primitive(name, kinds, shape.tag, parts.get("origin"), color)
        return tuple(found)

    def _primitive(
        self, name: str, kinds: dict[str, Element], role: str, origin: Element | None, color: Color | None
    ) -> list[Primitive]:
        """The shape, or nothing and a warning where it cannot be drawn: it does not matter to the mechanism."""
        try:
            kind, size = primitive(*kinds.values())
            return [Primitive(kind, size, role, *_pose(origin), color)]
        except FieldError:
            self._odd["links with shapes that cannot be drawn, passed over"].append(name)
            return []

    def _color(self, material: Element | None) -> Color | None:
        """The colour that a material has in place, or under its name so far."""
        if material is None:
            return None
        self._colors.update(colors_of(material))
        return self._colors.get(material.get("name", ""))

    def _scale(self, name: str, mesh: Element) -> Vector:
        """The mesh's scale; of four numbers, which some exporters write, the first three."""
        words = mesh.get("scale", "").split()
        if len(words) != 4:
            return vector(mesh, "scale", (1.0, 1.0, 1.0))
        first = Element("mesh", {"scale": " ".join(words[:3])})
        try:
            scale = vector(first, "scale", (1.0, 1.0, 1.0))
        except FieldError:
            raise unread(mesh, "scale", 3, LARGEST) from None
        self._odd["meshes with a scale of four numbers, of which three are used, in"].append(name)
        return scale

    def _joint(self, name: str, element: Element) -> None:
        written = text(element, "type")
        joint_type = JOINT_TYPES.get(written)
        if joint_type is None:
            known = ", ".join(JOINT_TYPES)
            raise FieldError(element, f"type {shorten(written)!r} is unknown; expected one of {known}")
        found = children(element, *JOINT_CHILDREN)
        axis, dynamics, mimic = found.get("axis"), found.get("dynamics"), found.get("mimic")
        rotation, position = _pose(found.get("origin"))
        damping, friction = NO_LOSSES if dynamics is None else numbers(dynamics, LOSSES)
        lower, upper, velocity, effort = self._limits(name, joint_type, found.get("limit"))
        self.joints.append(
            (
                name,
                joint_type,
                _link_name(element, found, "parent"),
                _link_name(element, found, "child"),
                rotation,
                position,
                X_AXIS if axis is None or joint_type in UNDIRECTED else vector(axis, "xyz", X_AXIS),
                None,  # no second axis
                0.0,  # no pitch
                lower,
                upper,
                velocity,
                effort,
                damping,
                friction,
                0.0,  # no armature
                None if mimic is None else self._mimic(joint_type, mimic),
                0.0,  # no spring
                0.0,
            )
        )

    def _limits(self, name: str, joint_type: str, limit: Element | None) -> Sequence[float]:
        """Lower, upper, velocity and effort limits."""
        if joint_type not in ("revolute", "prismatic", "continuous"):
            return UNLIMITED
        if limit is None:
            if joint_type != "continuous":
                self._odd[f"{joint_type} joints without a <limit>, taken as unlimited"].append(name)
            return UNLIMITED
        if joint_type == "continuous":
            return -INF, INF, *numbers(limit, RATES)
        if "lower" not in limit.attrib and "upper" not in limit.attrib:
            self._odd["joints whose <limit> has neither lower nor upper, which leaves them no range"].append(name)
        limits = numbers(limit, LIMITS)
        if limits[0] > limits[1]:
            self._odd["joints whose lower limit lies above the upper one, taken as unlimited"].append(name)
            return -INF, INF, limits[2], limits[3]
        return limits

    def _mimic(self, joint_type: str, mimic: Element) -> Mimic | None:
        """The joint that this one should follow."""
        if joint_type == "fixed":
            return None
        return Mimic(text(mimic, "joint"), number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0))


def _link_name(joint: Element, found: dict[str, Element], role: str) -> str:
    """The link that the joint's <parent> or <child> names."""
    if role not in found:
        raise FieldError(joint, f"needs a <{role} link=...>")
    return text(found[role], "link")


def _pose(origin: Element | None) -> tuple[Matrix, Vector]:
    """Rotation and position from an <origin>."""
    if origin is None:
        return IDENTITY, ORIGIN
    position = vector(origin, "xyz", ORIGIN)
    angles = vector(origin, "rpy", ORIGIN)
    return (IDENTITY if angles is ORIGIN else rotation_from_rpy(*angles)), position


@lru_cache(maxsize=1024)
def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Matrix:
    """Rz(yaw) Ry(pitch) Rx(roll), as rows."""
    if roll == pitch == yaw == 0.0:
        return IDENTITY
    sr, cr, sp, cp, sy, cy = sin(roll), cos(roll), sin(pitch), cos(pitch), sin(yaw), cos(yaw)
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


@lru_cache(maxsize=1024)
def _symmetric(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> Matrix:
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def _turned(rotation: Matrix, moments: Matrix) -> Matrix:
    """R I Rᵀ, exactly symmetric; written out, for files with 100,000 links."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = moments
    a, b, c = ((x * xx + y * xy + z * xz, x * xy + y * yy + z * yz, x * xz + y * yz + z * zz) for x, y, z in rotation)
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = rotation
    ab = a[0] * bx + a[1] * by + a[2] * bz
    ac = a[0] * cx + a[1] * cy + a[2] * cz
    bc = b[0] * cx + b[1] * cy + b[2] * cz
    return (
        (a[0] * ax + a[1] * ay + a[2] * az, ab, ac),
        (ab, b[0] * bx + b[1] * by + b[2] * bz, bc),
        (ac, bc, c[0] * cx + c[1] * cy + c[2] * cz),
    )
