"""One turn of a rollout: a step with what goes on around it, torques from a controller, a cost, a watch on speeds.

Controllers and costs are *laws*: algorithms of time and state, with inputs of their own. They are asked once a step, at
its start, and what a controller says is held until its end, as that of a digital one. Laws of wrenches and of actuators
are forces: a step asks them at all of its stages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from catena.algorithms.integrators import Acts
from catena.functions.function import Function, Repeated
from catena.scalars import Scalar, absolute, where
from catena.spatial import Dofs
from catena.sweeps import Field, Links, at_base

RECALLED = "recalled"
"""The name of what a controller remembers."""


@dataclass(frozen=True)
class Law:
    """What depends on time and state: `algorithm(links, t, q, v, ...)`, then its `inputs`, by name with their kinds.

    A controller gives a field of torques. A law of actuators also gets controls, after v, and gives torques. One of
    wrenches gives a field of those. A cost also gets the torques, after v, and gives a scalar. `name` tells laws apart.
    Of one that asks for all coordinates at a time (`whole`), no loops over links can be made. Inputs in `each` have a
    row for every step. `followed` says whether it serves joints that mimic others, which have gains of zero. A
    controller that `remembers` so many numbers gets them after v, and gives a pair: torques, and what it remembers from
    then on.
    """

    name: str
    algorithm: Callable[..., Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    each: tuple[str, ...] = ()
    followed: bool = True
    remembers: int = 0

    @property
    def memory(self) -> dict[str, str]:
        """What it remembers, by name with its kind."""
        return {RECALLED: f"robot:{self.remembers}"} if self.remembers else {}


def sparing(law: Law, idle: Mapping[str, Collection[int]]) -> Law:
    """A law whose inputs, by name, are zero at some links, by number: what they would be multiplied by is not computed.

    For unrolled kernels only, in which links have numbers.
    """

    def algorithm(links: Links, t: Scalar, q: Field, v: Field, *given: Any) -> Any:
        known = zip(law.inputs, given, strict=True)
        return law.algorithm(links, t, q, v, *[_Spared(x, idle[name]) if name in idle else x for name, x in known])

    words = [f"{name}{''.join(f'-{i}' for i in idle[name])}" for name in sorted(idle)]
    return replace(law, name=f"{law.name}-sparing-{'-'.join(words)}", algorithm=algorithm)


@dataclass(frozen=True)
class _Spared:
    """A field that is zero at some links."""

    field: Field
    idle: Collection[int]

    def __getitem__(self, k: Any) -> Dofs:
        return Dofs([0] * k.joint_type.nv) if k.index in self.idle else self.field[k]


def under(step: Function, drive: Law | None = None, wrench: Law | None = None) -> Function:
    """A step under laws of actuators and of wrenches, which are asked at all of its stages.

    Besides the inputs of the laws there is "t", the time at its start; where actuators drive, "tau" are controls.
    """
    laws = [law for law in (drive, wrench) if law is not None]
    if not laws:
        return step
    inputs = {name: kind for name, kind in step.inputs.items() if name != "f_ext" or wrench is None}
    inputs.update({"t": "robot"}, **{name: kind for law in laws for name, kind in law.inputs.items()})

    def algorithm(links: Links, *given: Any) -> Any:
        at = dict(zip(inputs, given, strict=True))

        def acts(law: Law, *more: Any) -> Acts:
            numbers = [*more, *[at[name] for name in law.inputs]]
            return lambda after, q, v: law.algorithm(links, at["t"] + after, q, v, *numbers)

        if drive is not None:
            at["tau"] = acts(drive, at["tau"])
        if wrench is not None:
            at["f_ext"] = acts(wrench)
        return step.algorithm(links, *[at.get(name) for name in step.inputs])

    name = "/".join([step.name, *[law.name for law in laws]])
    return replace(step, name=name, algorithm=algorithm, inputs=inputs)


def turn(
    step: Function,
    control: Law | None = None,
    cost: Law | None = None,
    watched: bool = False,
    drive: Law | None = None,
    wrench: Law | None = None,
) -> Repeated:
    """A step as the turn of a rollout.

    What the step remembers is given once, after the last turn. Besides the inputs of the step there are "count", the
    steps done before, where a law asks for the time; "cost", the
    sum so far of cost times dt; and with `watched` "bound", the largest speed that is allowed, and "over", how often a
    speed was above it so far. What the laws take has their own names.
    """
    laws, acted = [law for law in (control, cost, drive, wrench) if law is not None], under(step, drive, wrench)
    found = {"tau": control is not None, "f_ext": wrench is not None}
    inputs = {name: kind for name, kind in step.inputs.items() if not found.get(name)}
    sums = {"count": bool(laws), "cost": cost is not None, "over": watched}
    carried = {name: "robot" for name, needed in sums.items() if needed}
    carried.update({} if control is None else control.memory)
    inputs.update(carried, **{name: kind for law in laws for name, kind in law.inputs.items()})
    inputs.update({"bound": "robot"} if watched else {})

    def algorithm(links: Links, *given: Any) -> tuple[Any, ...]:
        at = dict(zip(inputs, given, strict=True))
        q, v, dt = at["q"], at["v"], at["dt"]
        at["t"] = at["count"] * dt if laws else None

        def asked(law: Law, *more: Any) -> Any:
            return law.algorithm(links, at["t"], q, v, *more, *[at[name] for name in law.inputs])

        recalled: Any = None
        if control is not None and control.remembers:
            at["tau"], recalled = asked(control, at[RECALLED])
        else:
            at["tau"] = at["tau"] if control is None else asked(control)
        results = [*acted.algorithm(links, *[at.get(name) for name in acted.inputs])]
        if laws:
            results.append(at_base(links, at["count"] + 1))
        if cost is not None:
            tau = at["tau"] if drive is None else asked(drive, at["tau"])
            results.append(at_base(links, at["cost"] + dt * asked(cost, tau)))
        if watched:
            results.append(at_base(links, at["over"] + _too_fast(links, results[1], at["bound"])))
        results += [] if recalled is None else [at_base(links, recalled)]
        return tuple(results)

    name = "/".join([step.name, *[f"{law.name}" for law in laws], *(["watched"] if watched else [])])
    function = replace(
        step,
        name=name.replace("step", "rollout", 1),
        algorithm=algorithm,
        inputs=inputs,
        outputs={**step.outputs, **carried},
        positive=(*step.positive, *(["bound"] if watched else [])),
    )
    memory = tuple(name for name in step.outputs if name not in ("q", "v"))
    return Repeated(function, each=control.each if control else ("tau",), last=(*memory, *carried))


def _nothing(links: Links, t: Scalar, q: Field, v: Field) -> Field:
    (tau,) = links.fields("tau")
    for k in links.base_to_tip():
        tau[k] = Dofs([0] * k.joint_type.nv)
    return tau


NOTHING = Law("nothing", _nothing)
"""No torques at all."""


def torques(control: Law) -> Function:
    """The torques of a controller at given times and states, and what it remembers, as a function of their own."""

    def algorithm(links: Links, q: Field, v: Field, t: Scalar, *given: Any) -> Any:
        found = control.algorithm(links, t, q, v, *given)
        return (found[0], at_base(links, found[1])) if control.remembers else found

    inputs = {"q": "q", "v": "v", "t": "robot", **control.memory, **control.inputs}
    return Function(f"torques/{control.name}", algorithm, inputs, {"tau": "tau", **control.memory})


def _too_fast(links: Links, v: Field, bound: Scalar) -> Scalar:
    """How many speeds are not within the bound; those that are NaN count."""
    (over,) = links.fields("over")
    over[links.base] = 0.0
    for k in links.base_to_tip():
        over[k] = sum((where(absolute(x) <= bound, 0.0, 1.0) for x in v[k]), 0.0)
    for k in links.tip_to_base():
        over[k.parent] += over[k]
    return over[links.base]
