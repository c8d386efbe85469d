"""Vectors that are quadratic functions of an angular velocity not yet known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from catena.scalars import Scalar
from catena.spatial.axes import Dofs
from catena.spatial.inertia import ArticulatedInertia
from catena.spatial.leaves import leaves
from catena.spatial.motion import Force, Motion
from catena.spatial.transform import Transform
from catena.spatial.vectors import Mat3, Sym3, Vec3

_UNITS = (Vec3(1, 0, 0), Vec3(0, 1, 0), Vec3(0, 0, 1))
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
_MAKE: dict[str, Callable[[list[Scalar]], Any]] = {"Force": Force.of, "Motion": Motion.of, "Dofs": Dofs}


@dataclass(slots=True)
class Parts:
    """c, A and B of a vector c + A(w) + B(w, w); B need not be symmetric."""

    constant: Any
    linear: Callable[[Vec3], Any]
    bilinear: Callable[[Vec3, Vec3], Any]

    def at(self, w: Vec3) -> Any:
        """The vector for a given w."""
        return self.constant + self.linear(w) + self.bilinear(w, w)


@dataclass(slots=True)
class Quadratic:
    """A vector of some type: for each component its coefficients of 1, x, y, z, xx, xy, xz, yy, yz, zz of w."""

    type: str
    rows: list[list[Scalar]]

    @classmethod
    def of_columns(cls, columns: list[Any]) -> Quadratic:
        """From ten vectors, one for each power of w."""
        rows = [list(row) for row in zip(*[leaves(column) for column in columns], strict=True)]
        return cls(type(columns[0]).__name__, rows)

    @classmethod
    def constant(cls, value: Any) -> Quadratic:
        """A vector that does not depend on w."""
        return cls(type(value).__name__, [[x, *[0] * 9] for x in leaves(value)])

    @classmethod
    def of(cls, parts: Parts) -> Quadratic:
        """From its constant, linear and bilinear part."""
        B, mixed = parts.bilinear, [(_UNITS[i], _UNITS[j]) for i, j in _PAIRS]
        squares = [B(e, e) if e is d else B(e, d) + B(d, e) for e, d in mixed]
        return cls.of_columns([parts.constant, *[parts.linear(e) for e in _UNITS], *squares])

    def __add__(self, o: Quadratic) -> Quadratic:
        rows = [[a + b for a, b in zip(r, s, strict=True)] for r, s in zip(self.rows, o.rows, strict=True)]
        return Quadratic(self.type, rows)

    def __sub__(self, o: Quadratic) -> Quadratic:
        rows = [[a - b for a, b in zip(r, s, strict=True)] for r, s in zip(self.rows, o.rows, strict=True)]
        return Quadratic(self.type, rows)

    def under(self, linear: Any) -> Quadratic:
        """What a linear map makes of the vector, for every w."""
        make = _MAKE[self.type]
        return Quadratic.of_columns([linear @ make(list(column)) for column in zip(*self.rows, strict=True)])

    def at(self, w: Vec3) -> Any:
        """The vector for a given w."""
        numbers = list(w)
        powers = Dofs([1, *numbers, *[numbers[i] * numbers[j] for i, j in _PAIRS]])
        return _MAKE[self.type]([Dofs(row).dot(powers) for row in self.rows])

    def shifted(self, r: Vec3) -> Quadratic:
        """The vector as a function of w where it was one of w + r."""
        return Quadratic(self.type, [_shifted(row, r) for row in self.rows])

    def turned(self, phi: Transform) -> Quadratic:
        """The vector as a function of an angular velocity in φ's parent frame where it was one in the child's frame."""
        return Quadratic(self.type, [_turned(row, phi) for row in self.rows])


def _shifted(row: list[Scalar], r: Vec3) -> list[Scalar]:
    c, x, y, z, xx, xy, xz, yy, yz, zz = row
    half = Vec3(xx * r.x + xy * r.y + xz * r.z, yy * r.y + yz * r.z, zz * r.z)
    value = c + Vec3(x, y, z).dot(r) + half.dot(r)
    gradient = half + Vec3(xx * r.x, xy * r.x + yy * r.y, xz * r.x + yz * r.y + zz * r.z)
    return [value, x + gradient.x, y + gradient.y, z + gradient.z, *row[4:]]


def _turned(row: list[Scalar], phi: Transform) -> list[Scalar]:
    """A force's linear part and the mass block of an inertia do no more than turn."""
    c, x, y, z, xx, xy, xz, yy, yz, zz = row
    linear = (phi @ Force(Vec3.zero(), Vec3(x, y, z))).linear
    form = Sym3(xx + xx, xy, xz, yy + yy, yz, zz + zz)
    form = phi.congruence(ArticulatedInertia(Sym3.scalar(0), Mat3.skew(Vec3.zero()), form)).M
    return [c, *linear, form.xx / 2, form.xy, form.xz, form.yy / 2, form.yz, form.zz / 2]
