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
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from catena.errors import LoadError
from catena.model.parts import JointPart, LinkPart, Mimic, Parts
from catena.model.readers.columns import LARGEST, numbers, vectors, words, written
from catena.model.readers.layouts import Group, groups
from catena.model.readers.urdf_places import ORIGIN, inertias, rotations
from catena.model.readers.urdf_shapes import UrdfShapes
from catena.model.readers.xml import Document, FieldError, children, elements, line_of, shorten
from catena.model.topology import listed

Array = npt.NDArray[Any]

INF = float("inf")
X_AXIS = (1.0, 0.0, 0.0)
LIMITS = ("lower", "upper", "velocity_limit", "effort_limit")
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


class UrdfParts:
    """The parts of one URDF document: `name`, `links`, `joints`, and `warnings` about what is odd in them.

    Many links or joints are read at once, column by column: see layouts.py.
    """

    def __init__(self, document: Document, package_roots: tuple[str, ...] = ()) -> None:
        self.document = document
        self.name = "robot"
        self.warnings: list[str] = []
        self._links = _Table()
        self._joints = _Table()
        self._odd: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)  # what is odd, and in which children
        directory = None if document.path is None else str(document.path.absolute().parent)
        self._shapes = UrdfShapes(directory, package_roots)
        self._read()

    @property
    def links(self) -> Parts[LinkPart]:
        """The links, in the order of the document."""
        found = self._links
        return Parts.of_columns(
            LinkPart,
            name=found.column("name"),
            mass=found.numbers("mass"),
            com=found.numbers("com", 3),
            inertia=inertias(found.numbers("moments", 6), found.numbers("rpy", 3)),
            meshes=self._shapes.arrange(*found.numbers("shapes", 2).T),
        )

    @property
    def joints(self) -> Parts[JointPart]:
        """The joints, in the order of the document."""
        found = self._joints
        return Parts.of_columns(
            JointPart,
            **{field: found.column(field) for field in ("name", "type", "parent", "child", "mimic")},
            rotation=rotations(found.numbers("rpy", 3)),
            position=found.numbers("position", 3),
            axis=found.numbers("axis", 3),
            **{field: found.numbers(field) for field in (*LIMITS, "damping", "friction")},
        )

    def _read(self) -> None:
        root = next(elements(self.document))
        if root.tag != "robot":
            raise self._fault(f"expected <robot>, found <{shorten(root.tag)}>", -1)
        self.name = root.get("name", "").strip() or "robot"
        for group in groups(self.document):
            for each in _of_one_type(group):
                self._careful(each)
        if not self._links.parts:
            raise self._fault("the <robot> has no links; expected at least one <link>", -1)
        self.warnings += [f"{what}: {listed(name for _, name in sorted(odd))}" for what, odd in self._odd.items()]

    def _careful(self, group: Group) -> None:
        """Reads a group; a fault in one of its elements becomes a LoadError that says which, and in which line."""
        element, parts = group
        try:
            self._group(element, parts)
        except FieldError as fault:
            what, name = element.tag, (written(element, "name") or [""] * len(parts))[fault.which].strip()
            place = next(i for i, inside in enumerate(element.iter()) if inside is fault.element)
            error = self._fault(f"{what} {shorten(name)!r}: {fault}", parts[fault.which], place)
            raise LoadError(str(error), **{what: name or None}) from None

    def _fault(self, message: str, part: int, place: int = 0) -> LoadError:
        """A LoadError at a child of the root, or at an element inside it, by its place in the order of the text."""
        return self.document.error(message, line_of(self.document, part, place))

    def _note(self, what: str, parts: Iterable[int], names: Iterable[str]) -> None:
        """Keeps what is odd about some children of the root, for a warning."""
        self._odd[what] += zip(parts, names, strict=True)

    def _group(self, element: Element, parts: Sequence[int]) -> None:
        """Reads children of the <robot> that have one layout and, if they are joints, one type."""
        if element.tag == "link":
            self._link(element, parts, words(element, "name"))
        elif element.tag == "material":
            self._shapes.define(element)
        elif element.tag == "joint":
            self._joint(element, parts, words(element, "name"))
        elif element.tag.startswith("xacro:"):
            raise self._fault(f"<{shorten(element.tag)}>: expand the file with xacro first", parts[0])
        elif element.tag not in IGNORED:
            tags = [shorten(element.tag)] * len(parts)
            self._note("elements that are not part of URDF, passed over", parts, tags)

    def _link(self, element: Element, parts: Sequence[int], names: list[str]) -> None:
        several, inertial = len(parts), children(element, "inertial").get("inertial")
        found = {} if inertial is None else children(inertial, "origin", "mass", "inertia")
        mass, origin, inertia = (found.get(tag) for tag in ("mass", "origin", "inertia"))
        if inertial is not None and mass is None:
            raise FieldError(inertial, "needs a <mass>")
        if mass is not None and inertia is None:
            self._note("links with a <mass> but no <inertia>, taken as point masses", parts, names)
        moments = [numbers(inertia, name, several, default, LARGEST) for name, default in MOMENTS.items()]
        group = self._shapes.add(Group(element, parts), names, self._note)
        self._links.add(
            parts,
            name=names,
            mass=numbers(mass, "value", several, None, LARGEST),
            com=vectors(origin, "xyz", several, ORIGIN),
            rpy=vectors(origin, "rpy", several, ORIGIN),
            moments=np.stack(moments, axis=1),
            shapes=np.column_stack((np.full(several, group), np.arange(several))),
        )

    def _joint(self, element: Element, parts: Sequence[int], names: list[str]) -> None:
        several, given = len(parts), words(element, "type")[0]
        kind = JOINT_TYPES.get(given)
        if kind is None:
            known = ", ".join(JOINT_TYPES)
            raise FieldError(element, f"type {shorten(given)!r} is unknown; expected one of {known}")
        found = children(element, *JOINT_CHILDREN)
        origin, dynamics = found.get("origin"), found.get("dynamics")
        limits = self._limits(parts, names, kind, found.get("limit"))
        self._joints.add(
            parts,
            name=names,
            type=[kind] * several,
            parent=_link_names(element, found, "parent"),
            child=_link_names(element, found, "child"),
            rpy=vectors(origin, "rpy", several, ORIGIN),
            position=vectors(origin, "xyz", several, ORIGIN),
            axis=vectors(None if kind in UNDIRECTED else found.get("axis"), "xyz", several, X_AXIS),
            **dict(zip(LIMITS, limits, strict=True)),
            damping=numbers(dynamics, "damping", several, 0.0),
            friction=numbers(dynamics, "friction", several, 0.0),
            mimic=_mimic(kind, found.get("mimic"), several),
        )

    def _limits(self, parts: Sequence[int], names: list[str], kind: str, limit: Element | None) -> list[Array]:
        """Lower, upper, velocity and effort limits."""
        several = len(parts)
        endless = [np.full(several, -INF), np.full(several, INF)]
        if kind not in ("revolute", "prismatic", "continuous"):
            limit = None
        elif kind != "continuous" and limit is None:
            self._note(f"{kind} joints without a <limit>, taken as unlimited", parts, names)
        rates = [numbers(limit, rate, several, INF) for rate in ("velocity", "effort")]
        if kind == "continuous" or limit is None:
            return endless + rates
        if "lower" not in limit.attrib and "upper" not in limit.attrib:
            self._note("joints whose <limit> has neither lower nor upper, which leaves them no range", parts, names)
        lower, upper = (numbers(limit, end, several, 0.0) for end in ("lower", "upper"))
        swapped = lower > upper
        if swapped.any():
            which = np.flatnonzero(swapped).tolist()
            what = "joints whose lower limit lies above the upper one, taken as unlimited"
            self._note(what, [parts[i] for i in which], [names[i] for i in which])
            lower, upper = np.where(swapped, -INF, lower), np.where(swapped, INF, upper)
        return [lower, upper, *rates]


