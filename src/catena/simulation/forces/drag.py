"""The drag of a medium on links, seen as straight and slender bodies.

The centre of a link moves through the medium with the velocity u, of which u∥ is along the link and u⊥ across it. It is
held back by (b∥ + c∥ |u∥|) u∥ + (b⊥ + c⊥ |u⊥|) u⊥, and its turning ω⊥ about axes across it by what the same drag along
its length ℓ amounts to, (b⊥ + c⊥ (|u⊥| + ⅜ ℓ |ω⊥|)) ℓ²/12 ω⊥: this is what the integral along the link gives when the
link only moves, or only turns. The speeds in the factors are those of the start of a step, the velocities that they
multiply those of its end; so that drag never drives. For a body that nothing else acts on, u₁ = u / (1 + h c |u| / m)
is the exact solution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.force_elements import Action, ForceElement
from catena.algorithms.points import inside, motions, point_mass, squared
from catena.errors import ModelError, ShapeError, shown
from catena.scalars import Scalar, absolute, sqrt, where
from catena.simulation.checked import each, finite
from catena.spatial import ArticulatedInertia, Force, Mat3, Sym3, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

TINY = 1e-30
"""The square of a speed below which there is none."""


@dataclass(frozen=True, eq=False)
class Drag(ForceElement):
    """The drag of a medium, such as air or water, on links.

        water = catena.Drag.of_cylinders(cable, diameter=0.01, density=1000.0)
        run = cable.rollout(q, v, None, 1e-3, steps=1000, drag=water, integrator="linearly_implicit", joint_losses=True)

    A link is a straight body whose centre of mass moves through the medium with a velocity u. It is held back by
    (linear_normal + normal |u⊥|) u⊥ across it and by (linear_tangential + tangential |u∥|) u∥ along it, and its turning
    by what this amounts to along its length; nothing resists turns about its own direction. Across and along, each has
    its own speed in its factor, as is usual for cables. A step takes drag where it leads, with the factors of its
    start: it is stable however strong drag is, and a medium at rest never adds energy.

    Attributes:
        normal: ½ ρ C A of each link across it, one number or (links,), in N s²/m².
        tangential: the same along it.
        linear_normal: drag of slow or viscous flow across each link, one number or (links,), in N s/m.
        linear_tangential: the same along it.
        velocity: of the medium in the base's frame, 3 numbers in m/s: wind, a current.
        axis: the direction of links in their frames, (3,) or (links, 3); if None, from their origin to their centre of
            mass, or x where these are the same. It does not matter if linear drag alone acts, the same both ways.
        length: of links, one number or (links,), in m; if None, twice the distance from the origin to the centre of
            mass, as of rods that start at their joint.
    """

    name = "drag"
    inputs = MappingProxyType({"drag": "link:11", "medium": "robot:3"})

    normal: npt.ArrayLike = 0.0
    tangential: npt.ArrayLike = 0.0
    linear_normal: npt.ArrayLike = 0.0
    linear_tangential: npt.ArrayLike = 0.0
    velocity: npt.ArrayLike = (0.0, 0.0, 0.0)
    axis: npt.ArrayLike | None = None
    length: npt.ArrayLike | None = None

    @classmethod
    def of_cylinders(
        cls,
        robot: Robot,
        diameter: npt.ArrayLike | None = None,
        density: float = 1.2,
        normal: float = 1.2,
        tangential: float = 0.01,
        velocity: npt.ArrayLike = (0.0, 0.0, 0.0),
    ) -> Drag:
        """The drag of a fluid on links that are round rods, as those of `catena.cable` and `catena.rod_chain`.

        Args:
            robot: whose links they are.
            diameter: of the rods, one number or (links,), in m; if None, that of solid rods with the inertia that links
                have about their own direction, as cables with a `radius`.
            density: of the fluid, in kg/m³; that of air unless given.
            normal: the coefficient of drag across rods, for their length times their diameter.
            tangential: the coefficient of friction along rods, for their surface.
            velocity: of the fluid in the base's frame, 3 numbers in m/s.

        Returns:
            The drag: ½ density · normal · diameter · length across, ½ density · tangential · π · diameter · length
            along.
        """
        n = robot.tree.n
        thick = _thickness(robot) if diameter is None else each("Drag: diameter", diameter, n)
        area = 0.5 * each("Drag: density", density, n) * thick * 2 * np.linalg.norm(robot.tree.com, axis=-1)
        across, along = (each(f"Drag: {what}", c, n) for what, c in (("normal", normal), ("tangential", tangential)))
        return cls(across * area, along * np.pi * area, velocity=velocity)

    def numbers(self, robot: Robot) -> Mapping[str, Any]:
        """A row of each link, and the velocity of the medium in the base's frame.

        Rows are c⊥ and c∥ in N s²/m², b⊥ and b∥ in N s/m, the length in m, the centre and the unit vector along it.
        """
        n = robot.tree.n
        words = "normal", "tangential", "linear_normal", "linear_tangential"
        factors = [each(f"Drag: {word}", getattr(self, word), n) for word in words]
        length = 2 * np.linalg.norm(robot.tree.com, axis=-1) if self.length is None else self.length
        columns = np.stack([*factors, each("Drag: length", length, n)], axis=-1)
        velocity = finite("Drag: velocity", self.velocity, (3,))
        return {"drag": np.concatenate([columns, robot.tree.com, self._axes(robot)], axis=-1), "medium": velocity}

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
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

    def _axes(self, robot: Robot) -> Array:
        """The unit vectors along links."""
        n = robot.tree.n
        if self.axis is None:
            return _directions(robot)
        axes = np.broadcast_to(finite("Drag: axis", self.axis, (3,), (n, 3)), (n, 3))
        size = np.linalg.norm(axes, axis=-1, keepdims=True)
        if not size.all():
            raise ShapeError(f"Drag: axis must not be zero, got {shown(self.axis)}")
        return axes / size  # type: ignore[no-any-return]


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


class _Dragging(Action):
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


def _directions(robot: Robot) -> Array:
    """From the origins of links to their centres of mass; x where these are the same."""
    com = np.asarray(robot.tree.com)
    size = np.linalg.norm(com, axis=-1, keepdims=True)
    return np.where(size > 0, com, [1.0, 0.0, 0.0]) / np.where(size > 0, size, 1.0)


def _thickness(robot: Robot) -> Array:
    """The diameters of solid rods with the inertia of links."""
    tree, axes = robot.tree, _directions(robot)
    moment, mass = np.einsum("ij,ijk,ik->i", axes, tree.inertia, axes), np.asarray(tree.mass)
    thin = ~((moment > 0) & (mass > 0))
    if thin.any():
        name = tree.link_names[int(np.flatnonzero(thin)[0])]
        raise ModelError(f"Drag: {name!r} has no thickness in the model; give diameter=…, or the cable a radius")
    return 2 * np.sqrt(2 * moment / mass)  # type: ignore[no-any-return]
