"""The part of System about single links: forces in bearings and accelerations of links, with all loops closed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.newton_euler import INTERLINK_FORCES, ORIGIN_ACCELERATIONS
from catena.arguments.wrenches import Wrenches
from catena.functions.closed_after import after_dynamics, pushed
from catena.functions.closures import Closures
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.model.singular import check_invertible
from catena.questions.links import LinkMotion, Reactions

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]


def _constraint_torques(system: System, given: tuple[str, ...]) -> Function:
    return system.closures.torques_of_forces


def _interlink_forces(system: System, given: tuple[str, ...]) -> Function:
    return pushed(INTERLINK_FORCES, system.closures)


def _reactions(system: System, given: tuple[str, ...]) -> Function:
    check_invertible(system.tree)
    function = pushed(INTERLINK_FORCES, system.closures)
    return after_dynamics(function, system.closures, given, {"a": "v", "wrench": "force"})


def _forward_link_dynamics(system: System, given: tuple[str, ...]) -> Function:
    check_invertible(system.tree)
    return after_dynamics(ORIGIN_ACCELERATIONS, system.closures, given, {"a": "v", "A": "motion"})


class ClosedLinks(Answering):
    """Forces in joints and accelerations of links of closed systems, in the links' own frames, angular part first.

    Wrenches are in N m and N, accelerations in rad/s² and m/s²: (ω̇, v̇) of each frame's origin as a point, without
    gravity. What constraints exert, `forces`, is (..., constraints, 6) as `forward_dynamics` and `inverse_dynamics`
    give it: where constraints are redundant, forces in bearings go with those of least norm.
    """

    __slots__ = ()

    closures: Closures

    @question(_constraint_torques, closed="held")
    def constraint_torques(
        self,
        q: npt.ArrayLike,
        forces: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """What the constraints exert, as joint torques Jᵀλ.

        Accelerations a, `forces` and torques tau of one motion have M a + bias(q, v) = tau + Jᵀλ.

        Args:
            q: configurations, (..., nq).
            forces: what the constraints exert, (..., constraints, 6).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv) in N m or N. Cost: O(n).
        """

    @question(_interlink_forces, closed="held")
    def interlink_forces(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        forces: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The wrench that each link's parent exerts on it through the joint, where constraints exert `forces`.

        Moments are about the link's origin. Along the joint's axes it is the torque that drives the joint, that of
        couplings included (less what turns a rotor), across them it is what the bearing carries. What a constraint
        itself carries is in `forces`.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            forces: what the constraints exert, (..., constraints, 6), as `forward_dynamics` or `inverse_dynamics` say.
            f_ext: wrenches on links, as for `forward_dynamics`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., links, 6). Cost: O(n).
        """

    @question(_reactions, inverts="M", closed="held")
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
        """Joint accelerations at joint torques tau, and the wrenches in all joints, with all loops closed.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, as for `forward_dynamics`.
            out: arrays for the accelerations and the wrenches.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `acceleration` (..., nv), and `wrench` (..., links, 6), which `interlink_forces` gives at these
            accelerations and the forces of `forward_dynamics`. Cost: that of `forward_dynamics`, and O(n).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the open trees singular.
        """

    @question(_forward_link_dynamics, inverts="M", closed="held")
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
        """Joint accelerations and those of all links, with all loops closed.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, as for `forward_dynamics`.
            out: arrays for the accelerations of joints and of links.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `joints` (..., nv) and `links` (..., links, 6). Cost: that of `forward_dynamics`, and O(n).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the open trees singular.
        """
