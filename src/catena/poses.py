"""Poses as 4 x 4 matrices: made, taken apart, compared; exponentials and logarithms.

    from catena import poses

    tool = poses.pose(Rotation.from_euler("xyz", [0, 90, 0], degrees=True), (0.4, 0.0, 0.3))
    twist = poses.log(poses.relative(here, tool))  # from here to the tool, seen from here

A pose is (..., 4, 4): the rotation of a frame, whose columns are its axes, and the place of its origin, in m. A twist
is (..., 6), angular first: the constant velocity (ω, v) of a body, in its own frame, that leads from one pose to
another in unit time. Everything broadcasts over leading dimensions. Rotations are matrices (..., 3, 3), or SciPy's
`Rotation`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, as_array, batch_shape
from catena.arguments.poses import target_of
from catena.functions.recipes import times
from catena.model.lie import pose_matrix, rotation_matrix

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def pose(rotation: Any = None, position: npt.ArrayLike | None = None) -> Array:
    """A pose, (..., 4, 4), made of a rotation and a position (..., 3) in m; either may be left out."""
    if rotation is None and position is None:
        return np.eye(4)
    turn, place = target_of((rotation, position), "pose", "(rotation, position)")
    parts = [np.eye(3) if turn is None else turn, np.zeros(3) if place is None else place]
    batch_shape(parts, (Port("rotation", (3, 3)), Port("position", (3,))), "pose")
    return pose_matrix(*parts)


def inverse(pose: npt.ArrayLike) -> Array:
    """The pose of the first frame seen from the second, (..., 4, 4)."""
    rotation, position = _parts(pose, "inverse", "pose")
    back = np.swapaxes(rotation, -1, -2)
    return pose_matrix(back, -times(back, position))


def relative(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
    """The second pose as it is seen from the first, (..., 4, 4): first⁻¹ second."""
    (R, p), (S, s) = _parts(first, "relative", "first"), _parts(second, "relative", "second")
    batch_shape([p, s], (Port("first", (3,)), Port("second", (3,))), "relative")
    back = np.swapaxes(R, -1, -2)
    return pose_matrix(back @ S, times(back, s - p))


def exp(twist: npt.ArrayLike) -> Array:
    """The pose (..., 4, 4) that a twist (..., 6), angular first, leads to in unit time."""
    body = _body()
    q = body.integrate(body.neutral(), as_array(twist, Port("twist", (6,)), "exp"))
    return pose_matrix(rotation_matrix(q[..., 3:]), q[..., :3])


def log(pose: npt.ArrayLike) -> Array:
    """The twist (..., 6), angular first, that leads to a pose in unit time, by the shorter turn."""
    from scipy.spatial.transform import Rotation

    body, (rotation, position) = _body(), _parts(pose, "log", "pose")
    turn = Rotation.from_matrix(rotation.reshape(-1, 3, 3)).as_quat().reshape(*rotation.shape[:-2], 4)
    return np.asarray(body.difference(body.neutral(), np.concatenate([position, turn], axis=-1)))


@cache
def _body() -> Robot:
    """A free body, whose configurations are poses."""
    from catena.build import Builder

    return Builder("body").link("body", mass=1.0, inertia=np.eye(3)).build(base="floating")


def _parts(value: npt.ArrayLike, question: str, name: str) -> tuple[Array, Array]:
    array = as_array(value, Port(name, (4, 4)), question)
    rotation, position = target_of(array, question, name)
    assert rotation is not None
    assert position is not None
    return rotation, position
