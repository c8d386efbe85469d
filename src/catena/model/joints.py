"""The joint types: one class each, with its motion axes, its map from q and, through its space, its coordinates.

A joint moves its canonical child frame relative to its canonical parent frame; `joint_rotation` and `placement` of
:class:`~catena.model.tree.Tree` say where those frames are. `motion`, `axes` and `axes_rate` run on any scalar; so do
`integrate` and `difference`, which come with `neutral` and `random` from :mod:`catena.model.spaces`.

`end` is the constant screw, a turn by an angle about z and a slide along z, that stands between the joint's placement
and its motion: joints that turn about z or slide along z absorb it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError
from catena.model.spaces import Plane, Pose, Rotation, Space, rotation_of_quaternion
from catena.scalars import Scalar, is_zero, sincos, sincos_of_sum, where
from catena.spatial import Axes, Dofs, Motion, ShiftAlong, Transform, Turn, TurnAbout, Vec3


@dataclass(slots=True)
class Screw:
    """A turn by `angle` (with its cosine c and sine s) about z and a slide by `slide` along z."""

    angle: Scalar
    c: Scalar
    s: Scalar
    slide: Scalar

    @property
    def transform(self) -> Transform:
        """The constant transform of this screw."""
        return Transform.of(TurnAbout("z", self.c, self.s), ShiftAlong("z", self.slide))

    def turned(self, q: Scalar) -> TurnAbout:
        """The turn of this screw followed by a turn by q about z."""
        s, c = sincos_of_sum(q, self.angle, self.c, self.s)
        return TurnAbout("z", c, s)


def _axes(*numbers: int) -> Axes:
    """Unit axes by their place among (ωx, ωy, ωz, vx, vy, vz)."""
    return Axes([Motion.of([int(i == number) for i in range(6)]) for number in numbers])


class JointType(Space):
    """What every joint type has: a name, a code in `Tree.joint_type`, the sizes of q and v, and three maps."""

    name: ClassVar[str]
    code: ClassVar[int]
    screw: ClassVar[bool] = False  # turns about z and slides along z only, so frames may be moved along its axis
    moving_axes: ClassVar[bool] = False  # its axes move in the child's frame: where it has `axis_rates` of its own

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.moving_axes = cls.axis_rates.__func__ is not JointType.axis_rates.__func__  # type: ignore[attr-defined]

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """From the joint's placement, through `end`, to the child's canonical frame."""
        raise TypeError(f"{cls.name} joints are merged into their parent link and never move")

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """H: the motions allowed, in the child's canonical frame."""
        raise TypeError(f"{cls.name} joints are merged into their parent link and never move")

    @classmethod
    def axes_rate(cls, q: Dofs, v: Dofs) -> Motion:
        """Ḣᵀ v, the acceleration from axes that change in the child's frame, by `axis_rates`: zero for most joints."""
        return Axes(cls.axis_rates(q, v)).T @ v if cls.moving_axes else Motion.zero()

    @classmethod
    def axis_rates(cls, q: Dofs, v: Dofs) -> list[Motion]:
        """The columns of Ḣᵀ: how fast each axis changes in the child's frame."""
        return [Motion.zero()] * cls.nv

    @classmethod
    def axes_rate_slopes(cls, q: Dofs, v: Dofs) -> list[Motion]:
        """The derivatives of Ḣᵀ v by each coordinate."""
        return [Motion.zero()] * cls.nv


class Revolute(JointType):
    """One angle about z."""

    name, code, nq, nv, angles, screw = "revolute", 0, 1, 1, (True,), True

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Turn about z."""
        return Transform.of(end.turned(q[0]), ShiftAlong("z", end.slide))

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """ωz."""
        return _axes(2)


class Continuous(Revolute):
    """One angle about z without limits."""

    name, code = "continuous", 1


class Prismatic(JointType):
    """One displacement along z."""

    name, code, nq, nv, angles, screw = "prismatic", 2, 1, 1, (False,), True

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Slide along z."""
        slide = q[0] if is_zero(end.slide) else q[0] + end.slide
        return Transform.of(TurnAbout("z", end.c, end.s), ShiftAlong("z", slide))

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """vz."""
        return _axes(5)


class Helical(JointType):
    """A screw: one angle about z that also slides along z by `pitch` metres per radian."""

    name, code, nq, nv, angles, screw = "helical", 3, 1, 1, (True,), True

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Turn about z and slide along z together."""
        return Transform.of(end.turned(q[0]), ShiftAlong("z", pitch * q[0] + end.slide))

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """ωz with vz = pitch."""
        return Axes([Motion(Vec3(0, 0, 1), Vec3(0, 0, pitch))])


class Cylindrical(JointType):
    """An angle about z and a displacement along z, independent of each other."""

    name, code, nq, nv, angles, screw = "cylindrical", 4, 2, 2, (True, False), True

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Turn about z, slide along z."""
        return Transform.of(end.turned(q[0]), ShiftAlong("z", q[1] + end.slide))

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """ωz, vz."""
        return _axes(2, 5)


