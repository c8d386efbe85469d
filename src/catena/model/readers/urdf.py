"""URDF: links and joints from `<robot>`, read as a stream (see xml.py), handed to `assemble` as parts.

Follows https://wiki.ros.org/urdf/XML with these readings: a joint's axis is (1, 0, 0) unless given and need not be of
unit length; a planar joint moves in the plane perpendicular to its axis; rpy means Rz(yaw) Ry(pitch) Rx(roll), computed
as written, never rounded to right angles; mimic joints are independent joints that remember their master.
Visual meshes are kept by name. Everything that is not about the mechanism (transmissions, materials, gazebo, sensors,
ros2_control, calibration, safety controllers) is passed over.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from math import cos, sin
from typing import Any

from catena.errors import LoadError
from catena.model.parts import JointPart, LinkPart, Mimic
from catena.model.readers.meshes import MeshReference
from catena.model.readers.xml import LARGEST, Document, Element, FieldError, Vector, elements, shorten
from catena.model.topology import listed

Matrix = tuple[Vector, Vector, Vector]

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
    "fixed": "fixed",
}
JOINT_CHILDREN = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
IGNORED = {"material", "transmission", "gazebo", "sensor", "ros2_control", "plugin", "mujoco", "group", "drake"}


class UrdfParts:
    """The parts of one URDF document: `name`, `links`, `joints`, and `warnings` about what is odd in them."""

    def __init__(self, document: Document, package_roots: tuple[str, ...] = ()) -> None:
        self.document = document
        self.package_roots = package_roots
        self.directory = None if document.path is None else str(document.path.absolute().parent)
        self.name = "robot"
        self.links: list[LinkPart] = []
        self.joints: list[JointPart] = []
        self.warnings: list[str] = []
        self._odd: defaultdict[str, list[str]] = defaultdict(list)  # what is odd -> the names it is odd in
        self._read()

    def _read(self) -> None:
        stream = elements(self.document)
        root = next(stream)
        if root.tag != "robot":
            raise self.document.error(f"expected <robot>, found <{shorten(root.tag)}>", root.line)
        self.name = root.attributes.get("name", "").strip() or "robot"
        for element in stream:
            if element.tag == "link":
                self._guarded(element, self._link, "link")
            elif element.tag == "joint":
                self._guarded(element, self._joint, "joint")
            elif element.tag.startswith("xacro:"):
                raise self.document.error(f"<{shorten(element.tag)}>: expand the file with xacro first", element.line)
            elif element.tag not in IGNORED:
                self._odd["elements that are not part of URDF, passed over"].append(shorten(element.tag))
        if not self.links:
            raise self.document.error("the <robot> has no links; expected at least one <link>", root.line)
        self.warnings += [f"{what}: {listed(names)}" for what, names in self._odd.items()]

    def _guarded(self, element: Element, read: Any, what: str) -> None:
        """Reads one link or joint; whatever is wrong in it is reported with its name and line."""
        name = element.attributes.get("name", "").strip()
        try:
            read(element.text("name"), element)
        except FieldError as fault:
            error = self.document.error(f"{what} {shorten(name)!r}: {fault}", fault.line)
            raise LoadError(str(error), **{what: name or None}) from None

    def _link(self, name: str, element: Element) -> None:
        mass, com, inertia = self._inertial(name, element.child("inertial"))
        self.links.append(LinkPart(name, mass, com, inertia, self._meshes(element)))

    def _inertial(self, name: str, inertial: Element | None) -> tuple[float, Vector, Matrix]:
        """Mass, centre of mass and inertia about it, both in the link's frame."""
        if inertial is None:
            return 0.0, ORIGIN, ZEROS
        origin, mass, inertia = inertial.only("origin", "mass", "inertia")
        if mass is None:
            raise inertial.fault("needs a <mass>")
        rotation, com = _pose(origin)
        if inertia is None:
            self._odd["links with a <mass> but no <inertia>, taken as point masses"].append(name)
            return mass.number("value", None, LARGEST), com, ZEROS
        xx, yy, zz = [inertia.number(key, None, LARGEST) for key in ("ixx", "iyy", "izz")]
        xy, xz, yz = [inertia.number(key, 0.0, LARGEST) for key in ("ixy", "ixz", "iyz")]
        moments = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        inertia_in_link = moments if rotation is IDENTITY else _turned(rotation, moments)
        return mass.number("value", None, LARGEST), com, inertia_in_link

    def _meshes(self, link: Element) -> tuple[MeshReference, ...]:
        found = []
        for shape in link.children:
            geometry = shape.child("geometry") if shape.tag in ("visual", "collision") else None
            mesh = None if geometry is None else geometry.child("mesh")
            if mesh is not None and mesh.attributes.get("filename", "").strip():
                scale = mesh.vector("scale", (1.0, 1.0, 1.0))
                uri, place = mesh.text("filename"), _pose(shape.child("origin"))
                found.append(MeshReference(uri, shape.tag, *place, scale, self.directory, self.package_roots))
        return tuple(found)

    def _joint(self, name: str, element: Element) -> None:
        written = element.text("type")
        joint_type = JOINT_TYPES.get(written)
        if joint_type is None:
            raise element.fault(f"type {shorten(written)!r} is unknown; expected one of {', '.join(JOINT_TYPES)}")
        origin, parent, child, axis, limit, dynamics, mimic = element.only(*JOINT_CHILDREN)
        rotation, position = _pose(origin)
        damping, friction = _dynamics(dynamics)
        lower, upper, velocity, effort = self._limits(name, joint_type, limit)
        self.joints.append(
            JointPart(
                name,
                joint_type,
                _link_name(element, parent, "parent"),
                _link_name(element, child, "child"),
                rotation,
                position,
                _axis(joint_type, axis),
                lower=lower,
                upper=upper,
                velocity_limit=velocity,
                effort_limit=effort,
                damping=damping,
                friction=friction,
                mimic=self._mimic(name, joint_type, mimic),
            )
        )

    def _limits(self, name: str, joint_type: str, limit: Element | None) -> tuple[float | None, ...]:
        """Lower, upper, velocity and effort limits; None where the joint has none."""
        if joint_type not in ("revolute", "prismatic", "continuous"):
            return None, None, None, None
        if limit is None:
            if joint_type != "continuous":
                self._odd[f"{joint_type} joints without a <limit>, taken as unlimited"].append(name)
            return None, None, None, None
        velocity, effort = [limit.number(key) if key in limit.attributes else None for key in ("velocity", "effort")]
        if joint_type == "continuous":
            return None, None, velocity, effort
        if "lower" not in limit.attributes and "upper" not in limit.attributes:
            self._odd["joints whose <limit> has neither lower nor upper, which leaves them no range"].append(name)
        return limit.number("lower", 0.0), limit.number("upper", 0.0), velocity, effort

    def _mimic(self, name: str, joint_type: str, mimic: Element | None) -> Mimic | None:
        """The joint that this one should follow."""
        if mimic is None or joint_type == "fixed":
            return None
        self._odd["mimic joints, loaded as independent joints (robot.tree.mimic has the rules)"].append(name)
        return Mimic(mimic.text("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))


def _link_name(joint: Element, found: Element | None, role: str) -> str:
    """The link that the joint's <parent> or <child> names."""
    if found is None:
        raise joint.fault(f"needs a <{role} link=...>")
    return found.text("link")


def _axis(joint_type: str, axis: Element | None) -> Vector:
    """The joint's axis; (1, 0, 0) where none is given or none matters."""
    return X_AXIS if axis is None or joint_type in ("fixed", "free") else axis.vector("xyz", X_AXIS)


def _dynamics(dynamics: Element | None) -> tuple[float, float]:
    """Damping and friction."""
    return (0.0, 0.0) if dynamics is None else (dynamics.number("damping", 0.0), dynamics.number("friction", 0.0))


def _pose(origin: Element | None) -> tuple[Matrix, Vector]:
    """Rotation and position from an <origin>."""
    if origin is None:
        return IDENTITY, ORIGIN
    return rotation_from_rpy(*origin.vector("rpy", ORIGIN)), origin.vector("xyz", ORIGIN)


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
