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
from itertools import islice
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from catena.errors import LoadError
from catena.model.parts import JointPart, LinkPart, Mimic, Parts
from catena.model.readers.attributes import LARGEST, Vector, number, vector
from catena.model.readers.urdf_places import ORIGIN, inertias, rotations
from catena.model.readers.urdf_shapes import Shape, UrdfShapes
from catena.model.readers.xml import Document, FieldError, children, elements, line_of, shorten, text
from catena.model.topology import listed

Array = npt.NDArray[Any]

INF = float("inf")
X_AXIS = (1.0, 0.0, 0.0)
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
UNDIRECTED = ("fixed", "free", "spherical")  # joints
IGNORED = {"transmission", "gazebo", "sensor", "ros2_control", "plugin", "mujoco", "group", "drake"}


class _Link(NamedTuple):
    """A <link>: `moments` are xx, yy, zz, xy, xz, yz in axes turned by `rpy`."""

    name: str
    mass: float
    com: Vector
    rpy: Vector
    moments: list[float]
    shapes: list[tuple[Shape, str]]


class _Joint(NamedTuple):
    """A <joint>."""

    name: str
    type: str
    parent: str
    child: str
    rpy: Vector
    position: Vector
    axis: Vector
    lower: float
    upper: float
    velocity_limit: float
    effort_limit: float
    damping: float
    friction: float
    mimic: Mimic | None