class Universal(JointType):
    """An angle about z, then one about the turned x: a cross joint."""

    name, code, nq, nv, angles = "universal", 5, 2, 2, (True, True)

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Turn about z, then about x."""
        s, c = sincos(q[1])
        return Transform.of(end.turned(q[0]), ShiftAlong("z", end.slide), TurnAbout("x", c, s))

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """The first axis as the child sees it, and ωx."""
        s, c = sincos(q[1])
        return Axes([Motion(Vec3(0, s, c), Vec3.zero()), Motion(Vec3(1, 0, 0), Vec3.zero())])

    @classmethod
    def axes_rate(cls, q: Dofs, v: Dofs) -> Motion:
        """The first axis turns in the child's frame as the second angle changes."""
        s, c = sincos(q[1])
        both = v[0] * v[1]
        return Motion(Vec3(0, c * both, -(s * both)), Vec3.zero())

    @classmethod
    def axis_rates(cls, q: Dofs, v: Dofs) -> list[Motion]:
        """The first axis turns with the second angle, the second axis stays."""
        s, c = sincos(q[1])
        return [Motion(Vec3(0, c * v[1], -(s * v[1])), Vec3.zero()), Motion.zero()]

    @classmethod
    def axes_rate_slopes(cls, q: Dofs, v: Dofs) -> list[Motion]:
        """The first axis, whose rate this is, turns on with the second angle."""
        s, c = sincos(q[1])
        both = v[0] * v[1]
        return [Motion.zero(), Motion(Vec3(0, -(s * both), -(c * both)), Vec3.zero())]


class Planar(Plane, JointType):
    """Two displacements in the xy plane and an angle about z; speeds (vx, vy, ω) in the child's frame."""

    name, code, nq, nv = "planar", 6, 3, 3

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Shift along x and y, then turn about z."""
        s, c = sincos(q[2])
        moved = Transform.of(ShiftAlong("x", q[0]), ShiftAlong("y", q[1]), TurnAbout("z", c, s))
        return end.transform.then(moved)

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """vx, vy, ωz."""
        return _axes(3, 4, 2)


class Spherical(Rotation, JointType):
    """A ball joint: a quaternion x, y, z, w; speeds ω in the child's frame."""

    name, code, nq, nv = "spherical", 7, 4, 3

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Turn by the quaternion."""
        return end.transform.then(Transform.of(Turn(rotation_of_quaternion(*q))))

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """ωx, ωy, ωz."""
        return _axes(0, 1, 2)


class Free(Pose, JointType):
    """Six degrees of freedom: a position and a quaternion x, y, z, w; speeds (ω, v) in the child's frame."""

    name, code, nq, nv = "free", 8, 7, 6

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Shift by the position, turn by the quaternion."""
        x, y, z, *quaternion = q
        return end.transform.then(Transform.shift(Vec3(x, y, z))).then(
            Transform.of(Turn(rotation_of_quaternion(*quaternion)))
        )

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """All six."""
        return _axes(0, 1, 2, 3, 4, 5)


class Fixed(JointType):
    """No motion at all: a fixed joint never reaches a Tree, its child is merged into the parent link."""

    name, code, nq, nv, angles = "fixed", 9, 0, 0, ()


class AnyScrew(JointType):
    """A turn about z and a slide along z that its `pitch` tells apart: revolute 0, helical, prismatic infinite.

    No joint of a user's: where long chains mix such joints, kernels see this one, so that lanes do the same.
    """

    name, code, nq, nv, angles, screw = "any screw", 100, 1, 1, (True,), True

    @classmethod
    def _rates(cls, pitch: Scalar) -> tuple[Scalar, Scalar]:
        """How far it turns, and how far it slides, by one unit of q."""
        turns = pitch < math.inf
        return where(turns, 1.0, 0.0), where(turns, pitch, 1.0)

    @classmethod
    def motion(cls, q: Dofs, pitch: Scalar, end: Screw) -> Transform:
        """Turn about z and slide along z together."""
        turn, slide = cls._rates(pitch)
        return Transform.of(end.turned(turn * q[0]), ShiftAlong("z", slide * q[0] + end.slide))

    @classmethod
    def axes(cls, q: Dofs, pitch: Scalar) -> Axes:
        """ωz and vz as its rates say."""
        turn, slide = cls._rates(pitch)
        return Axes([Motion(Vec3(0, 0, turn), Vec3(0, 0, slide))])


JOINT_TYPES: list[type[JointType]] = [
    Revolute,
    Continuous,
    Prismatic,
    Helical,
    Cylindrical,
    Universal,
    Planar,
    Spherical,
    Free,
    Fixed,
]
"""Every joint type, in the order of the codes in `Tree.joint_type`; see :func:`add_joint_type`."""

SCREWS = (Revolute.code, Continuous.code, Prismatic.code, Helical.code)
"""The codes of joints that :class:`AnyScrew` can stand for."""


def in_kernels(code: int) -> type[JointType]:
    """The type of joint that kernels know by this code."""
    return AnyScrew if code == AnyScrew.code else JOINT_TYPES[code]


BY_NAME: dict[str, type[JointType]] = {joint.name: joint for joint in JOINT_TYPES}


PACKAGED = len(JOINT_TYPES)
"""From this code on, types are users'."""


