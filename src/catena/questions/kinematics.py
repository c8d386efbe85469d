"""The part of Robot that answers where all links are and how they move."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.kinematics import FRAMES, LINK_ACCELERATIONS, LINK_VELOCITIES, PLACEMENTS
from catena.arguments.links import LinkLike, link_names
from catena.functions.asking import ask, one_of
from catena.functions.frames import function_of

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class Placements(NamedTuple):
    """Rotation matrices (..., 3, 3), whose columns are a frame's axes, and origins (..., 3), in the base's frame."""

    rotation: Array
    position: Array


class Kinematics:
    """Placements, velocities and accelerations of all links.

    Velocities are spatial, (ω, v), angular part first, in rad/s and m/s; accelerations in rad/s² and m/s²; positions in
    m. `frame` says whose numbers they are:

    - "link": the body's own axes, velocity of its own origin (Pinocchio's LOCAL);
    - "world": the base's axes, velocity of the body's point at the base's origin (WORLD);
    - "mixed": the base's axes, velocity of the body's origin (LOCAL_WORLD_ALIGNED).

    All arrays broadcast over leading dimensions; results are float64 unless `dtype` says float32, and are written to
    `out` if that is given.
    """

    def placements(
        self,
        q: npt.ArrayLike,
        links: LinkLike | Iterable[LinkLike] | None = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Placements:
        """Rotations (..., links, 3, 3) and origins (..., links, 3), m, of all links in the base's frame. O(n).

        `links` asks for those links and frames instead, in that order, at the cost of their depth:
        `placements(q, robot.frames)` are all frames.
        """
        robot = self._robot
        if links is None:
            return Placements(*ask(robot, PLACEMENTS, q, out=out, dtype=dtype, shape=shape))
        function = function_of(robot, "placements", link_names(robot.tree, links))
        return Placements(*ask(robot, function, q, out=out, dtype=dtype, shape=shape))

    def link_velocities(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """Spatial velocities (..., links, 6) of all links. O(n)."""
        one_of("frame", frame, FRAMES)
        return cast(Array, ask(self._robot, LINK_VELOCITIES[frame], q, v, out=out, dtype=dtype, shape=shape))

    def link_accelerations(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """The rates of change J a + J̇ v (..., links, 6) of `link_velocities`, without gravity. O(n).

        In the frame "mixed" the linear part is the acceleration of the origin; in the others it is a spatial one, which
        lacks the term ω × v.
        """
        one_of("frame", frame, FRAMES)
        function = LINK_ACCELERATIONS[frame]
        return cast(Array, ask(self._robot, function, q, v, a, out=out, dtype=dtype, shape=shape, present=("a",)))

    @property
    def _robot(self) -> Robot:
        return cast("Robot", self)
