"""How the exponential of a rigid motion changes with the twist that makes it, over any scalar.

With T = exp(ξ), a change δξ of the twist turns T into T exp(J δξ), to first order: J is the right Jacobian of the
exponential. A twist (ω, v) is a rotation vector over dual numbers, ω + ε v, so J of rigid motions is that of rotations,

    J(ω) = 1 − b ω̃ + c ω̃²,   b = (1 − cos θ) / θ²,   c = (θ − sin θ) / θ³,   θ = |ω|

and its derivative along v. Its inverse says how the twist that leads to T changes as T does:

    J(ω)⁻¹ = 1 + ½ ω̃ + e ω̃²,   e = (1 − ½ θ cot ½ θ) / θ²
"""

from __future__ import annotations

from math import factorial

from catena.scalars import Scalar, where
from catena.spatial.motion import Motion
from catena.spatial.quaternion import SMALL_TURN, half_turn, series
from catena.spatial.vectors import Vec3

_B = [(-1) ** k / factorial(2 * k + 2) for k in range(7)]
_C = [(-1) ** k / factorial(2 * k + 3) for k in range(7)]
_E = [1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600]
_B_SLOPE, _C_SLOPE, _E_SLOPE = ([k * x for k, x in enumerate(terms)][1:] for terms in (_B, _C, _E))


def exponential_slope(twist: Motion, rate: Motion) -> Motion:
    """J `rate`: the body's motion due to the rate of change of the twist that has moved it for unit time."""
    b, c, b_slope, c_slope = _coefficients(twist.angular.dot(twist.angular))
    return _quadratic(twist, rate, (b, b_slope), (c, c_slope))


def logarithm_slope(twist: Motion, rate: Motion) -> Motion:
    """J⁻¹ `rate`: the rate of change of the twist that leads to a body in unit time, due to the body's motion."""
    return _quadratic(twist, rate, (-0.5, 0.0), _inverse_coefficient(twist.angular.dot(twist.angular)))


def inverse_slope_rate(omega: Vec3, rate: Vec3, x: Vec3) -> Vec3:
    """How J⁻¹ x of rotations changes, x the same, as the rotation vector omega changes at a rate."""
    return logarithm_slope(Motion(omega, rate), Motion(x, Vec3.zero())).linear


def _quadratic(twist: Motion, rate: Motion, b: tuple[Scalar, Scalar], c: tuple[Scalar, Scalar]) -> Motion:
    """(1 − b ω̃ + c ω̃²) `rate` over dual numbers; b and c, functions of θ², come with their derivatives."""
    (b_value, b_slope), (c_value, c_slope) = b, c
    w, v, x = twist.angular, twist.linear, rate.angular
    along = w.dot(v) + w.dot(v)  # the rate of θ² along v

    def turned(x: Vec3) -> Vec3:
        once = w.cross(x)
        result: Vec3 = x - once * b_value + w.cross(once) * c_value
        return result

    once, crossed = w.cross(x), v.cross(x)
    shear = v.cross(once) + w.cross(crossed)
    slope = w.cross(once) * (c_slope * along) - once * (b_slope * along) + shear * c_value - crossed * b_value
    return Motion(turned(x), turned(rate.linear) + slope)


def _inverse_coefficient(squared: Scalar) -> tuple[Scalar, Scalar]:
    """The e of J⁻¹ and its derivative by θ², from θ²."""
    small = squared < SMALL_TURN
    divisor = where(small, 1.0, squared)
    half_sinc, half_cosine = half_turn(squared)
    turn = half_cosine / half_sinc  # ½ θ cot ½ θ
    e = where(small, series(squared, _E), (1 - turn) / divisor)
    turn_slope = 0.5 * (turn - 1 / (half_sinc * half_sinc)) / divisor
    return e, where(small, series(squared, _E_SLOPE), -(turn_slope + e) / divisor)


def _coefficients(squared: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """b and c, and their derivatives by θ², from θ²."""
    small = squared < SMALL_TURN
    divisor = where(small, 1.0, squared)
    half_sinc, half_cosine = half_turn(squared)
    sinc, b = half_sinc * half_cosine, half_sinc * half_sinc * 0.5
    cosine = 1 - b * squared
    c = where(small, series(squared, _C), (1 - sinc) / divisor)
    b_slope = where(small, series(squared, _B_SLOPE), (0.5 * sinc - b) / divisor)
    c_slope = where(small, series(squared, _C_SLOPE), (0.5 * (sinc - cosine) / divisor - c) / divisor)
    return b, c, b_slope, c_slope
