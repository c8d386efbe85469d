"""Points of links held at places of the base's frame by springs with dampers: a law of resistance.

A spring k and a damper d pull a point at x, with the velocity u, to a place p with k (p − x − h u₁) − d u₁, as they
will at the end of a step, u₁ = u + h a. What accelerations take from it is the inertia of a mass h (h k + d) at the
point, however the link is turned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from catena.algorithms.points import inside, mean, motions, point_mass
from catena.algorithms.resistance import Resisting
from catena.scalars import Scalar
from catena.spatial import ArticulatedInertia, Force, Vec3
from catena.sweeps import Field, Links

WIDTH = 8
"""Numbers of a pin: the point in the link's frame and the place in the base's, in m, stiffness in N/m, damping in
N s/m."""


@dataclass(frozen=True)
class Pinned:
    """Pins, at most `count` at each link; those of stiffness and damping zero hold nothing."""

    count: int
    memory: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What tells it apart."""
        return f"pins{self.count}"

    @property
    def inputs(self) -> dict[str, str]:
        """The pins of every link."""
        return {"pins": f"link:{WIDTH * self.count}"}

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Resisting:
        """The springs in a step of length dt from (q, v)."""
        (pins,) = given
        X, V = motions(links, q, v)
        (f,) = links.fields("f")
        for k in links.base_to_tip():
            f[k] = Force.zero()
            for c, place, stiffness, damping in _each(k, pins):
                velocity = V[k].linear + V[k].angular.cross(c)
                away = X[k].R.T @ (place - X[k].p) - c
                force = away * stiffness - velocity * (dt * stiffness + damping)
                f[k] = f[k] + Force(c.cross(force), force)
        return _Pinning(f, pins, dt)


class _Pinning(Resisting):
    """The springs during a step: wrenches `f` on links, and masses that depend on no state."""

    def __init__(self, f: Field, pins: Field, dt: Scalar) -> None:
        self.f, self.pins, self.dt = f, pins, dt

    def at_link(self, k: Any) -> tuple[Force, ArticulatedInertia] | None:
        """What the pins of a link do."""
        h = self.dt
        first, *more = [
            point_mass(h * (h * stiffness + damping), c) for c, _, stiffness, damping in _each(k, self.pins)
        ]
        return self.f[k], sum(more, start=first)

    def near(self, k: Any) -> Vec3 | None:
        """The mean of the points that are held, by stiffness."""
        pins = list(_each(k, self.pins))
        return mean([stiffness for _, _, stiffness, _ in pins], [c for c, *_ in pins])


def _each(k: Any, pins: Field) -> Iterator[tuple[Vec3, Vec3, Scalar, Scalar]]:
    """Of each pin of a link the point in its internal frame, the place, stiffness and damping."""
    numbers = pins[k]
    for i in range(0, len(numbers), WIDTH):
        yield inside(k.frame, numbers[i : i + 3]), Vec3(*numbers[i + 3 : i + 6]), numbers[i + 6], numbers[i + 7]
