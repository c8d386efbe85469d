"""Vectors of three numbers, matrices of nine and symmetric matrices of six, over any scalar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from catena.scalars import Scalar

CYCLE = {"x": (1, 2, 0), "y": (2, 0, 1), "z": (0, 1, 2)}
"""For each axis k the indices (i, j, k) of a right-handed frame that ends with it: the plane (i, j) turns about k."""

BACK = {"x": (2, 0, 1), "y": (1, 2, 0), "z": (0, 1, 2)}
"""Where x, y and z stand among (i, j, k)."""

_UPPER = ((0, 1, 2), (1, 3, 4), (2, 4, 5))


@dataclass(slots=True)
class Vec3:
    """A vector of three components."""

    x: Scalar
    y: Scalar
    z: Scalar

    @classmethod
    def zero(cls) -> Vec3:
        """The zero vector."""
        return cls(0, 0, 0)

    @classmethod
    def from_cycle(cls, axis: str, i: Scalar, j: Scalar, k: Scalar) -> Vec3:
        """The vector whose components along (i, j, k = axis) are given."""
        ijk, (x, y, z) = (i, j, k), BACK[axis]
        return cls(ijk[x], ijk[y], ijk[z])

    def cycle(self, axis: str) -> tuple[Scalar, Scalar, Scalar]:
        """The components along (i, j, k = axis)."""
        xyz, (i, j, k) = (self.x, self.y, self.z), CYCLE[axis]
        return xyz[i], xyz[j], xyz[k]

    def __add__(self, o: Vec3) -> Vec3:
        return Vec3(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o: Vec3) -> Vec3:
        return Vec3(self.x - o.x, self.y - o.y, self.z - o.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, s: Scalar) -> Vec3:
        return Vec3(s * self.x, s * self.y, s * self.z)

    def dot(self, o: Vec3) -> Scalar:
        """The scalar product."""
        return self.x * o.x + self.y * o.y + self.z * o.z

    def cross(self, o: Vec3) -> Vec3:
        """The vector product."""
        return Vec3(
            self.y * o.z - self.z * o.y,
            self.z * o.x - self.x * o.z,
            self.x * o.y - self.y * o.x,
        )

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.x, self.y, self.z))


@dataclass(slots=True)
class Mat3:
    """A general 3 x 3 matrix, by rows."""

    xx: Scalar
    xy: Scalar
    xz: Scalar
    yx: Scalar
    yy: Scalar
    yz: Scalar
    zx: Scalar
    zy: Scalar
    zz: Scalar

    @classmethod
    def skew(cls, p: Vec3) -> Mat3:
        """The matrix p̃ with p̃ v = p × v."""
        return cls(0, -p.z, p.y, p.z, 0, -p.x, -p.y, p.x, 0)

    @classmethod
    def from_cycle(cls, axis: str, *ijk: Scalar) -> Mat3:
        """The matrix whose rows and columns along (i, j, k = axis) are given."""
        order = BACK[axis]
        return cls(*[ijk[3 * a + b] for a in order for b in order])

    def cycle(self, axis: str) -> list[Scalar]:
        """The nine entries with rows and columns in the order (i, j, k = axis)."""
        xyz, order = tuple(self), CYCLE[axis]
        return [xyz[3 * a + b] for a in order for b in order]

    @property
    def T(self) -> Mat3:
        """The transpose."""
        return Mat3(self.xx, self.yx, self.zx, self.xy, self.yy, self.zy, self.xz, self.yz, self.zz)

    @property
    def rows(self) -> tuple[Vec3, Vec3, Vec3]:
        """The three rows."""
        return Vec3(self.xx, self.xy, self.xz), Vec3(self.yx, self.yy, self.yz), Vec3(self.zx, self.zy, self.zz)

    @property
    def columns(self) -> tuple[Vec3, Vec3, Vec3]:
        """The three columns."""
        return self.T.rows

    def __add__(self, o: Mat3) -> Mat3:
        return Mat3(*[a + b for a, b in zip(self, o, strict=True)])

    def __sub__(self, o: Mat3) -> Mat3:
        return Mat3(*[a - b for a, b in zip(self, o, strict=True)])

    def __matmul__(self, v: Vec3) -> Vec3:
        return Vec3(*[row.dot(v) for row in self.rows])

    def conjugate(self, S: Sym3) -> Sym3:
        """R S Rᵀ for a symmetric S."""
        (x, y, z), rows = (S @ row for row in self.rows), self.rows
        return Sym3(rows[0].dot(x), rows[0].dot(y), rows[0].dot(z), rows[1].dot(y), rows[1].dot(z), rows[2].dot(z))

    def times(self, o: Mat3) -> Mat3:
        """The matrix product with another general matrix."""
        columns = o.columns
        return Mat3(*[row.dot(column) for row in self.rows for column in columns])

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.xx, self.xy, self.xz, self.yx, self.yy, self.yz, self.zx, self.zy, self.zz))


@dataclass(slots=True)
class Sym3:
    """A symmetric 3 x 3 matrix: symmetric by construction, so rounding cannot spoil it."""

    xx: Scalar
    xy: Scalar
    xz: Scalar
    yy: Scalar
    yz: Scalar
    zz: Scalar

    @classmethod
    def from_cycle(cls, axis: str, *ijk: Scalar) -> Sym3:
        """The matrix whose upper triangle along (i, j, k = axis) is given by rows."""
        a, b, c = BACK[axis]
        pairs = ((a, a), (a, b), (a, c), (b, b), (b, c), (c, c))
        return cls(*[ijk[_UPPER[row][column]] for row, column in pairs])

    def cycle(self, axis: str) -> list[Scalar]:
        """The upper triangle by rows, with rows and columns in the order (i, j, k = axis)."""
        xyz, (i, j, k) = tuple(self), CYCLE[axis]
        pairs = ((i, i), (i, j), (i, k), (j, j), (j, k), (k, k))
        return [xyz[_UPPER[row][column]] for row, column in pairs]

    @classmethod
    def scalar(cls, s: Scalar) -> Sym3:
        """s times the identity."""
        return cls(s, 0, 0, s, 0, s)

    @property
    def rows(self) -> tuple[Vec3, Vec3, Vec3]:
        """The three rows, which are also the columns."""
        return Vec3(self.xx, self.xy, self.xz), Vec3(self.xy, self.yy, self.yz), Vec3(self.xz, self.yz, self.zz)

    def __add__(self, o: Sym3) -> Sym3:
        return Sym3(*[a + b for a, b in zip(self, o, strict=True)])

    def __sub__(self, o: Sym3) -> Sym3:
        return Sym3(*[a - b for a, b in zip(self, o, strict=True)])

    def __matmul__(self, v: Vec3) -> Vec3:
        return Vec3(*[row.dot(v) for row in self.rows])

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.xx, self.xy, self.xz, self.yy, self.yz, self.zz))
