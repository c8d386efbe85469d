"""The part of System that makes rollouts, and what is looked at before and after runs of closed systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, as_array
from catena.arguments.scalars import of_systems
from catena.arguments.wrenches import Wrenches
from catena.errors import DivergenceWarning, ModelError, warn
from catena.model.actuators import Actuators
from catena.questions.closed_stepping import ClosedStepping
from catena.questions.closing import MOST_ROWS
from catena.simulation.again import Again, Differing, Settings, prepare, repeated
from catena.simulation.asked import Asked, Options
from catena.simulation.chunked import run_or_chunks
from catena.simulation.divergence import tell
from catena.simulation.drag import Drag
from catena.simulation.forces import JointLimits
from catena.simulation.ground import Ground
from catena.simulation.laws import Control
from catena.simulation.pins import Pins
from catena.simulation.rolling import Rollout, run_of
from catena.simulation.run import Run
from catena.simulation.stiffness import warn_of_held, warned

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]

OPEN = 1e-8
"""Loops that are open by more at the end of a projected run are warned of."""


def check_movable(system: System, q: Any) -> None:
    """ModelError for a system that is rigid where the first sample starts."""
    if not 0 < system.closures.rows <= MOST_ROWS:
        return
    start = np.asarray(as_array(q, Port("q", (system.nq,)), "rollout"), dtype=float).reshape(-1, system.nq)[:1]
    if np.isfinite(start).all() and any(not system.redundancy(each).freedom for each in start):
        names = ", ".join(map(repr, system.constraint_names[:4]))
        more = ", …" if len(system.constraints) > 4 else ""
        raise ModelError(
            f"the system is rigid: {names}{more} leave no degree of freedom, so nothing can move; leave some out "
            "(forward_dynamics gives the forces in a rigid system)"
        )


def tell_open(question: str, run: Run, projected: bool) -> None:
    """Warn of loops that steps could not keep closed."""
    system = cast("System", run.robot)
    if not projected or not len(system.constraints):
        return
    last = np.abs(np.asarray(system.closure_residual(run.q[..., -1, :])))
    if not (last > OPEN).any():
        return
    row = int(np.argmax(np.where(np.isfinite(last), last, 0.0).reshape(-1, last.shape[-1]).max(axis=0)))
    name = [c.name for c in system.constraints for _ in range(c.holds)][row]
    warn(
        f"{question}: the loops came open: {name!r} is off by {np.nanmax(last):.3g} m or rad at the end "
        "(see run.constraint_drift(); a smaller dt may help, or a start that `close` has closed)",
        DivergenceWarning,
    )


class ClosedRollouts(ClosedStepping):
    """Rollouts of closed systems."""

    __slots__ = ()

    @of_systems("held")
    def rollout(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        dt: float,
        *,
        steps: int | None = None,
        t0: float = 0.0,
        control: Control | None = None,
        cost: Callable[..., Any] | None = None,
        parameters: npt.ArrayLike | None = None,
        f_ext: Wrenches | Callable[..., Any] = None,
        every: int = 1,
        bound: float | None = None,
        integrator: str = "semi_implicit",
        joint_losses: bool = False,
        joint_springs: bool = True,
        joint_limits: bool | JointLimits = False,
        ground: Ground | None = None,
        pins: Pins | None = None,
        drag: Drag | None = None,
        actuators: bool | Actuators | Iterable[str] = False,
        memory: Mapping[str, npt.ArrayLike] | None = None,
        projected: bool = True,
        gains: npt.ArrayLike | None = None,
        out: tuple[Array, Array] | None = None,
    ) -> Run:
        """Many steps of many samples, the loops kept closed, in one call of machine code.

        Up to 60 links all is compiled, as for a robot: see `Robot.rollout` for what the arguments do. Steps of more
        links are made one after the other, for all samples at once.

        Args:
            q: configurations to start from, (..., nq).
            v: joint velocities to start with, (..., nv).
            tau: joint torques, one row for each step, (..., steps, nv), in N m or N; None for none, or for those of a
                controller.
            dt: the length of a step in s.
            steps: how many steps, where tau does not say so.
            t0: the time of the start in s, a multiple of dt.
            control: a function of (t, q, v, parameters) that gives torques, or one of `catena.controllers`.
            cost: a function of (t, q, v, parameters, tau) that gives one number, as for `Robot.rollout`.
            parameters: numbers for control and cost, (..., count).
            f_ext: wrenches on links that are held throughout, or a function of (t, q, v, parameters) that gives such.
            every: states are kept every so many steps, which must divide the number of steps.
            bound: samples in which a joint is faster than this, in rad/s or m/s, count as diverged.
            integrator: how a step is made; see `step`.
            joint_losses: whether the model's damping and friction act.
            joint_springs: whether the model's springs act.
            joint_limits: whether springs push joints back into their ranges; True or a `catena.JointLimits`.
            ground: what the system stands on, a `catena.Ground`; None for nothing.
            pins: points of links that are held at places by springs, a `catena.Pins`; None for none.
            drag: of a medium on links, a `catena.Drag`; None for none.
            actuators: True, or names of actuators: then tau and what a controller gives are controls of these.
            memory: what friction remembers from before, `run.memory` of the run that this one goes on from.
            projected: whether each step ends where the constraints are met.
            gains: Baumgarte's, (..., 2) in 1/s² and 1/s.
            out: arrays for the states, a tuple (q, v).

        Returns:
            The run; `run.constraint_drift()` says how well the loops were kept. Cost: that of `step`, for each of them.
        """
        system, given = cast("Any", self), Differing(q, v, tau, f_ext, parameters, memory)
        settings = Settings(
            (dt, steps, t0, every, bound),
            (integrator, joint_losses, joint_springs, projected),
            (control, cost, f_ext if callable(f_ext) else None, joint_limits, ground, pins, drag, actuators, gains),
        )
        if (run := repeated(system, given, settings, out)) is not None:
            return run
        forces = joint_limits, ground, actuators, pins, drag
        options = Options(
            integrator, "innovations", joint_losses, joint_springs, np.float64, None, *forces, projected, gains
        )
        asked = Asked(q, v, tau, dt, steps, control, cost, parameters, f_ext, every, bound, t0=t0, memory=memory)
        return run_or_chunks(partial(_rolled_out, again=Again(given, settings)), system, asked, options, out)


def _rolled_out(system: Any, asked: Asked, options: Options, out: Any = None, again: Again | None = None) -> Run:
    check_movable(system, asked.q)
    rollout = Rollout(system, asked, options)
    said = warn_of_held("rollout", rollout)
    run = run_of(rollout, out)
    tell("rollout", system.forest, run.diverged_step, run.diverged_joint)
    tell_open("rollout", run, options.projected)
    if again is not None:
        prepare(rollout, again, partial(_told, said, options.projected))
    return run


def _told(words: list[str], projected: bool, run: Run) -> None:
    """What is said of each run that is asked for again."""
    warned(*words)
    tell_open("rollout", run, projected)
