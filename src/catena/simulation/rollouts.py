"""The part of Robot that answers with whole rollouts, each in one call of machine code."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import numpy.typing as npt

from catena.functions.question import Answering
from catena.simulation.again import Again, repeated
from catena.simulation.asked import parted
from catena.simulation.chunked import run_or_chunks
from catena.simulation.options import RolloutOptions, completed, takes
from catena.simulation.rolling import rolled_out
from catena.simulation.run import Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from catena.robot import Robot


class Rollouts(Answering):
    """Whole rollouts."""

    __slots__ = ()

    @takes(RolloutOptions)
    def rollout(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        tau: npt.ArrayLike | None,
        dt: float,
        **options: Unpack[RolloutOptions],
    ) -> Run:
        """Many steps of many samples, in one call of machine code.

            run = robot.rollout(q, v, tau, 1e-3)  # tau is (..., steps, nv)
            run.q, run.v  # (..., steps + 1, nq) and (..., steps + 1, nv), the start included

        Samples are computed in the lanes of vector instructions and by all threads, each through all of its steps. A
        sample that diverges is flagged in the run, with a warning, and touches no other.

        Args:
            q: configurations to start from, (..., nq).
            v: joint velocities to start with, (..., nv).
            tau: joint torques, one row for each step, (..., steps, nv), in N m or N; None for none, or for those of a
                controller.
            dt: the length of a step in s.
            options: how steps are made, and what acts in them.

        Returns:
            The run. Cost: O(n) for each step.
        """
        again = Again.of(q, v, tau, dt, options)
        if (run := repeated(self, again)) is not None:
            return run
        asked, how, out = parted(q, v, tau, dt, completed(Rollouts.rollout, options))
        return run_or_chunks(partial(rolled_out, again=again), cast("Robot", self), asked, how, out)
