"""The part of Robot that answers with derivatives of placements, Jacobians, momentum and kinetic energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.energy_derivatives import (
    KINETIC_ENERGY_GRADIENT,
    MOMENTUM_ABOUT_DERIVATIVES,
    MOMENTUM_DERIVATIVES,
)
from catena.arguments.links import LinkLike, link_name
from catena.arguments.words import one_of
from catena.functions.frames import function_of
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.parameters.adopting import adopting, parametrised
from catena.questions.energy import check_mass
from catena.questions.jacobians import Links, about_frames
from catena.questions.kinematics import Placements

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.robot import Robot

Array = npt.NDArray[Any]


class StateDerivatives(NamedTuple):
    """The derivatives of something by q and by v; their last dimension, nv, says by which number."""

    dq: Array
    dv: Array


def _placement_derivatives(robot: Robot, given: tuple[str, ...], link: LinkLike) -> Function:
    return function_of(robot, "placement_derivatives", link_name(robot.tree, link), "mixed", "point" in given)


def _momentum_derivatives(robot: Robot, given: tuple[str, ...], about: str | None = None) -> Function:
    if "about" in given:
        return adopting(MOMENTUM_ABOUT_DERIVATIVES, given)
    function = MOMENTUM_DERIVATIVES[one_of("momentum about", about, MOMENTUM_DERIVATIVES)]
    if about == "center_of_mass" and "parameters" not in given:
        check_mass(robot)
    return adopting(function, given)


class MotionDerivatives(Answering):
    """Derivatives of what robots do, whatever moves them. By q, they are those along joint velocities."""

    __slots__ = ()

    @question(_placement_derivatives)
    def placement_derivatives(
        self,
        q: npt.ArrayLike,
        link: LinkLike,
        point: npt.ArrayLike | None = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Placements:
        """The derivatives of `placement` by q.

        Args:
            q: configurations, (..., nq).
            link: the link, frame or base, by name or number.
            point: a point of it whose place is meant instead of the origin's, (..., 3) in m, in its own axes.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `rotation` (..., 3, 3, nv) and `position` (..., 3, nv): by each coordinate, the last dimension. Cost: the
            link's depth.
        """

    @question(about_frames("jacobian_derivatives"))
    def jacobian_derivatives(
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
        """The derivatives of `jacobian` by q: with v behind them, `jacobian_derivatives(q, link) @ v` is J̇.

        Args:
            q: configurations, (..., nq).
            link: the link or frame, by name or number; or a list of m of them.
            point: the point whose velocity is meant, (..., 3) in m, in the frame's own axes; its origin if left out.
            frame: "link", "world" or "mixed": whose axes, and the velocity of which point (see Kinematics).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., 6, nv, nv), of each entry of J by each coordinate; (..., 6 m, nv, nv) for a list. Cost: the square of
            the link's depth.
        """

    @question(_momentum_derivatives)
    def momentum_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        about: str | npt.ArrayLike = "center_of_mass",
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> StateDerivatives:
        """The derivatives of `momentum` by q and v; the latter is the momentum matrix.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            about: the point that it is about: "center_of_mass", "base" (the base's origin), or points (..., 3) in m in
                the base's frame, which stay where they are.
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq` and `dv`, each (..., 6, nv), angular rows first. Cost: O(n).
        """

    @question(parametrised(KINETIC_ENERGY_GRADIENT))
    def kinetic_energy_gradient(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> StateDerivatives:
        """The derivatives of `kinetic_energy` by q and v; the latter is M v.

        The derivative of `potential_energy` is `gravity_torque`.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq` and `dv`, each (..., nv). Cost: O(n).
        """
