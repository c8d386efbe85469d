"""The part of Robot that moves states in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.integrators import INTEGRATORS, rates_function, step_function
from catena.algorithms.resistance import Resistance
from catena.arguments.words import METHOD_HINTS, one_of, truth
from catena.arguments.wrenches import Wrenches
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.functions.coupled import dynamics_of
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.model.singular import check_invertible

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

METHODS = tuple(name for name in FORWARD_DYNAMICS if name != "dense")
"""The formulations of forward dynamics that a step can be made of."""

INTEGRATOR_HINTS = {
    "EULER": "Euler's method with the new speeds in q is 'semi_implicit'",
    "RUNGE_KUTTA": "the classical method of Runge and Kutta is 'rk4'",
    "RK2": "the method of second order is 'midpoint'",
    "ADAPTIVE": "steps that adapt themselves are those of catena.simulate",
    "VARIATIONAL": "variational steps are those of catena.simulate",
    "DOPRI": "the method of Dormand and Prince is 'adaptive' in catena.simulate",
    "IMPLICIT": "the step that takes stiff springs and damping is 'linearly_implicit'",
}
"""What users of other libraries may look for."""


class State(NamedTuple):
    """Where a robot is, q (..., nq), and how fast its joints move, v (..., nv)."""

    q: Array
    v: Array


def stepping(
    robot: Robot,
    integrator: str,
    method: str,
    joint_losses: bool,
    joint_springs: bool = True,
    resistances: Sequence[Resistance] = (),
) -> Function:
    """The function of one step with these options."""
    integrator = one_of("integrator", integrator, INTEGRATORS, INTEGRATOR_HINTS)
    return step_function(integrator, *_dynamics(robot, method, joint_losses, joint_springs), resistances)


def rates(robot: Robot, method: str, joint_losses: bool, joint_springs: bool) -> Function:
    """The right-hand side of the equations of motion with these options."""
    return rates_function(*_dynamics(robot, method, joint_losses, joint_springs))


def _dynamics(robot: Robot, method: str, joint_losses: bool, joint_springs: bool) -> tuple[Function, bool, bool]:
    method = one_of("forward dynamics method", method, METHODS, METHOD_HINTS)
    check_invertible(robot.tree)
    losses, springs = truth("joint_losses", joint_losses), truth("joint_springs", joint_springs)
    return dynamics_of(robot.tree, method), losses, springs and bool(robot.tree.stiffness.any())


def _step(
    robot: Robot, given: tuple[str, ...], integrator: str, method: str, joint_losses: bool, joint_springs: bool
) -> Function:
    return stepping(robot, integrator, method, joint_losses, joint_springs)


class Stepping(Answering):
    """States moved in time."""

    __slots__ = ()

    @question(_step, inverts="M")
    def step(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        dt: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        integrator: str = "semi_implicit",
        method: str = "innovations",
        joint_losses: bool = False,
        joint_springs: bool = True,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
    ) -> State:
        """The states a time dt later, under torques and wrenches that are held during the step.

            q, v = robot.step(q, v, tau, 1e-3)

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dt: the step in s, one number or (...) of them.
            f_ext: wrenches on links, (..., links, 6) in their frames, moment (N m) before force (N); or a mapping from
                links and frames to wrenches (..., 6).
            integrator: "semi_implicit" (order 1, one forward dynamics), "midpoint" (order 2, two of them), "rk4" (order
                4, four of them), or "linearly_implicit" (order 1, one of them, stable however stiff springs and damping
                are). Those of order 1 let a free body that no force acts on fly straight on while it turns.
            method: the formulation of forward dynamics.
            joint_losses: whether tau loses what the model's damping and friction take, `robot.joint_losses(v)`.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            out: arrays for the results, a tuple (q, v).
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            The new q, (..., nq), with quaternions of unit length, and v, (..., nv). Cost: O(n).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """
