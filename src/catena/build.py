"""Robots made in code: part by part with a Builder, or ready-made chains and trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, Literal, ParamSpec

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, UnknownNameError, kind_of, shown
from catena.model import cable as cables
from catena.model import chains, dh, polymers
from catena.model import random_tree as random_trees
from catena.model.assemble import assemble
from catena.model.axes import direction
from catena.model.lie import rotation_from
from catena.model.numbers import floats, listed, number
from catena.model.parts import JointPart, LinkPart, Mimic
from catena.model.tree import Tree
from catena.robot import Robot

P = ParamSpec("P")

_LIMITS = ("lower", "upper", "velocity_limit", "effort_limit")
_DETAILS = frozenset(
    ("rotation", "position", *_LIMITS, "damping", "friction", "armature", "stiffness", "rest", "mimic")
)


class Builder:
    """Builds a robot in code: add links and joints in any order, then call `build`.

        pendulum = (
            catena.Builder("pendulum")
            .link("bob", mass=1, com=(0, 0, -1))
            .revolute("hinge", "base", "bob", axis="y")
            .build()
        )

    `base` is the name of the base link, which need not be added: it is there, without mass, if a joint hangs on it.
    `gravity` is 3 numbers in the base's frame, m/s². Every method but `build` returns the builder itself.

    All joints take `position` (3 numbers, m) and `rotation` of the child's frame in the parent's at joint zero: a 3x3
    matrix, 3 angles in rad (roll, pitch, yaw: Rz Ry Rx) or a quaternion x, y, z, w. Axes are letters ("x", "-z") or 3
    numbers in the child's frame. Further keywords, one number or one for each coordinate: `lower` and `upper` (rad or
    m), `velocity_limit` (rad/s or m/s), `effort_limit` and `friction` (N m or N), `damping` (N m s/rad or N s/m),
    `armature` (kg m² or kg), `stiffness` of a spring (N m/rad or N/m) and its `rest` (rad or m from zero). A joint of
    one degree of freedom with `mimic=("other", multiplier, offset)`, or `mimic="other"`, follows another joint and has
    no coordinate of its own.
    """

    def __init__(self, name: str = "robot", *, base: str = "base", gravity: npt.ArrayLike = (0.0, 0.0, -9.81)) -> None:
        self._name = name
        self._base = base
        self._gravity = gravity
        self._links: list[LinkPart] = []
        self._joints: list[JointPart] = []

    def link(
        self,
        name: str,
        mass: float = 0.0,
        com: npt.ArrayLike = (0.0, 0.0, 0.0),
        inertia: npt.ArrayLike | None = None,
        meshes: Sequence[Any] = (),
    ) -> Builder:
        """Add a rigid body: its mass (kg), centre of mass (m) and inertia about it (kg m²), in the link's frame.

        `inertia` is a 3x3 matrix, 3 principal moments, or 6 numbers xx, yy, zz, xy, xz, yz; none for a point mass.
        `meshes` are kept for those who draw the robot. Numbers are checked by `build`.
        """
        self._links.append(LinkPart(name, mass, com, _inertia(inertia), tuple(listed("meshes", meshes))))
        return self

    def revolute(self, name: str, parent: str, child: str, axis: Any = "z", **details: Any) -> Builder:
        """Add a revolute joint (hinge): one angle (rad) about the axis."""
        return self._joint(name, "revolute", parent, child, details, axis=axis)

    def continuous(self, name: str, parent: str, child: str, axis: Any = "z", **details: Any) -> Builder:
        """Add a continuous joint: one angle (rad) about the axis, without limits."""
        return self._joint(name, "continuous", parent, child, details, axis=axis)

    def prismatic(self, name: str, parent: str, child: str, axis: Any = "z", **details: Any) -> Builder:
        """Add a prismatic joint (slider): one displacement (m) along the axis."""
        return self._joint(name, "prismatic", parent, child, details, axis=axis)

    def helical(
        self, name: str, parent: str, child: str, axis: Any = "z", pitch: float = 0.0, **details: Any
    ) -> Builder:
        """Add a helical joint (screw): one angle (rad) about the axis, moving `pitch` metres per radian along it."""
        return self._joint(name, "helical", parent, child, details, axis=axis, pitch=pitch)

    def cylindrical(self, name: str, parent: str, child: str, axis: Any = "z", **details: Any) -> Builder:
        """Add a cylindrical joint: an angle (rad) about the axis and a displacement (m) along it."""
        return self._joint(name, "cylindrical", parent, child, details, axis=axis)

    def universal(
        self, name: str, parent: str, child: str, axis: Any = "z", axis2: Any = "x", **details: Any
    ) -> Builder:
        """Add a universal joint: an angle (rad) about `axis`, then one about `axis2`, perpendicular to it."""
        return self._joint(name, "universal", parent, child, details, axis=axis, axis2=axis2)

    def planar(self, name: str, parent: str, child: str, axis: Any = "z", **details: Any) -> Builder:
        """Add a planar joint: two displacements (m) in the plane across the axis and an angle (rad) about it."""
        return self._joint(name, "planar", parent, child, details, axis=axis)

    def spherical(self, name: str, parent: str, child: str, **details: Any) -> Builder:
        """Add a spherical (ball) joint: any rotation, as a quaternion x, y, z, w."""
        return self._joint(name, "spherical", parent, child, details)

    def free(self, name: str, parent: str, child: str, **details: Any) -> Builder:
        """Add a free joint: any motion, as a position (m) and a quaternion x, y, z, w."""
        return self._joint(name, "free", parent, child, details)

    def fixed(self, name: str, parent: str, child: str, **details: Any) -> Builder:
        """Add a fixed joint: the child becomes part of the parent and stays as a frame."""
        return self._joint(name, "fixed", parent, child, details)

    def build(self, base: Literal["fixed", "floating"] = "fixed") -> Robot:
        """Check all that was added and return the robot; with `base="floating"` its root link moves freely.

        Raises ModelError, which names the link or joint at fault and says what was expected. Cost: O(n).
        """
        links = list(self._links)
        if all(link.name != self._base for link in links) and any(j.parent == self._base for j in self._joints):
            links.insert(0, LinkPart(self._base))
        known = [joint.name for joint in self._joints if joint.type != "fixed"]
        for joint in self._joints:
            if joint.mimic is not None and joint.mimic.master not in known:
                fault = UnknownNameError.among("joint that moves", joint.mimic.master, known)
                raise ModelError(f"joint {joint.name!r} mimics another: {fault}", joint=joint.name)
        options: dict[str, Any] = {"base": base, "gravity": self._gravity, "mimic": "eliminated"}
        return Robot(assemble(links, self._joints, name=self._name, **options))

    def _joint(
        self, name: str, joint_type: str, parent: str, child: str, details: dict[str, Any], **axes: Any
    ) -> Builder:
        ends: tuple[Any, ...] = (parent, child)
        for link in ends:
            if not isinstance(link, str):
                raise ModelError(f"joint {name!r}: expected names of links, found {kind_of(link)}", joint=name)
        unknown = sorted(set(details) - _DETAILS)
        if unknown:
            expected = ", ".join(sorted(_DETAILS))
            raise ModelError(f"joint {name!r}: expected details out of {expected}, found {unknown[0]!r}", joint=name)
        try:
            for axis in ("axis", "axis2"):
                if axis in axes:
                    axes[axis] = direction(axes[axis])
            if "rotation" in details:
                details = {**details, "rotation": rotation_from(details["rotation"])}
            if details.get("mimic") is not None:
                details = {**details, "mimic": _mimic(details["mimic"])}
        except ModelError as error:
            raise ModelError(f"joint {name!r}: {error}", joint=name) from None
        self._joints.append(JointPart(name, joint_type, parent, child, **details, **axes))
        return self


def _mimic(given: Any) -> Mimic:
    """The rule of a joint that follows another: a name, or a name with a multiplier and perhaps an offset."""
    parts = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Sequence) else ()
    if not 1 <= len(parts) <= 3 or not isinstance(parts[0], str):
        raise ModelError(f"mimic: expected the name of a joint, or ('name', multiplier, offset), found {shown(given)}")
    return Mimic(parts[0], *[number("mimic", x) for x in parts[1:]])


def _inertia(inertia: npt.ArrayLike | None) -> Any:
    """The 3x3 matrix; what cannot be read as one is left for `assemble` to refuse."""
    if inertia is None:
        return np.zeros((3, 3))
    try:
        numbers = floats(inertia)
    except ValueError:
        return inertia
    if numbers.shape == (3,):
        return np.diag(numbers)
    if numbers.shape == (6,):
        xx, yy, zz, xy, xz, yz = numbers
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return numbers


def _robot(make: Callable[P, Tree]) -> Callable[P, Robot]:
    """`make` with a Robot for a result; `help` and `inspect.signature` say so too."""

    @wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> Robot:
        return Robot(make(*args, **kwargs))

    made.__module__ = __name__
    made.__annotations__ = {**make.__annotations__, "return": Robot}
    made.__dict__["__signature__"] = signature(make).replace(return_annotation=Robot)
    return made


planar_chain = _robot(chains.planar_chain)
rod_chain = _robot(chains.rod_chain)
point_mass_chain = _robot(polymers.point_mass_chain)
from_dh = _robot(dh.from_dh)
random_tree = _robot(random_trees.random_tree)
cable = _robot(cables.cable)
