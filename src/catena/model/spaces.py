"""Where joint coordinates live: what joint types with the same kind of coordinates share.

`integrate`, `difference`, `normalize`, `rates` and `speeds` take and give one joint's coordinates (nq) or speeds (nv)
as scalars of any kind. Speeds are the joint's motion seen in the child's canonical frame, so `integrate` multiplies by
an exponential on the right, and `difference` is its inverse. `neutral` and `random` are arrays: their last axis is one
joint's coordinates; all other axes, samples and joints of the same type, broadcast.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from catena.model.lie import quaternion_normalized
from catena.scalars import Scalar, nearest, sincos, unless_lost
from catena.spatial import Dofs, Mat3, Vec3
from catena.spatial.quaternion import Quaternion, half_turn, pose_exp, quaternion_exp

Array = npt.NDArray[Any]


class Space:
    """Numbers that are simply added: angles and displacements. The base of the spaces that are not flat."""

    nq: ClassVar[int]
    nv: ClassVar[int]
    angles: ClassVar[tuple[bool, ...]]  # per coordinate: an angle (rad) or a length (m)?
    flat: ClassVar[bool] = True  # q + dv is all there is to integrate
    swings: ClassVar[bool] = False  # has velocities of a point in axes that turn: `advance` turns them along

    @classmethod
    def neutral(cls) -> Array:
        """The coordinates at which the joint does nothing, (nq,)."""
        return np.zeros(cls.nq)

    @classmethod
    def random(cls, rng: np.random.Generator, lower: Array, upper: Array, shape: tuple[int, ...] = ()) -> Array:
        """Uniform between the limits; unlimited angles in (-π, π], unlimited lengths in (-1, 1)."""
        return _uniform(rng, np.array(cls.angles), lower, upper, shape)

    @classmethod
    def integrate(cls, q: Dofs, dv: Dofs) -> Dofs:
        """Where the joint is after moving from q at speed dv for unit time."""
        return q + dv

    @classmethod
    def advance(cls, q: Dofs, v: Dofs, a: Dofs, dt: Scalar) -> tuple[Dofs, Dofs]:
        """Coordinates and speeds after a step of Euler's with the new speeds in q; a is the rate of v."""
        v1 = v + a.scaled(dt)
        return cls.integrate(q, v1.scaled(dt)), v1

    @classmethod
    def shifted(cls, q: Dofs, p: Vec3) -> Dofs:
        """q with the origin at p, as seen from the joint's place on the parent, so far as the joint lets it."""
        return q

    @classmethod
    def difference(cls, q0: Dofs, q1: Dofs) -> Dofs:
        """The constant speed that leads from q0 to q1 in unit time."""
        return q1 - q0

    @classmethod
    def normalize(cls, q: Dofs) -> Dofs:
        """q with quaternions of unit length; nothing else changes."""
        return q

    @classmethod
    def rates(cls, q: Dofs, v: Dofs) -> Dofs:
        """How fast the coordinates (nq) change at speeds v (nv): the derivative of integrate(q, t v) at t = 0.

        Quaternions may have any length, which then does not change.
        """
        return v

    @classmethod
    def speeds(cls, q: Dofs, rates: Dofs) -> Dofs:
        """The speeds at which coordinates change like that: undoes `rates`."""
        return rates


class Plane(Space):
    """SE(2): q = (x, y, θ), speeds (vx, vy, ω) in the moving frame. `difference` takes the shorter way round."""

    angles = (False, False, True)
    flat, swings = False, True

    @classmethod
    def integrate(cls, q: Dofs, dv: Dofs) -> Dofs:
        """Where the joint is after moving from q at speed dv for unit time."""
        (x, y, angle), (vx, vy, turn) = q, dv
        sinc, cosine = half_turn(turn * turn)
        along, across = sinc * cosine, sinc * sinc * (turn * 0.5)
        shift = _turned(angle, along * vx - across * vy, across * vx + along * vy)
        return Dofs([x + shift[0], y + shift[1], angle + turn])

    @classmethod
    def advance(cls, q: Dofs, v: Dofs, a: Dofs, dt: Scalar) -> tuple[Dofs, Dofs]:
        """A step; the velocity changes in axes that do not turn, as :meth:`Pose.advance` says."""
        (x, y, angle), (vx, vy, omega), (ax, ay, alpha) = q, v, a
        omega1 = omega + dt * alpha
        ux, uy = vx + dt * (ax - omega * vy), vy + dt * (ay + omega * vx)
        shift, turn = _turned(angle, ux, uy), dt * omega1
        return Dofs([x + dt * shift[0], y + dt * shift[1], angle + turn]), Dofs([*_turned(-turn, ux, uy), omega1])

    @classmethod
    def shifted(cls, q: Dofs, p: Vec3) -> Dofs:
        """q with the origin at p, but for what leads out of the plane."""
        return Dofs([p.x, p.y, q[2]])

    @classmethod
    def difference(cls, q0: Dofs, q1: Dofs) -> Dofs:
        """The constant speed that leads from q0 to q1 in unit time."""
        turn = q1[2] - q0[2]
        turn = turn - 2 * math.pi * nearest(turn / (2 * math.pi))
        x, y = _turned(-q0[2], q1[0] - q0[0], q1[1] - q0[1])
        sinc, cosine = half_turn(turn * turn)
        along, across = cosine / sinc, turn * 0.5
        return Dofs([along * x + across * y, along * y - across * x, turn])

    @classmethod
    def rates(cls, q: Dofs, v: Dofs) -> Dofs:
        """How fast the coordinates change at speeds v."""
        return Dofs([*_turned(q[2], v[0], v[1]), v[2]])

    @classmethod
    def speeds(cls, q: Dofs, rates: Dofs) -> Dofs:
        """The speeds at which coordinates change like that."""
        return Dofs([*_turned(-q[2], rates[0], rates[1]), rates[2]])


