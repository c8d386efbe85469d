"""The part of Robot that answers about chosen links, frames or points: where they are, and how joints move them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.links import LinkLike, link_name, one_or_several
from catena.functions import coupled_recipes
from catena.functions.coupled_recipes import OPERATIONAL
from catena.functions.frames import function_of
from catena.functions.function import Function
from catena.functions.question import Rule, question
from catena.model.mimic import followers
from catena.questions.kinematics import Kinematics, Placements

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
Links = LinkLike | Sequence[LinkLike]


def about_frames(name: str) -> Rule:
    """The rule that chooses the function of a question about one link or several."""

    def rule(robot: Robot, given: tuple[str, ...], link: Links, frame: str = "link") -> Function:
        about = one_or_several(robot.tree, link), frame, "point" in given
        found = function_of(robot, name, *about)
        if name not in OPERATIONAL or followers(robot.tree) is None:
            return found
        return coupled_recipes.about_frames(
            name, found, *[function_of(robot, each, *about) for each in ("jacobian", "jacobian_dot_times")]
        )

    return rule


def _placement(robot: Robot, given: tuple[str, ...], link: LinkLike) -> Function:
    return function_of(robot, "placement", link_name(robot.tree, link), "link", "point" in given)


class Jacobians(Kinematics):
    """Questions about one link or frame, or about several at once, whose results then lie below each other.

    `link` is its name (of a link, a link merged by a fixed joint, or the base), its number in `robot.links`, or one of
    these; or a list of m of them: then there are 6 m numbers where one link has six. `point` moves its origin to a
    point of the body, (..., 3) in m in the frame's own axes; of m links it is (..., m, 3). `frame`, `out`, `dtype` and
    `kernel` are as in :class:`~catena.questions.kinematics.Kinematics`.
    """

    __slots__ = ()

    @question(_placement, closed="forest")
    def placement(
        self,
        q: npt.ArrayLike,
        link: LinkLike,
        point: npt.ArrayLike | None = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Placements:
        """Where one link or frame is: its rotation and origin in the base's frame.

        Args:
            q: configurations, (..., nq).
            link: the link, frame or base, by name or number.
            point: a point of it whose place is asked for instead of the origin's, (..., 3) in m, in its own axes.
            out: arrays for the rotation and the origin.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `rotation` (..., 3, 3), whose columns are the axes, and `position` (..., 3) in m. Cost: the link's depth.
        """

    @question(about_frames("jacobian"), closed="forest")
    def jacobian(
        self,
        q: npt.ArrayLike,
        link: Links,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The Jacobian J(q): the spatial velocity (rad/s, m/s) of a link or frame is J v.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            point: the point whose velocity is meant, (..., 3) in m, in the frame's own axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes, and the velocity of which point (see Kinematics).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 6, nv), angular rows first; (..., 6 m, nv) for a list. Cost: the link's depth.

        Example:
            `robot.jacobian(q, "tool", frame="mixed") @ v` is the velocity of the tool's origin in the base's axes.
        """

    @question(about_frames("jacobian_times"), closed="forest")
    def jacobian_times(
        self,
        q: npt.ArrayLike,
        link: Links,
        x: npt.ArrayLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The product J x without forming J: the velocity (rad/s, m/s) of a link or frame when joints move with x.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            x: joint velocities, (..., nv).
            point: the point whose velocity is meant, (..., 3) in m, in the frame's own axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes, and the velocity of which point (see Kinematics).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 6), angular part first; (..., 6 m) for a list. Cost: the link's depth.
        """

    @question(about_frames("jacobian_transpose_times"), closed="forest")
    def jacobian_transpose_times(
        self,
        q: npt.ArrayLike,
        link: Links,
        f: npt.ArrayLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The product Jᵀ f without forming J: the joint torques that stand for a wrench f on a link or frame.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            f: the wrench, (..., 6): moment in N m, then force in N; (..., 6 m) for a list.
            point: the point that it acts on, (..., 3) in m, in the frame's own axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes the wrench is in (see Kinematics).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv) in N m or N. Cost: the link's depth.
        """

    @question(about_frames("jacobian_dot_times"), closed="forest")
    def jacobian_dot_times(
        self,
        q: npt.ArrayLike,
        link: Links,
        v: npt.ArrayLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The product J̇ v: the acceleration (rad/s², m/s²) of a link or frame whose joints do not accelerate.

        What kind of acceleration it is, `link_accelerations` says.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            v: joint velocities, (..., nv).
            point: the point whose acceleration is meant, (..., 3) in m, in the frame's axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes, and the acceleration of which point (see Kinematics).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 6), angular part first; (..., 6 m) for a list. Cost: the link's depth.
        """
