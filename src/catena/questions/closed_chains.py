"""The part of System that answers with the dynamics of closed chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.joint_losses import with_acting
from catena.arguments.words import truth
from catena.arguments.wrenches import Wrenches
from catena.functions.closures import Closures
from catena.functions.function import Function
from catena.functions.question import Answering, Rule, question
from catena.model.singular import check_invertible
from catena.parameters.adopting import adopting

if TYPE_CHECKING:
    from catena.parameters.record import Parameters
    from catena.system import System

Array = npt.NDArray[Any]


class ClosedMotion(NamedTuple):
    """Accelerations (..., nv) and the wrench of each constraint (..., constraints, 6) on its second frame."""

    a: Array
    forces: Array


class Impact(NamedTuple):
    """Velocities after an impact (..., nv), less those before, and the impulses of the constraints."""

    change: Array
    impulses: Array


def _forward_dynamics(system: System, given: tuple[str, ...], joint_losses: bool, joint_springs: bool) -> Function:
    losses, springs = truth("joint_losses", joint_losses), truth("joint_springs", joint_springs)
    if "parameters" not in given:
        check_invertible(system.tree)
    return adopting(with_acting(system.closures.forward_dynamics(given), losses, springs), given)


def _response(system: System, given: tuple[str, ...]) -> Function:
    check_invertible(system.tree)
    return system.closures.response


def _of_constraints(name: str) -> Rule:
    def rule(system: System, given: tuple[str, ...]) -> Function:
        function: Function = getattr(system.closures, name)
        return function

    return rule


class ClosedChains(Answering):
    """Forward dynamics of closed chains, and what the constraints hold.

    There is one row for each direction that a constraint holds, in the order of `system.constraints`; k of them all
    together. Arrays broadcast over leading dimensions; results are float64 unless `dtype` says float32.
    """

    __slots__ = ()

    closures: Closures

    @question(_forward_dynamics, inverts="M", closed="held")
    def forward_dynamics(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        f_ext: Wrenches = None,
        gains: npt.ArrayLike | None = None,
        driven: npt.ArrayLike | None = None,
        *,
        joint_losses: bool = False,
        joint_springs: bool = False,
        parameters: Parameters | npt.ArrayLike | None = None,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> ClosedMotion:
        """The joint accelerations that the torques tau cause, with all constraints held, and their forces.

        The accelerations are unique, also where constraints are redundant; of the forces, which are not, those of least
        norm are given. The state is taken as it is: the accelerations keep the rates of the constraints as they are, so
        that states that meet them go on doing so; see `close`, `project_velocity` and `gains` for others.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            gains: Baumgarte's, (..., 2) in 1/s² and 1/s: constraints with error e are held at ë = −k e − d ė.
            driven: of constraints that move, (..., 3, k): where the residuals of the rows are to be, at which rates and
                at which accelerations, all zero of those that stand still. J a + J̇v meets the accelerations; residuals
                and rates are what `gains` bring the rows to.
            joint_losses: whether tau loses what the model's damping and friction take, `system.joint_losses(v)`.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            parameters: numbers in place of the model's, a record or vectors (..., 10 links + 5 nv + 3), see
                `system.parameters()`.
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `a`, (..., nv) in rad/s² or m/s², and `forces`, (..., constraints, 6): the wrench, moment (N m) before force
            (N), of each constraint on its second frame, in that frame; the opposite acts on the first. Of a coupling
            the first number is the torque on a joint with ratio 1. Cost: O(n + k n + k³).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the open trees singular.
        """

    @question(_response, inverts="M", closed="held")
    def constrained_response(
        self,
        q: npt.ArrayLike,
        x: npt.ArrayLike,
        wanted: npt.ArrayLike,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Impact:
        """The velocities that impulses cause at rest, where constraints are brought to given rates.

        It solves M y = x + Jᵀλ with J y = `wanted`: what `impact` and `project_velocity` are made of.

        Args:
            q: configurations, (..., nq).
            x: impulses on the joints, (..., nv), in N m s or N s.
            wanted: the rates of the constraints, (..., k).
            out: arrays for the results.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            `change`, the velocities y (..., nv), and `impulses` (..., constraints, 6) of the constraints, as `forces`
            of `forward_dynamics` are. Cost: O(n + k n + k³).
        """

    @question(_of_constraints("residual"), closed="held")
    def closure_residual(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """How far the constraints are from being met, (..., k) in m and rad, one number for each direction held.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.
        """

    @question(_of_constraints("jacobian"), closed="held")
    def constraint_jacobian(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The Jacobian J of the constraints, (..., k, nv): states that meet them have J v = 0.

        Args:
            q: configurations, (..., nq).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.
        """

    @question(_of_constraints("rates"), closed="held")
    def constraint_rates(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The rates J v along the directions that constraints hold, (..., k) in m/s and rad/s, without forming J.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.
        """

    @question(_of_constraints("bias"), closed="held")
    def constraint_bias(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> Array:
        """The product J̇ v, (..., k): how the rates of the constraints change while joints do not accelerate.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            out: an array for the result.
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.
        """