class Rotation(Space):
    """SO(3): q a quaternion x, y, z, w, speeds ω in the moving frame. `difference` takes the shorter way round."""

    angles = (False, False, False, False)
    flat = False

    @classmethod
    def neutral(cls) -> Array:
        """No turn, (4,)."""
        return np.array([0.0, 0.0, 0.0, 1.0])

    @classmethod
    def random(cls, rng: np.random.Generator, lower: Array, upper: Array, shape: tuple[int, ...] = ()) -> Array:
        """Uniform over all rotations: bounds on the parts of a quaternion mean nothing and are ignored."""
        return quaternion_normalized(rng.standard_normal(shape + np.shape(lower)))

    @classmethod
    def integrate(cls, q: Dofs, dv: Dofs) -> Dofs:
        """Where the joint is after turning from q at speed dv for unit time."""
        return Dofs([*(Quaternion.of(q.values).unit @ quaternion_exp(Vec3(*dv))).straightened])

    @classmethod
    def advance(cls, q: Dofs, v: Dofs, a: Dofs, dt: Scalar) -> tuple[Dofs, Dofs]:
        """A step; the link is :func:`spun`."""
        v1 = Dofs([*spun(Vec3(*v), Vec3(*a), dt)])
        return cls.integrate(q, v1.scaled(dt)), v1

    @classmethod
    def difference(cls, q0: Dofs, q1: Dofs) -> Dofs:
        """The constant speed that leads from q0 to q1 in unit time."""
        step = Quaternion.of(q0.values).unit.inverse @ Quaternion.of(q1.values).unit
        return Dofs([*step.log.omega])

    @classmethod
    def normalize(cls, q: Dofs) -> Dofs:
        """The unit quaternion along q."""
        return Dofs([*Quaternion.of(q.values).unit])

    @classmethod
    def rates(cls, q: Dofs, v: Dofs) -> Dofs:
        """How fast the quaternion changes at the angular velocity v."""
        return Dofs([*Quaternion.of(q.values) @ Quaternion(Vec3(*v) * 0.5, 0)])

    @classmethod
    def speeds(cls, q: Dofs, rates: Dofs) -> Dofs:
        """The angular velocity at which the quaternion changes like that."""
        turn = Quaternion.of(q.values)
        return Dofs([*(turn.inverse @ Quaternion.of(rates.values)).vector * (2 / turn.squared)])


