"""Drag: what a medium takes from links that move through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, ShapeError, shown
from catena.simulation.checked import each, finite

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Drag:
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

    def numbers(self, robot: Robot) -> tuple[Array, Array]:
        """What the law of drag takes: a row of each link, and the velocity of the medium."""
        n = robot.tree.n
        words = "normal", "tangential", "linear_normal", "linear_tangential"
        factors = [each(f"Drag: {word}", getattr(self, word), n) for word in words]
        length = 2 * np.linalg.norm(robot.tree.com, axis=-1) if self.length is None else self.length
        columns = np.stack([*factors, each("Drag: length", length, n)], axis=-1)
        velocity = finite("Drag: velocity", self.velocity, (3,))
        return np.concatenate([columns, robot.tree.com, self._axes(robot)], axis=-1), velocity

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
