"""Spheres fixed to links against the ground, a height over the plane: a force. For unrolled kernels only.

The normal force is that of Hunt and Crossley (1975), N = k δ (1 + c δ̇) where a sphere is δ deep in the ground, with
δ and δ̇ of the end of a step, so far as these are linear in its speeds. Whether it acts is decided before the step,
with the speeds of its start: what other contacts of a tree do within the step is not foreseen, so that a point which
they throw up may be pulled for that step, and friction may be more than μ times the N that results. Both vanish with
the length of the step. Friction is a bristle as in :mod:`catena.algorithms.resistance`: stretched by s along the
ground it pulls back with μ N s / σ, and slides when it is as long as σ. There, N is that of the start of the step, or
what is foreseen for its end if that is less: what is foreseen alone is too much when robots land, and would drive
them to and fro. What accelerations add to these forces is an inertia at the point that touches, b along the ground
and b_n across it: a point mass b, and (b_n − b) w wᵀ with the wrench w of a unit force across the ground.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from catena.algorithms.force_elements import Action, ForceElement
from catena.algorithms.points import inside, mean, motions, point_mass, squared
from catena.algorithms.resistance import sliding
from catena.scalars import Scalar, is_zero, maximum, minimum, sqrt, where
from catena.spatial import ArticulatedInertia, Force, Motion, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links, at_base

DEFLECTION = 1e-5
"""σ: how far a point gives way along the ground, in m, before it slides."""

TINY = 1e-30
"""The square of a speed in m/s below which there is none."""

Height = Callable[[Scalar, Scalar], tuple[Scalar, Scalar, Scalar]]
"""The height of the ground at (x, y), and its slopes along x and y."""


@dataclass(frozen=True)
class Sphere:
    """A sphere fixed to link number `link`: its centre in the link's frame, and its radius, in m."""

    link: int
    centre: tuple[float, float, float]
    radius: float = 0.0