def names_of_users(codes: npt.NDArray[Any]) -> dict[int, str]:
    """The names of those types among these codes that users have added."""
    if not codes.size or codes.max() < PACKAGED:
        return {}
    return {code: in_kernels(code).name for code in np.unique(codes).tolist() if PACKAGED <= code != AnyScrew.code}


def codes_here(
    names: dict[int, str], codes: npt.NDArray[Any], nq: npt.NDArray[Any], nv: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    """Codes of joints from another process as they are in this one; `nq` and `nv` are the joints' sizes.

    ModelError if a type is not known here, or has other sizes.
    """
    found: npt.NDArray[Any] = codes.copy()
    for code, name in names.items():
        same = code < len(JOINT_TYPES) and JOINT_TYPES[code].name == name
        joint, at = JOINT_TYPES[code] if same else BY_NAME.get(name), codes == code
        if joint is None or np.any(nq[at] != joint.nq) or np.any(nv[at] != joint.nv):
            what = "is not known here" if joint is None else "has other sizes here"
            raise ModelError(
                f"a pickled Tree: its joint type {name!r} {what}; call add_joint_type with it before loading"
            )
        found[at] = joint.code
    return found


def add_joint_type(joint: type[JointType]) -> type[JointType]:
    """Make a joint type known by its name; it gets the next free code. Robots made before keep the types they have.

    ModelError if the name is one of the package's, its code is not free, or its rates contradict its axes.
    """
    free = len(JOINT_TYPES)
    if (known := BY_NAME.get(joint.name)) is not None and known.__module__ == __name__:
        raise ModelError(f"joint type {joint.name!r}: there is one of this name; choose another")
    if "code" in vars(joint) and joint.code != free:
        raise ModelError(
            f"joint type {joint.name!r}: expected no code, or the next free one, {free}; found {joint.code}"
        )
    if free >= AnyScrew.code:
        raise ModelError(f"joint type {joint.name!r}: expected at most {AnyScrew.code} types")
    _check_rates(joint)
    joint.code = free
    JOINT_TYPES.append(joint)
    BY_NAME[joint.name] = joint
    return joint


def _check_rates(joint: type[JointType]) -> None:
    """Compare what a joint says of its axes' rates with differences of its axes."""
    step, close = 1e-6, 1e-6
    q = joint.integrate(Dofs(joint.neutral().tolist()), Dofs([0.3 + 0.2 * i for i in range(joint.nv)]))
    v = Dofs([0.9 - 0.4 * i for i in range(joint.nv)])
    units = [Dofs([float(i == j) for j in range(joint.nv)]) for i in range(joint.nv)]

    def moved(by: Dofs, sign: int) -> Dofs:
        return joint.integrate(q, Dofs([sign * step * x for x in by]))

    def check(method: str, found: Motion, ahead: Motion, behind: Motion) -> None:
        numbers = zip(found.components, ahead.components, behind.components, strict=True)
        if not all(abs(x - (a - b) / (2 * step)) < close for x, a, b in numbers):
            raise ModelError(
                f"joint type {joint.name!r}: {method} is not the derivative that differences give; correct it"
            )

    ahead, behind = joint.axes(moved(v, 1), 0.0).columns, joint.axes(moved(v, -1), 0.0).columns
    for rate, a, b in zip(joint.axis_rates(q, v), ahead, behind, strict=True):
        check("axis_rates", rate, a, b)
    total = [joint.axes(moved(v, sign), 0.0).T @ v for sign in (1, -1)]
    check("axes_rate", joint.axes_rate(q, v), *total)
    for slope, unit in zip(joint.axes_rate_slopes(q, v), units, strict=True):
        check("axes_rate_slopes", slope, joint.axes_rate(moved(unit, 1), v), joint.axes_rate(moved(unit, -1), v))
