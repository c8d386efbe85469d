"""Vectors, turns and symmetric matrices of a plane, over any scalar."""

from __future__ import annotations

from dataclasses import dataclass

from catena.scalars import Scalar
from catena.spatial.motion import Motion
from catena.spatial.transform import Transform
from catena.spatial.vectors import Vec3


@dataclass(slots=True)
class Vec2:
    """A vector of the plane."""

    x: Scalar
    y: Scalar

    def __add__(self, o: Vec2) -> Vec2:
        return Vec2(self.x + o.x, self.y + o.y)

    def __sub__(self, o: Vec2) -> Vec2:
        return Vec2(self.x - o.x, self.y - o.y)

    def __mul__(self, s: Scalar) -> Vec2:
        return Vec2(self.x * s, self.y * s)

    def dot(self, o: Vec2) -> Scalar:
        """The scalar product."""
        return self.x * o.x + self.y * o.y

    @property
    def across(self) -> Vec2:
        """The vector turned by +90°."""
        return Vec2(-self.y, self.x)


@dataclass(slots=True)
class Sym2:
    """A symmetric 2 x 2 matrix: the mobility of a point of the plane."""

    xx: Scalar
    xy: Scalar
    yy: Scalar

    @classmethod
    def scalar(cls, s: Scalar) -> Sym2:
        """The unit matrix times s."""
        return cls(s, 0, s)

    @classmethod
    def outer(cls, v: Vec2, s: Scalar) -> Sym2:
        """s v vᵀ."""
        sx, sy = v.x * s, v.y * s
        return cls(sx * v.x, sx * v.y, sy * v.y)

    def __add__(self, o: Sym2) -> Sym2:
        return Sym2(self.xx + o.xx, self.xy + o.xy, self.yy + o.yy)

    def __matmul__(self, v: Vec2) -> Vec2:
        return Vec2(self.xx * v.x + self.xy * v.y, self.xy * v.x + self.yy * v.y)


@dataclass(slots=True)
class Turn2:
    """A turn from a parent's frame to a child's about their common z axis, by the angle with cosine c and sine s."""

    c: Scalar
    s: Scalar

    @classmethod
    def of(cls, phi: Transform) -> Turn2:
        """The turn of a transform between frames with the same z axis."""
        x = (phi.inv.T @ Motion(Vec3.zero(), Vec3(1, 0, 0))).linear
        return cls(x.x, x.y)

    def to_parent(self, v: Vec2) -> Vec2:
        """A vector given in the child's frame, in the parent's."""
        return Vec2(self.c * v.x - self.s * v.y, self.s * v.x + self.c * v.y)

    def to_child(self, v: Vec2) -> Vec2:
        """A vector given in the parent's frame, in the child's."""
        return Vec2(self.c * v.x + self.s * v.y, self.c * v.y - self.s * v.x)

    def matrix_to_child(self, S: Sym2) -> Sym2:
        """A symmetric matrix given in the parent's frame, in the child's: see :mod:`catena.spatial.transform`."""
        w = self.s * (S.yy - S.xx) + self.c * (S.xy + S.xy)
        return Sym2(S.xx + self.s * w, self.c * w - S.xy, S.yy - self.s * w)
