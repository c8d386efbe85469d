"""Points of links held at places of the base's frame by springs with dampers.

A spring k and a damper d pull a point at x, with the velocity u, to a place p with k (p − x − h u₁) − d u₁, as they
will at the end of a step, u₁ = u + h a. What accelerations take from it is the inertia of a mass h (h k + d) at the
point, however the link is turned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.force_elements import Action, ForceElement
from catena.algorithms.points import inside, mean, motions, point_mass
from catena.arguments.scalars import real
from catena.errors import ShapeError, UnsupportedError, shown
from catena.scalars import Scalar
from catena.simulation.checked import as_points, moving_frame
from catena.spatial import ArticulatedInertia, Force, Vec3
from catena.sweeps import Field, Links

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

GIVING = 1e-5
"""How far in m a pin gives way under the weight of the whole robot, where no stiffness is given."""

MOST = 16
"""Pins at one link."""

WIDTH = 8
"""Numbers of a pin: the point in the link's frame and the place in the base's, in m, stiffness in N/m, damping in
N s/m."""


@dataclass(frozen=True, eq=False)
class Pins(ForceElement):
    """Points of links that are held at places by stiff springs with dampers, as the far end of a cable.

        pins = catena.Pins({"tip": (0.8, 0.0, 0.0)})
        run = cable.rollout(q, v, None, 1e-3, steps=1000, pins=pins, integrator="linearly_implicit", joint_losses=True)

    A pinned link may turn about its point; two pins leave it one axis, three hold it. A step takes pins where it leads
    and is stable however stiff they are. A point that starts elsewhere is pulled to its place within some milliseconds.

    Attributes:
        places: a mapping from names of links and frames to where they are held, in the base's frame, (3,) or (m, 3) in
            m.
        points: which point of them is held, in their own frames, (3,) or (m, 3) in m; their origins where there is
            none.
        stiffness: of each pin, in N/m; if None, such that the weight of the whole robot moves it by 0.01 mm.
        damping: of each pin, in N s/m; if None, what lets the robot's mass on such a spring come to rest without
            swinging.
    """

    name = "pins"

    places: Mapping[str, npt.ArrayLike]
    points: Mapping[str, npt.ArrayLike] | None = None
    stiffness: float | None = None
    damping: float | None = None

    def on(self, robot: Robot) -> ForceElement:
        """The pins with room for as many at each link as there are at one."""
        return _Pinned(max(map(len, self._of_links(robot).values())))

    def numbers(self, robot: Robot) -> Mapping[str, Any]:
        """The pins of each link in a row."""
        found = self._of_links(robot)
        array = np.zeros((robot.tree.n, WIDTH * max(map(len, found.values()))))
        for link, pins in found.items():
            array[link, : WIDTH * len(pins)] = np.concatenate(pins)
        return {"pins": array}

    def _of_links(self, robot: Robot) -> dict[int, list[Array]]:
        """The numbers of each pin, by links."""
        found: dict[int, list[Array]] = {}
        numbers = self._numbers(robot)
        if not isinstance(self.places, Mapping) or not self.places:
            raise ShapeError(f"Pins: places must be a mapping from links or frames to points, got {shown(self.places)}")
        points = {} if self.points is None else self.points
        for name in points:
            if name not in self.places:
                raise ShapeError(f"Pins: points has {name!r}, for which places says nothing; give its place, too")
        for name, place in self.places.items():
            link, held, at = _held(robot, name, points.get(name), place)
            rows = [np.concatenate([point, where, numbers]) for point, where in zip(held, at, strict=True)]
            found.setdefault(link, []).extend(rows)
        count = max(map(len, found.values()))
        if count > MOST:
            raise UnsupportedError(f"Pins: a link can have {MOST} pins, one has {count}; three are enough to hold it")
        return found

    def _numbers(self, robot: Robot) -> tuple[float, float]:
        mass = robot.total_mass
        weight = mass * (float(np.linalg.norm(robot.gravity)) or 9.81)
        stiffness = weight / GIVING if self.stiffness is None else real("Pins: stiffness", self.stiffness, least=0.0)
        given = None if self.damping is None else real("Pins: damping", self.damping, least=0.0)
        return stiffness, 2 * np.sqrt(stiffness * mass) if given is None else given


def _held(robot: Robot, name: str, points: Any, places: Any) -> tuple[int, Array, Array]:
    """The link that a name means, its points that are held, and their places."""
    frame = moving_frame("Pins", robot, name)
    at = as_points(f"Pins: places of {name!r}", places)
    held = as_points(f"Pins: points of {name!r}", np.zeros_like(at) if points is None else points)
    if len(at) != len(held):
        raise ShapeError(f"Pins: {name!r} has {len(at)} places for {len(held)} points; give one for each")
    return frame.link, held @ frame.rotation.T + frame.position, at


class _Pinned(ForceElement):
    """Pins, at most `count` at each link; those of stiffness and damping zero hold nothing."""

    def __init__(self, count: int) -> None:
        self.name, self.count = f"pins{count}", count

    @property
    def inputs(self) -> dict[str, str]:
        """The pins of every link."""
        return {"pins": f"link:{WIDTH * self.count}"}

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
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


class _Pinning(Action):
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
