"""The part of Robot that moves states in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.carried import is_carried
from catena.algorithms.force_elements import ForceElement
from catena.algorithms.integrators import INTEGRATORS, rates_function, step_function
from catena.algorithms.joint_losses import JointLosses
from catena.algorithms.resistance import JointFriction
from catena.algorithms.springs import JointSprings
from catena.arguments.arrays import Port, as_array
from catena.arguments.words import METHOD_HINTS, one_of, truth
from catena.arguments.wrenches import Wrenches
from catena.errors import UnsupportedError
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


class RememberedState(State):
    """A state, and what forces remember there, `memory`, by name."""

    memory: Mapping[str, Array]


def under_forces(asked: Any, tau: Any, forces: Any, memory: Any, out: Any, **given: Any) -> Any:
    """A step under forces: a rollout of one step."""
    if out is not None:
        raise UnsupportedError("step: out is for steps without forces and memory; leave it out")
    if given.pop("driven", None) is not None:
        raise UnsupportedError("step: driven is for steps without forces and memory; leave one of them out")
    rows = None if tau is None else as_array(tau, Port("tau", (asked.nv,)), "step")[..., None, :]
    options = {name: x for name, x in given.items() if x is not None}
    run = asked.rollout(tau=rows, forces=() if forces is None else forces, memory=memory, steps=1, **options)
    state = RememberedState(run.q[..., -1, :], run.v[..., -1, :])
    state.memory = run.memory
    return state


UNDER_FORCES = {"forces": under_forces, "memory": under_forces}


def stepping(
    robot: Robot,
    integrator: str,
    method: str,
    joint_losses: bool,
    joint_springs: bool = True,
    forces: Sequence[ForceElement] = (),
    telling: bool = False,
) -> Function:
    """The function of one step with these options, perhaps one that is `telling` what forces exert."""
    integrator = one_of("integrator", integrator, INTEGRATORS, INTEGRATOR_HINTS)
    acting = [*at_joints(robot, joint_losses, joint_springs, forces), *forces]
    return step_function(integrator, _dynamics(robot, method), acting, is_carried(robot.tree), telling)


def rates(
    robot: Robot, method: str, joint_losses: bool, joint_springs: bool, forces: Sequence[ForceElement] = ()
) -> Function:
    """The right-hand side of the equations of motion with these options."""
    return rates_function(_dynamics(robot, method), [*at_joints(robot, joint_losses, joint_springs), *forces])


def at_joints(
    robot: Any, joint_losses: bool, joint_springs: bool, forces: Sequence[ForceElement] = ()
) -> list[ForceElement]:
    """Losses and springs of the model, where these act; without friction, if this is among the other forces."""
    friction = not any(isinstance(force, JointFriction) for force in forces)
    losses = [JointLosses(friction)] if truth("joint_losses", joint_losses) else []
    springs = truth("joint_springs", joint_springs) and robot.tree.stiffness.any()
    return [*losses, *([JointSprings()] if springs else [])]


def _dynamics(robot: Robot, method: str) -> Function:
    method = one_of("forward dynamics method", method, METHODS, METHOD_HINTS)
    check_invertible(robot.tree)
    return dynamics_of(robot.tree, method)


def _step(robot: Robot, given: tuple[str, ...], **options: Any) -> Function:
    return stepping(robot, **without_forces(options))


def without_forces(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a step as a function: forces, and what they remember, are refused there."""
    if any(options.get(name) is not None for name in UNDER_FORCES):
        raise UnsupportedError(f"step: {' and '.join(UNDER_FORCES)} are for robot.step itself; leave them out")
    return {name: x for name, x in options.items() if name not in UNDER_FORCES}


class Stepping(Answering):
    """States moved in time."""

    __slots__ = ()

    @question(_step, inverts="M", aside=UNDER_FORCES)
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
        forces: Sequence[ForceElement] | None = None,
        memory: Mapping[str, npt.ArrayLike] | None = None,
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
                are). Those of order 1 let a body behind a free joint that no force acts on fly straight on while it
                turns, whatever its parent does.
            method: the formulation of forward dynamics.
            joint_losses: whether tau loses what the model's damping and friction take, `robot.joint_losses(v)`.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            forces: a list of forces besides, as `rollout` takes them: [catena.Ground(), catena.Drag(1.0), ...]. This is
                then a step of a rollout, of one dt for all samples, in which friction sticks, and what comes back has
                what forces remember as `state.memory`.
            memory: what forces remember from the step before, its `state.memory`.
            out: arrays for the results, a tuple (q, v).
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            The new q, (..., nq), with quaternions of unit length, and v, (..., nv). Cost: O(n).

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the robot singular.
        """
