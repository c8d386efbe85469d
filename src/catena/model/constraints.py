"""Constraints that close loops: what they hold between two frames, over any scalar, and couplings of joints.

A constraint looks at its second frame from its first: R and p are the second frame's axes and origin there. It holds
`residual(R, p)` at zero. On the level of velocities it holds the rates along `directions(R, p)`: wrenches (moment,
force) of unit size in the first frame's axes, about the second frame's origin, whose power on the relative velocity is
zero. On the page of closed chains they are the columns of Q; wrenches that the constraint exerts are sums of them.
Directions are at most linear in R and p, so that their rates are the linear part, at the rates of R and p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model import checks
from catena.model.axes import axis_frame, direction, two_axis_frame
from catena.model.lie import rotation_from
from catena.model.numbers import a_name, number
from catena.model.parts import JointPart, Parts
from catena.scalars import Scalar, arctan2, sqrt, where
from catena.spatial import Force, Mat3, Vec3
from catena.spatial.quaternion import Quaternion

Array = npt.NDArray[Any]

ORIGIN = (0.0, 0.0, 0.0)


class Side(NamedTuple):
    """The frame that a constraint holds on one side: `rotation` and `position` place it in the frame named `frame`."""

    frame: str
    rotation: Array
    position: Array


class Constraint:
    """What is held between two frames of a system.

    Args:
        first: a frame, such as "left/tool", "box" or "world".
        second: another frame.
        position: where in the first frame it is held, 3 numbers in m.
        rotation: the axes there: a 3x3 matrix, 3 angles in rad (roll, pitch, yaw) or a quaternion x, y, z, w.
        second_position: where in the second frame.
        second_rotation: the axes there.
        name: what messages and results call it; made from its kind and its frames if left out.
    """

    holds: ClassVar[int]
    """How many directions it holds."""
    moments: ClassVar[int] = 0
    """How many of them are moments; these come first."""

    def __init__(
        self,
        first: str,
        second: str,
        position: npt.ArrayLike = ORIGIN,
        rotation: npt.ArrayLike | None = None,
        *,
        second_position: npt.ArrayLike = ORIGIN,
        second_rotation: npt.ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        for frame in (first, second):
            a_name(f"a {type(self).__name__}: expected the name of a frame", frame)
        self.name = f"{type(self).__name__} {first} - {second}" if name is None else a_name("name: expected one", name)
        turn = self._turn()
        self.sides = (
            self._side(first, rotation, position, turn),
            self._side(second, second_rotation, second_position, turn),
        )

    def _turn(self) -> Array:
        """From the axes that the user means to those of the formulas, on both sides."""
        return np.eye(3)

    def _side(self, frame: str, rotation: npt.ArrayLike | None, position: npt.ArrayLike, turn: Array) -> Side:
        try:
            turned = np.eye(3) if rotation is None else rotation_from(rotation)
            part = JointPart(self.name, "fixed", frame, "", turned, position)
            rotations, positions = checks.joint_placements(Parts(JointPart, [part]))
        except ModelError as error:
            raise ModelError(f"constraint {self.name!r}: {error}") from None
        return Side(frame, rotations[0] @ turn, positions[0])

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """How far it is from being met: m and rad, one number for each direction."""
        raise NotImplementedError

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """The wrenches along which it holds."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def arguments(self) -> dict[str, Any]:
        """Plain numbers and strings that make the same constraint again, bit by bit, with axes as they are left out."""
        first, second = self.sides
        return {
            "first": first.frame,
            "second": second.frame,
            "position": first.position.tolist(),
            "rotation": first.rotation.tolist(),
            "second_position": second.position.tolist(),
            "second_rotation": second.rotation.tolist(),
            "name": self.name,
        }

    def content(self) -> str:
        """Everything that it is, as text: equal texts mean equal constraints."""
        numbers = [[side.frame, side.rotation.tolist(), side.position.tolist()] for side in self.sides]
        return f"{type(self).__name__} {numbers!r}"


def _force(*linear: Scalar) -> Force:
    return Force(Vec3.zero(), Vec3(*linear))


