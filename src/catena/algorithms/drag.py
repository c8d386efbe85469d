"""The drag of a medium on links, seen as straight and slender bodies: a law of resistance.

The centre of a link moves through the medium with the velocity u, of which u∥ is along the link and u⊥ across it. It is
held back by (b∥ + c∥ |u∥|) u∥ + (b⊥ + c⊥ |u⊥|) u⊥, and its turning ω⊥ about axes across it by what the same drag along
its length ℓ amounts to, (b⊥ + c⊥ (|u⊥| + ⅜ ℓ |ω⊥|)) ℓ²/12 ω⊥: this is what the integral along the link gives when the
link only moves, or only turns. The speeds in the factors are those of the start of a step, the velocities that they
multiply those of its end; so that drag never drives. For a body that nothing else acts on, u₁ = u / (1 + h c |u| / m)
is the exact solution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from catena.algorithms.points import inside, motions, point_mass, squared
from catena.algorithms.resistance import Resisting
from catena.scalars import Scalar, absolute, sqrt, where
from catena.spatial import ArticulatedInertia, Force, Mat3, Sym3, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links

TINY = 1e-30
"""The square of a speed below which there is none."""


class MediumDrag:
    """Drag on all links.

    Inputs are "drag", of each link c⊥ and c∥ in N s²/m², b⊥ and b∥ in N s/m, its length in m, its centre and the unit
    vector along it, in its frame; and "medium", the velocity of the medium in the base's frame.
    """

    name = "drag"
    inputs: Mapping[str, str] = MappingProxyType({"drag": "link:11", "medium": "robot:3"})
    memory = ()

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Resisting:
        """Drag in a step of length dt from (q, v)."""
        drag, medium = given
        X, V = motions(links, q, v)
        factors, f = links.fields("factors f")
        for k in links.base_to_tip():
            centre, along = _placed(k, drag[k])
            u = V[k].linear + V[k].angular.cross(centre) - X[k].R.T @ Vec3(*medium)
            found = _factors(drag[k], along, u, V[k].angular)
            factors[k], f[k] = [*found], found.wrench(centre, along, u, V[k].angular)
        return _Dragging(factors, f, drag, dt)


class _Factors(NamedTuple):
    """What velocities across and along a link, and turning, are multiplied by."""

    across: Scalar
    along: Scalar
    turning: Scalar

    def wrench(self, centre: Vec3, axis: Vec3, u: Vec3, w: Vec3) -> Force:
        """The wrench on the link."""
        force = u * -self.across + axis * (axis.dot(u) * (self.across - self.along))
        moment = (w - axis * axis.dot(w)) * -self.turning
        return Force(centre.cross(force) + moment, force)

    def inertia(self, dt: Scalar, centre: Vec3, axis: Vec3) -> ArticulatedInertia:
        """What the wrench loses for each unit of acceleration."""
        b, more, turning = dt * self.across, dt * (self.along - self.across), dt * self.turning
        x, y, z = axis
        moments = [1 - x * x, -(x * y), -(x * z), 1 - y * y, -(y * z), 1 - z * z]
        turned = ArticulatedInertia(Sym3(*[turning * m for m in moments]), Mat3.skew(Vec3.zero()), Sym3.scalar(0))
        return point_mass(b, centre) + squared(more, centre.cross(axis), axis) + turned


class _Dragging(Resisting):
    """Drag during a step: its factors, and the wrenches `f` on links."""

    def __init__(self, factors: Field, f: Field, drag: Field, dt: Scalar) -> None:
        self.factors, self.f, self.drag, self.dt = factors, f, drag, dt

    def at_link(self, k: Any) -> tuple[Force, ArticulatedInertia] | None:
        """What the medium does to a link."""
        return self.f[k], _Factors(*self.factors[k]).inertia(self.dt, *_placed(k, self.drag[k]))


def _placed(k: Any, numbers: Sequence[Scalar]) -> tuple[Vec3, Vec3]:
    """The centre of a link and the direction along it, in its internal frame."""
    return inside(k.frame, numbers[5:8]), Pose.identity().then(k.frame).R @ Vec3(*numbers[8:11])


def _factors(numbers: Sequence[Scalar], axis: Vec3, u: Vec3, w: Vec3) -> _Factors:
    """The factors at the speeds of the start of a step."""
    square_across, square_along, across, along, length = numbers[:5]
    forward = axis.dot(u)
    sideways, turning = _length(u - axis * forward), _length(w - axis * axis.dot(w))
    turned = across + square_across * (sideways + 0.375 * (length * turning))
    return _Factors(
        across + square_across * sideways,
        along + square_along * absolute(forward),
        turned * (length * length * (1 / 12)),
    )


def _length(x: Vec3) -> Scalar:
    square = x.dot(x)
    return where(square > TINY, sqrt(where(square > TINY, square, TINY)), 0.0)
