"""One sphere on the ground: where it touches, its force in a step, and the force that then acts.

See :mod:`catena.algorithms.contact`, whose law this is for one sphere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from catena.algorithms.points import point_mass, squared
from catena.algorithms.resistance import sliding
from catena.scalars import Scalar, is_zero, maximum, minimum, sqrt, where
from catena.spatial import ArticulatedInertia, Force, Motion, Vec3
from catena.spatial.pose import Pose

DEFLECTION = 1e-5
"""σ: how far a point gives way along the ground, in m, before it slides."""

TINY = 1e-30
"""The square of a speed in m/s below which there is none."""

Height = Callable[[Scalar, Scalar], tuple[Scalar, Scalar, Scalar]]
"""The height of the ground at (x, y), and its slopes along x and y."""


class Place:
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

    def bristle(self, anchor: Sequence[Scalar], dt: Scalar) -> tuple[Vec3, Scalar, list[Scalar]]:
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


@dataclass(frozen=True)
class Touch:
    """One sphere on the ground during a step.

    Its force, in the link's axes, loses b for each unit of acceleration along the ground and `across` across it; `left`
    is the bristle after the step. Fields have values for it, at the link of that `index`.
    """

    index: int
    at: Place
    numbers: Sequence[Scalar]
    anchor: Sequence[Scalar]
    dt: Scalar
    force: Vec3
    b: Scalar
    across: Scalar
    left: Sequence[Scalar]

    @classmethod
    def of(
        cls, index: int, at: Place, numbers: Sequence[Scalar], anchor: Sequence[Scalar], dt: Scalar, weight: Scalar
    ) -> Touch:
        """At the start of a step. What is in the ground touches if its weight would bring it back within the step."""
        k, c, _ = numbers
        slope = k * dt + c * k * maximum(at.depth, 0.0)
        N = k * at.depth + slope * at.falling
        return cls._made(index, at, numbers, anchor, dt, N, where(at.depth > 0.0, N + slope * dt * weight, N) > 0.0)

    def again(self, A: Motion) -> Touch:
        """Where the step leads with the acceleration A of its link."""
        k, c, _ = self.numbers
        slope = k * self.dt + c * k * maximum(self.at.depth, 0.0)
        N = k * self.at.depth + slope * (self.at.falling - self.dt * self.at.n.dot(self.moved(A)))
        return self._made(self.index, self.at, self.numbers, self.anchor, self.dt, N, N > 0.0)

    @classmethod
    def _made(
        cls,
        index: int,
        at: Place,
        numbers: Sequence[Scalar],
        anchor: Sequence[Scalar],
        dt: Scalar,
        foreseen: Scalar,
        touches: Any,
    ) -> Touch:
        k, c, mu = numbers
        pressed = k * maximum(at.depth, 0.0)
        slope = k * dt + c * pressed
        N = k * at.depth + slope * at.falling
        ahead, share, stretched = at.bristle(anchor, dt)
        pull = mu * maximum(minimum(foreseen, pressed + c * pressed * at.falling), 0.0) * (1.0 / DEFLECTION)
        pull, N, slope = (where(touches, x, 0.0) for x in (pull, N, slope))
        left = [where(touches, x, other) for x, other in zip(stretched, (0.0, 0.0, -1.0), strict=True)]
        b = pull * share * (2.0 * dt * dt)
        return cls(index, at, numbers, anchor, dt, at.n * N - ahead * (pull * share), b, dt * slope, left)

    def moved(self, A: Motion) -> Vec3:
        """How the acceleration of the link accelerates the point that touches."""
        return A.linear + A.angular.cross(self.at.c)

    def resists(self) -> tuple[Force, ArticulatedInertia]:
        """The wrench on the link, and what it loses for each unit of acceleration."""
        n, c = self.at.n, self.at.c
        inertia = point_mass(self.b, c) + squared(self.across - self.b, c.cross(n), n)
        return Force(c.cross(self.force), self.force), inertia


@dataclass(frozen=True)
class Push:
    """A force that acts on a sphere: that which was `asked` for, so far as the ground can exert it.

    The ground does not pull, and friction is at most μ times what it pushes with.
    """

    touch: Touch
    asked: Vec3
    force: Vec3

    @classmethod
    def of(cls, touch: Touch, A: Motion) -> Push:
        """What is in the cone of the force that acts when the link accelerates with A."""
        n, moved = touch.at.n, touch.moved(A)
        across = n.dot(moved)
        asked = touch.force - (moved - n * across) * touch.b - n * (across * touch.across)
        up = n.dot(asked)
        along, N = asked - n * up, maximum(up, 0.0)
        most, square = touch.numbers[2] * N, along.dot(along)
        within = minimum(most / sqrt(maximum(square, TINY)), 1.0)
        return cls(touch, asked, n * N + along * within)

    @property
    def index(self) -> int:
        """The link's."""
        return self.touch.index

    @property
    def at(self) -> Place:
        """Where it touches."""
        return self.touch.at

    def resists(self) -> tuple[Force, ArticulatedInertia]:
        """The wrench on the link, which accelerations do not change."""
        return Force(self.at.c.cross(self.force), self.force), point_mass(0, self.at.c)

    def products(self, at_rest: Motion, A: Motion, pushed: Motion) -> tuple[Scalar, Scalar]:
        """With what was asked for and with itself, by the accelerations without the forces, with those and these."""
        touch, before = self.touch, self.touch.moved(at_rest)
        n, f = self.at.n, self.force
        up = n.dot(f)
        compliance = [where(x > 0.0, 1.0 / where(x > 0.0, x, 1.0), 0.0) for x in (touch.b, touch.across)]
        soft = (f - n * up) * compliance[0] + n * (up * compliance[1])
        asked = f.dot(touch.moved(A) - before) + soft.dot(self.asked)
        return asked, f.dot(touch.moved(pushed) - before) + soft.dot(f)


def _within(s: Vec3) -> Vec3:
    """A stretch, cut to the length that a bristle can have."""
    length = s.dot(s)
    share: Scalar = DEFLECTION / sqrt(where(length > DEFLECTION**2, length, DEFLECTION**2))
    within: Vec3 = s * share
    return within