@dataclass(frozen=True)
class GroundContact(ForceElement):
    """The forces between spheres and the ground.

    Inputs are "ground", the stiffness k (N/m), the dissipation c (s/m) and the friction μ, and "anchors", three
    numbers for each sphere: how far its bristle is stretched along x and y, and how fast it slid in the step before, −1
    if it did not touch.
    """

    name: str
    spheres: tuple[Sphere, ...]
    height: Height
    memory: tuple[str, ...] = ("anchors",)

    @property
    def inputs(self) -> dict[str, str]:
        """What it takes."""
        return {"ground": "robot:3", "anchors": f"robot:{3 * len(self.spheres)}"}

    def during(self, links: Any, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
        """The forces in a step of length dt from (q, v)."""
        X, V = motions(links, q, v)
        numbers, anchors = given
        found: dict[int, list[tuple[Force, ArticulatedInertia]]] = {}
        points: dict[int, list[Vec3]] = {}
        remembered: list[Scalar] = []
        of_link = {k.index: k for k in links}
        for i, sphere in enumerate(self.spheres):
            k = of_link[sphere.link]
            touch = _Touch(X[k], V[k], inside(k.frame, sphere.centre), sphere.radius, self.height)
            weight = -touch.normal.dot(links.gravity.linear)
            force, inertia, left = touch.forces(numbers, anchors[3 * i : 3 * i + 3], dt, weight)
            found.setdefault(sphere.link, []).append((force, inertia))
            points.setdefault(sphere.link, []).append(touch.c)
            remembered += left
        return _Touching(found, points, remembered)


class _Touching(Action):
    """What the ground exerts on links and at which points, by links, and the bristles after it."""

    def __init__(
        self,
        found: dict[int, list[tuple[Force, ArticulatedInertia]]],
        points: dict[int, list[Vec3]],
        left: list[Scalar],
    ) -> None:
        self.found, self.points, self.left = found, points, left

    def at_link(self, k: Any) -> tuple[Force, ArticulatedInertia] | None:
        """The sum of all that touches at a link."""
        each = self.found.get(k.index)
        if each is None:
            return None
        (f, P), *more = each
        for g, Q in more:
            f, P = f + g, P + Q
        return f, P

    def near(self, k: Any) -> Vec3 | None:
        """The mean of the points that touch, by the squares of forces."""
        each = self.found.get(k.index)
        return None if each is None else mean([f.linear.dot(f.linear) for f, _ in each], self.points[k.index])

    def remembered(self, links: Links, v: Field) -> list[Field]:
        """The bristles."""
        return [at_base(links, self.left)]


class _Touch:
    """One sphere and the ground below it: in the link's axes the normal n, the point c that touches, its velocity."""

    def __init__(self, X: Pose, V: Motion, centre: Vec3, radius: float, height: Height) -> None:
        self.R, at = X.R, X.p + X.R @ centre
        h, hx, hy = height(at.x, at.y)
        flat = is_zero(hx) and is_zero(hy)
        steep = 1 if flat else 1.0 / sqrt(hx * hx + hy * hy + 1.0)
        self.normal = Vec3(0, 0, 1) if flat else Vec3(-hx * steep, -hy * steep, steep)
        self.depth = radius - (at.z - h) * steep
        self.n = X.R.T @ self.normal
        self.c = centre - self.n * radius
        velocity = V.linear + V.angular.cross(self.c)
        self.falling = -self.n.dot(velocity)
        self.sliding = velocity + self.n * self.falling

    def forces(
        self, numbers: Sequence[Scalar], anchor: Sequence[Scalar], dt: Scalar, weight: Scalar
    ) -> tuple[Force, ArticulatedInertia, list[Scalar]]:
        """The wrench on the link, what it loses for each unit of acceleration, and what the next step has to know.

        What is in the ground stays in touch if its weight, an acceleration, would bring it back within the step.
        """
        k, c, mu = numbers
        pressed = k * maximum(self.depth, 0.0)
        slope = k * dt + c * pressed
        N = k * self.depth + slope * self.falling
        touches = where(self.depth > 0.0, N + slope * dt * weight, N) > 0.0
        ahead, share, stretched = self._bristle(anchor, dt)
        pull = mu * maximum(minimum(N, pressed + c * pressed * self.falling), 0.0) * (1.0 / DEFLECTION)
        pull, N, slope = (where(touches, x, 0.0) for x in (pull, N, slope))
        force, b = self.n * N - ahead * (pull * share), pull * share * (2.0 * dt * dt)
        P = point_mass(b, self.c) + squared(dt * slope - b, self.c.cross(self.n), self.n)
        left = [where(touches, x, other) for x, other in zip(stretched, (0.0, 0.0, -1.0), strict=True)]
        return Force(self.c.cross(force), force), P, left

    def _bristle(self, anchor: Sequence[Scalar], dt: Scalar) -> tuple[Vec3, Scalar, list[Scalar]]:
        """The bristle at the end of the step, in the link's axes, so far as it does not depend on accelerations.

        Then the share of it that pulls, and what the next step has to know: the bristle in the base's axes, the speed.
        One that is let go by a fast motion holds on for one step, as it was before; only if that does not stop the
        motion is it laid over.
        """
        (sx, sy, slid), (nx, ny, nz) = anchor, self.normal
        before = Vec3(sx, sy, 0 if is_zero(nx) and is_zero(ny) else -(nx * sx + ny * sy) / nz)
        moved = self.R @ self.sliding
        square = moved.dot(moved)
        speed = sqrt(where(square > TINY, square, TINY))
        fast = speed * dt > DEFLECTION
        grown = _within(before + moved * dt)
        let_go = before.dot(moved) < 0.0
        now = Vec3(*[where(let_go, where(fast, x, y), y) for x, y in zip(before, grown, strict=True)])
        ahead = now + moved * (2.0 * dt)
        length = ahead.dot(ahead)
        length = sqrt(where(length > DEFLECTION**2, length, DEFLECTION**2))
        full = now.dot(now) >= (1 - 1e-9) * DEFLECTION**2
        slides = sliding(now.dot(moved), full, length > 3.0 * DEFLECTION)
        share = slides(DEFLECTION / length, 1.0)
        gained = where(slid < 0.0, 0.0, minimum(maximum(speed - slid, -0.5 * speed), speed))
        after = [slides(x * share, y) for x, y in zip(ahead, grown, strict=True)]
        less = slides(2.0 * dt * gained / speed, 0.0)
        return self.R.T @ (ahead - moved * less), share, [*after[:2], speed]


def _within(s: Vec3) -> Vec3:
    """A stretch, cut to the length that a bristle can have."""
    length = s.dot(s)
    share: Scalar = DEFLECTION / sqrt(where(length > DEFLECTION**2, length, DEFLECTION**2))
    within: Vec3 = s * share
    return within
