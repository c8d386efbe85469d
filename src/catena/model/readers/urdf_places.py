"""URDF's `<origin>`: rotations from roll, pitch and yaw, and moments of inertia turned by them."""

from __future__ import annotations

from functools import lru_cache
from math import cos, sin
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import numpy.typing as npt

from catena.model.readers.attributes import Vector, vector

Array = npt.NDArray[Any]
Matrix = tuple[Vector, Vector, Vector]

ORIGIN: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def pose(origin: Element | None) -> tuple[Matrix, Vector]:
    """Rotation and position."""
    return rotation_from_rpy(*vector(origin, "rpy", ORIGIN)), vector(origin, "xyz", ORIGIN)


@lru_cache(maxsize=1024)
def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Matrix:
    """Rz(yaw) Ry(pitch) Rx(roll), as rows."""
    if roll == pitch == yaw == 0.0:
        return IDENTITY
    return _rotation(sin(roll), cos(roll), sin(pitch), cos(pitch), sin(yaw), cos(yaw))


def rotations(rpy: Array) -> Array:
    """The same of many, (n, 3, 3), from angles (n, 3)."""
    found: Array = np.tile(np.eye(3), (len(rpy), 1, 1))
    turned = rpy.any(axis=1)
    functions = [np.array(list(map(f, angles))) for angles in rpy[turned].T.tolist() for f in (sin, cos)]
    found[turned] = np.moveaxis(np.array(_rotation(*functions)), -1, 0)
    return found


def inertias(moments: Array, rpy: Array) -> Array:
    """R I Rᵀ, (n, 3, 3), exactly symmetric, from xx, yy, zz, xy, xz, yz, (n, 6), and the angles of R, (n, 3)."""
    xx, yy, zz, xy, xz, yz = moments.T
    found: Array = np.moveaxis(np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))), -1, 0).copy()
    turned = rpy.any(axis=1)
    R, I = (np.moveaxis(matrix, 0, -1) for matrix in (rotations(rpy[turned]), found[turned]))
    half = [[R[i, 0] * I[0, j] + R[i, 1] * I[1, j] + R[i, 2] * I[2, j] for j in range(3)] for i in range(3)]
    for i in range(3):
        for j in range(i + 1):
            found[turned, i, j] = half[i][0] * R[j, 0] + half[i][1] * R[j, 1] + half[i][2] * R[j, 2]
            found[turned, j, i] = found[turned, i, j]
    return found


def _rotation(sr: Any, cr: Any, sp: Any, cp: Any, sy: Any, cy: Any) -> tuple[Any, Any, Any]:
    """The rows of Rz(yaw) Ry(pitch) Rx(roll), from sines and cosines: numbers, or arrays of them."""
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