class UrdfParts:
    """The parts of one URDF document: `name`, `links`, `joints`, and `warnings` about what is odd in them."""

    def __init__(self, document: Document, package_roots: tuple[str, ...] = ()) -> None:
        self.document = document
        self.name = "robot"
        self._links: list[_Link] = []
        self._joints: list[_Joint] = []
        self._odd: defaultdict[str, list[str]] = defaultdict(list)  # what is odd, and in which links, joints or others
        directory = None if document.path is None else str(document.path.absolute().parent)
        self._shapes = UrdfShapes(directory, package_roots, self._note)
        self._read()

    @property
    def warnings(self) -> list[str]:
        """What is odd, in the order of the document."""
        return [f"{what}: {listed(names)}" for what, names in self._odd.items()]

    @property
    def links(self) -> Parts[LinkPart]:
        """The links, in the order of the document."""
        names, mass, com, rpy, moments, shapes = zip(*self._links, strict=True)
        return Parts.of_columns(
            LinkPart,
            name=list(names),
            mass=np.array(mass),
            com=np.array(com),
            inertia=inertias(np.array(moments), np.array(rpy)),
            meshes=list(map(self._shapes.colored, shapes)),
        )

    @property
    def joints(self) -> Parts[JointPart]:
        """The joints, in the order of the document."""
        columns: dict[str, Any] = {f: [joint[i] for joint in self._joints] for i, f in enumerate(_Joint._fields)}
        rotation = rotations(np.reshape(columns.pop("rpy"), (-1, 3)))
        for field in ("position", "axis"):
            columns[field] = np.reshape(columns[field], (-1, 3))
        for field in ("lower", "upper", "velocity_limit", "effort_limit", "damping", "friction"):
            columns[field] = np.array(columns[field], dtype=float)
        return Parts.of_columns(JointPart, rotation=rotation, **columns)

    def _read(self) -> None:
        root = next(elements(self.document))
        if root.tag != "robot":
            raise self._fault(f"expected <robot>, found <{shorten(root.tag)}>", -1)
        self.name = root.get("name", "").strip() or "robot"
        for part, element in enumerate(islice(elements(self.document), 1, None)):
            self._careful(element, part)
        if not self._links:
            raise self._fault("the <robot> has no links; expected at least one <link>", -1)

    def _careful(self, element: Element, part: int) -> None:
        """Reads a child of the <robot>; a fault in it becomes a LoadError that says where, and in which line."""
        try:
            self._part(element, part)
        except FieldError as fault:
            what, name = element.tag, element.get("name", "").strip()
            place = next(i for i, inside in enumerate(element.iter()) if inside is fault.element)
            error = self._fault(f"{what} {shorten(name)!r}: {fault}", part, place)
            raise LoadError(str(error), **{what: name or None}) from None

    def _fault(self, message: str, part: int, place: int = 0) -> LoadError:
        """A LoadError at a child of the root, or at an element inside it, by its place in the order of the text."""
        return self.document.error(message, line_of(self.document, part, place))

    def _note(self, what: str, name: str) -> None:
        """Keeps what is odd about a child of the root, for a warning."""
        self._odd[what].append(name)

    def _part(self, element: Element, part: int) -> None:
        """Reads a child of the <robot>."""
        if element.tag == "link":
            self._links.append(self._link(element, text(element, "name")))
        elif element.tag == "material":
            self._shapes.define(element)
        elif element.tag == "joint":
            self._joints.append(self._joint(element, text(element, "name")))
        elif element.tag.startswith("xacro:"):
            raise self._fault(f"<{shorten(element.tag)}>: expand the file with xacro first", part)
        elif element.tag not in IGNORED:
            self._note("elements that are not part of URDF, passed over", shorten(element.tag))

    def _link(self, element: Element, name: str) -> _Link:
        inertial = children(element, "inertial").get("inertial")
        found = {} if inertial is None else children(inertial, "origin", "mass", "inertia")
        mass, origin, inertia = (found.get(tag) for tag in ("mass", "origin", "inertia"))
        if inertial is not None and mass is None:
            raise FieldError(inertial, "needs a <mass>")
        if mass is not None and inertia is None:
            self._note("links with a <mass> but no <inertia>, taken as point masses", name)
        moments = [number(inertia, moment, default, LARGEST) for moment, default in MOMENTS.items()]
        return _Link(
            name=name,
            shapes=self._shapes.of_link(element, name),
            mass=number(mass, "value", None, LARGEST),
            com=vector(origin, "xyz", ORIGIN),
            rpy=vector(origin, "rpy", ORIGIN),
            moments=moments,
        )

    def _joint(self, element: Element, name: str) -> _Joint:
        given = text(element, "type")
        kind = JOINT_TYPES.get(given)
        if kind is None:
            known = ", ".join(JOINT_TYPES)
            raise FieldError(element, f"type {shorten(given)!r} is unknown; expected one of {known}")
        found = children(element, *JOINT_CHILDREN)
        origin, dynamics = found.get("origin"), found.get("dynamics")
        lower, upper, velocity_limit, effort_limit = self._limits(name, kind, found.get("limit"))
        return _Joint(
            name=name,
            type=kind,
            parent=_link_name(element, found, "parent"),
            child=_link_name(element, found, "child"),
            rpy=vector(origin, "rpy", ORIGIN),
            position=vector(origin, "xyz", ORIGIN),
            axis=vector(None if kind in UNDIRECTED else found.get("axis"), "xyz", X_AXIS),
            lower=lower,
            upper=upper,
            velocity_limit=velocity_limit,
            effort_limit=effort_limit,
            damping=number(dynamics, "damping", 0.0),
            friction=number(dynamics, "friction", 0.0),
            mimic=_mimic(kind, found.get("mimic")),
        )

    def _limits(self, name: str, kind: str, limit: Element | None) -> tuple[float, float, float, float]:
        """Lower, upper, velocity and effort limits."""
        if kind not in ("revolute", "prismatic", "continuous"):
            limit = None
        elif kind != "continuous" and limit is None:
            self._note(f"{kind} joints without a <limit>, taken as unlimited", name)
        rates = number(limit, "velocity", INF), number(limit, "effort", INF)
        if kind == "continuous" or limit is None:
            return -INF, INF, *rates
        if "lower" not in limit.attrib and "upper" not in limit.attrib:
            self._note("joints whose <limit> has neither lower nor upper, which leaves them no range", name)
        lower, upper = number(limit, "lower", 0.0), number(limit, "upper", 0.0)
        if lower > upper:
            self._note("joints whose lower limit lies above the upper one, taken as unlimited", name)
            return -INF, INF, *rates
        return lower, upper, *rates


def _link_name(joint: Element, found: dict[str, Element], role: str) -> str:
    """The link that the joint's <parent> or <child> names."""
    if role not in found:
        raise FieldError(joint, f"needs a <{role} link=...>")
    return text(found[role], "link")


def _mimic(kind: str, mimic: Element | None) -> Mimic | None:
    """The joint that this one should follow."""
    if mimic is None or kind == "fixed":
        return None
    return Mimic(text(mimic, "joint"), number(mimic, "multiplier", 1.0), number(mimic, "offset", 0.0))
