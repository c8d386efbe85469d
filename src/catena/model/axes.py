"""Joint axes: from the directions a user gives to the canonical frame of the joint."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model.numbers import floats

Array = npt.NDArray[Any]


def unit(vectors: Array) -> Array:
    """`vectors` (..., 3) at unit length, safe for tiny and huge ones; they must not be zero."""
    scaled = vectors / np.max(np.abs(vectors), axis=-1, keepdims=True)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def axis_frame(axis: Array) -> Array:
    """Rotations (..., 3, 3) whose third column is the unit vector `axis`: z becomes `axis`.

    Along ±x, ±y, ±z it is a signed permutation, exact; along z the identity.
    """
    axis = np.asarray(axis, dtype=float)
    largest = np.argmax(np.abs(axis), axis=-1)
    sideways = np.eye(3)[(largest + 1) % 3]  # never parallel to the axis
    first = sideways - np.sum(sideways * axis, axis=-1, keepdims=True) * axis
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    return np.stack([first, np.cross(axis, first), axis], axis=-1) + 0.0


def two_axis_frame(axis: Array, second: Array) -> Array:
    """Rotations (..., 3, 3) that turn z into the unit vector `axis` and x into `second`, made perpendicular to it."""
    first = unit(second - np.sum(second * axis, axis=-1, keepdims=True) * axis)
    return np.stack([first, np.cross(axis, first), axis], axis=-1) + 0.0


def direction(axis: Any) -> Array:
    """A unit vector from a letter ("x", "-z", ...) or from 3 numbers; ModelError if it is neither, or zero."""
    if isinstance(axis, str):
        sign, letter = (-1.0, axis[1:]) if axis.startswith("-") else (1.0, axis)
        if letter not in ("x", "y", "z"):
            raise ModelError(f"axis: expected a letter such as 'z' or '-x', or 3 numbers, found {shown(axis)}")
        return np.asarray(sign * np.eye(3)["xyz".index(letter)] + 0.0)
    try:
        vector = floats(axis)
    except ValueError as error:
        raise ModelError(f"axis: expected a letter or 3 numbers, found {shown(axis)}") from error
    if vector.shape != (3,) or not np.isfinite(vector).all() or not vector.any():
        raise ModelError(f"axis: expected 3 finite numbers that are not all zero, found {shown(axis)}")
    return unit(vector)
