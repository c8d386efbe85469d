"""The part of System that moves states in time: steps that end where the loops are closed, and rollouts of them.

Accelerations are those of `forward_dynamics`, redundant constraints included, so steps are made one after the other in
Python, for all samples at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.integrators import STAGE
from catena.arguments.arrays import Port, Signature, as_array
from catena.arguments.words import one_of, truth
from catena.arguments.wrenches import Wrenches
from catena.errors import DivergenceWarning, ModelError, UnsupportedError, warn
from catena.functions.question import Answering
from catena.questions.closing import MOST_ROWS
from catena.questions.stepping import INTEGRATOR_HINTS, State
from catena.simulation.asked import Asked, Options
from catena.simulation.divergence import tell
from catena.simulation.forces import Forces
from catena.simulation.laws import Control
from catena.simulation.rolling import Rollout, run_of
from catena.simulation.run import Run

if TYPE_CHECKING:
    from catena.system import System

Array = npt.NDArray[Any]
Rates = Callable[[Array, Array], Array]
"""Accelerations at a state."""

INTEGRATORS = ("semi_implicit", "midpoint", "rk4")
"""What steps of a closed system can be."""

CLOSED, CORRECTIONS = 1e-13, 3
"""A projected state is off by at most so much, in m and rad, or was corrected so often."""

OPEN = 1e-8
"""Loops that are open by more at the end of a projected run are warned of."""


@dataclass(frozen=True)
class ClosedOptions(Options):
    """How steps of a closed system are made; see :meth:`catena.System.step`."""

    projected: bool = True
    gains: Any = None


class ClosedRollout(Rollout):
    """A rollout of a closed system. Dry friction in it opposes motion, and remembers nothing."""

    def __init__(self, robot: Any, asked: Asked, options: Options) -> None:
        super().__init__(robot, asked, options)
        self.forces = Forces(())

    @property
    def compiled(self) -> bool:
        """Steps are made in Python."""
        return False

    def _one_step(self, q: Array, v: Array, tau: Array, i: int, *remembered: Any) -> tuple[Array, Array, Any]:
        """The next state, and the running cost at this one."""
        o, t = cast("ClosedOptions", self.options), (self.first + i) * self.dt
        acting: Any = tau[..., i, :]
        if self.control is not None:
            acting = self.asked_now(self.control, t, q, v)
        acting = self.driven(acting, q, v)
        rate = 0.0 if self.cost is None else self.asked_now(self.cost, t, q, v, acting)
        how = {"joint_losses": o.joint_losses, "joint_springs": o.joint_springs, "projected": o.projected}
        system = cast("System", self.robot)
        push = self.wrenches_at(t, q, v)
        state = system.step(q, v, acting, self.dt, push, integrator=o.integrator, gains=o.gains, **how)
        return state.q, state.v, rate


def rollout_of(system: System, asked: Asked, options: Options, projected: bool, gains: Any) -> ClosedRollout:
    """A rollout of a closed system, with options that it can serve."""
    one_of("integrator", options.integrator, INTEGRATORS, INTEGRATOR_HINTS)
    if options.method != "innovations":
        raise UnsupportedError(f"the dynamics of a System are those of method='innovations', got {options.method!r}")
    _check_movable(system, asked.q)
    how = ClosedOptions(**{**vars(options), "projected": truth("projected", projected), "gains": gains})
    return ClosedRollout(system, asked, how)


def _check_movable(system: System, q: Any) -> None:
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


class ClosedRollouts(Answering):
    """Steps and rollouts of closed systems."""

    __slots__ = ()

    def step(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike,
        dt: npt.ArrayLike,
        f_ext: Wrenches = None,
        *,
        integrator: str = "semi_implicit",
        joint_losses: bool = False,
        joint_springs: bool = True,
        projected: bool = True,
        gains: npt.ArrayLike | None = None,
    ) -> State:
        """The states a time dt later, under torques and wrenches that are held during the step.

        Args:
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            tau: joint torques, (..., nv), in N m or N.
            dt: the step in s, one number or (...) of them.
            f_ext: wrenches on links, as for `forward_dynamics`.
            integrator: "semi_implicit" (order 1), "midpoint" (order 2) or "rk4" (order 4).
            joint_losses: whether tau loses what the model's damping and friction take.
            joint_springs: whether the model's springs act, with the torques stiffness (rest − q).
            projected: whether the step ends where the constraints are met: q is moved there by Newton's method, and v
                by `project_velocity`.
            gains: Baumgarte's, (2,) in 1/s² and 1/s; see `forward_dynamics`.

        Returns:
            The new q, (..., nq), and v, (..., nv). Cost: that of one, two or four forward dynamics, and of the
            projection.
        """
        system = cast("System", self)
        one_of("integrator", integrator, INTEGRATORS, INTEGRATOR_HINTS)
        ports = [Port(name, (n,)) for name, n in (("q", system.nq), ("v", system.nv), ("tau", system.nv))]
        given, _ = Signature("step", (*ports, Port("dt", (), positive=True)), (), np.dtype(float)).arguments(
            [q, v, tau, dt]
        )
        springs = truth("joint_springs", joint_springs) and bool(system.tree.stiffness.any())
        losses = truth("joint_losses", joint_losses)

        def accelerations(q: Array, v: Array) -> Array:
            left = _left(system, given[2], q, v, losses, springs)
            return np.asarray(system.forward_dynamics(q, v, left, f_ext, gains).a)

        state = _advanced(system, integrator, accelerations, given[0], given[1], given[3])
        return _on_the_constraints(system, *state) if truth("projected", projected) else State(*state)

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
        f_ext: Wrenches = None,
        every: int = 1,
        bound: float | None = None,
        integrator: str = "semi_implicit",
        joint_losses: bool = False,
        joint_springs: bool = True,
        projected: bool = True,
        gains: npt.ArrayLike | None = None,
    ) -> Run:
        """Many steps of many samples, the loops kept closed.

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
            f_ext: wrenches on links that are held throughout.
            every: states are kept every so many steps, which must divide the number of steps.
            bound: samples in which a joint is faster than this, in rad/s or m/s, count as diverged.
            integrator: how a step is made; see `step`.
            joint_losses: whether the model's damping and friction act.
            joint_springs: whether the model's springs act.
            projected: whether each step ends where the constraints are met.
            gains: Baumgarte's, (2,).

        Returns:
            The run; `run.constraint_drift()` says how well the loops were kept. Cost: that of `step`, for each of them.
        """
        system = cast("System", self)
        options = Options(integrator, "innovations", joint_losses, joint_springs, np.float64, None)
        asked = Asked(q, v, tau, dt, steps, control, cost, parameters, f_ext, every, bound, t0=t0)
        run = run_of(rollout_of(system, asked, options, projected, gains))
        tell("rollout", system.forest, run.diverged_step, run.diverged_joint)
        tell_open("rollout", run, projected)
        return run


def _left(system: System, tau: Array, q: Array, v: Array, losses: bool, springs: bool) -> Array:
    """The torques that are left for the dynamics: tau less losses and springs."""
    if losses:
        tau = tau - np.asarray(system.forest.joint_losses(v))
    if springs:
        tau = tau - system.stiffness * (np.asarray(system.difference(system.neutral(), q)) - system.rest)
    return tau


def _advanced(system: System, integrator: str, rates: Rates, q: Array, v: Array, dt: Array) -> tuple[Array, Array]:
    """One step of an integrator, as :mod:`catena.algorithms.integrators` has them."""
    stage, h = system._compiled.kernel(STAGE), np.asarray(dt)[..., None]
    a = rates(q, v)
    if integrator == "semi_implicit":
        v1 = v + h * a
        return np.asarray(system.integrate(q, h * v1)), v1
    q2, v2, u2 = stage(q, v, v, a, dt * 0.5)
    a2 = rates(q2, v2)
    if integrator == "midpoint":
        return np.asarray(system.integrate(q, h * v2)), v + h * a2
    q3, v3, u3 = stage(q, v, u2, a2, dt * 0.5)
    a3 = rates(q3, v3)
    q4, v4, u4 = stage(q, v, u3, a3, dt)
    u = h / 6 * (v + 2 * (u2 + u3) + u4)
    return np.asarray(system.integrate(q, u)), v + h / 6 * (a + 2 * (a2 + a3) + rates(q4, v4))


def _on_the_constraints(system: System, q: Array, v: Array) -> State:
    """States that meet the constraints, nearest in kinetic energy: Newton's method on q, and a projection of v."""
    still, r = np.zeros(system.nv), np.asarray(system.closure_residual(q))
    for _ in range(CORRECTIONS):
        error = np.abs(r).max(axis=-1, initial=0.0)
        if not (error > CLOSED).any():
            break
        trial = np.asarray(system.integrate(q, system.constrained_response(q, still, -r).change))
        new = np.asarray(system.closure_residual(trial))
        better = (np.abs(new).max(axis=-1, initial=0.0) < error)[..., None]
        q, r = np.where(better, trial, q), np.where(better, new, r)
    return State(q, system.project_velocity(q, v))