class _Table:
    """Columns of numbers and words that come in groups, each group with the numbers of its children of the root."""

    def __init__(self) -> None:
        self.parts: list[int] = []
        self._columns: defaultdict[str, list[Any]] = defaultdict(list)  # of groups

    def add(self, parts: Sequence[int], **columns: Any) -> None:
        """Adds a group: arrays of numbers, (n, ...), and anything else as iterables."""
        self.parts += parts
        for field, values in columns.items():
            self._columns[field].append(values)

    def numbers(self, field: str, *shape: int) -> Array:
        """Numbers, (n, *shape), in the order of the document."""
        found = np.concatenate(self._columns[field]) if self.parts else np.zeros((0, *shape))
        return found if self._order is None else found[self._order]

    def column(self, field: str) -> list[Any]:
        """Anything else, in the order of the document."""
        found = list(chain.from_iterable(self._columns[field]))
        return found if self._order is None else list(map(found.__getitem__, self._order.tolist()))

    @cached_property
    def _order(self) -> Array | None:
        """Which comes first and so on; None if they have come in order."""
        order = np.argsort(self.parts, kind="stable")
        return None if (order == np.arange(len(order))).all() else order


def _of_one_type(group: Group) -> Iterator[Group]:
    """The group or, of joints of several types, those of each type."""
    types = list(written(group.element, "type") or []) if group.element.tag == "joint" else []
    if len(set(types)) < 2:
        yield group
    else:
        yield from (group.some([i for i, each in enumerate(types) if each == one]) for one in dict.fromkeys(types))


def _link_names(joint: Element, found: dict[str, Element], role: str) -> list[str]:
    """The links that the joints' <parent> or <child> names."""
    if role not in found:
        raise FieldError(joint, f"needs a <{role} link=...>")
    return words(found[role], "link")


def _mimic(kind: str, mimic: Element | None, several: int) -> Iterable[Mimic | None]:
    """The joints that these should follow."""
    if mimic is None or kind == "fixed":
        return [None] * several
    multiplier, offset = (numbers(mimic, *given) for given in (("multiplier", several, 1.0), ("offset", several, 0.0)))
    return map(Mimic, words(mimic, "joint"), multiplier.tolist(), offset.tolist())
