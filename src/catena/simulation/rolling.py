"""How a rollout is computed: by one call of machine code or, where a controller is Python, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.actuation import ACTUATORS
from catena.algorithms.rollouts import NOTHING, torques, turn
from catena.arguments.arrays import Port, Signature, as_array, check_out
from catena.arguments.wrenches import wrenches
from catena.errors import ShapeError, UnsupportedError
from catena.functions.store import chosen_shape
from catena.questions.stepping import stepping
from catena.simulation.checked import kept_rows, pair, positive, whole_steps
from catena.simulation.divergence import culprit, healthy, located, tell
from catena.simulation.forces import chosen_actuators, forces
from catena.simulation.laws import Given, controller, parameter_array, running_cost
from catena.simulation.run import Run
from catena.simulation.stiffness import warn_of_stiffness
from catena.simulation.wrenches import changing

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Options:
    """How steps are made; see :meth:`catena.Robot.step`."""

    integrator: str
    method: str
    joint_losses: bool
    joint_springs: bool
    dtype: Any
    kernel: str | None
    joint_limits: Any = False
    ground: Any = None
    actuators: Any = None
    pins: Any = None
    drag: Any = None


@dataclass(frozen=True)
class Asked:
    """What a rollout is asked for; see :meth:`catena.Robot.rollout`. `first` steps were done since t0."""

    q: Any
    v: Any
    tau: Any
    dt: Any
    steps: int | None
    control: Any
    cost: Any
    parameters: Any
    f_ext: Any
    every: int
    bound: float | None
    t0: float = 0.0
    first: int = 0
    memory: Any = None


def rolled_out(robot: Robot, asked: Asked, options: Options, out: Any = None) -> Run:
    """The rollout, with samples that diverged flagged and warned of."""
    rollout = Rollout(robot, asked, options)
    warn_of_stiffness("rollout", rollout)
    run = run_of(rollout, out)
    tell("rollout", robot, run.diverged_step, run.diverged_joint)
    return run


def run_of(rollout: Rollout, out: Any = None) -> Run:
    """A rollout, computed; its first steps were perhaps done before."""
    robot, options = rollout.robot, rollout.options
    results = rollout.results(out)
    step, joint = rollout.divergence(results)
    q, v = results.q, results.v
    t = rollout.times(rollout.rows)
    return Run(
        robot,
        t,
        q,
        v,
        step,
        joint,
        results.cost,
        options.integrator,
        rollout.dt,
        rollout.how,
        (),
        rollout.torques(t, q, v),
        results.memory,
    )


class Results(NamedTuple):
    """States that are kept, q and v; the cost of each sample; how often its speeds were above the bound.

    `memory` is what friction remembers at the end, by name.
    """

    q: Array
    v: Array
    cost: Array | None
    over: Array | None
    memory: dict[str, Array]


class Rollout:
    """A rollout: checked, prepared, and computed in either way."""

    def __init__(self, robot: Robot, asked: Asked, options: Options) -> None:
        self.robot, self.asked, self.options = robot, asked, options
        self.dt = positive("dt", asked.dt)
        self.first = asked.first + whole_steps(asked.t0, self.dt)
        self.bound = None if asked.bound is None else positive("bound", asked.bound)
        self.forces = forces(robot, options, asked.control, asked.memory)
        self.step = stepping(
            robot,
            options.integrator,
            options.method,
            options.joint_losses,
            options.joint_springs,
            self.forces.laws,
        )
        self.shape = chosen_shape(robot.tree, self.step, options.kernel)
        if self.shape == "rolled" and options.ground is not None:
            raise UnsupportedError(
                f"rollout: the ground is for unrolled kernels, this robot has {robot.tree.n} links; it can have less"
                if options.kernel is None
                else "rollout: the ground is for unrolled kernels; leave kernel out"
            )
        self.parameters = parameter_array(asked.parameters)
        self.actuators = chosen_actuators(robot, options.actuators)
        self.control = controller(robot.tree, asked.control, self.parameters, self.shape, self.actuators)
        self.cost = running_cost(robot.tree, asked.cost, self.parameters, self.shape)
        self.tau, self.steps = self._steps()
        self.rows = kept_rows(self.steps, asked.every)
        self.wrench = changing(robot, asked.f_ext, self.parameters, self.shape)
        held = asked.f_ext is not None and self.wrench is None
        self.f_ext = wrenches(robot, asked.f_ext, "rollout") if held else None
        self._noted: tuple[Array, Array] | None = None  # steps and joints that diverged, where they were seen at once

    def again(self, **changes: Any) -> Rollout:
        """The same rollout with other states, parameters, number of steps or steps done before, nothing traced again.

        Steps done before may be one number for each sample. What has torques of its own for each step, `tau`, cannot be
        told another number of steps.
        """
        other = copy(self)
        other.asked = replace(self.asked, **changes)
        other.first = other.asked.first + whole_steps(other.asked.t0, self.dt)
        other._noted = None
        if "memory" in changes:
            other.forces = forces(self.robot, self.options, self.asked.control, changes["memory"])
        if "steps" in changes:
            other.steps, other.rows = changes["steps"], kept_rows(changes["steps"], self.asked.every)
        if "parameters" in changes:
            given = {"parameters": changes["parameters"]}
            other.parameters = given["parameters"]
            other.control, other.cost, other.wrench = (
                law if law is None or "parameters" not in law.values else replace(law, values=given)
                for law in (self.control, self.cost, self.wrench)
            )
        return other

    def _steps(self) -> tuple[Any, int]:
        """The torques that were given and the number of steps."""
        tau, steps = self.asked.tau, self.asked.steps
        nv = self.robot.nv if self.actuators is None else len(self.actuators)
        if tau is not None and self.control is not None:
            raise UnsupportedError("rollout: give tau or control, not both; a controller can add torques of its own")
        if steps is not None and (not isinstance(steps, int | np.integer) or isinstance(steps, bool) or steps < 0):
            raise ShapeError(f"rollout: steps must be a whole number, zero or more, got {steps!r}")
        if tau is None:
            if steps is None:
                raise ShapeError("rollout: without tau, say how many steps: steps=100")
            return None, int(steps)
        given = as_array(tau, Port("tau", (nv,)), "rollout")
        if given.ndim < 2:
            raise ShapeError(f"rollout: tau must have shape (..., steps, {nv}), got {given.shape}")
        if steps is not None and steps != given.shape[-2]:
            raise ShapeError(
                f"rollout: tau has {given.shape[-2]} steps (its shape is {given.shape}), steps says {steps}"
            )
        return given if self.actuators is None else self.actuators.spread(given), given.shape[-2]

    def times(self, rows: int) -> Array:
        """The times of the start and of so many rows that follow, in s."""
        return np.asarray((self.first + np.arange(rows + 1) * self.asked.every) * self.dt)

    @property
    def free(self) -> bool:
        """Whether there are no torques at all."""
        return self.tau is None and self.control is None

    @property
    def laws(self) -> list[Given]:
        """What was given besides torques."""
        return [law for law in (self.control, self.cost, self.wrench) if law is not None]

    @property
    def compiled(self) -> bool:
        """Whether all is machine code."""
        return all(given.law is not None for given in self.laws)

    @property
    def how(self) -> str:
        """How control and cost are computed, in words."""
        return "; ".join(given.how for given in self.laws)

    def results(self, out: Any) -> Results:
        """All samples, with the states that are to be kept."""
        return self._in_one_call(self.rows, self.asked.every, out) if self.compiled else self._step_by_step(out)

    def _in_one_call(self, rows: int, between: int, out: Any = None, chosen: Array | None = None) -> Results:
        """The rollout, or that of some samples `chosen` by number."""
        laws = self.control, self.cost, self.wrench
        control, cost, wrench = (None if one is None else one.law for one in laws)
        drive = None if self.actuators is None else ACTUATORS
        repeated = turn(self.step, NOTHING if self.free else control, cost, self.bound is not None, drive, wrench)
        present = () if self.f_ext is None else ("f_ext",)
        made = self.robot._compiled.repeated(repeated, present, self.options.dtype, self.shape)
        kernel = made(rows, between)
        values = {
            "q": self.asked.q,
            "v": self.asked.v,
            "tau": self.tau,
            "dt": self.dt,
            "f_ext": self.f_ext,
            "count": np.asarray(self.first, float),
            "cost": 0.0,
            "over": 0.0,
            "bound": self.bound,
            **self.forces.values,
            **({} if self.actuators is None else self.actuators.columns()),
            **{name: value for given in self.laws for name, value in self.values(given).items()},
            **self.rows_at(self.control, self.first, np.arange(self.steps)),
        }
        given, batch = kernel.signature.arguments([values[port.name] for port in kernel.inputs])
        if chosen is not None:
            given = [
                np.broadcast_to(a, batch + p.shape).reshape(-1, *p.shape)[chosen]
                for a, p in zip(given, kernel.inputs, strict=True)
            ]
            batch = (len(chosen),)
        more = len(kernel.outputs) - 2
        wanted = kernel.signature.wanted(None if out is None else (*pair(out), *[None] * more), batch)
        found = kernel.compute(given, wanted, batch, keep=True)
        by_name = dict(zip([port.name for port in kernel.outputs], found, strict=True))
        q, v = (by_name["q"], by_name["v"]) if out is None else out
        memory = {name: by_name[name] for name in self.forces.memory}
        return Results(q, v, by_name.get("cost"), by_name.get("over"), memory)

    def divergence(self, results: Results) -> tuple[Array, Array]:
        """Steps and joints at which samples diverged.

        What is not finite stays so: the end tells. When it began is looked for in the states, which are computed again
        if not all were kept.
        """
        if self._noted is not None:
            return self._noted
        q, v, over = results.q, results.v, results.over
        start = healthy(q[..., 0, :], v[..., 0, :], self.bound)
        diverged = ~(start & healthy(q[..., -1, :], v[..., -1, :], None))
        if over is not None:
            diverged |= over > 0

        def states(some: Array) -> tuple[Array, Array]:
            if self.asked.every == 1:
                return tuple(x.reshape(-1, *x.shape[-2:])[some] for x in (q, v))  # type: ignore[return-value]
            return self._in_one_call(self.steps, 1, None, some)[:2]

        return located(self.robot, diverged, self.steps, states, self.bound)

    def values(self, given: Given) -> dict[str, Any]:
        """The arrays of a law; one number stands for one of each degree of freedom."""
        law: Any = given.law
        alone = {name for name, x in given.values.items() if law.inputs[name] == "v" and not np.ndim(x)}
        nv = self.robot.nv
        return {name: np.broadcast_to(x, nv) if name in alone else x for name, x in given.values.items()}

    def rows_at(self, given: Given | None, count: Any, more: Any = 0) -> Mapping[str, Any]:
        """What a law needs at each step, after so many steps since time zero."""
        return {} if given is None or given.along is None else given.along((count + more) * self.dt)

    def torques(self, t: Array, q: Array, v: Array) -> Any:
        """The torques of the steps after the states that were kept, or how to find them."""
        before = q[..., :-1, :], v[..., :-1, :]
        if self.control is None:
            rows = None if self.tau is None else self.tau[..., :: self.asked.every, :]
            return rows if rows is None or self.actuators is None else lambda: self.driven(rows, *before)
        given = self.control

        def found() -> Array:
            return self.driven(controls(), *before)

        def controls() -> Array:
            if given.law is None:
                rows = [self._asked_of(given, t[i], q[..., i, :], v[..., i, :]) for i in range(len(t) - 1)]
                return np.stack(rows, axis=-2)
            kernel = self.robot._compiled.kernel(torques(given.law), (), self.options.dtype, self.shape)
            values = [np.expand_dims(np.asarray(value), -2) for value in self.values(given).values()]
            result: Array = kernel(*before, t[:-1], *values, *self.rows_at(given, t[:-1] / self.dt).values())
            return result

        return found

    def driven(self, controls: Array, q: Array, v: Array) -> Array:
        """The torques that actuators make of controls, where there are actuators."""
        chosen = self.actuators
        return controls if chosen is None else chosen.torques(controls[..., chosen.dofs], q, v)

    def _asked_of(self, given: Given, t: float, q: Array, v: Array, *more: Any) -> Array:
        """What a function of the user's gives for all samples at a time."""
        nu = self.robot.nv if self.actuators is None else len(self.actuators)
        width = () if given is self.cost else (nu,)
        result = np.asarray(given(float(t), q, v, self.parameters, *more))
        try:
            found = np.broadcast_to(result, (*q.shape[:-1], *width))
            return found if given is self.cost or self.actuators is None else self.actuators.spread(found)
        except ValueError:
            expected = f"({', '.join(['...', *map(str, width)])})"
            raise ShapeError(
                f"rollout: {given.what} must give {expected}, here {(*q.shape[:-1], *width)}, got {result.shape}"
            ) from None

    def _step_by_step(self, out: Any) -> Results:
        """The same with a loop in Python, for what cannot be compiled."""
        robot, every, dtype = self.robot, self.asked.every, np.dtype(self.options.dtype)
        tau = np.zeros((self.steps, robot.nv)) if self.tau is None else self.tau
        ports = Port("q", (robot.nq,)), Port("v", (robot.nv,)), Port("tau", tau.shape[-2:])
        signature = Signature("rollout", (*ports, Port("parameters", self.parameters.shape[-1:])), (), dtype)
        given, batch = signature.arguments([self.asked.q, self.asked.v, tau, self.parameters])
        q, v = (np.broadcast_to(x, batch + p.shape).astype(dtype) for x, p in zip(given[:2], ports[:2], strict=True))
        kept = self._kept(batch, dtype, out)
        kept[0][..., 0, :], kept[1][..., 0, :] = q, v
        cost, good, memory = np.zeros(batch), healthy(q, v, self.bound), self._start_of_memory(batch, dtype)
        step, joint = np.where(good, -1, 0), np.where(good, -1, culprit(robot, v, q, v, self.bound))
        for i in range(self.steps):
            before = v
            q, v, rate = self._one_step(q, v, given[2], i, memory)
            cost += rate * self.dt
            new = (step < 0) & ~healthy(q, v, self.bound)
            step = np.where(new, i + 1, step)
            joint = np.where(new, culprit(robot, before, q, v, self.bound), joint)
            if (i + 1) % every == 0:
                kept[0][..., (i + 1) // every, :], kept[1][..., (i + 1) // every, :] = q, v
        self._noted = step, joint
        return Results(kept[0], kept[1], None if self.cost is None else cost, None, memory)

    def _start_of_memory(self, batch: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Array]:
        """What is remembered before the first step."""
        given = {name: np.asarray(self.forces.values[name]) for name in self.forces.memory}
        return {name: np.broadcast_to(x, (*batch, x.shape[-1])).astype(dtype) for name, x in given.items()}

    def _kept(self, batch: tuple[int, ...], dtype: np.dtype[Any], out: Any) -> tuple[Array, Array]:
        """Arrays for the states that are kept, new ones or those that were given."""
        ports = [Port(n, (self.rows + 1, size)) for n, size in (("q", self.robot.nq), ("v", self.robot.nv))]
        if out is None:
            return np.empty(batch + ports[0].shape, dtype), np.empty(batch + ports[1].shape, dtype)
        q, v = (
            check_out(x, p, batch, dtype, f"rollout: out for {p.name}") for x, p in zip(pair(out), ports, strict=True)
        )
        return q, v

    def _one_step(self, q: Array, v: Array, tau: Array, i: int, memory: dict[str, Array]) -> tuple[Array, Array, Any]:
        """The next state, and the running cost at this one; memory is renewed."""
        t = (self.first + i) * self.dt
        acting: Any = tau[..., i, :]
        if self.control is not None:
            acting = self.asked_now(self.control, t, q, v)
        acting = self.driven(acting, q, v)
        rate = 0.0 if self.cost is None else self.asked_now(self.cost, t, q, v, acting)
        f_ext = self.wrenches_at(t, q, v)
        present = () if f_ext is None else ("f_ext",)
        kernel = self.robot._compiled.kernel(self.step, present, self.options.dtype, self.shape)
        values = {"q": q, "v": v, "tau": acting, "dt": self.dt, "f_ext": f_ext, **self.forces.values, **memory}
        results = kernel(*[values[port.name] for port in kernel.inputs])
        memory.update(zip(self.forces.memory, results[2:], strict=True))
        return results[0], results[1], rate

    def wrenches_at(self, t: float, q: Array, v: Array) -> Any:
        """The wrenches on links at a time, None for none."""
        if self.wrench is None:
            return self.f_ext
        function: Any = self.wrench.function
        return function.numbers(t, q, v, self.parameters)

    def asked_now(self, given: Given, t: float, q: Array, v: Array, *more: Any) -> Any:
        """What a controller or cost gives, whether it is compiled or called."""
        if given.function is not None:
            return self._asked_of(given, t, q, v, *more)
        law: Any = given.law
        kernel = self.robot._compiled.kernel(torques(law), (), self.options.dtype, self.shape)
        return kernel(q, v, t, *self.values(given).values(), *self.rows_at(given, t / self.dt).values())
