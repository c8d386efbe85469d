"""The part of Robot that answers with derivatives of the dynamics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.carried import is_carried
from catena.algorithms.forward_dynamics_derivatives import FORWARD_DYNAMICS_DERIVATIVES
from catena.algorithms.inverse_dynamics_derivatives import BIAS_DERIVATIVES, INVERSE_DYNAMICS_DERIVATIVES
from catena.algorithms.joint_losses import AtJoints
from catena.algorithms.wrench_derivatives import (
    FORWARD_DYNAMICS_WRENCH_DERIVATIVE,
    INVERSE_DYNAMICS_WRENCH_DERIVATIVE,
)
from catena.arguments.words import one_of, truth
from catena.arguments.wrenches import Wrenches
from catena.functions.function import Function
from catena.functions.linearization import LINEARIZE, LINEARIZE_CARRIED, STEPS
from catena.functions.question import question
from catena.model.singular import check_invertible
from catena.parameters.adopting import adopting, parametrised
from catena.questions.motion_derivatives import MotionDerivatives, StateDerivatives

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.robot import Robot

Array = npt.NDArray[Any]


class ForwardDynamicsDerivatives(NamedTuple):
    """The derivatives of joint accelerations by q, v and tau, each (..., nv, nv)."""

    dq: Array
    dv: Array
    dtau: Array


class InverseDynamicsDerivatives(NamedTuple):
    """The derivatives of joint torques by q, v and a, each (..., nv, nv)."""

    dq: Array
    dv: Array
    da: Array


class Linearization(NamedTuple):
    """The matrices of a linearised system: A (..., 2 nv, 2 nv) and B (..., 2 nv, nv)."""

    A: Array
    B: Array


def acting_at_joints(joint_losses: bool, joint_springs: bool) -> AtJoints:
    """What acts at joints, as the options say."""
    return AtJoints(truth("joint_losses", joint_losses), truth("joint_springs", joint_springs))


def _forward_dynamics_derivatives(
    robot: Robot, given: tuple[str, ...], joint_losses: bool, joint_springs: bool
) -> Function:
    if "parameters" not in given:
        check_invertible(robot.tree)
    return adopting(FORWARD_DYNAMICS_DERIVATIVES[acting_at_joints(joint_losses, joint_springs)], given)


def _inverse_dynamics_derivatives(
    robot: Robot, given: tuple[str, ...], joint_losses: bool, joint_springs: bool
) -> Function:
    return adopting(INVERSE_DYNAMICS_DERIVATIVES[acting_at_joints(joint_losses, joint_springs)], given)


def _forward_dynamics_wrench_derivative(robot: Robot, given: tuple[str, ...]) -> Function:
    if "parameters" not in given:
        check_invertible(robot.tree)
    return adopting(FORWARD_DYNAMICS_WRENCH_DERIVATIVE, given)


def _linearize(
    robot: Robot, given: tuple[str, ...], integrator: str, joint_losses: bool, joint_springs: bool
) -> Function:
    one_of("integrator", integrator, STEPS)
    acting = acting_at_joints(joint_losses, joint_springs)
    if "parameters" not in given:
        check_invertible(robot.tree)
        acting = acting._replace(springs=acting.springs and bool(robot.tree.stiffness.any()))
    if "dt" in given and integrator == "semi_implicit" and is_carried(robot.tree):
        return adopting(LINEARIZE_CARRIED[acting], given)
    return adopting(LINEARIZE[integrator if "dt" in given else None, acting], given)


class Derivatives(MotionDerivatives):
    """Exact derivatives of forward and inverse dynamics, as matrices.

    Entry i, j is the derivative of number i of the result by number j of the argument. Derivatives by q are those along
    joint velocities, in the tangent space that `integrate` and `difference` use: the change of a result when q becomes
    `integrate(q, dv)`, for small dv, is `dq @ dv`. Results are whole matrices: O(n²) memory, also for long chains,
    whose matrices are made column by column. Arrays, `out`, `dtype` and `kernel` are as in
    :class:`~catena.questions.dynamics.Dynamics`.
    """

    __slots__ = ()

    @question(_forward_dynamics_derivatives, inverts="M")
    def forward_dynamics_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        joint_losses: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> ForwardDynamicsDerivatives:
        """The derivatives of `forward_dynamics` by q, v and tau; the last one is M⁻¹.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N), which go along
                with their links; or a mapping from links and frames to wrenches (..., 6).
            joint_losses: whether tau loses what damping and friction take. The slope of friction is zero, at v = 0 too.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq`, `dv` and `dtau`, each (..., nv, nv). Cost: O(n d²) for a tree of depth d.

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """

    @question(_inverse_dynamics_derivatives)
    def inverse_dynamics_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        joint_losses: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> InverseDynamicsDerivatives:
        """The derivatives of `inverse_dynamics` by q, v and a; the last one is M.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N), which go along
                with their links; or a mapping from links and frames to wrenches (..., 6).
            joint_losses: whether the torques also overcome damping and friction. The slope of friction is zero, at
                v = 0 too.
            joint_springs: whether they also hold the model's springs, stiffness (q − rest).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq`, `dv` and `da`, each (..., nv, nv). Cost: O(n d) for a tree of depth d.
        """

    @question(parametrised(BIAS_DERIVATIVES))
    def bias_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> StateDerivatives:
        """The derivatives of `bias` by q and v.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N), which go along
                with their links; or a mapping from links and frames to wrenches (..., 6).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq` and `dv`, each (..., nv, nv). Cost: O(n d) for a tree of depth d.
        """

    @question(_forward_dynamics_wrench_derivative, inverts="M")
    def forward_dynamics_wrench_derivative(
        self,
        q: npt.ArrayLike,
        *,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The derivative of `forward_dynamics` by f_ext: M⁻¹ Jᵀ of all links' frames.

        Args:
            q: configurations, (..., nq).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv, links, 6), by moments before forces, in the links' frames. Cost: O(n²) time and memory.

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """

    @question(INVERSE_DYNAMICS_WRENCH_DERIVATIVE)
    def inverse_dynamics_wrench_derivative(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The derivative of `inverse_dynamics` by f_ext: −Jᵀ of all links' frames.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv, links, 6), by moments before forces, in the links' frames. Cost: O(n²) time and memory.
        """

    @question(_linearize, inverts="M")
    def linearize(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        dt: npt.ArrayLike | None = None,
        integrator: str = "semi_implicit",
        f_ext: Wrenches = None,
        *,
        joint_losses: bool = False,
        joint_springs: bool = True,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Linearization:
        """The equations of motion, or a time step, linearised at a state: x' = A x + B u for small x and u.

        x = (δq, δv) is a small change of the state, δq in the tangent space, and u a small change of the torques.
        Without dt, x' is the rate of change of x. Its upper left block is zero but for planar, spherical and free
        joints, whose tangent space turns as they move: there it is −ad(v). With dt, x' is the change after that time,
        with torques and wrenches held and a step by

        - "semi_implicit": v⁺ = v + dt a(q, v, tau), q⁺ = integrate(q, dt v⁺); what is beyond a free, planar or
          spherical joint changes its velocity in axes that stand still, as in `step`;
        - "explicit": v⁺ = v + dt a(q, v, tau), q⁺ = integrate(q, dt v);
        - "midpoint": half an explicit step to (q½, v½); v⁺ = v + dt a(q½, v½, tau), q⁺ = integrate(q, dt v½).

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dt: the time of a step in s, a number or (...,); no step if left out.
            integrator: "semi_implicit", "explicit" or "midpoint"; it matters only with dt.
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N), which go along
                with their links; or a mapping from links and frames to wrenches (..., 6).
            joint_losses: whether tau loses what damping and friction take. The slope of friction is zero, at v = 0 too.
            joint_springs: whether the model's springs act, as in `step`: they do unless this is False.
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `robot.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `A` (..., 2 nv, 2 nv) and `B` (..., 2 nv, nv). Cost: O(n d²) for a tree of depth d; for "midpoint" O(n³).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """
