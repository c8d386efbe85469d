"""How a rollout is computed: by one call of machine code or, where a controller is Python, step by step."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.rollouts import NOTHING, RECALLED, torques, turn
from catena.arguments.arrays import Port, Signature
from catena.functions.function import Repeated
from catena.functions.ownership import is_own
from catena.simulation.again import Again, prepare
from catena.simulation.asked import Asked, Options, Prepared
from catena.simulation.checked import pair
from catena.simulation.divergence import culprit, healthy, located, tell, unresisted_joints
from catena.simulation.exerted import exerted, recalled_torques
from catena.simulation.run import Run
from catena.simulation.stiffness import warn_of_held, warn_of_stiffness, warned

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def rolled_out(robot: Robot, asked: Asked, options: Options, out: Any = None, again: Again | None = None) -> Run:
    """The rollout, with samples that diverged flagged and warned of; `again` is how it may be asked for once more."""
    rollout = Rollout(robot, asked, options)
    said = [*warn_of_stiffness("rollout", rollout), *warn_of_held("rollout", rollout)]
    run = run_of(rollout, out)
    tell("rollout", robot, run.diverged_step, run.diverged_joint)
    if again is not None:
        prepare(rollout, again, partial(_said, said) if said else None)
    return run


def _said(words: list[str], run: Run) -> None:
    """What was warned of is warned of each time."""
    warned(*words)


def run_of(rollout: Rollout, out: Any = None) -> Run:
    """A rollout, computed; its first steps were perhaps done before."""
    robot, options = rollout.robot, rollout.options
    results = rollout.results(out)
    step, joint = rollout.divergence(results)
    q, v = results.q, results.v
    t = rollout.times(rollout.rows)
    acted = rollout.torques(t, q, v) if results.tau is None else results.tau
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
        acted,
        results.memory,
        exerted(rollout, t, q, v, acted),
    )


class Results(NamedTuple):
    """States that are kept, q and v; the cost of each sample; how often its speeds were above the bound.

    `memory` is what friction remembers at the end, by name. `diverged` are the steps and joints at which samples
    diverged, where that was seen at once. `tau` are the torques after each state that is kept but the last, where a
    controller was called from Python: asked again, it may give others.
    """

    q: Array
    v: Array
    cost: Array | None
    over: Array | None
    memory: dict[str, Array]
    diverged: tuple[Array, Array] | None = None
    tau: Array | None = None


class Rollout(Prepared):
    """A rollout that is computed in either way."""

    def results(self, out: Any) -> Results:
        """All samples, with the states that are to be kept."""
        return self._in_one_call(self.rows, self.asked.every, out) if self.compiled else self._step_by_step(out)

    def _in_one_call(self, rows: int, between: int, out: Any = None, chosen: Array | None = None) -> Results:
        """The rollout, or that of some samples `chosen` by number."""
        kernel, values = self.kernel(rows, between), self.kernel_values()
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

    def kernel(self, rows: int | None = None, between: int | None = None) -> Any:
        """The machine code of the whole rollout, or of one with other rows."""
        present = () if self.f_ext is None else ("f_ext",)
        made = self.robot._compiled.repeated(self._turn(), present, self.options.dtype, self.shape)
        return made(self.rows if rows is None else rows, self.asked.every if between is None else between)

    def kernel_values(self) -> dict[str, Any]:
        """What goes into it, by name."""
        return {
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

    def _turn(self) -> Repeated:
        """What is repeated; without laws of a caller's it is the same every time, and made once."""
        control, cost, wrench = (None if one is None else one.law for one in (self.control, self.cost, self.wrench))
        drive, watched = self.drive, self.bound is not None

        def made() -> Repeated:
            return turn(self.step, NOTHING if self.free else control, cost, watched, drive, wrench)

        if self.laws or not is_own(self.step, self.robot.tree):
            return made()
        return self.robot._compiled.once(("turn", self.step.name, self.free, watched, drive is None), made)

    def divergence(self, results: Results) -> tuple[Array, Array]:
        """Steps and joints at which samples diverged.

        What is not finite stays so: the end tells. When it began is looked for in the states, which are computed again
        if not all were kept.
        """
        if results.diverged is not None:
            return results.diverged
        q, v, over = results.q, results.v, results.over
        start = healthy(q[..., 0, :], v[..., 0, :], self.bound)
        diverged = ~(start & healthy(q[..., -1, :], v[..., -1, :], None))
        if over is not None:
            diverged |= over > 0

        def states(some: Array) -> tuple[Array, Array]:
            if self.asked.every == 1:
                return tuple(x.reshape(-1, *x.shape[-2:])[some] for x in (q, v))  # type: ignore[return-value]
            return self._in_one_call(self.steps, 1, None, some)[:2]

        return located(self.robot, diverged, self.steps, states, self.bound, self.options.dtype)

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
            if given.remembers:
                return recalled_torques(self, q, v)
            if given.law is None:
                rows = np.empty(before[1].shape)
                for i in range(len(t) - 1):
                    rows[..., i, :] = self.asked_now(given, t[i], q[..., i, :], v[..., i, :])
                return rows
            kernel = self.robot._compiled.kernel(torques(given.law), (), self.options.dtype, self.shape)
            values = [np.expand_dims(np.asarray(value), -2) for value in self.values(given).values()]
            result: Array = kernel(*before, t[:-1], *values, *self.rows_at(given, t[:-1] / self.dt).values())
            return result

        return found

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
        self.check_samples(q, v)
        called = self.control is not None and self.control.law is None
        acted = np.empty((*batch, self.rows, robot.nv), dtype) if called else None
        for i in range(self.steps):
            before = q, v
            q, v, rate, acting = self._one_step(q, v, given[2], i, memory)
            if acted is not None and i % every == 0:
                acted[..., i // every, :] = acting
            cost += rate * self.dt
            new = (step < 0) & ~healthy(q, v, self.bound)
            if new.any():
                step = np.where(new, i + 1, step)
                blamed = culprit(robot, before[1][new], q[new], v[new], self.bound)
                joint[new] = unresisted_joints(robot, np.argwhere(new), before[0][new], blamed, dtype)
            if (i + 1) % every == 0:
                kept[0][..., (i + 1) // every, :], kept[1][..., (i + 1) // every, :] = q, v
        return Results(kept[0], kept[1], None if self.cost is None else cost, None, memory, (step, joint), acted)

    def _start_of_memory(self, batch: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Array]:
        """What is remembered before the first step."""
        given = {name: np.asarray(self.forces.values[name]) for name in self.forces.memory}
        return {name: np.broadcast_to(x, (*batch, x.shape[-1])).astype(dtype) for name, x in given.items()}

    def _kept(self, batch: tuple[int, ...], dtype: np.dtype[Any], out: Any) -> tuple[Array, Array]:
        """Arrays for the states that are kept, new ones or those that were given."""
        ports = [Port(n, (self.rows + 1, size)) for n, size in (("q", self.robot.nq), ("v", self.robot.nv))]
        if out is None:
            return np.empty(batch + ports[0].shape, dtype), np.empty(batch + ports[1].shape, dtype)
        q, v = Signature("rollout", (), tuple(ports), dtype).wanted(tuple(pair(out)), batch)
        assert q is not None
        assert v is not None
        return q, v

    def _one_step(self, q: Array, v: Array, tau: Array, i: int, memory: dict[str, Array]) -> tuple[Any, ...]:
        """The next state, the running cost at this one and the torques; memory is renewed."""
        t = (self.first + i) * self.dt
        acting: Any = tau[..., i, :]
        if self.control is not None and self.control.remembers:
            acting, memory[RECALLED] = self.recalling(self.control, t, q, v, memory[RECALLED])
        elif self.control is not None:
            acting = self.asked_now(self.control, t, q, v)
        given = self.acting(t, q, v, acting)
        acting = self.driven(acting, q, v)
        rate = 0.0 if self.cost is None else self.asked_now(self.cost, t, q, v, acting)
        present = () if given["f_ext"] is None else ("f_ext",)
        kernel = self.robot._compiled.kernel(self.acted, present, self.options.dtype, self.shape)
        values = {"q": q, "v": v, "dt": self.dt, **given, **self.forces.values, **memory}
        results = kernel(*[values[port.name] for port in kernel.inputs])
        memory.update(zip(self.forces.acting.memory, results[2:], strict=True))
        return results[0], results[1], rate, acting
