"""Simulations: rollouts of any length, with events, a progress bar, and steps that adapt themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.integrators import INTEGRATORS
from catena.arguments.arrays import Port, Signature, as_array, batch_shape
from catena.arguments.scalars import of_systems, real
from catena.arguments.words import one_of, truth
from catena.errors import LoadError, ShapeError, UnsupportedError, kind_of
from catena.functions.question import Answering
from catena.questions.closed_chains import ClosedChains
from catena.questions.stepping import INTEGRATOR_HINTS
from catena.simulation.asked import Asked, Options, parted
from catena.simulation.checkpoints import Checkpoint, fingerprint
from catena.simulation.chunked import chunked, refuse_watches, run_in_chunks
from catena.simulation.closed_rollouts import check_movable, tell_open
from catena.simulation.divergence import tell
from catena.simulation.events import STOP, Event, Watch, ends, happened, watched, watches
from catena.simulation.exerted import exerted
from catena.simulation.options import SimulationOptions, completed, takes
from catena.simulation.parts import Filled, part_of, parts
from catena.simulation.progress import Bar
from catena.simulation.rolling import Rollout
from catena.simulation.run import Run
from catena.simulation.stiffness import warn_of_held, warn_of_stiffness

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from catena.robot import Robot
    from catena.system import System

Array = npt.NDArray[Any]

OWN = ("adaptive", "variational")
"""Integrators that single steps do not have."""

MOST_STEPS = 2**53
"""Beyond these, steps cannot be counted in the time that they take."""


@of_systems("held")
@takes(SimulationOptions)
def simulate(
    robot: Robot | System,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    duration: float,
    dt: float,
    *,
    events: Mapping[str, Watch] | None = None,
    stop: Watch | None = None,
    tolerance: float = 1e-9,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[SimulationOptions],
) -> Run:
    """How a robot or a closed system, or many samples of it, moves from (q, v) on for a time.

        run = catena.simulate(robot, q, v, duration=5.0, dt=1e-3, control=f)

    Ctrl-C ends a simulation early and returns what was done so far; `run.how` says so.

    Integrators are those of `robot.step`; or "adaptive", steps of order 8 (Dormand and Prince) as long as the tolerance
    allows, for one sample, which asks a controller whenever it wants; or "variational", the midpoint rule of Hamilton's
    principle, of order 2, whose energy stays bounded over long runs, for up to 16 joints that turn or slide.

    Args:
        robot: who moves: a Robot or a System.
        q: configurations to start from, (..., nq).
        v: joint velocities to start with, (..., nv).
        duration: how long, in s; rounded to whole numbers of dt.
        dt: the length of a step in s. With "adaptive", states are kept at multiples of it.
        events: functions of (t, q, v), by name, that give one number for each state. When it becomes zero or more, or
            false becomes true, that is an event in `run.events`. Write `q[..., 0]` for the first coordinate.
        stop: such a function that ends the run, at the first state that is kept for which it has been zero or more (or
            true) in every sample.
        tolerance: the error that "adaptive" allows itself in a step, relative and absolute.
        progress: whether to show a progress bar; if None, on a terminal when it takes long.
        checkpoint: a file that the run so far is written to every few seconds, and at the end. If it is there at the
            start, from a simulation with the same arguments that was killed or interrupted, that goes on, bit by bit as
            if it had never stopped. `catena.load_run` reads it, too.
        options: as rollouts have them.

    Returns:
        The run. Cost: O(n) for each step.
    """
    if not isinstance(robot, Answering) or not hasattr(robot, "nq"):
        raise UnsupportedError(f"simulate: expected a Robot or a System first, got {kind_of(robot)}")
    shown = None if progress is None else truth("simulate: progress", progress)
    steps = _steps(duration, dt)
    given = completed(simulate, options)
    integrator = one_of("integrator", given["integrator"], (*INTEGRATORS, *OWN), INTEGRATOR_HINTS)
    own = integrator in OWN
    asked, how, _ = parted(q, v, None, dt, {**given, "steps": steps, "integrator": "rk4" if own else integrator})
    _check(robot, how, integrator)
    if chunked(asked):
        refuse_watches(events, stop, integrator, checkpoint)
        chunk, alone = partial(_simulated_chunk, integrator), cast("Robot", robot)
        found = run_in_chunks("simulate", chunk, alone, asked, how)
        return replace(found, integrator=integrator)
    rollout = _rollout(robot, asked, how)
    if not own and not isinstance(robot, ClosedChains):
        warn_of_stiffness("simulate", rollout)
    file = None if checkpoint is None else Checkpoint(checkpoint, fingerprint(rollout, integrator, tolerance))
    found = _simulated(rollout, integrator, watches(events, stop), tolerance, shown, file)
    warn_of_held("simulate", rollout, integrator)  # not before what an integrator does not serve is refused
    if isinstance(robot, ClosedChains):
        tell_open("simulate", found, how.projected)
    return found


def _simulated_chunk(integrator: str, robot: Robot, asked: Asked, options: Options) -> Run:
    """The run of one chunk of Dask arrays."""
    return _simulated(_rollout(robot, asked, options), integrator)


def _simulated(
    rollout: Rollout,
    integrator: str,
    watching: Mapping[str, Watch] | None = None,
    tolerance: float = 0.0,
    progress: bool | None = False,
    checkpoint: Checkpoint | None = None,
) -> Run:
    """The run of NumPy's arrays."""
    run = _Simulation(rollout, watching or {}, integrator)
    if checkpoint is not None:
        run.go_on(checkpoint)
    with Bar(rollout.steps * rollout.dt, progress) as bar:
        try:
            if not run.over:
                more = tolerance, run.rows, run.state, run.memory
                run.fill(parts(integrator, rollout, run.q, run.v, *more), bar)
        except KeyboardInterrupt:
            run.interrupted = True
    return run.finished()


