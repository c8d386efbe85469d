"""Spheres fixed to links against the ground, a height over the plane: a force. For unrolled kernels only.

The normal force is that of Hunt and Crossley (1975), N = k δ (1 + c δ̇) where a sphere is δ deep in the ground, with
δ and δ̇ of the end of a step, so far as these are linear in its speeds. Friction is a bristle as in
:mod:`catena.algorithms.resistance`: stretched by s along the ground it pulls back with μ N s / σ, and slides when it is
as long as σ. There, N is that of the start of the step, or what is foreseen for its end if that is less: what is
foreseen alone is too much when robots land, and would drive them to and fro. What accelerations add to these forces is
an inertia at the point that touches, b along the ground and b_n across it: a point mass b, and (b_n − b) w wᵀ with the
wrench w of a unit force across the ground.

Which spheres touch is decided with the speeds at the start of a step, and again with those at its end. The forces that
come of that are cut to N ≥ 0 and to at most μ N along the ground, and act as they then are:
:mod:`catena.algorithms.one_sided`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from catena.algorithms.force_elements import Action, ForceElement, Pressed
from catena.algorithms.points import inside, mean, motions
from catena.algorithms.touches import Height, Place, Push, Touch
from catena.scalars import Scalar
from catena.spatial import ArticulatedInertia, Force, Vec3
from catena.sweeps import Field, Links, at_base


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
        of_link = {k.index: k for k in links}
        touches: list[Touch] = []
        for i, sphere in enumerate(self.spheres):
            k = of_link[sphere.link]
            at = Place(X[k], V[k], inside(k.frame, sphere.centre), sphere.radius, self.height)
            weight = -at.normal.dot(links.gravity.linear)
            touches.append(Touch.of(sphere.link, at, numbers, anchors[3 * i : 3 * i + 3], dt, weight))
        return _Touching(touches)


class _AtPoints(Action):
    """What acts on links at points of them."""

    def __init__(self, points: Sequence[Touch | Push]) -> None:
        self.points = points

    def at_link(self, k: Any) -> tuple[Force, ArticulatedInertia | None] | None:
        """The sum of all that touches at a link."""
        each = [point.resists() for point in self.points if point.index == k.index]
        if not each:
            return None
        (f, P), *more = each
        for g, Q in more:
            f, P = f + g, P + Q
        return f, P

    def near(self, k: Any) -> Vec3 | None:
        """The mean of the points that touch, by the squares of forces."""
        here = [point for point in self.points if point.index == k.index]
        return mean([x.force.dot(x.force) for x in here], [x.at.c for x in here]) if here else None


class _Touching(_AtPoints):
    """What the ground would exert if it were linear in what the step does."""

    one_sided = True

    def __init__(self, touches: Sequence[Touch]) -> None:
        super().__init__(touches)
        self.touches = touches

    def again(self, A: Field) -> Action:
        """What touches, and how hard, where the step leads with these accelerations of links."""
        return _Touching([touch.again(A[touch]) for touch in self.touches])

    def pressed(self, A: Field) -> Pressed:
        """The forces of these accelerations, so far as the ground can exert them."""
        return _Pressed([Push.of(touch, A[touch]) for touch in self.touches])


class _Pressed(_AtPoints, Pressed):
    """Forces of the ground that are known."""

    def __init__(self, pushes: Sequence[Push]) -> None:
        super().__init__(pushes)
        self.pushes = pushes

    def products(self, at_rest: Field, A: Field, pushed: Field) -> tuple[Scalar, Scalar]:
        """Those with what was asked for, and with themselves: see :func:`catena.algorithms.one_sided.settled`."""
        each = [push.products(at_rest[push], A[push], pushed[push]) for push in self.pushes]
        return sum((x for x, _ in each), 0.0), sum((x for _, x in each), 0.0)

    def scaled(self, share: Scalar) -> Pressed:
        """A share of them."""
        return _Pressed([replace(push, force=push.force * share) for push in self.pushes])

    def remembered(self, links: Links, v: Field) -> list[Field]:
        """The bristles."""
        return [at_base(links, [x for push in self.pushes for x in push.touch.left])]
