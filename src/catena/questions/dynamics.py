"""The part of Robot that answers with torques and accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.joint_losses import JOINT_LOSSES, with_acting
from catena.arguments.words import METHOD_HINTS, one_of, truth
from catena.arguments.wrenches import Wrenches
from catena.functions.catalogue import BIAS, FORWARD_DYNAMICS, INVERSE_DYNAMICS
from catena.functions.coupled import dynamics_of
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.model.singular import check_invertible
from catena.parameters.adopting import adopting, check_method, parametrised

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.robot import Robot

Array = npt.NDArray[Any]

METHODS = (*FORWARD_DYNAMICS, "fixman")
"""The formulations of forward dynamics by name."""


def _forward_dynamics(
    robot: Robot, given: tuple[str, ...], method: str, joint_losses: bool, joint_springs: bool
) -> Function:
    losses, springs = truth("joint_losses", joint_losses), truth("joint_springs", joint_springs)
    one_of("forward dynamics method", method, METHODS, METHOD_HINTS)
    if "parameters" in given:
        check_method(method)
    else:
        check_invertible(robot.tree)
    if method == "fixman":
        from catena.fixman.method import functions_for  # brings in SciPy

        function = functions_for(robot).forward
    else:
        function = dynamics_of(robot.tree, method)
    return adopting(with_acting(function, losses, springs), given)


def _inverse_dynamics(robot: Robot, given: tuple[str, ...], joint_losses: bool, joint_springs: bool) -> Function:
    losses, springs = truth("joint_losses", joint_losses), truth("joint_springs", joint_springs)
    return adopting(with_acting(INVERSE_DYNAMICS, losses, springs), given)


class JointTorques(Answering):
    """Torques that belong to a state: what the equations of motion have besides M a, and what joints lose."""

    __slots__ = ()

    @question(parametrised(BIAS), closed="forest")
    def bias(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The Coriolis, centrifugal and gravity torques: inverse dynamics with a = 0.

        Of a System with constraints, whose equations are M a + bias = tau + Jᵀλ, it is that of the forest: at these
        torques joints accelerate only as the constraints force them to.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv) in N m or N. Cost: O(n).
        """

    @question(parametrised(JOINT_LOSSES), closed="forest")
    def joint_losses(
        self,
        v: npt.ArrayLike,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The torques that the model's joint damping and dry friction take: damping v + friction sign(v).

        A joint at rest loses nothing, one that moves at any speed, however small, the whole of its friction: the law
        jumps at v = 0 and has no sticking, so it never holds a joint still against a torque. Its slope in v is the
        damping everywhere, at v = 0 too. On spherical, planar and free joints it acts on each of the speeds by itself.

        Args:
            v: joint velocities, (..., nv).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv) in N m or N. Cost: O(n).
        """


class Dynamics(JointTorques):
    """Forward and inverse dynamics.

    Arrays are array-likes of any real dtype with any leading dimensions, which broadcast against each other; results
    are float64 unless `dtype` says float32, and are written to `out` if that is given. They are the same bit by bit for
    any batch size and number of threads; but one sample of forward dynamics of a chain of 30,000 links or more, which
    is cut in pieces, differs from a batch by rounding. The first call of a function compiles it for this robot.
    `kernel` forces "unrolled" or "rolled" machine code.
    """

    __slots__ = ()

    @question(_forward_dynamics, inverts="M")
    def forward_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        method: str = "innovations",
        *,
        joint_losses: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The joint accelerations that the torques tau cause at configuration q and velocity v.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            method: the formulation, "innovations", "fd1" to "fd4", "two_sweep", "udu", "dense" or "fixman"; all agree.
            joint_losses: whether tau loses what the model's damping and friction take, `robot.joint_losses(v)`.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv) in rad/s² or m/s². Cost: O(n).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular, or if this one is
                and there is no batch; of a batch, samples at which it is become NaN, with a warning that says which.
        """

    @question(_inverse_dynamics)
    def inverse_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        joint_losses: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The joint torques that cause the accelerations a at configuration q and velocity v.

        With the same `joint_losses` and `joint_springs`, it undoes `forward_dynamics`.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            joint_losses: whether the torques also overcome the model's damping and friction, `robot.joint_losses(v)`.
            joint_springs: whether they also hold the model's springs, stiffness (q − rest).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv) in N m or N. Cost: O(n).
        """
