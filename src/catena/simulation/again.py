"""Rollouts that are asked for again: prepared once, then one call of machine code.

What a rollout was asked with is of two kinds. Arrays that differ from call to call (states, torques, wrenches,
parameters, what friction remembers) are handed to the emitted call (:mod:`catena.kernels.call.emitted`). All else is
found again by what was given, and must be as it was: numbers and words are equal, objects are the same, and what
they hold is what they held. A call that differs in anything else is prepared anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.functions.question import Answering
from catena.kernels.call.words import OWN, Given, Role
from catena.simulation.exerted import exerted
from catena.simulation.held import Held
from catena.simulation.run import Run

if TYPE_CHECKING:
    from catena.simulation.rolling import Rollout

Array = npt.NDArray[Any]

MOST = 32
"""Rollouts of one robot that are kept prepared; the oldest goes first."""

_ARRAYS = tuple(f"array{i}" for i in range(12))
"""The parameters of the emitted call: arrays in the order of the kernel's inputs that differ from call to call."""


_NOWHERE = np.array(-1)


class Differing(NamedTuple):
    """The arguments of a rollout that may differ from call to call."""

    q: Any
    v: Any
    tau: Any
    f_ext: Any
    parameters: Any
    memory: Any


_BY_VALUE = frozenset((type(None), bool, int, float, str, np.float64, np.float32, np.int64))
"""Options of these types count by their values, all others by what they are and hold."""

_ARRAYS_BY_NAME = frozenset(("f_ext", "parameters", "memory", "out"))
"""Options that differ from call to call; a function that gives wrenches does not."""


class Again(NamedTuple):
    """How a rollout was asked for, and may be again: with arrays that differ, and all else by name."""

    given: Differing
    dt: Any
    options: Mapping[str, Any]

    @classmethod
    def of(cls, q: Any, v: Any, tau: Any, dt: Any, options: Mapping[str, Any]) -> Again:
        """A call of a rollout."""
        f_ext, parameters, memory = map(options.get, ("f_ext", "parameters", "memory"))
        return cls(Differing(q, v, tau, f_ext, parameters, memory), dt, options)

    def key(self) -> tuple[Any, ...]:
        """What a preparation is found by: options, and which arrays are given."""
        given, found = self.given, [self.dt, type(self.dt)]
        for name, x in self.options.items():
            if name not in _ARRAYS_BY_NAME or (name == "f_ext" and callable(x)):
                kind = type(x)
                found += name, kind, x if kind in _BY_VALUE else (*map(id, x),) if name == "forces" else id(x)
        tau, memory = given.tau, None if given.memory is None else tuple(given.memory)
        steps = None if tau is None else tau.shape[-2]
        return (Again, *found, steps, type(given.f_ext), given.parameters is None, memory)

    @property
    def things(self) -> list[Any]:
        """What may change without being another."""
        named = [x for name, x in self.options.items() if name not in _ARRAYS_BY_NAME or callable(x)]
        return [x for x in named if type(x) not in _BY_VALUE]


def repeated(robot: Any, asked: Again) -> Run | None:
    """The run, if such a rollout was prepared before and this call has nothing new; otherwise None."""
    try:
        known = robot._compiled.parts["rollouts"][asked.key()]
    except Exception:  # the first time, or no arrays, or whatever an object's own hash raises: others have words for it
        return None
    found: Run | None = known.run(robot, asked)
    return found


def prepare(rollout: Rollout, asked: Again, after: Callable[[Run], None] | None) -> None:
    """Have calls with these options go the short way from now on, if they can; `after` looks at their runs."""
    given = asked.given
    held_wrenches = given.f_ext is not None and rollout.wrench is None
    if not rollout.compiled or (held_wrenches and type(given.f_ext) is not np.ndarray):
        return
    held = Held(asked.things)
    if not held.whole:
        return
    try:
        key = asked.key()
        hash(key)
    except Exception:  # whatever an object's own hash raises
        return
    made = Prepared.of(rollout, asked, held, after)
    kept = rollout.robot._compiled.parts.setdefault("rollouts", {})
    if made is not None:
        kept[key] = made
        while len(kept) > MOST:
            kept.pop(next(iter(kept)), None)