class Pose(Space):
    """SE(3): q = position (3), quaternion x, y, z, w; speeds (ω, v) in the moving frame."""

    angles = (False,) * 7
    flat, swings = False, True

    @classmethod
    def neutral(cls) -> Array:
        """At the origin, not turned, (7,)."""
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

    @classmethod
    def random(cls, rng: np.random.Generator, lower: Array, upper: Array, shape: tuple[int, ...] = ()) -> Array:
        """Position uniform between its limits (unlimited: in (-1, 1)), orientation uniform over all rotations."""
        lower, upper = np.asarray(lower), np.asarray(upper)
        position = _uniform(rng, np.zeros(3, bool), lower[..., :3], upper[..., :3], shape)
        return np.concatenate([position, Rotation.random(rng, lower[..., 3:], upper[..., 3:], shape)], axis=-1)

    @classmethod
    def integrate(cls, q: Dofs, dv: Dofs) -> Dofs:
        """Where the joint is after moving from q at the twist dv for unit time."""
        position, turn = _parted(q)
        step, shift = pose_exp(Vec3(*dv.values[:3]), Vec3(*dv.values[3:]))
        return Dofs([*(position + turn.rotate(shift)), *(turn @ step).straightened])

    @classmethod
    def advance(cls, q: Dofs, v: Dofs, a: Dofs, dt: Scalar) -> tuple[Dofs, Dofs]:
        """A step; the velocity of the origin changes in axes that do not turn, and is then seen from the turned ones.

        Speeds v in turning axes have rates a that hold −ω × v. A whole step of that would lead along a tangent of the
        circle that v makes there, each time to a longer v. Without forces a body now goes straight on, as fast as ever.
        It is :func:`spun`.
        """
        position, turn = _parted(q)
        angular, linear = Vec3(*v.values[:3]), Vec3(*v.values[3:])
        angular1 = spun(angular, Vec3(*a.values[:3]), dt)
        moving = linear + (Vec3(*a.values[3:]) + angular.cross(linear)) * dt
        step = quaternion_exp(angular1 * dt)
        q1 = Dofs([*(position + turn.rotate(moving * dt)), *(turn @ step).straightened])
        return q1, Dofs([*angular1, *step.inverse.rotate(moving)])

    @classmethod
    def shifted(cls, q: Dofs, p: Vec3) -> Dofs:
        """q with the origin at p."""
        return Dofs([*p, *q.values[3:]])

    @classmethod
    def difference(cls, q0: Dofs, q1: Dofs) -> Dofs:
        """The constant twist that leads from q0 to q1 in unit time."""
        (start, turn), (end, turned) = _parted(q0), _parted(q1)
        step = (turn.inverse @ turned).log
        return Dofs([*step.omega, *step.velocity(turn.inverse.rotate(end - start))])

    @classmethod
    def normalize(cls, q: Dofs) -> Dofs:
        """q with a quaternion of unit length."""
        position, turn = _parted(q)
        return Dofs([*position, *turn])

    @classmethod
    def rates(cls, q: Dofs, v: Dofs) -> Dofs:
        """How fast position and quaternion change at the twist v."""
        turn = Dofs(q.values[3:])
        moved = rotation_of_quaternion(*turn) @ Vec3(*v.values[3:])
        return Dofs([*moved, *Rotation.rates(turn, Dofs(v.values[:3]))])

    @classmethod
    def speeds(cls, q: Dofs, rates: Dofs) -> Dofs:
        """The twist at which position and quaternion change like that."""
        turn = Dofs(q.values[3:])
        shift = rotation_of_quaternion(*turn).T @ Vec3(*rates.values[:3])
        return Dofs([*Rotation.speeds(turn, Dofs(rates.values[3:])), *shift])


def spun(w: Vec3, wdot: Vec3, dt: Scalar) -> Vec3:
    """The angular velocity of a link, in its own axes, after a step with the rate wdot.

    dt ω̇ alone leads along a tangent, and a body that spins freely gains ½ dt² ω̇ᵀ I ω̇ each time. The axes turn on
    meanwhile, by ½ dt ω on the average: with ½ dt² ω̇ × ω a moment τ = I ω̇ + ω × I ω does the work that it does in the
    middle of the step, dt (ω + ½ dt ω̇)ᵀ τ, to the third order in dt, whatever the inertia I is.
    """
    turned: Vec3 = w + (wdot + wdot.cross(w) * (0.5 * dt)) * dt
    return turned


def _parted(q: Dofs) -> tuple[Vec3, Quaternion]:
    """The position and the rotation of a pose."""
    return Vec3(*q.values[:3]), Quaternion.of(q.values[3:]).unit


def rotation_of_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Mat3:
    """The rotation along a quaternion of any length whose square is a number above zero; otherwise NaN."""
    squared = x * x + y * y + z * z + w * w
    t = unless_lost(2 / squared, squared)  # an infinite t makes every product with it NaN
    tx, ty, tz = t * x, t * y, t * z
    xx, yy, zz, xy, xz, yz = x * tx, y * ty, z * tz, x * ty, x * tz, y * tz
    wx, wy, wz = w * tx, w * ty, w * tz
    return Mat3(1 - (yy + zz), xy - wz, xz + wy, xy + wz, 1 - (xx + zz), yz - wx, xz - wy, yz + wx, 1 - (xx + yy))


def _turned(angle: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    s, c = sincos(angle)
    return c * x - s * y, s * x + c * y


def _uniform(rng: np.random.Generator, angle: Array, lower: Array, upper: Array, shape: tuple[int, ...]) -> Array:
    """Uniform in [lower, upper]; a missing bound is that of the usual range, or makes it as wide."""
    half = np.where(angle, np.pi, np.nextafter(1.0, 0.0))
    low = np.where(np.isfinite(lower), lower, np.where(upper > -half, -half, upper - 2 * half))
    high = np.where(np.isfinite(upper), upper, np.where(lower < half, half, lower + 2 * half))
    part = 1.0 - rng.random(shape + low.shape)  # in (0, 1]
    return np.clip(low * (1 - part) + high * part, low, high)
