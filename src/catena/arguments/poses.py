"""Poses as callers give them: 4 x 4 matrices, rotations with positions, positions or rotations alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, as_array
from catena.errors import ShapeError

Array = npt.NDArray[Any]

SLOPPY = 1e-6
"""How far from orthogonal a rotation matrix may be."""


class Target(NamedTuple):
    """A pose to be reached: rotations (..., 3, 3) or None, positions (..., 3) or None."""

    rotation: Array | None
    position: Array | None

    def seen_from(self, base: Target) -> Target:
        """The same target in the frame of a whole pose; leading dimensions broadcast."""
        if base.rotation is None or base.position is None:
            raise ShapeError("base must be a whole pose (..., 4, 4), or a pair (rotation, position)")
        back = np.swapaxes(base.rotation, -1, -2)
        turn = None if self.rotation is None else back @ self.rotation
        place = None if self.position is None else (back @ (self.position - base.position)[..., None])[..., 0]
        return Target(turn, place)


def target_of(value: Any, question: str, name: str) -> Target:
    """What is wanted of a frame: both parts of a pose, or one of them.

    A pose is (..., 4, 4), or a pair of a rotation and a position, of which one may be None; a position is (..., 3); a
    rotation is (..., 3, 3) in a pair, or one of SciPy's, in a pair or alone.
    """
    if _is_scipy(value):
        return Target(_rotation(value, question, name), None)
    if isinstance(value, tuple) and len(value) == 2:
        turn, place = value
        rotation = None if turn is None else _rotation(turn, question, f"{name}[0]")
        position = None if place is None else as_array(place, Port(f"{name}[1]", (3,)), question)
        if rotation is None and position is None:
            raise ShapeError(f"{question}: {name} must hold a rotation, a position or both, got neither")
        return Target(rotation, position)
    array = as_array(value, Port(name, ()), question)
    if array.shape[-2:] == (4, 4):
        pose = as_array(array, Port(name, (4, 4)), question)
        return Target(_checked(pose[..., :3, :3], question, name), pose[..., :3, 3])
    if array.ndim and array.shape[-1] == 3:
        return Target(None, as_array(array, Port(name, (3,)), question))
    raise ShapeError(
        f"{question}: {name} must be a pose (..., 4, 4), a position (..., 3), a pair (rotation, position) or one of "
        f"SciPy's rotations, got shape {array.shape}"
    )


def _is_scipy(value: Any) -> bool:
    """Whether this is a rotation of SciPy's, which is not imported for it."""
    return type(value).__name__ == "Rotation" and hasattr(value, "as_matrix")


def _rotation(value: Any, question: str, name: str) -> Array:
    matrix = value.as_matrix() if _is_scipy(value) else value
    return _checked(as_array(matrix, Port(name, (3, 3)), question), question, name)


def _checked(rotation: Array, question: str, name: str) -> Array:
    """The matrices, if all those that are finite turn and do nothing else."""
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(rotation @ np.swapaxes(rotation, -1, -2) - np.eye(3)).max(axis=(-1, -2), initial=0.0)
        wrong = np.argwhere((off > SLOPPY) | (np.linalg.det(rotation) < 0))
    if len(wrong):
        where = f"{name}[{', '.join(map(str, wrong[0]))}]" if wrong.shape[1] else name
        found = rotation[tuple(wrong[0])].tolist()
        raise ShapeError(f"{question}: {where} must have a rotation matrix (orthogonal, determinant 1), got {found}")
    return rotation
