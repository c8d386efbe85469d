"""Unit quaternions, and exponentials and logarithms of rigid motions, over any scalar.

Where a formula cancels near zero its series takes over, chosen by :func:`~catena.scalars.where`; the series have as
many terms as a double can tell. Each branch is kept away from where the other one serves, so that derivatives are
finite everywhere, at rest too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial

from catena.scalars import Scalar, absolute, arctan2, sincos, sqrt, where
from catena.spatial.vectors import Mat3, Vec3

SMALL_TURN = 0.25
"""Turns whose square is below this are small: sines and cosines come from their series."""
SMALL_SINE = 1 / 64
"""Half turns whose sine's square is below this are small: the arcsine comes from its series."""

_SINC = [(-1 / 4) ** k / factorial(2 * k + 1) for k in range(6)]
_COSINE = [(-1 / 4) ** k / factorial(2 * k) for k in range(7)]
_SINE_EXCESS = [(-1) ** k / factorial(2 * k + 3) for k in range(6)]
_COTANGENT_EXCESS = [1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000]
_ARCSINE = [factorial(2 * k) / (4**k * factorial(k) ** 2 * (2 * k + 1)) for k in range(9)]

TINY, LARGE = 2.0**-100, 2.0**100
"""Quaternions shorter than TINY are made longer, those longer than LARGE shorter, before their length is taken."""


def series(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """A polynomial in x, by its coefficients, the constant first."""
    total: Scalar = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


@dataclass(slots=True)
class Quaternion:
    """x i + y j + z k + w: a rotation if its length is one."""

    vector: Vec3
    w: Scalar

    @classmethod
    def of(cls, numbers: Sequence[Scalar]) -> Quaternion:
        """From x, y, z, w."""
        x, y, z, w = numbers
        return cls(Vec3(x, y, z), w)

    @classmethod
    def of_matrix(cls, R: Mat3) -> Quaternion:
        """The rotation of a matrix, by the largest of its four numbers, so that no digits are lost at any angle."""
        symmetric = R.xy + R.yx, R.xz + R.zx, R.yz + R.zy
        skew = R.zy - R.yz, R.xz - R.zx, R.yx - R.xy
        by_w = (*skew, 1 + R.xx + R.yy + R.zz)
        by_x = (1 + R.xx - R.yy - R.zz, symmetric[0], symmetric[1], skew[0])
        by_y = (symmetric[0], 1 - R.xx + R.yy - R.zz, symmetric[2], skew[1])
        by_z = (symmetric[1], symmetric[2], 1 - R.xx - R.yy + R.zz, skew[2])
        numbers = by_w
        largest = by_w[3]
        for candidate, size in ((by_x, by_x[0]), (by_y, by_y[1]), (by_z, by_z[2])):
            better = size > largest
            numbers = tuple(where(better, a, b) for a, b in zip(candidate, numbers, strict=True))
            largest = where(better, size, largest)
        return cls.of(numbers).unit

    def __iter__(self) -> Iterator[Scalar]:
        return iter((*self.vector, self.w))

    def __matmul__(self, o: Quaternion) -> Quaternion:
        """The rotation o, then this one."""
        vector = o.vector * self.w + self.vector * o.w + self.vector.cross(o.vector)
        return Quaternion(vector, self.w * o.w - self.vector.dot(o.vector))

    @property
    def inverse(self) -> Quaternion:
        """The inverse of a rotation."""
        return Quaternion(-self.vector, self.w)

    @property
    def squared(self) -> Scalar:
        """The square of the length."""
        return self.vector.dot(self.vector) + self.w * self.w

    def rotate(self, vector: Vec3) -> Vec3:
        """The vector, turned by this rotation."""
        twice = self.vector.cross(vector) * 2
        turned: Vec3 = vector + twice * self.w + self.vector.cross(twice)
        return turned

    @property
    def unit(self) -> Quaternion:
        """The rotation along a quaternion of any length; NaN if that is zero or not finite.

        Python's own floats raise ZeroDivisionError instead of giving NaN.
        """
        largest: Scalar = absolute(self.w)
        for x in self.vector:
            largest = where(largest < absolute(x), absolute(x), largest)
        factor = where(largest < TINY, LARGE, where(largest > LARGE, TINY, 1.0))
        sizes, size = [x * factor for x in self], largest * factor
        first, *others = [x * (1 / size) for x in sizes]
        length = size * sqrt(sum([x * x for x in others], first * first))
        return Quaternion.of([x / length for x in sizes])

    @property
    def straightened(self) -> Quaternion:
        """The rotation along a quaternion that is one but for rounding."""
        factor = 1.5 - 0.5 * self.squared
        return Quaternion(self.vector * factor, self.w * factor)

    @property
    def log(self) -> Log:
        """The shorter turn that makes this rotation."""
        return Log(self)


def half_turn(squared: Scalar) -> tuple[Scalar, Scalar]:
    """sin(θ/2) / (θ/2) and cos(θ/2) of the angle θ whose square is given."""
    small = squared < SMALL_TURN
    half = sqrt(where(small, 1.0, squared)) * 0.5
    s, c = sincos(half)
    return where(small, series(squared, _SINC), s / half), where(small, series(squared, _COSINE), c)


def pose_exp(omega: Vec3, velocity: Vec3) -> tuple[Quaternion, Vec3]:
    """The rigid motion (rotation, position) that the constant body twist (omega, velocity) makes in unit time."""
    squared = omega.dot(omega)
    small = squared < SMALL_TURN
    sinc, cosine = half_turn(squared)
    large = (1 - sinc * cosine) / where(small, 1.0, squared)
    sine_excess = where(small, series(squared, _SINE_EXCESS), large)  # (θ - sin θ) / θ³
    once = omega.cross(velocity)
    position = velocity + once * (sinc * sinc * 0.5) + omega.cross(once) * sine_excess
    return Quaternion(omega * (sinc * 0.5), cosine), position


def quaternion_exp(omega: Vec3) -> Quaternion:
    """The rotation by |omega| about omega."""
    sinc, cosine = half_turn(omega.dot(omega))
    return Quaternion(omega * (sinc * 0.5), cosine)


class Log:
    """The logarithm of a rotation, given as a unit quaternion: its vector has length θ ≤ π."""

    def __init__(self, rotation: Quaternion) -> None:
        squared, cosine = rotation.vector.dot(rotation.vector), absolute(rotation.w)
        self.small = squared < SMALL_SINE
        sine = sqrt(where(self.small, 1.0, squared))
        ratio = where(self.small, series(squared, _ARCSINE), arctan2(sine, cosine) / sine)  # (θ/2) / sin(θ/2)
        self.omega = rotation.vector * where(rotation.w < 0, -2 * ratio, 2 * ratio)
        self.angle_squared = 4 * (ratio * ratio) * squared
        self.half_cotangent = ratio * cosine  # (θ/2) cot(θ/2)

    def velocity(self, position: Vec3) -> Vec3:
        """The linear part of the twist that makes this rotation and moves to the position in unit time."""
        large = (1 - self.half_cotangent) / where(self.small, 1.0, self.angle_squared)
        excess = where(self.small, series(self.angle_squared, _COTANGENT_EXCESS), large)
        once = self.omega.cross(position)
        velocity: Vec3 = position - once * 0.5 + self.omega.cross(once) * excess
        return velocity
