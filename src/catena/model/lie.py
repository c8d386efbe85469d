"""Rotations and rigid motions with NumPy: exponentials, logarithms, quaternions x, y, z, w. All broadcast.

Functions take arrays (..., 3), (..., 4) or (..., 3, 3). Coefficients that cancel near zero switch to their series.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_SERIES_BELOW = 0.5


def _horner(x: Array, coefficients: tuple[float, ...]) -> Array:
    total = np.full_like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def sinc(x: Array) -> Array:
    """sin(x) / x, 1 at zero."""
    return np.sinc(x / np.pi)


def _sine_excess(angle: Array) -> Array:
    """(θ - sin θ) / θ³."""
    small = np.abs(angle) < _SERIES_BELOW
    t = np.where(small, 1.0, angle)
    series = _horner(angle**2, (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800, -1 / 6227020800))
    return np.where(small, series, (t - np.sin(t)) / t**3)


def _half_cotangent_excess(angle: Array) -> Array:
    """(1 - (θ/2) cot(θ/2)) / θ², for |θ| < 2π."""
    small = np.abs(angle) < _SERIES_BELOW
    t = np.where(small, 1.0, angle)
    series = _horner(angle**2, (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000))
    return np.where(small, series, (1 - t / 2 / np.tan(t / 2)) / t**2)


def quaternion_product(a: Array, b: Array) -> Array:
    """The rotation b, then a."""
    va, wa, vb, wb = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = wa * vb + wb * va + np.cross(va, vb)
    return np.concatenate([vector, wa * wb - np.sum(va * vb, axis=-1, keepdims=True)], axis=-1)


def quaternion_conjugate(quaternion: Array) -> Array:
    """The inverse rotation."""
    return np.asarray(quaternion * np.array([-1.0, -1.0, -1.0, 1.0]))


def quaternion_normalized(quaternion: Array) -> Array:
    """The unit quaternion along `quaternion`; NaN where that is zero or not finite."""
    with np.errstate(all="ignore"):
        scaled = quaternion / np.max(np.abs(quaternion), axis=-1, keepdims=True)
        return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def rotate(quaternion: Array, vector: Array) -> Array:
    """`vector` turned by the unit `quaternion`."""
    axis, w = quaternion[..., :3], quaternion[..., 3:]
    twice = 2 * np.cross(axis, vector)
    return np.asarray(vector + w * twice + np.cross(axis, twice))


def quaternion_exp(omega: Array) -> Array:
    """The rotation by |omega| about omega."""
    half = np.linalg.norm(omega, axis=-1, keepdims=True) / 2
    return np.concatenate([omega * (sinc(half) / 2), np.cos(half)], axis=-1)


def quaternion_log(quaternion: Array) -> Array:
    """The shortest rotation vector of a unit quaternion, of length at most π."""
    q = np.where(quaternion[..., 3:] < 0, -quaternion, quaternion)
    sine, cosine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True), q[..., 3:]
    nonzero = np.where(sine == 0, 1.0, sine)
    return q[..., :3] * np.where(sine == 0, 2.0, 2 * np.arctan2(sine, cosine) / nonzero)


def pose_exp(omega: Array, velocity: Array) -> tuple[Array, Array]:
    """The rigid motion (quaternion, position) that the constant body twist (omega, velocity) makes in unit time."""
    angle = np.linalg.norm(omega, axis=-1, keepdims=True)
    once = np.cross(omega, velocity)
    position = velocity + sinc(angle / 2) ** 2 / 2 * once + _sine_excess(angle) * np.cross(omega, once)
    return quaternion_exp(omega), position


def pose_log(quaternion: Array, position: Array) -> tuple[Array, Array]:
    """The twist (omega, velocity) with `pose_exp(omega, velocity) == (quaternion, position)`, |omega| at most π."""
    omega = quaternion_log(quaternion)
    angle = np.linalg.norm(omega, axis=-1, keepdims=True)
    once = np.cross(omega, position)
    return omega, position - once / 2 + _half_cotangent_excess(angle) * np.cross(omega, once)


def plane_exp(twist: Array) -> Array:
    """The motion (x, y, θ) in the plane that the constant body twist (vx, vy, ω) makes in unit time."""
    vx, vy, angle = np.moveaxis(twist, -1, 0)
    along, across = sinc(angle), sinc(angle / 2) ** 2 * angle / 2
    return np.stack([along * vx - across * vy, across * vx + along * vy, angle], axis=-1)


def plane_log(motion: Array) -> Array:
    """The twist with `plane_exp(twist) == motion`; the angle must lie in [-π, π]."""
    x, y, angle = np.moveaxis(motion, -1, 0)
    along, across = 1 - angle**2 * _half_cotangent_excess(angle), angle / 2
    return np.stack([along * x + across * y, along * y - across * x, angle], axis=-1)


def rotation_matrix(quaternion: Array) -> Array:
    """The 3x3 matrix of a unit quaternion."""
    return np.stack([rotate(quaternion, unit) for unit in np.eye(3)], axis=-1)


def turn_about(axis: str, angle: npt.ArrayLike) -> Array:
    """Matrices (..., 3, 3) of turns by `angle` about "x", "y" or "z".

    Quarter turns come out exact: a sine or cosine below the rounding of π itself is taken as 0.
    """
    angle = np.asarray(angle, dtype=float)
    c, s = (np.where(np.abs(x) < 2.5e-16, 0.0, x) for x in (np.cos(angle), np.sin(angle)))
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    matrix = np.zeros((*angle.shape, 3, 3))
    matrix[..., i, i] = 1.0
    matrix[..., j, j] = matrix[..., k, k] = c
    matrix[..., j, k], matrix[..., k, j] = -s, s
    return matrix + 0.0
