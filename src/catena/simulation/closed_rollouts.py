"""The part of System that makes rollouts, and what is looked at before and after runs of closed systems."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import OPEN
from catena.arguments.arrays import Port, as_array
from catena.arguments.scalars import of_systems
from catena.errors import DivergenceWarning, ModelError, warn
from catena.questions.closed_stepping import ClosedStepping
from catena.questions.closing import MOST_ROWS
from catena.simulation.again import Again, prepare, repeated
from catena.simulation.asked import Asked, Options, parted
from catena.simulation.chunked import run_or_chunks
from catena.simulation.divergence import tell
from catena.simulation.options import SystemRolloutOptions, completed, takes
from catena.simulation.rolling import Rollout, run_of
from catena.simulation.run import Run
from catena.simulation.stiffness import warn_of_held, warned

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from catena.system import System

Array = npt.NDArray[Any]


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
    @takes(SystemRolloutOptions)
    def rollout(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        dt: float,
        **options: Unpack[SystemRolloutOptions],
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
            options: how steps are made, and what acts in them.

        Returns:
            The run; `run.constraint_drift()` says how well the loops were kept. Cost: that of `step`, for each of them.
        """
        again = Again.of(q, v, tau, dt, options)
        if (run := repeated(self, again)) is not None:
            return run
        asked, how, out = parted(q, v, tau, dt, completed(ClosedRollouts.rollout, options))
        return run_or_chunks(partial(_rolled_out, again=again), cast("Any", self), asked, how, out)


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
