"""Integrate and difference of joints with fifty digits, from the closed formulas, as something to compare with."""

from __future__ import annotations

from collections.abc import Sequence

import mpmath
from mpmath import mp, mpf

Numbers = list[mpf]


def integrate(kind: str, q: Sequence[float], dv: Sequence[float]) -> Numbers:
    """Where the joint is after moving from q at speed dv for unit time."""
    q, dv = [mpf(x) for x in q], [mpf(x) for x in dv]
    if kind == "planar":
        turn = dv[2]
        sine, rest = (mp.sin(turn) / turn, (1 - mp.cos(turn)) / turn) if turn else (mpf(1), mpf(0))
        x, y = sine * dv[0] - rest * dv[1], rest * dv[0] + sine * dv[1]
        c, s = mp.cos(q[2]), mp.sin(q[2])
        return [q[0] + c * x - s * y, q[1] + s * x + c * y, q[2] + turn]
    if kind == "spherical":
        return product(unit(q), exponential(dv))
    if kind == "free":
        turn, omega, v = unit(q[3:]), dv[:3], dv[3:]
        angle = norm(omega)
        once = cross(omega, v)
        twice = cross(omega, once)
        a, b = (
            ((1 - mp.cos(angle)) / angle**2, (angle - mp.sin(angle)) / angle**3) if angle else (mpf(1) / 2, mpf(1) / 6)
        )
        shift = [x + a * y + b * z for x, y, z in zip(v, once, twice, strict=True)]
        moved = rotated(turn, shift)
        return [*[x + y for x, y in zip(q[:3], moved, strict=True)], *product(turn, exponential(omega))]
    return [x + y for x, y in zip(q, dv, strict=True)]


def difference(kind: str, q0: Sequence[float], q1: Sequence[float]) -> Numbers:
    """The constant speed that leads from q0 to q1 in unit time."""
    q0, q1 = [mpf(x) for x in q0], [mpf(x) for x in q1]
    if kind == "planar":
        turn = q1[2] - q0[2]
        turn -= 2 * mp.pi * mpmath.nint(turn / (2 * mp.pi))
        x, y, c, s = q1[0] - q0[0], q1[1] - q0[1], mp.cos(q0[2]), mp.sin(q0[2])
        x, y = c * x + s * y, c * y - s * x
        along = turn / 2 * mp.cot(turn / 2) if turn else mpf(1)
        return [along * x + turn / 2 * y, along * y - turn / 2 * x, turn]
    if kind == "spherical":
        return logarithm(product(inverse(unit(q0)), unit(q1)))
    if kind == "free":
        back = inverse(unit(q0[3:]))
        omega = logarithm(product(back, unit(q1[3:])))
        p = rotated(back, [b - a for a, b in zip(q0[:3], q1[:3], strict=True)])
        angle, once = norm(omega), cross(omega, p)
        c = (1 - angle / 2 * mp.cot(angle / 2)) / angle**2 if angle else mpf(1) / 12
        return [*omega, *[x - y / 2 + c * z for x, y, z in zip(p, once, cross(omega, once), strict=True)]]
    return [b - a for a, b in zip(q0, q1, strict=True)]


def norm(a: Sequence[mpf]) -> mpf:
    return mp.sqrt(sum(x * x for x in a))


def cross(a: Sequence[mpf], b: Sequence[mpf]) -> Numbers:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def unit(q: Sequence[mpf]) -> Numbers:
    length = norm(q)
    return [x / length for x in q]


def inverse(q: Sequence[mpf]) -> Numbers:
    return [-q[0], -q[1], -q[2], q[3]]


def product(a: Sequence[mpf], b: Sequence[mpf]) -> Numbers:
    vector = [a[3] * y + b[3] * x + z for x, y, z in zip(a[:3], b[:3], cross(a[:3], b[:3]), strict=True)]
    return [*vector, a[3] * b[3] - sum(x * y for x, y in zip(a[:3], b[:3], strict=True))]


def rotated(q: Sequence[mpf], vector: Sequence[mpf]) -> Numbers:
    return product(product(q, [*vector, mpf(0)]), inverse(q))[:3]


def exponential(omega: Sequence[mpf]) -> Numbers:
    angle = norm(omega)
    factor = mp.sin(angle / 2) / angle if angle else mpf(1) / 2
    return [*[factor * x for x in omega], mp.cos(angle / 2)]


def logarithm(q: Sequence[mpf]) -> Numbers:
    q = [-x for x in q] if q[3] < 0 else list(q)
    sine = norm(q[:3])
    factor = 2 * mp.atan2(sine, q[3]) / sine if sine else mpf(2)
    return [factor * x for x in q[:3]]
