"""Pins: points of links that are held at places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.pins import WIDTH, Pinned
from catena.arguments.scalars import real
from catena.errors import ShapeError, UnsupportedError, shown
from catena.simulation.checked import as_points, moving_frame

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

GIVING = 1e-5
"""How far in m a pin gives way under the weight of the whole robot, where no stiffness is given."""

MOST = 16
"""Pins at one link."""


@dataclass(frozen=True, eq=False)
class Pins:
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

    places: Mapping[str, npt.ArrayLike]
    points: Mapping[str, npt.ArrayLike] | None = None
    stiffness: float | None = None
    damping: float | None = None

    def law(self, robot: Robot) -> tuple[Pinned, Array]:
        """The pins on a robot, and their numbers, those of each link in a row."""
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
        array = np.zeros((robot.tree.n, WIDTH * count))
        for link, pins in found.items():
            array[link, : WIDTH * len(pins)] = np.concatenate(pins)
        return Pinned(count), array

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
