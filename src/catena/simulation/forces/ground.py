"""The ground that robots stand on: which points of them touch it, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.contact import GroundContact, Sphere
from catena.algorithms.force_elements import ForceElement
from catena.algorithms.touches import Height
from catena.arguments.scalars import real
from catena.errors import UnsupportedError, kind_of
from catena.model.shapes import BOX, CAPSULE, ELLIPSOID, Primitive
from catena.scalars import Scalar
from catena.simulation.checked import as_points, finite, moving_frame
from catena.simulation.tracing import digest, numbers_of
from catena.simulation.trials import Expressions, tried
from catena.trace.derivatives import tangents

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

SINKING = 1e-3
"""How deep in m a robot sinks that stands on one point, where no stiffness is given."""

FOLLOWED = 2.0
"""How many radians of a swing on the ground a step may take."""

MOST = 64
"""Points that can touch the ground: each adds to the machine code."""


@dataclass(frozen=True, eq=False)
class Ground(ForceElement):
    """Ground under a robot: a height over the plane of the base's x and y, and the points of links that touch it.

        ground = catena.Ground({"foot": (0.0, 0.0, -0.02)}, friction=0.8)
        run = robot.rollout(q, v, tau, 1e-3, ground=ground)

    The normal force is that of Hunt and Crossley, stiffness · depth · (1 + dissipation · speed). It never pulls, and
    friction is at most its coefficient times the normal force, in every step. Friction sticks: below its threshold a
    foot gives way by less than 0.01 mm. Steps take both at their end, and stay stable however stiff the ground is. To
    follow contacts they should be no longer than √(mass / stiffness), 10 ms where no stiffness is given; beyond twice
    that there is a StepWarning. Feet begin to slide within some 15 steps.

    Attributes:
        points: what touches: names of links and frames, whose origins do; or a mapping from such names to points of
            them, (3,) or (m, 3), in m; if None, the spheres, capsules and boxes with which the model's file describes
            collisions, or draws links if it has none of these: a capsule by its two ends and a box by its corners.
        radius: of balls around the points, in m.
        height: of the ground, in m: a number, or a function of (x, y) that is written with NumPy and becomes machine
            code.
        stiffness: in N/m, one number or (...); if None, such that the robot on one point sinks by 1 mm.
        dissipation: in s/m, one number or (...).
        friction: the coefficient of friction, one number or (...).
    """

    name, loops = "ground", False

    points: Iterable[str] | Mapping[str, npt.ArrayLike] | None = None
    radius: float = 0.0
    height: float | Callable[[Any, Any], Any] = 0.0
    stiffness: npt.ArrayLike | None = None
    dissipation: npt.ArrayLike = 10.0
    friction: npt.ArrayLike = 0.8

    def on(self, robot: Robot) -> GroundContact:
        """The forces of this ground on a robot."""
        spheres = self.spheres(robot)
        found = _traced_height(self.height)
        return GroundContact(f"ground-{_named(spheres, self.height, found)}", spheres, _height(self.height, found))

    def spheres(self, robot: Robot) -> tuple[Sphere, ...]:
        """What touches, by the links of a robot."""
        radius = real("Ground: radius", self.radius, least=0.0)
        if self.points is None:
            found = _of_model(robot)
        elif isinstance(self.points, str):
            found = _points(robot, self.points, np.zeros(3), radius)
        elif isinstance(self.points, Mapping):
            found = [s for name, at in self.points.items() for s in _points(robot, name, at, radius)]
        elif not isinstance(self.points, Iterable):
            raise UnsupportedError(f"Ground: points: expected names or a mapping, got {kind_of(self.points)}")
        else:
            found = [s for name in self.points for s in _points(robot, name, np.zeros(3), radius)]
        if not 0 < len(found) <= MOST:
            of_model = "" if self.points is not None else " of the model's spheres, capsules and boxes"
            raise UnsupportedError(
                f"Ground: expected 1 to {MOST} points that touch, found {len(found) or 'none'}{of_model}; name the "
                "links or frames that touch: points=['left_foot', ...], in the shell --feet left_foot,..."
            )
        return tuple(found)

    def numbers(self, robot: Robot) -> Mapping[str, Any]:
        """Stiffness, dissipation and friction, (..., 3), and bristles that nothing stretches."""
        weight = robot.total_mass * (float(np.linalg.norm(robot.gravity)) or 9.81)
        stiffness = weight / SINKING if self.stiffness is None else self.stiffness
        given = {"stiffness": stiffness, "dissipation": self.dissipation, "friction": self.friction}
        arrays = [finite(f"Ground: {name}", value, least=0.0) for name, value in given.items()]
        found = np.stack(np.broadcast_arrays(*arrays), axis=-1)
        return {"ground": found, "anchors": np.zeros(3 * len(self.spheres(robot)))}

    def too_long(self, robot: Robot, dt: float) -> str:
        """What to say if the robot on one point would swing by more than :data:`FOLLOWED` radians a step.

        Steps stay stable, but feet then come and go from one step to the next, and friction with them.
        """
        if not robot.total_mass > 0:
            return ""
        fastest = np.sqrt(np.max(self.numbers(robot)["ground"][..., 0], initial=0.0) / robot.total_mass)
        if not fastest * dt > FOLLOWED:
            return ""
        return (
            f"dt is {dt:g} s, too long for ground this stiff: steps below {FOLLOWED / fastest:.2g} "
            "s follow its contacts; shorten them, or give the ground less stiffness"
        )


def _points(robot: Robot, name: str, at: npt.ArrayLike, radius: float) -> list[Sphere]:
    frame = moving_frame("Ground", robot, name)
    placed = as_points(f"Ground: points of {name!r}", at) @ frame.rotation.T + frame.position
    return [Sphere(frame.link, tuple(p), radius) for p in placed.tolist()]


def _of_model(robot: Robot) -> list[Sphere]:
    """The spheres, the ends of capsules and the corners of boxes that collide, or else with which links are drawn."""
    found: dict[str, list[Sphere]] = {"collision": [], "visual": []}
    for name, shapes in robot.tree.meshes.items():
        for shape in shapes if robot.frame(name).link >= 0 else ():
            if isinstance(shape, Primitive):
                points, radius = _touching(shape)
                places = points @ np.asarray(shape.rotation).T + np.asarray(shape.position)
                found[shape.role] += _points(robot, name, places, radius) if len(points) else []
    return found["collision"] or found["visual"]


def _touching(shape: Primitive) -> tuple[Array, float]:
    """The points of a shape that touch, in its own frame, and the radius of balls around them."""
    size = np.asarray(shape.size, float)
    if shape.kind == BOX:
        return np.array(list(product((-0.5, 0.5), repeat=3))) * size, 0.0
    if shape.kind == CAPSULE:
        return np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]]) * size[2], float(size[0]) / 2
    if shape.kind == ELLIPSOID and size.min() == size.max():
        return np.zeros((1, 3)), float(size[0]) / 2
    return np.zeros((0, 3)), 0.0


def _height(height: Any, found: Expressions | None) -> Height:
    """Height and slopes of the ground on traced scalars."""
    if found is None:
        level = _level(height)
        return lambda x, y: (level, 0, 0)

    def sloped(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        (h,) = found.on(x=x, y=y)
        slopes = [tangents([h], {a: 1.0, b: 0.0})[0] for a, b in ((x, y), (y, x))]
        return h, slopes[0], slopes[1]

    return sloped


def _level(height: Any) -> float:
    return real("Ground: height, if it is no function of (x, y),", height)


def _traced_height(height: Any) -> Expressions | None:
    if not callable(height):
        return None
    try:
        return tried(
            height,
            {"x": None, "y": None},
            lambda x, y: numbers_of(height(x, y), (), "height"),
            lambda x, y: height(x, y),
        )
    except Exception as error:  # whatever the function does with what it does not expect
        raise UnsupportedError(
            f"Ground: height could not be traced ({type(error).__name__}: {error}); write it with NumPy's arithmetic"
        ) from error


def _named(spheres: Sequence[Sphere], height: Any, found: Expressions | None) -> str:
    """What tells grounds apart in machine code, the same in every process."""
    results = [_level(height)] if found is None else found.results
    return digest([*results, *[float(n) for s in spheres for n in (s.link, *s.centre, s.radius)]])
