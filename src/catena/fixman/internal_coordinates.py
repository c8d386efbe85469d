"""Distances, angles and torsions of points, over any scalar: coordinates for :func:`catena.fixman.partition`.

Points are :class:`~catena.spatial.Vec3`. Angles come from the arctangent of a sine and a cosine, so neither they nor
their derivatives lose digits near a right angle; where a coordinate is truly singular (a torsion about three points in
line, an angle that is straight) so are its derivatives.
"""

from __future__ import annotations

from catena.scalars import Scalar, arctan2, sqrt
from catena.spatial import Vec3


def distance(a: Vec3, b: Vec3) -> Scalar:
    """|b − a|: the length of a bond (15)."""
    d = b - a
    return sqrt(d.dot(d))


def angle(a: Vec3, b: Vec3, c: Vec3) -> Scalar:
    """The angle at b between a and c, from 0 to π (π: straight on)."""
    u, w = a - b, c - b
    normal = u.cross(w)
    return arctan2(sqrt(normal.dot(normal)), u.dot(w))


def torsion(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> Scalar:
    """The angle by which d is turned about the bond from b to c, seen against a: 0 is cis, π is trans."""
    u, w, z = b - a, c - b, d - c
    m, n = u.cross(w), w.cross(z)
    return arctan2(m.cross(n).dot(w) / sqrt(w.dot(w)), m.dot(n))


def turn(a: Vec3, b: Vec3, c: Vec3) -> Scalar:
    """The angle in the xy plane from the direction a → b to the direction b → c: a planar joint angle (19)."""
    u, w = b - a, c - b
    return arctan2(u.cross(w).z, u.x * w.x + u.y * w.y)


def bend(a: Vec3, b: Vec3, c: Vec3, axis: Vec3) -> Scalar:
    """The angle from the direction a → b to b → c about the unit vector `axis` across both: smooth when straight."""
    u, w = b - a, c - b
    return arctan2(u.cross(w).dot(axis), u.dot(w))


def half_square(a: Vec3, b: Vec3) -> Scalar:
    """|b − a|² / 2: it keeps its value where the distance does, and its slopes are linear."""
    d = b - a
    return d.dot(d) * 0.5