class Prepared(Answering):
    """A rollout with its kernel and all arrays that do not differ from call to call."""

    __slots__ = ("_after", "_fields", "_held", "_memory", "_names", "_outputs", "_rollout", "_things")

    _after: Callable[[Run], None] | None
    _fields: dict[str, Any]
    _held: Held
    _memory: list[str]
    _names: list[str]
    _outputs: list[str]
    _rollout: Rollout
    _things: list[Any]

    @classmethod
    def of(cls, rollout: Rollout, again: Again, held: Held, after: Any) -> Prepared | None:
        """What was asked for, to be asked again; None where the emitted call cannot answer."""
        from catena.kernels.call.books import Books
        from catena.kernels.call.procedures import procedure

        asker, given = _asker(), again.given
        kernel, values = rollout.kernel(), rollout.kernel_values()
        differing = {"q", "v", "tau", "f_ext", *(given.memory or ())}
        differing |= set() if given.parameters is None else {"parameters"}
        names = [port.name for port in kernel.inputs if port.name in differing]
        own = [port for port in kernel.inputs if port.name not in differing]
        unheard = given.parameters is not None and "parameters" not in names  # and nobody would look at them
        if asker is None or len(names) > len(_ARRAYS) or unheard:
            return None
        sources = [
            names.index(port.name) if port.name in differing else OWN + own.index(port) for port in kernel.inputs
        ]
        made = procedure(kernel, sources)
        if made is None:
            return None
        self = cls()
        self._own = tuple(np.array(values[port.name], kernel.dtype, order="C") for port in own)
        books = Books()
        keys = [Given.ARRAY] * len(names) + [Given.NOTHING] * (len(_ARRAYS) + 1 - len(names))
        books.remember(asker.number, keys, made, len(names))
        self._compiled = books  # type: ignore[assignment]
        self._names, self._outputs = names, [port.name for port in kernel.outputs]
        self._held, self._after, self._rollout = held, after, _bare(rollout)
        self._memory, self._things = rollout.forces.memory, again.things  # which stay alive: they are known by address
        self._fields = {
            "cost": None,
            "integrator": rollout.options.integrator,
            "dt": rollout.dt,
            "how": rollout.how,
            "events": (),
            "t": rollout.times(rollout.rows),
        }
        return self

    def run(self, robot: Any, asked: Again) -> Run | None:
        """The run of these arrays; None if something is not as it was, or if a sample diverged."""
        if not self._held.unchanged():
            return None
        given, out = asked.given, asked.options.get("out")
        rollout, tau = self._rollout, given.tau
        if tau is not None and rollout.actuators is not None:
            tau = rollout.actuators.spread(tau)
        memory = given.memory or {}
        at = {"q": given.q, "v": given.v, "tau": tau, "f_ext": given.f_ext, "parameters": given.parameters, **memory}
        arrays = [at[name] for name in self._names]
        if out is None:
            results = _asker().ask(self, *arrays)
        elif type(out) is tuple and len(out) == 2:
            results = _asker().ask(self, *arrays, out=(*out, *[None] * (len(self._outputs) - 2)))
        else:
            return None
        if results is None:
            return None
        found = dict(zip(self._outputs, results, strict=True))
        q, v = found["q"], found["v"]
        return self._as_run(robot, q, v, found, asked, tau) if self._healthy(q, v, found) else None

    def _healthy(self, q: Array, v: Array, found: dict[str, Any]) -> bool:
        """Whether surely no sample diverged: what is not finite stays so, and its square shows it."""
        bound = self._rollout.bound
        if bound is not None and not (np.abs(v[..., 0, :]).max(initial=0.0) <= bound and not np.any(found["over"])):
            return False
        ends = (q[-1], v[-1]) if q.ndim == 2 else (q[..., -1, :].ravel(), v[..., -1, :].ravel())
        return math.isfinite(ends[0].dot(ends[0])) and math.isfinite(ends[1].dot(ends[1]))

    def _as_run(self, robot: Any, q: Array, v: Array, found: dict[str, Any], asked: Again, tau: Any) -> Run:
        fields = self._fields.copy()
        batch, t = q.shape[:-2], fields["t"].copy()
        rollout = self._rollout
        step, joint = (np.full(batch, -1), np.full(batch, -1)) if batch else (_NOWHERE.copy(), _NOWHERE.copy())
        fields.update(robot=robot, t=t, q=q, v=v, diverged_step=step, diverged_joint=joint)
        if "cost" in found:
            fields["cost"] = np.asarray(found["cost"])
        fields["memory"] = {name: found[name] for name in self._memory}

        def anew() -> Rollout:
            return _whole(rollout, robot, asked, tau)

        if rollout.control is None:
            rows = None if tau is None else tau[..., :: rollout.asked.every, :]
            later = rows is not None and rollout.actuators is not None
            fields["torques"] = (lambda: anew().torques(t, q, v)()) if later else rows
        else:
            fields["torques"] = lambda: anew().torques(t, q, v)()
        acts = rollout.forces.acting.at_links or rollout.f_ext is not None or rollout.wrench is not None
        acted = fields["torques"]
        fields["acting"] = (lambda: _called(exerted(anew(), t, q, v, acted))) if acts else None
        run = object.__new__(Run)  # its own way takes three times as long, and these are checked
        run.__dict__.update(fields)
        if self._after is not None:
            self._after(run)
        return run


