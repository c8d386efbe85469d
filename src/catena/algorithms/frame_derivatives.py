"""Derivatives of placements and Jacobians of chosen frames, from the columns of J.

A coordinate of a joint moves all that lies beyond it by its column of J, J(k). So a rotation R changes by ω̃(k) R, and
column j of J, the motion of the frame along another joint, by

    frame "link"   J(j) × J(k)                where k lies after j on the way from the base, otherwise 0
    frame "world"  J(k) × J(j)                where k lies before j, otherwise 0
    frame "mixed"  ω(k) × both parts of J(j), and as in "link" where k lies after j

Of the coordinates of one joint, each lies after those that come first, if axes move in the child's frame with them; the
axes of planar, spherical and free joints stay where they are there, so that each lies before all. In arrays of any
kind: of expressions, or of numbers over many samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.frames import Place, Point, jacobian, placements
from catena.model.joints import JOINT_TYPES, JointType
from catena.model.tree import Tree
from catena.sweeps import Field

Array = npt.NDArray[Any]


def placement_derivatives(links: Any, q: Field, point: Point = None, *, places: Sequence[Place]) -> tuple[Any, Any]:
    """The derivatives of the rotation matrix, 3 x 3 x nv, and of the origin, 3 x nv, of one frame, "mixed"."""
    (rotation,), _ = placements(links, q, point, places=places)
    J = jacobian(links, q, point, places=places)
    return placement_slopes(np.array(rotation, dtype=object), np.array(J, dtype=object).reshape(6, links.nv))


def placement_slopes(R: Array, J: Array) -> tuple[Array, Array]:
    """ω̃ R (..., 3, 3, nv) and v (..., 3, nv), from R (..., 3, 3) and J (..., 6, nv) in the frame "mixed"."""
    turned = _cross(J[..., :3, None, :], R[..., :, :, None], axis=-3)
    return turned, J[..., 3:, :]


def jacobian_derivatives(links: Any, q: Field, point: Point = None, *, places: Sequence[Place]) -> Any:
    """The derivatives of J: six rows for each frame, by column, by coordinate."""
    J = np.array(jacobian(links, q, point, places=places), dtype=object).reshape(-1, links.nv)
    return jacobian_slopes(J, _order((k.index, k.joint_type) for k in links), places[0].frame)


def rolled_order(tree: Tree) -> Array:
    """Which degree of freedom k lies after which j on the way from the base, (nv, nv): see :func:`_order`."""
    return _order((i, JOINT_TYPES[code]) for i, code in enumerate(tree.joint_type.tolist()))


def _order(joints: Iterable[tuple[int, type[JointType]]]) -> Array:
    """Entry j, k: 1 if k lies after j, −1 if before, 0 if neither. It matters only along one way from the base."""
    link, number, flat = (
        np.array([(i, n, joint_type.flat) for i, joint_type in joints for n in range(joint_type.nv)], dtype=int)
        .reshape(-1, 3)
        .T
    )
    within = np.where(flat.astype(bool), np.sign(number[None, :] - number[:, None]), -1)
    return np.where(link[None, :] == link[:, None], within, np.sign(link[None, :] - link[:, None]))


def jacobian_slopes(J: Array, order: Array, frame: str) -> Array:
    """The derivatives (..., 6 m, nv, nv) of J (..., 6 m, nv), the last dimension saying by which coordinate."""
    blocks = J.reshape(*J.shape[:-2], -1, 6, J.shape[-1])
    of, by = blocks[..., :, None], blocks[..., None, :]
    (w, u), (w_by, u_by) = ((x[..., :3, :, :], x[..., 3:, :, :]) for x in (of, by))
    along = [_cross(w, w_by), _cross(w, u_by) + _cross(u, w_by)]  # J(j) × J(k)
    if frame == "world":
        parts = [np.where(order < 0, -x, 0) for x in along]
    else:
        parts = [np.where(order > 0, x, 0) for x in along]
    if frame == "mixed":
        parts = [x + _cross(w_by, y) for x, y in zip(parts, (w, u), strict=True)]
    found = np.concatenate(parts, axis=-3)
    return found.reshape(*J.shape, J.shape[-1])


def _cross(a: Array, b: Array, axis: int = -3) -> Array:
    """a × b for arrays of any kind, with the three components along `axis`."""
    (x, y, z), (X, Y, Z) = (np.moveaxis(np.asarray(v), axis, 0) for v in (a, b))
    return np.stack([y * Z - z * Y, z * X - x * Z, x * Y - y * X], axis=axis)
