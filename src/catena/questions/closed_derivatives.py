"""The part of System that answers with derivatives of forward dynamics, and of what the constraints exert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.wrenches import Wrenches
from catena.errors import UnsupportedError
from catena.functions.function import Function
from catena.functions.linearization import step_by_columns
from catena.functions.question import Rule, question
from catena.model.singular import check_invertible
from catena.parameters.adopting import adopting
from catena.questions.closed_stepping import closed_stepping
from catena.questions.closing import Closing
from catena.questions.derivatives import Linearization, acting_at_joints

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.system import System

Array = npt.NDArray[Any]

MOST_LINKS = 60
"""What constraints hold is differentiated in code that is written out for each link."""


class ClosedSlopes(NamedTuple):
    """Derivatives of the accelerations by q (in the tangent space of `integrate`), by v and by tau, (..., nv, nv)."""

    dq: Array
    dv: Array
    dtau: Array


class ForceSlopes(NamedTuple):
    """Derivatives of the constraints' wrenches by q, by v and by tau, (..., constraints, 6, nv)."""

    dq: Array
    dv: Array
    dtau: Array


def _rule(what: str) -> Rule:
    """The rule that chooses the function of this name among derivatives of closed chains."""

    def rule(system: System, given: tuple[str, ...], joint_losses: bool, joint_springs: bool) -> Function:
        _check(system, given)
        slopes = getattr(system.closures.slopes, what)(given, acting_at_joints(joint_losses, joint_springs))
        return adopting(slopes, given)

    return rule


def _linearize(
    system: System,
    given: tuple[str, ...],
    integrator: str,
    joint_losses: bool,
    joint_springs: bool,
    projected: bool,
) -> Function:
    if "dt" not in given:
        return _rule("linearized")(system, given, joint_losses, joint_springs)
    _check(system, given)
    return step_by_columns(closed_stepping(system, integrator, joint_losses, joint_springs, projected))


def _by_parameters(system: System, given: tuple[str, ...], joints: bool, joint_springs: bool) -> Function:
    return _rule("by_parameters")(system, given, joints, joint_springs)


def _check(system: System, given: tuple[str, ...]) -> None:
    if "parameters" not in given:
        check_invertible(system.tree)
    if system.tree.n > MOST_LINKS:
        raise UnsupportedError(
            f"derivatives of a System are for up to {MOST_LINKS} links, and this one has {system.tree.n}; those of the "
            "robots without constraints are asked of system.forest"
        )


class ClosedDerivatives(Closing):
    """Derivatives of the forward dynamics of closed systems.

    Column j of a matrix belongs to a motion of degree of freedom j alone, which need not keep the constraints. Where
    constraints are redundant, the accelerations are unique, and forces are those of least norm.
    """

    __slots__ = ()

    @question(_rule("along"), inverts="M", closed="held")
    def forward_dynamics_jvp(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        dq: npt.ArrayLike,
        dv: npt.ArrayLike,
        dtau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        joint_losses: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """How the accelerations of `forward_dynamics` change as q, v and tau move in the directions given.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dq: directions of the configurations, (..., nv), as velocities; they need not keep the constraints.
            dv: directions of the velocities, (..., nv).
            dtau: directions of the torques, (..., nv).
            f_ext: wrenches on links, as for `forward_dynamics`, which go along with their links.
            joint_losses: whether tau loses what damping and friction take; friction has the slope 0, at v = 0 too.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `system.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv). Cost: O(n d² + k² n) for a tree of depth d.

        Raises:
            UnsupportedError: for more than 60 links.
        """

    @question(_rule("against"), inverts="M", closed="held")
    def forward_dynamics_vjp(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        weight: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        joint_losses: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> ClosedSlopes:
        """The gradients of weight · `forward_dynamics(q, v, tau).a` by q, v and tau.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            weight: the weights of the accelerations, (..., nv).
            f_ext: wrenches on links, as for `forward_dynamics`, which go along with their links.
            joint_losses: whether tau loses what damping and friction take; friction has the slope 0, at v = 0 too.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `system.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq`, `dv` and `dtau`, (..., nv) each. Cost: O(n d² + k² n) for a tree of depth d.

        Raises:
            UnsupportedError: for more than 60 links.
        """

    @question(_rule("accelerations"), inverts="M", closed="held")
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
    ) -> ClosedSlopes:
        """The derivatives of the accelerations of `forward_dynamics` by q, v and tau, as matrices.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, as for `forward_dynamics`, which go along with their links.
            joint_losses: whether tau loses what damping and friction take; friction has the slope 0, at v = 0 too.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `system.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq`, `dv` and `dtau`, (..., nv, nv) each. Cost: O(n d² + k² n) for a tree of depth d.

        Raises:
            UnsupportedError: for more than 60 links.
        """

    @question(_rule("forces"), inverts="M", closed="held")
    def constraint_force_derivatives(
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
    ) -> ForceSlopes:
        """The derivatives of the constraints' wrenches, `forces` of `forward_dynamics`, by q, v and tau.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, as for `forward_dynamics`, which go along with their links.
            joint_losses: whether tau loses what damping and friction take; friction has the slope 0, at v = 0 too.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `system.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `dq`, `dv` and `dtau`, (..., constraints, 6, nv) each: of each constraint the wrench on its second frame, in
            that frame. Cost: as of `forward_dynamics_derivatives`.

        Raises:
            UnsupportedError: for more than 60 links.
        """

    @question(_linearize, inverts="M", closed="held")
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
        projected: bool = True,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Linearization:
        """The equations of motion, or a time step, linearised at a state: x' = A x + B u for small x and u.

        x = (δq, δv) is a small change of the state, δq in the tangent space, and u a small change of the torques.
        Without dt, x' is the rate of change of x; with dt it is the change after that time, by the derivative of `step`
        itself, its way back to the constraints included. x need not keep the constraints; after a step that ends on
        them, x' does.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dt: the time of a step in s, a number or (...,); no step if left out.
            integrator: as of `step`; it matters only with dt.
            f_ext: wrenches on links, as for `forward_dynamics`, which go along with their links.
            joint_losses: whether tau loses what damping and friction take; friction has the slope 0, at v = 0 too.
            joint_springs: whether the model's springs act, as in `step`: they do unless this is False.
            projected: whether the step ends where the constraints are met; it matters only with dt.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" machine code; there are no loops of it.

        Returns:
            `A` (..., 2 nv, 2 nv) and `B` (..., 2 nv, nv). Cost: with dt that of 3 nv derivatives along a direction.

        Raises:
            UnsupportedError: for more than 60 links.
        """

    @question(_by_parameters, inverts="M", closed="held")
    def forward_dynamics_parameter_derivatives(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        joints: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The derivatives of the accelerations by the parameters: what the closed system answers to −`regressor`.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, as for `forward_dynamics`.
            joints: whether tau loses what damping and friction take, and there are columns for armature, damping and
                friction.
            joint_springs: whether the model's springs act, and there are columns for their stiffness and rest, last.
            parameters: numbers in place of the model's, at which to differentiate: a record or vectors
                (..., 10 links + 5 nv + 3), see `system.parameters()`.
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            (..., nv, 10 links), with 3 nv more columns for `joints` and 2 nv more for `joint_springs`, in the order of
            `parameters().vector`. Cost: that of `constrained_response` for all columns, in one batch.

        Raises:
            UnsupportedError: for more than 60 links.
        """
