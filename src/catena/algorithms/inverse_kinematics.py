"""One step of inverse kinematics: from a configuration towards one in which frames have given poses.

The error of a frame is the twist that leads from its pose to the target, seen in the frame itself: e = (log RᵀR*,
Rᵀ(p* − p)). A step is that of Levenberg and Marquardt, with the damping of Sugihara (2011): half the squared error,
which needs no trials, copes with singular Jacobians and vanishes at the goal, where the step is Newton's:

    δ = z + Jᵀ (J Jᵀ + λ)⁻¹ (e − J z)        λ = ½ eᵀe + λ₀

z is where the configuration is drawn to as far as the frames leave it free: towards a given one, or zero. Coordinates
that such a step would take beyond a limit go to the limit instead, and the others are found again with those held.
Angles whose limits leave room for a whole turn come back by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from catena.algorithms.frames import Place
from catena.scalars import Scalar, arctan2, equal, maximum, minimum, nearest, sqrt, where
from catena.spatial import Dofs, Mat3, Motion, SmallSymmetric, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field, at_base

DAMPING = 1e-13
"""λ₀: keeps the step finite where the Jacobian is singular at the goal."""

TARGET = 12
"""Numbers of a target: its rotation by rows, and its origin."""

SMALL_SINE = 1e-12
TURN = 2 * math.pi
Limits = tuple[float, float]


class Seen:
    """A frame as another one sees it, which may move as well: its pose there, and how joints change it."""

    def __init__(self, place: Place, reference: Place) -> None:
        self._place, self._reference = place, reference

    def pose(self, links: Any, q: Field) -> Pose:
        """The frame in the other one."""
        first, second = (place.pose(links, q) for place in (self._reference, self._place))
        return Pose(first.R.T.times(second.R), first.R.T @ (second.p - first.p))

    def columns(self, links: Any, q: Field) -> list[Motion]:
        """The columns of the Jacobian of its motion in the other frame, in its own axes."""
        X = self.pose(links, q)
        both = zip(self._place.columns(links, q), self._reference.columns(links, q), strict=True)
        return [own - X.motion_in(other) for own, other in both]


def step(
    links: Any,
    q: Field,
    target: Sequence[Scalar],
    weight: Sequence[Scalar],
    goal: Field,
    pull: Scalar,
    *,
    places: Sequence[Place | Seen],
    limits: Sequence[Limits],
) -> tuple[Field, Field]:
    """The next configuration; and, kept at the base, the square of the largest angle or distance now, in rad² or m².

    `target` has twelve numbers for each frame, `weight` two: of its angles and of its position, zero for what does not
    matter. `pull` is how much of the way towards `goal` is wanted, 0 to 1. `limits` of coordinates are numbers.
    """
    e: list[Scalar] = []
    rows: list[list[Scalar]] = []
    error: Scalar = 0
    for i, place in enumerate(places):
        X, columns = place.pose(links, q), place.columns(links, q)
        twist = _difference(X, target[TARGET * i : TARGET * (i + 1)])
        for half, w in enumerate(weight[2 * i : 2 * i + 2]):
            part = Vec3(*twist[3 * half : 3 * half + 3])
            e += [w * x for x in part]
            rows += [_felt(links, [w * column.components[3 * half + j] for column in columns]) for j in range(3)]
            error = maximum(error, where(equal(w, 0), 0.0, part.dot(part)))
    z = [pull * x for k in links.leaders for x in k.joint_type.difference(q[k], goal[k])]
    delta = _damped(rows, e, z, [1] * len(z))
    delta = _damped(rows, e, *_held(links, q, delta, z, limits))
    return _moved(links, q, delta, limits), at_base(links, error)


def _felt(links: Any, row: list[Scalar]) -> list[Scalar]:
    """What leaders move: a row of J G, given that of J."""
    for k in links:
        if k.leader is not k:
            row[k.leader.v_start] = row[k.leader.v_start] + k.ratio * row[k.v_start]
    return [row[k.v_start + i] for k in links.leaders for i in range(k.joint_type.nv)]


def _difference(X: Pose, target: Sequence[Scalar]) -> list[Scalar]:
    """The twist (rotation vector, way) from a pose to a target, in the axes of the pose."""
    R, p = Mat3(*target[:9]), Vec3(*target[9:])
    T = [[own.dot(its) for its in R.columns] for own in X.R.columns]  # RᵀR*
    across = Vec3(T[2][1] - T[1][2], T[0][2] - T[2][0], T[1][0] - T[0][1]) * 0.5  # sin θ along the axis
    sine_squared = across.dot(across)
    small = sine_squared < SMALL_SINE
    cosine = (T[0][0] + T[1][1] + T[2][2] - 1) * 0.5
    sine = sqrt(where(small, 1.0, sine_squared))
    ratio = where(small, where(cosine < 0, math.pi / SMALL_SINE**0.5, 1.0), arctan2(sine, cosine) / sine)
    return [*(across * ratio), *(X.R.T @ (p - X.p))]


def _damped(rows: list[list[Scalar]], e: list[Scalar], z: list[Scalar], loose: list[Scalar]) -> list[Scalar]:
    """δ, in which coordinates with 0 in `loose` have their part of z, by the smaller of the systems that give it."""
    damping: Scalar = DAMPING
    for x in e:
        damping = damping + 0.5 * (x * x)
    left = [x - _dot(row, z) for x, row in zip(e, rows, strict=True)]
    moving = [[x * free for x in column] for column, free in zip(zip(*rows, strict=True), loose, strict=True)]
    if len(rows) <= len(moving):
        y = _solved([list(row) for row in zip(*moving, strict=True)], damping, left)
        return [z_j + _dot(column, y) for z_j, column in zip(z, moving, strict=True)]
    step = _solved(moving, damping, [_dot(column, left) for column in moving])
    return [z_j + x for z_j, x in zip(z, step, strict=True)]


def _solved(A: list[list[Scalar]], damping: Scalar, b: list[Scalar]) -> list[Scalar]:
    """(A Aᵀ + λ)⁻¹ b."""
    lower = [[_dot(row, other) for other in A[: i + 1]] for i, row in enumerate(A)]
    return list(SmallSymmetric(lower).plus_diagonal(Dofs([damping] * len(A))).inv @ Dofs(b))


def _dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0
    for a, b in zip(x, y, strict=True):
        total = total + a * b
    return total


def _held(
    links: Any, q: Field, delta: list[Scalar], z: list[Scalar], limits: Sequence[Limits]
) -> tuple[list[Scalar], list[Scalar]]:
    """z with the way to their limits for coordinates that δ takes beyond, and 0 for these, 1 for all others."""
    ways, loose = list(z), [1] * len(z)
    at = moved = 0
    for k in links.leaders:
        for i in range(k.joint_type.nq if k.joint_type.flat else 0):
            if not _stops(limits[at + i], k.joint_type.angles[i]):
                continue
            j, (lower, upper), x = moved + i, limits[at + i], q[k][i]
            beyond = maximum(lower - x - delta[j], x + delta[j] - upper)
            ways[j] = where(beyond > 0, where(delta[j] < 0, lower - x, upper - x), z[j])
            loose[j] = where(beyond > 0, 0.0, 1.0)
        at, moved = at + k.joint_type.nq, moved + k.joint_type.nv
    return ways, loose


def _moved(links: Any, q: Field, delta: list[Scalar], limits: Sequence[Limits]) -> Field:
    """The configuration after a step, within its limits."""
    reached: Field
    (reached,) = links.fields("reached")
    at = moved = 0
    for k in links:
        reached[k] = q[k]  # of joints that follow others, what their leaders say counts
    for k in links.leaders:
        kind = k.joint_type
        new = kind.integrate(q[k], Dofs(delta[moved : moved + kind.nv]))
        if kind.flat:
            bounds = limits[at : at + kind.nq]
            new = Dofs([_within(*each) for each in zip(new, bounds, kind.angles, strict=True)])
        reached[k], at, moved = new, at + kind.nq, moved + kind.nv
    return reached


def _stops(limits: Limits, angle: bool) -> bool:
    """Whether a coordinate stops at its limits, rather than coming back by a whole turn."""
    lower, upper = limits
    return (math.isfinite(lower) or math.isfinite(upper)) and not (angle and upper - lower >= TURN)


def _within(x: Scalar, limits: Limits, angle: bool) -> Scalar:
    """A coordinate within its limits."""
    lower, upper = limits
    if _stops(limits, angle):
        return minimum(maximum(x, lower), upper)
    if math.isinf(upper - lower):
        return x
    back = x - TURN * nearest((x - (lower + upper) / 2) * (1 / TURN))
    return where(x < lower, back, where(x > upper, back, x))
