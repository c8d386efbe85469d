"""The part of Robot that answers where all links are and how they move."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.kinematics import LINK_ACCELERATIONS, LINK_VELOCITIES, PLACEMENTS
from catena.arguments.links import LinkLike, link_names
from catena.arguments.words import frame_word
from catena.functions.frames import function_of
from catena.functions.function import Function
from catena.functions.question import Answering, question

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class Placements(NamedTuple):
    """Rotation matrices (..., 3, 3), whose columns are a frame's axes, and origins (..., 3), in the base's frame."""

    rotation: Array
    position: Array


def _placements(robot: Robot, given: tuple[str, ...], links: Any) -> Function:
    return PLACEMENTS if links is None else function_of(robot, "placements", link_names(robot.tree, links))


def _link_velocities(robot: Robot, given: tuple[str, ...], frame: str) -> Function:
    return LINK_VELOCITIES[frame_word(frame)]


def _link_accelerations(robot: Robot, given: tuple[str, ...], frame: str) -> Function:
    return LINK_ACCELERATIONS[frame_word(frame)]


class Kinematics(Answering):
    """Placements, velocities and accelerations of all links.

    Velocities are spatial, (ω, v), angular part first, in rad/s and m/s; accelerations in rad/s² and m/s²; positions in
    m. `frame` says in which axes they are, and of which point:

    - "link": the body's own axes, velocity of its own origin (Pinocchio's LOCAL);
    - "world": the base's axes, velocity of the body's point at the base's origin (WORLD);
    - "mixed": the base's axes, velocity of the body's origin (LOCAL_WORLD_ALIGNED).

    All arrays broadcast over leading dimensions; results are float64 unless `dtype` says float32, and are written to
    `out` if that is given. `kernel` forces "unrolled" or "rolled" machine code.
    """

    __slots__ = ()

    @question(_placements, closed="forest")
    def placements(
        self,
        q: npt.ArrayLike,
        links: LinkLike | Iterable[LinkLike] | None = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Placements:
        """Where links are: rotations and origins in the base's frame.

        Args:
            q: configurations, (..., nq).
            links: links and frames to ask about, in that order; all moving links if it is left out.
            out: arrays for the rotations and the origins.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `rotation` (..., links, 3, 3), whose columns are the axes, and `position` (..., links, 3) in m. Cost: O(n).

        Example:
            `robot.placements(q, robot.frames)` are the placements of all frames.
        """

    @question(_link_velocities, closed="forest")
    def link_velocities(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """Spatial velocities of all links: angular (rad/s), then linear (m/s).

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            frame: "link", "world" or "mixed": whose axes, and the velocity of which point (see the class).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., links, 6). Cost: O(n).
        """

    @question(_link_accelerations, closed="forest")
    def link_accelerations(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """Rates of change of `link_velocities`, J a + J̇ v: angular (rad/s²), then linear (m/s²), without gravity.

        In the frame "mixed" the linear part is the acceleration of the origin; in the others it is a spatial one, which
        lacks the term ω × v.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            frame: "link", "world" or "mixed": whose axes, and the velocity of which point (see the class).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., links, 6). Cost: O(n).
        """