def _moment(*angular: Scalar) -> Force:
    return Force(Vec3(*angular), Vec3.zero())


_FORCES = (_force(1, 0, 0), _force(0, 1, 0), _force(0, 0, 1))
_MOMENTS = (_moment(1, 0, 0), _moment(0, 1, 0), _moment(0, 0, 1))


class Weld(Constraint):
    """A rigid grasp: the two frames stay together. It holds all six directions, Q = I."""

    holds = 6
    moments = 3

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """The turn from the first frame's axes to the second's as a vector, then the distance."""
        return [*Quaternion.of_matrix(R).log.omega, *p]

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """Three moments, three forces."""
        return [*_MOMENTS, *_FORCES]


class FixedToWorld(Weld):
    """A frame that is held where it is given in the world: a weld to the world."""

    def __init__(
        self,
        frame: str,
        position: npt.ArrayLike = ORIGIN,
        rotation: npt.ArrayLike | None = None,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__("world", frame, position, rotation, name=name or f"FixedToWorld {frame}")

    def arguments(self) -> dict[str, Any]:
        """The frame, and where it is held."""
        found = super().arguments()
        return {"frame": found["second"], **{key: found[key] for key in ("position", "rotation", "name")}}


class Ball(Constraint):
    """Two points that stay together, free to turn: a ball joint."""

    holds = 3

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """The distance, as a vector."""
        return [*p]

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """Three forces."""
        return [*_FORCES]


class PointWithFriction(Ball):
    """A point contact with friction, without slipping: Q = [0; I₃]. It pulls as well as it pushes."""


class AlongAxis(Constraint):
    """A constraint with an axis: a letter ("x", "-z") or 3 numbers, the same in the frames of both sides."""

    def __init__(self, first: str, second: str, axis: Any = "z", **places: Any) -> None:
        self._axis = direction(axis)
        super().__init__(first, second, **places)

    def _turn(self) -> Array:
        return axis_frame(self._axis)


class Hinge(AlongAxis):
    """Two points and two axes that stay together: a revolute joint. The axis is one of both frames."""

    holds = 5
    moments = 2

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """The turn from the first frame's axis to the second's as a vector across it, then the distance."""
        x, y, c = R.xz, R.yz, R.zz
        squared = x * x + y * y
        small = squared < 1e-8
        sine = sqrt(where(small, 1.0, squared))
        ratio = where(small, 1 + squared * (1 / 6), arctan2(sine, c) / sine)  # θ / sin θ
        opposed = where(c < 0, pi, -(y * ratio))  # half a turn about any axis across
        return [where(small, opposed, -(y * ratio)), x * ratio, *p]

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """Two moments across the axis, three forces."""
        return [*_MOMENTS[:2], *_FORCES]


class Slider(AlongAxis):
    """Axes that stay parallel, and a point that slides along one of the first frame's: a prismatic joint."""

    holds = 5
    moments = 3

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """The turn, then the distance from the axis."""
        return [*Quaternion.of_matrix(R).log.omega, p.x, p.y]

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """Three moments, two forces across the axis."""
        return [*_MOMENTS, *_FORCES[:2]]


class Universal(Constraint):
    """Two points that stay together; `axis` of the first frame stays perpendicular to `axis2` of the second."""

    holds = 4
    moments = 1

    def __init__(self, first: str, second: str, axis: Any = "z", axis2: Any = "x", **places: Any) -> None:
        self._axes = direction(axis), direction(axis2)
        if abs(float(self._axes[0] @ self._axes[1])) > 1e-6:
            raise ModelError(
                f"a universal constraint needs two perpendicular axes, found {shown(axis)} and {shown(axis2)}"
            )
        super().__init__(first, second, **places)

    def _turn(self) -> Array:
        return two_axis_frame(*self._axes)

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """The cosine between the axes, then the distance."""
        return [R.zx, *p]

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """A moment across both axes, three forces. The rate of z·x₂ is the power of x₂ × z."""
        x, y, _ = R.columns[0]
        return [_moment(y, -x, 0), *_FORCES]


class Distance(Constraint):
    """Two points at a constant distance in m: a rod with balls at its ends, without mass."""

    holds = 1

    def __init__(self, first: str, second: str, distance: float, **places: Any) -> None:
        self.distance = number(f"the distance between {first!r} and {second!r}", distance)
        if not self.distance > 0:
            raise ModelError(
                f"the distance between {first!r} and {second!r}: expected a positive number, found {shown(distance)}; "
                "Ball holds two points together"
            )
        super().__init__(first, second, **places)

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """(|p|² − d²) / 2d, which is |p| − d near zero and smooth everywhere."""
        return [(p.dot(p) * (1 / self.distance) - self.distance) * 0.5]

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """A force along the rod."""
        return [Force(Vec3.zero(), p * (1 / self.distance))]

    def arguments(self) -> dict[str, Any]:
        """With the distance."""
        return {**super().arguments(), "distance": self.distance}

    def content(self) -> str:
        """With the distance."""
        return f"{super().content()} {self.distance!r}"


class PointOnPlane(AlongAxis):
    """A point of the second frame that stays in a plane of the first; `axis` is the plane's normal."""

    holds = 1

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """The height above the plane."""
        return [p.z]

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """A force along the normal."""
        return [_FORCES[2]]


class FrictionlessPoint(PointOnPlane):
    """A point contact without friction: Q = [0; n], n the normal `axis`. It pulls as well as it pushes."""


class SoftFinger(AlongAxis):
    """A soft finger: a point contact with friction that also holds turns about the normal `axis`.

    Q = [n 0; 0 I₃]. It pulls as well as it pushes. Turns about the normal are held on the level of velocities alone:
    with the other turns free, no position belongs to them.
    """

    holds = 4
    moments = 1

    def residual(self, R: Mat3, p: Vec3) -> list[Scalar]:
        """Nothing for the turn about the normal, then the distance."""
        return [0, *p]

    def directions(self, R: Mat3, p: Vec3) -> list[Force]:
        """A moment about the normal, three forces."""
        return [_MOMENTS[2], *_FORCES]


class Coupling:
    """Joints of one degree of freedom that move together: Σ p_j(q_j) = offset, as gears and differentials do.

        catena.Coupling({"left/wheel": 1.0, "left/motor": -50.0})

    Args:
        joints: for each joint its ratio, or several numbers: the coefficients of q, q², q³, …
        offset: what the sum is held at, in the unit of the terms.
        name: what messages and results call it.
    """

    holds = 1
    moments = 0

    def __init__(
        self, joints: Mapping[str, float | Sequence[float]], offset: float = 0.0, *, name: str | None = None
    ) -> None:
        if not isinstance(joints, Mapping) or not joints:
            raise ModelError("a coupling: expected a mapping from joints to ratios, such as {'a': 1.0, 'b': -2.0}")
        for joint in joints:
            a_name("a coupling: expected names of joints", joint)
        self.name = f"Coupling {' - '.join(map(str, joints))}" if name is None else a_name("name: expected one", name)
        self.offset = number(f"the offset of {self.name!r}", offset)
        self.terms = {str(joint): self._coefficients(joint, ratio) for joint, ratio in joints.items()}

    def _coefficients(self, joint: str, ratio: Any) -> tuple[float, ...]:
        several = isinstance(ratio, Sequence) or (isinstance(ratio, np.ndarray) and ratio.ndim > 0)
        given = list(ratio) if several else [ratio]
        found = tuple(number(f"the ratio of {joint!r} in {self.name!r}", x) for x in given)
        if not any(found):
            raise ModelError(
                f"the ratio of {joint!r} in {self.name!r}: expected one that is not zero, found {shown(ratio)}"
            )
        return found

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def arguments(self) -> dict[str, Any]:
        """Plain numbers and strings that make the same coupling again."""
        return {"joints": {joint: list(c) for joint, c in self.terms.items()}, "offset": self.offset, "name": self.name}

    def content(self) -> str:
        """Everything that it is, as text."""
        return f"Coupling {self.terms!r} {self.offset!r}"


AnyConstraint = Constraint | Coupling
