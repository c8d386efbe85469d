"""Rotations and poses as arrays: quaternions (..., 4) in the order x, y, z, w, matrices (..., 3, 3) and (..., 4, 4).

Exponentials and logarithms are in :mod:`catena.spatial.quaternion`, over any scalar.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model.numbers import floats

Array = npt.NDArray[Any]


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


def rotation_matrix(quaternion: Array) -> Array:
    """The 3x3 matrix of a unit quaternion."""
    return np.stack([rotate(quaternion, unit) for unit in np.eye(3)], axis=-1)


def skew(vector: Array) -> Array:
    """The matrices ṽ (..., 3, 3) of vectors v (..., 3): ṽ x = v × x."""
    return np.cross(vector[..., None, :], -np.eye(3)) + 0.0


def pose_matrix(rotation: Array, position: Array) -> Array:
    """The matrices (..., 4, 4) of rotations (..., 3, 3) and positions (..., 3); leading dimensions broadcast."""
    leading = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    made = np.zeros((*leading, 4, 4))
    made[..., :3, :3], made[..., :3, 3], made[..., 3, 3] = rotation, position, 1.0
    return made


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


def rotation_from(rotation: npt.ArrayLike) -> Any:
    """The rotation matrix of 3 angles (roll, pitch, yaw) or of a quaternion x, y, z, w; others as they are given."""
    try:
        numbers = floats(rotation)
    except ValueError:
        return rotation
    if numbers.shape == (3,) and np.isfinite(numbers).all():
        roll, pitch, yaw = numbers
        return turn_about("z", yaw) @ turn_about("y", pitch) @ turn_about("x", roll)
    if numbers.shape == (4,):
        if not numbers.any() or not np.isfinite(numbers).all():
            raise ModelError(f"rotation: expected a quaternion x, y, z, w that is not zero, found {shown(rotation)}")
        return rotation_matrix(quaternion_normalized(numbers))
    return numbers
