"""The part of Robot about single links: forces between links, bearing forces, accelerations and mobilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.fixman import REACTIONS
from catena.algorithms.forward_dynamics import FORWARD_LINK_DYNAMICS
from catena.algorithms.newton_euler import INTERLINK_FORCES, RECURSIVE_SPATIAL_DYNAMICS
from catena.algorithms.operational_space import MOBILITY
from catena.arguments.wrenches import Wrenches
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.model.singular import check_invertible, check_masses

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class SpatialDynamics(NamedTuple):
    """Torques (..., nv); of each link its velocity, acceleration and the force on it, (..., links, 6)."""

    torque: Array
    velocity: Array
    acceleration: Array
    force: Array


class LinkMotion(NamedTuple):
    """Joint accelerations (..., nv) and the accelerations (..., links, 6) of the links they make."""

    joints: Array
    links: Array


class Reactions(NamedTuple):
    """Joint accelerations (..., nv), and the wrench (..., links, 6) that each link gets through its joint."""

    acceleration: Array
    wrench: Array


def _reactions(robot: Robot, given: tuple[str, ...]) -> Function:
    check_masses(robot.tree)
    return REACTIONS


def _forward_link_dynamics(robot: Robot, given: tuple[str, ...]) -> Function:
    check_invertible(robot.tree)
    return FORWARD_LINK_DYNAMICS


def _link_mobilities(robot: Robot, given: tuple[str, ...]) -> Function:
    check_invertible(robot.tree)
    return MOBILITY


class LinkDynamics(Answering):
    """Forces between links and accelerations of links, in the links' own frames, angular part first.

    Wrenches are in N m and N, accelerations in rad/s² and m/s²: (ω̇, v̇) of each frame's origin as a point, without
    gravity. `f_ext` is as in `forward_dynamics`.
    """

    __slots__ = ()

    @question(INTERLINK_FORCES)
    def interlink_forces(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The wrench that each link's parent exerts on it through the joint.

        Moments are about the link's origin. Along the joint's axes it is the torque of `inverse_dynamics` (less what
        turns a rotor), across them it is what the bearing carries.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., links, 6). Cost: O(n).
        """

    @question(_reactions)
    def reactions(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Reactions:
        """Joint accelerations at joint torques tau and, from the same sweeps, the wrenches in all joints.

        This is Fixman's partition, in which the forces of constraint are unknowns of their own.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            out: arrays for the accelerations and the wrenches.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `acceleration` (..., nv), and `wrench` (..., links, 6), which `interlink_forces` gives at these
            accelerations. Cost: O(n).

        Raises:
            SingularError: if a link has no mass.
        """

    @question(RECURSIVE_SPATIAL_DYNAMICS)
    def spatial_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: tuple[Array, Array, Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> SpatialDynamics:
        """Torques, velocities, accelerations and interlink forces together: Rodriguez & Kreutz (2.24)-(2.30).

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            out: arrays for the four results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `torque` (..., nv); `velocity`, `acceleration` and `force` (..., links, 6). Cost: O(n).
        """

    @question(_forward_link_dynamics, inverts="M")
    def forward_link_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> LinkMotion:
        """Joint accelerations and, from the same sweeps, those of all links: algorithm FD3 with α = λ + φᵀa, (5.6).

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            out: arrays for the accelerations of joints and of links.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `joints` (..., nv) and `links` (..., links, 6). Cost: O(n).
        """

    @question(_link_mobilities, inverts="M")
    def link_mobilities(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The mobility Ω = J M⁻¹ Jᵀ of every link at once: a wrench f on link k accelerates it by Ω[k] f.

        See `operational_mobility` for chosen frames and points, and for the blocks between several.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., links, 6, 6). Cost: O(n).
        """
