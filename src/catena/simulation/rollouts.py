"""The part of Robot that answers with whole rollouts, each in one call of machine code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.wrenches import Wrenches
from catena.functions.question import Answering
from catena.model.actuators import Actuators
from catena.simulation.again import Again, Differing, Settings, repeated
from catena.simulation.asked import Asked, Options
from catena.simulation.chunked import run_or_chunks
from catena.simulation.drag import Drag
from catena.simulation.forces import JointLimits
from catena.simulation.ground import Ground
from catena.simulation.laws import Control
from catena.simulation.pins import Pins
from catena.simulation.rolling import rolled_out
from catena.simulation.run import Run

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class Rollouts(Answering):
    """Whole rollouts."""

    __slots__ = ()

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
        method: str = "innovations",
        joint_losses: bool = False,
        joint_springs: bool = True,
        joint_limits: bool | JointLimits = False,
        ground: Ground | None = None,
        pins: Pins | None = None,
        drag: Drag | None = None,
        actuators: bool | Actuators | Iterable[str] = False,
        memory: Mapping[str, npt.ArrayLike] | None = None,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
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
            steps: how many steps, where tau does not say so.
            t0: the time of the start in s, a multiple of dt: with it, a rollout that goes on from the last state of
                another gives the bits of one that never stopped.
            control: a function of (t, q, v, parameters) that gives torques, or one of `catena.controllers`. It is asked
                at the start of each step. If it runs on traced scalars, as functions of NumPy's arithmetic, sines,
                `where`, `minimum`, `clip`, `tanh`, `exp` and their like do, it is compiled into the rollout; otherwise
                it is called from Python with all samples at each step. `run.how` says which. Write `q[..., 0]` for the
                first coordinate: then both give the same.
            cost: a function of (t, q, v, parameters, tau) that gives one number, the running cost at the start of a
                step. `run.cost`, (...), is the sum of it over all steps times dt.
            parameters: numbers for control and cost, (..., count).
            f_ext: wrenches on links that are held throughout, (..., links, 6) in their frames, or a mapping from links
                and frames to wrenches (..., 6); or a function of (t, q, v, parameters) that gives such, compiled if
                that is possible, as a controller is, and then asked at every stage of a step.
            every: states are kept every so many steps, which must divide the number of steps; `every=steps` keeps the
                start and the end.
            bound: samples in which a joint is faster than this, in rad/s or m/s, count as diverged.
            integrator: how a step is made; see `step`.
            method: the formulation of forward dynamics.
            joint_losses: whether the model's damping and dry friction act. Friction sticks: below its threshold a joint
                gives way by less than 1e-7 rad or m, above it it loses `robot.joint_losses(v)`.
            joint_springs: whether the model's springs act.
            joint_limits: whether springs push joints back into their ranges; True for stiff ones, or a
                `catena.JointLimits`.
            ground: what the robot stands on, a `catena.Ground`; None for nothing.
            pins: points of links that are held at places, a `catena.Pins`; None for none.
            drag: of a medium on links, a `catena.Drag`; None for none.
            actuators: True, or names of `robot.actuators`: then tau and what a controller gives are controls of these,
                (..., nu), and torques come from their gears, gains and limits.
            memory: what friction remembers from before, `run.memory` of the run that this one goes on from.
            out: arrays for the states, a tuple (q, v).
            dtype: float64 or float32.
            kernel: "unrolled" or "rolled" machine code; chosen by the number of links if left out.

        Returns:
            The run. Cost: O(n) for each step.
        """
        robot, given = cast("Robot", self), Differing(q, v, tau, f_ext, parameters, memory)
        settings = Settings(
            (dt, steps, t0, every, bound),
            (integrator, method, joint_losses, joint_springs, dtype, kernel),
            (control, cost, f_ext if callable(f_ext) else None, joint_limits, ground, pins, drag, actuators),
        )
        if (run := repeated(robot, given, settings, out)) is not None:
            return run
        options = Options(
            integrator, method, joint_losses, joint_springs, dtype, kernel, joint_limits, ground, actuators, pins, drag
        )
        asked = Asked(q, v, tau, dt, steps, control, cost, parameters, f_ext, every, bound, t0=t0, memory=memory)
        return run_or_chunks(partial(rolled_out, again=Again(given, settings)), robot, asked, options, out)
