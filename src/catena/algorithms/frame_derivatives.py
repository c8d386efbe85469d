"""Derivatives of placements and Jacobians of chosen frames, from the columns of J.

A coordinate of a joint moves all that lies beyond it by its column of J, J(k). So a rotation R changes by ω̃(k) R, and
column j of J, the motion of the frame along another joint, by

    frame "link"   J(j) × J(k)                where k lies after j on the way from the base, otherwise 0
    frame "world"  J(k) × J(j)                where k lies before j, otherwise 0
    frame "mixed"  ω(k) × both parts of J(j), and as in "link" where k lies after j

Of the coordinates of one joint, each lies after those that come first, because their axes move with it in the child's
frame. The axes of planar, spherical and free joints stay where they are there: all lie before each other. For unrolled
kernels, and for long chains on scalars that are arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.algorithms.frames import Place, Point, points_of
from catena.model.joints import JointType
from catena.scalars import Scalar
from catena.spatial import Mat3, Motion
from catena.sweeps import Field


def placement_derivatives(links: Any, q: Field, point: Point = None, *, places: Sequence[Place]) -> tuple[Any, Any]:
    """The derivatives of the rotation matrix, 3 x 3 x nv, and of the origin, 3 x nv, of one frame, "mixed"."""
    (place,) = places
    R, columns = place.pose(links, q, point).R, place.columns(links, q, point)
    turned = [rotation_slope(R, column) for column in columns]
    rotation = [[[entries[3 * i + j] for entries in turned] for j in range(3)] for i in range(3)]
    return rotation, [[column.components[3 + i] for column in columns] for i in range(3)]


def jacobian_derivatives(links: Any, q: Field, point: Point = None, *, places: Sequence[Place]) -> Any:
    """The derivatives of J: six rows for each frame, by column, by coordinate."""
    dofs = [(k.index, i, k.joint_type) for k in links for i in range(k.joint_type.nv)]
    rows: list[Any] = []
    for place, at in zip(places, points_of(point, places), strict=True):
        J = place.columns(links, q, at)
        slopes = [
            [column_slope(place.frame, J[j], J[k], order(dofs[j], dofs[k])).components for k in range(len(dofs))]
            for j in range(len(dofs))
        ]
        rows += [[[x[i] for x in by] for by in slopes] for i in range(6)]
    return rows


def rotation_slope(R: Mat3, by: Motion) -> list[Scalar]:
    """ω̃ R by rows, where `by` is a column of J in the frame "mixed"."""
    columns = [by.angular.cross(column) for column in R.columns]
    return [x for row in zip(*columns, strict=True) for x in row]


def column_slope(frame: str, of: Motion, by: Motion, after: Scalar) -> Motion:
    """The derivative of a column of J by a coordinate that lies after it (1), before it (−1), or neither (0)."""
    factor = -1 * (after < 0) if frame == "world" else 1 * (after > 0)
    along: Motion = of.cross(by) * factor
    turned: Motion = Motion(by.angular.cross(of.angular), by.angular.cross(of.linear))
    return along + turned if frame == "mixed" else along


def order(of: tuple[int, int, type[JointType]], by: tuple[int, int, type[JointType]]) -> int:
    """Whether `by` lies after (1), before (−1) or neither, on one way from the base: link, number and type of joint."""
    (link, number, joint_type), (other, its_number, _) = of, by
    if link != other:
        return 1 if other > link else -1
    if not joint_type.flat:
        return -1
    return (its_number > number) - (its_number < number)
