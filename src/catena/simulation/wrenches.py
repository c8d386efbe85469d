"""Wrenches on links that change with time and state: functions of users, compiled where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.wrenches import wrenches
from catena.simulation.laws import Given, flat, traced_law
from catena.simulation.tracing import arity, numbers_of
from catena.simulation.trials import Expressions
from catena.spatial import Force

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class OnLinks:
    """A function of (t, q, v, parameters) that gives wrenches, as an array (..., links, 6) or by links and frames."""

    def __init__(self, robot: Robot, function: Callable[..., Any]) -> None:
        self.robot, self.function = robot, function

    def asked(self, t: Any, q: Any, v: Any, parameters: Any) -> Any:
        """What the function of the user gives; it may take fewer arguments."""
        return self.function(*(t, q, v, parameters)[: arity(self.function, 4)])

    def __call__(self, t: Any, q: Any, v: Any, parameters: Any) -> Any:
        """The wrenches on all links, in their frames, of traced numbers."""
        given = self.asked(t, q, v, parameters)
        if not isinstance(given, Mapping):
            return given
        rows = np.zeros((self.robot.tree.n, 6), object)
        for name, wrench in given.items():
            frame = self.robot.frame(name)
            moment, force = np.split(np.array(numbers_of(wrench, (6,), "f_ext"), object), 2)
            moment, force = frame.rotation @ moment, frame.rotation @ force
            rows[frame.link] = rows[frame.link] + np.r_[moment + np.cross(frame.position, force), force]
        return rows

    def numbers(self, t: float, q: Array, v: Array, parameters: Array) -> Array:
        """The same of numbers, for all samples."""
        found: Array = wrenches(self.robot, self.asked(t, q, v, parameters), "rollout")
        return found


def changing(robot: Robot, f_ext: Any, parameters: Array, shape: str) -> Given | None:
    """Wrenches that are given as a function, None for others."""
    if not callable(f_ext):
        return None
    return traced_law(robot.tree, "f_ext", OnLinks(robot, f_ext), parameters, shape, _fields, (robot.tree.n, 6))


def _fields(found: Expressions) -> Callable[..., Any]:
    def algorithm(links: Any, t: Any, q: Any, v: Any, parameters: Any = ()) -> Any:
        numbers, (f,) = found.on(t=t, q=flat(links, q), v=flat(links, v), parameters=parameters), links.fields("f")
        for i, k in enumerate(links):
            f[k] = Force.of(numbers[6 * i : 6 * i + 6])
        return f

    return algorithm