def _called(found: Any) -> Any:
    return found() if callable(found) else found


def _bare(rollout: Rollout) -> Rollout:
    """The rollout without its robot and what users gave, which would keep each other alive."""
    bare = copy(rollout)
    bare.robot = None  # type: ignore[assignment]
    bare.asked = replace(rollout.asked, q=None, v=None, control=None, cost=None, f_ext=None, memory=None)
    for name in ("control", "cost", "wrench"):
        law = getattr(rollout, name)
        setattr(bare, name, None if law is None else replace(law, function=None))
    return bare


def _whole(bare: Rollout, robot: Any, asked: Again, tau: Any) -> Rollout:
    """The rollout of a call, to find what was not asked for at once."""
    from catena.simulation.wrenches import OnLinks

    given, control, cost = asked.given, asked.options.get("control"), asked.options.get("cost")
    f_ext: Any = given.f_ext if callable(given.f_ext) else None
    rollout = copy(bare)
    rollout.robot = robot
    rollout.asked = replace(bare.asked, q=given.q, v=given.v, control=control, cost=cost, f_ext=f_ext)
    rollout.tau = tau
    if bare.f_ext is not None:
        rollout.f_ext = np.asarray(given.f_ext, float)
    if bare.wrench is not None:
        rollout.wrench = replace(bare.wrench, function=OnLinks(robot, f_ext))
    changes = {} if given.parameters is None else {"parameters": np.asarray(given.parameters, float)}
    changes |= {} if given.memory is None else {"memory": given.memory}
    return rollout.again(**changes)


class _Asker(NamedTuple):
    """The emitted call, and the number of its book."""

    ask: Any
    number: int


@cache
def _asker() -> Any:
    """The emitted call of prepared rollouts: asked with the arrays, it gives the results, or None if it cannot."""
    from catena.kernels.call.emitted import emitted_question, question_table
    from catena.kernels.call.layout import python_api

    if python_api() is None:
        return None
    names, roles = (*_ARRAYS, "out"), [Role.ARRAY] * len(_ARRAYS) + [Role.OUT]
    found = question_table(Prepared, _declined, names, roles, [None] * len(names), len(_ARRAYS))
    return None if found is None else _Asker(emitted_question(_declined, found[1]), found[0])


def _declined(*args: Any, **named: Any) -> None:
    """What machine code leaves alone is prepared anew, where it is answered or refused."""
