"""Where joint coordinates live: the NumPy side of the joint types, shared by those with the same kind of coordinates.

Every method works on arrays whose last axis is one joint's coordinates (nq) or speeds (nv); all other axes, samples and
joints of the same type, broadcast. Speeds are the joint's motion seen in the child's canonical frame, so `integrate`
multiplies by an exponential on the right, and `difference` is its inverse.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from catena.model import lie

Array = npt.NDArray[Any]


class Space:
    """Numbers that are simply added: angles and displacements. The base of the spaces that are not flat."""

    nq: ClassVar[int]
    nv: ClassVar[int]
    angles: ClassVar[tuple[bool, ...]]  # per coordinate: an angle (rad) or a length (m)?
    flat: ClassVar[bool] = True  # q + dv is all there is to integrate

    @classmethod
    def neutral(cls) -> Array:
        """The coordinates at which the joint does nothing, (nq,)."""
        return np.zeros(cls.nq)

    @classmethod
    def random(cls, rng: np.random.Generator, lower: Array, upper: Array, shape: tuple[int, ...] = ()) -> Array:
        """Uniform between the limits; unlimited angles in (-π, π], unlimited lengths in (-1, 1)."""
        return _uniform(rng, np.array(cls.angles), lower, upper, shape)

    @classmethod
    def integrate(cls, q: Array, dv: Array) -> Array:
        """Where the joint is after moving from q at speed dv for unit time."""
        return q + dv

    @classmethod
    def difference(cls, q0: Array, q1: Array) -> Array:
        """The constant speed that leads from q0 to q1 in unit time."""
        return q1 - q0

    @classmethod
    def normalize(cls, q: Array) -> Array:
        """q with quaternions of unit length; nothing else changes."""
        return q


class Plane(Space):
    """SE(2): q = (x, y, θ), speeds (vx, vy, ω) in the moving frame. `difference` takes the shorter way round."""

    angles = (False, False, True)
    flat = False

    @classmethod
    def integrate(cls, q: Array, dv: Array) -> Array:
        """Where the joint is after moving from q at speed dv for unit time."""
        step = lie.plane_exp(dv)
        return np.concatenate([q[..., :2] + _turn(q[..., 2], step[..., :2]), q[..., 2:] + step[..., 2:]], axis=-1)

    @classmethod
    def difference(cls, q0: Array, q1: Array) -> Array:
        """The constant speed that leads from q0 to q1 in unit time."""
        turn = q1[..., 2:] - q0[..., 2:]
        turn = turn - 2 * np.pi * np.round(turn / (2 * np.pi))
        return lie.plane_log(np.concatenate([_turn(-q0[..., 2], q1[..., :2] - q0[..., :2]), turn], axis=-1))


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
        return lie.quaternion_normalized(rng.standard_normal(shape + np.shape(lower)))

    @classmethod
    def integrate(cls, q: Array, dv: Array) -> Array:
        """Where the joint is after turning from q at speed dv for unit time."""
        return lie.quaternion_normalized(lie.quaternion_product(lie.quaternion_normalized(q), lie.quaternion_exp(dv)))

    @classmethod
    def difference(cls, q0: Array, q1: Array) -> Array:
        """The constant speed that leads from q0 to q1 in unit time."""
        q0, q1 = lie.quaternion_normalized(q0), lie.quaternion_normalized(q1)
        return lie.quaternion_log(lie.quaternion_product(lie.quaternion_conjugate(q0), q1))

    @classmethod
    def normalize(cls, q: Array) -> Array:
        """The unit quaternion along q."""
        return lie.quaternion_normalized(q)


class Pose(Space):
    """SE(3): q = position (3), quaternion x, y, z, w; speeds (ω, v) in the moving frame."""

    angles = (False,) * 7
    flat = False

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
    def integrate(cls, q: Array, dv: Array) -> Array:
        """Where the joint is after moving from q at the twist dv for unit time."""
        turn = lie.quaternion_normalized(q[..., 3:])
        step, shift = lie.pose_exp(dv[..., :3], dv[..., 3:])
        position = q[..., :3] + lie.rotate(turn, shift)
        return np.concatenate([position, lie.quaternion_normalized(lie.quaternion_product(turn, step))], axis=-1)

    @classmethod
    def difference(cls, q0: Array, q1: Array) -> Array:
        """The constant twist that leads from q0 to q1 in unit time."""
        back = lie.quaternion_conjugate(lie.quaternion_normalized(q0[..., 3:]))
        step = lie.quaternion_product(back, lie.quaternion_normalized(q1[..., 3:]))
        return np.concatenate(lie.pose_log(step, lie.rotate(back, q1[..., :3] - q0[..., :3])), axis=-1)

    @classmethod
    def normalize(cls, q: Array) -> Array:
        """q with a quaternion of unit length."""
        return np.concatenate([q[..., :3], lie.quaternion_normalized(q[..., 3:])], axis=-1)


def _turn(angle: Array, vector: Array) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * vector[..., 0] - s * vector[..., 1], s * vector[..., 0] + c * vector[..., 1]], axis=-1)


def _uniform(rng: np.random.Generator, angle: Array, lower: Array, upper: Array, shape: tuple[int, ...]) -> Array:
    """Uniform in [lower, upper]; a missing bound is that of the usual range, or makes it as wide."""
    half = np.where(angle, np.pi, np.nextafter(1.0, 0.0))
    low = np.where(np.isfinite(lower), lower, np.where(upper > -half, -half, upper - 2 * half))
    high = np.where(np.isfinite(upper), upper, np.where(lower < half, half, lower + 2 * half))
    part = 1.0 - rng.random(shape + low.shape)  # in (0, 1]
    return np.clip(low * (1 - part) + high * part, low, high)
