"""The part of System that moves states in time: steps that end where the loops are closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from catena.algorithms.carried import is_carried
from catena.algorithms.force_elements import ForceElement
from catena.algorithms.integrators import INTEGRATORS
from catena.arguments.words import one_of, truth
from catena.arguments.wrenches import Wrenches
from catena.functions.function import Function
from catena.functions.question import Answering, question
from catena.model.singular import check_invertible
from catena.questions.stepping import INTEGRATOR_HINTS, UNDER_FORCES, State, at_joints, without_forces

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]


def closed_stepping(
    system: System,
    integrator: str,
    joint_losses: bool,
    joint_springs: bool,
    projected: bool,
    given: Sequence[str] = (),
    forces: Sequence[ForceElement] = (),
    telling: bool = False,
) -> Function:
    """The function of one step with these options; `given` says whether there are "gains", and what is "driven"."""
    integrator = one_of("integrator of a System", integrator, INTEGRATORS, INTEGRATOR_HINTS)
    check_invertible(system.tree)
    acting = [*at_joints(system, joint_losses, joint_springs, forces), *forces]
    how = truth("projected", projected), given, is_carried(system.tree), telling
    return system.closures.step(integrator, acting, *how)


def _step(system: System, given: tuple[str, ...], **options: Any) -> Function:
    return closed_stepping(system, given=given, **without_forces(options))


class ClosedStepping(Answering):
    """States of closed systems moved in time."""

    __slots__ = ()

    @question(_step, inverts="M", closed="held", aside=UNDER_FORCES)
    def step(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        dt: npt.ArrayLike,
        f_ext: Wrenches = None,
        gains: npt.ArrayLike | None = None,
        driven: npt.ArrayLike | None = None,
        *,
        integrator: str = "semi_implicit",
        joint_losses: bool = False,
        joint_springs: bool = True,
        projected: bool = True,
        forces: Sequence[ForceElement] | None = None,
        memory: Mapping[str, npt.ArrayLike] | None = None,
        out: tuple[Array, Array] | None = None,
        kernel: str | None = None,
    ) -> State:
        """The states a time dt later, under torques and wrenches that are held during the step.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dt: the step in s, one number or (...) of them.
            f_ext: wrenches on links, as for `forward_dynamics`.
            gains: Baumgarte's, (..., 2) in 1/s² and 1/s; see `forward_dynamics`.
            driven: of constraints that move, (..., 3, k): where the residuals of the rows are to be at the end of the
                step, at which rates, and the accelerations meanwhile; see `forward_dynamics`.
            integrator: "semi_implicit" (order 1), "midpoint" (order 2), "rk4" (order 4) or "linearly_implicit" (order
                1, stable however stiff springs and damping are; for up to 60 links).
            joint_losses: whether tau loses what the model's damping and friction take.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            projected: whether the step ends where the constraints are met: q and v are moved there along the forces of
                the constraints, which is as little as possible in kinetic energy.
            forces: a list of forces besides, as for `Robot.step`: then this is a step of a rollout.
            memory: what forces remember from the step before, its `state.memory`.
            out: arrays for the results, a tuple (q, v).
            kernel: "unrolled" machine code, or "rolled": composed of loops, for many links; chosen by their number if
                left out.

        Returns:
            The new q, (..., nq), and v, (..., nv). Cost: that of one, two or four forward dynamics, and of the
            projection, about one more.

        Raises:
            SingularError: if a link without inertia makes every mass matrix of the open trees singular.
        """