def _check(robot: Any, options: Options, integrator: str) -> None:
    """UnsupportedError for steps that a robot, or a closed system, does not have."""
    if isinstance(robot, ClosedChains):
        one_of("integrator of a System", integrator, INTEGRATORS, INTEGRATOR_HINTS)
        if options.method != "innovations":
            raise UnsupportedError(
                f"simulate: the dynamics of a System are those of method='innovations', got {options.method!r}"
            )
    elif options.gains is not None:
        raise UnsupportedError("simulate: gains are those of constraints, and a Robot has none; give a catena.System")


def _rollout(robot: Any, asked: Asked, options: Options) -> Rollout:
    if isinstance(robot, ClosedChains):
        check_movable(cast("System", robot), asked.q)
    return Rollout(robot, asked, options)


class _Simulation:
    """The states of a simulation as they are filled in."""

    def __init__(self, rollout: Rollout, watching: Mapping[str, Watch], integrator: str) -> None:
        self.rollout, self.watching, self.integrator = rollout, watching, integrator
        robot = rollout.robot
        ports = Port("q", (robot.nq,)), Port("v", (robot.nv,)), Port("parameters", rollout.parameters.shape[-1:])
        given = Signature("simulate", ports, (), np.dtype(float)).arguments(
            [rollout.asked.q, rollout.asked.v, rollout.parameters]
        )
        (q, v, _), batch = given
        if rollout.f_ext is not None:
            port = Port("f_ext", (robot.tree.n, 6))
            wrench = as_array(rollout.f_ext, port, "simulate")
            batch = batch_shape([np.empty(batch), wrench], [Port("q and v", ()), port], "simulate")
        self.t = rollout.times(rollout.rows)
        self.q, self.v = (np.empty((*batch, rollout.rows + 1, n)) for n in (robot.nq, robot.nv))
        self.q[..., 0, :], self.v[..., 0, :] = q, v
        self.rows, self.interrupted, self.over = 0, False, False
        self.state: Mapping[str, Any] = {}
        self.checkpoint: Checkpoint | None = None
        self.step, self.joint = np.full(batch, -1), np.full(batch, -1)
        self.events: list[Event] = []
        self.acted: list[Array] = []
        self.memory: Mapping[str, Array] = rollout.asked.memory or {}

    def go_on(self, checkpoint: Checkpoint) -> None:
        """Take in what an earlier simulation has left in its file, if there is one."""
        self.checkpoint = checkpoint
        found = checkpoint.read()
        if found is None:
            return
        run, self.state, self.over = found
        rows = len(run["t"])
        if rows > len(self.t):
            raise LoadError(
                f"{os.fspath(checkpoint.path)}: expected a checkpoint of at most {self.t[-1]:g} s, found one that has "
                f"come to {run['t'][-1]:g} s; simulate for longer, or give another path"
            )
        self.q[..., :rows, :], self.v[..., :rows, :] = run["q"], run["v"]
        self.step, self.joint = run["diverged_step"], run["diverged_joint"]
        self.events, self.rows, self.memory = list(run["events"]), rows - 1, run["memory"]
        self.over = self.over or rows == len(self.t)

    def fill(self, parts: Iterator[Filled], bar: Bar) -> None:
        """Take in part after part, until one of them ends the run."""
        for part in parts:
            first, self.rows, self.state = self.rows, part.rows, part.state
            self.acted += [] if part.tau is None else [part.tau]
            new = (self.step < 0) & (part.step >= 0)
            self.step, self.joint = np.where(new, part.step, self.step), np.where(new, part.joint, self.joint)
            bar.at(self.t[part.rows] - self.t[0])
            if self._ended(slice(first, part.rows + 1)):
                self.over = True
                if part.memory and self.rows < part.rows:
                    self.memory = part_of(self.rollout, self.q, self.v, first, self.rows - first, self.memory).memory
                return
            self.memory = part.memory
            if self.checkpoint is not None and self.checkpoint.due():
                self.checkpoint.write(replace(self.result(), torques=None, acting=None), self.state, False)

    def _ended(self, rows: slice) -> bool:
        """Note the events of some rows, the first of which was looked at before; whether the run ends there."""
        t, q, v = self.t[rows], self.q[..., rows, :], self.v[..., rows, :]
        values = {name: watched(name, watch, t, q, v) for name, watch in self.watching.items()}
        end = ends(values[STOP]) if STOP in values and len(t) > 1 else None
        if end is not None:
            self.rows, values = rows.start + end, {name: x[..., : end + 1] for name, x in values.items()}
        for name, x in values.items():
            self.events += happened(name, x, t)
        return end is not None

    def finished(self) -> Run:
        """The run as far as it came, written to its file and with a word about samples that diverged."""
        found = self.result()
        if self.checkpoint is not None:
            self.checkpoint.write(
                replace(found, torques=None, acting=None, how=self.rollout.how), self.state, self.over
            )
        tell("simulate", self.rollout.robot, self.step, self.joint)
        return found

    def _torques(self, t: Array, q: Array, v: Array) -> Any:
        """The torques as they were when a controller was called, or how to find them."""
        count = len(t) - 1
        if sum(x.shape[-2] for x in self.acted) >= count > 0:
            return np.concatenate(self.acted, axis=-2)[..., :count, :]
        return None if self.rollout.control is None else self.rollout.torques(t, q, v)

    def result(self) -> Run:
        """The run as far as it came."""
        rollout, kept = self.rollout, slice(self.rows + 1)
        t, q, v = self.t[kept], self.q[..., kept, :], self.v[..., kept, :]
        acted = self._torques(t, q, v)
        how = [rollout.how, f"interrupted at {t[-1]:g} s" if self.interrupted else ""]
        return Run(
            rollout.robot,
            t,
            q,
            v,
            self.step,
            self.joint,
            None,
            self.integrator,
            rollout.dt,
            "; ".join(filter(None, how)),
            tuple(sorted(self.events, key=lambda event: event.t)),
            acted,
            self.memory,
            exerted(rollout, t, q, v, acted),
        )


def _steps(duration: Any, dt: Any) -> int:
    """How many steps make up a duration."""
    whole, part = real("simulate: duration", duration, above=0.0), real("simulate: dt", dt, above=0.0)
    if not whole / part < MOST_STEPS:
        raise ShapeError(f"simulate: dt must be long enough for less than {MOST_STEPS:g} steps, got {part:g} s")
    steps = round(whole / part)
    if steps < 1:
        raise ShapeError(f"simulate: dt must be no longer than the duration, {whole:g} s, got {part:g} s")
    return steps
