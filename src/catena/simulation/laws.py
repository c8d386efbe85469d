"""Controllers and costs as they are given, turned into laws that can be compiled where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.force_elements import ForceElement
from catena.algorithms.rollouts import Law, sparing
from catena.arguments.arrays import as_floats
from catena.errors import UnsupportedError, kind_of
from catena.functions.function import is_of_dofs
from catena.model.joints import JOINT_TYPES
from catena.model.mimic import refuse_followers
from catena.parameters.record import Parameters
from catena.simulation.tracing import arity, numbers_of
from catena.simulation.trials import Expressions, tried
from catena.spatial import Dofs

if TYPE_CHECKING:
    from catena.model.actuators import Actuators
    from catena.model.tree import Tree

Array = npt.NDArray[Any]


Along = Callable[[Any], Mapping[str, Array]]
"""What a controller needs at given times, (...), by name: (..., nq) and (..., nv)."""


@dataclass(frozen=True)
class Controller:
    """A ready-made controller: a law, and arrays for its inputs. See :mod:`catena.controllers`.

    Inputs of the law that have a row for every step are found from the times of steps, by `along`.
    """

    law: Law
    values: Mapping[str, Any] = field(default_factory=dict)
    along: Along | None = None
    force: ForceElement | None = None
    """What of it a step takes at its end."""

    def __repr__(self) -> str:
        return f"<controller {self.law.name}>"


@dataclass(frozen=True)
class Remembering:
    """A controller that remembers: a function of (t, q, v, memory, parameters) that gives (torques, memory)."""

    function: Callable[..., Any]
    memory: Array


Control = Controller | Remembering | Callable[..., Any]


@dataclass(frozen=True)
class Given:
    """A controller or a cost of a rollout: the law to compile or, if that is not possible, why not.

    A function of the user's is `springy` if it may depend on q.
    """

    what: str
    function: Callable[..., Any] | None = None
    law: Law | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    along: Along | None = None
    remembers: int = 0
    springy: bool = True

    @property
    def how(self) -> str:
        """How it is computed, in words."""
        return f"{self.what}: compiled" if self.law else f"{self.what}: called from Python at each step, {self.reason}"

    def __call__(self, *arguments: Any) -> Any:
        """Call the function of the user with as many of the arguments as it takes."""
        function: Any = self.function
        return function(*arguments[: arity(function, len(arguments))])


def controller(
    tree: Tree, control: Any, parameters: Array, shape: str, actuators: Actuators | None = None
) -> Given | None:
    """A controller as it was given, None for none. With actuators, a function gives one control for each of them."""
    if control is None:
        return None
    if isinstance(control, Controller):
        if not control.law.followed:
            refuse_followers(tree, f"the controller {control.law.name}")
        law = control.law if shape == "rolled" else _sparing(tree, control)
        return Given("control", None, law, control.values, along=control.along)
    places = None if actuators is None else actuators.dofs.tolist()
    width = tree.nv if places is None else len(places)
    if isinstance(control, Remembering):
        given = _remembering(tree, control, parameters, shape, places, width)
    else:
        given = traced_law(tree, "control", control, parameters, shape, partial(_torques, places), (width,))
    if given.law is None or actuators is None:
        return given
    return replace(given, law=replace(given.law, name=f"{given.law.name}-{'-'.join(map(str, places or ()))}"))


def _sparing(tree: Tree, control: Controller) -> Law:
    """The law of a controller without what gains of zero make superfluous: differences of quaternions.

    They are a tenth of the step of a quadruped, whose base nothing drives.
    """
    curved = [i for i, code in enumerate(tree.joint_type) if not JOINT_TYPES[code].flat]
    idle = {}
    for name, given in control.values.items():
        gains = np.asarray(given)
        if is_of_dofs(control.law.inputs[name]) and gains.shape[-1:] == (tree.nv,):
            idle[name] = tuple(i for i in curved if not gains[..., slice(*tree.v_start[i : i + 2])].any())
    idle = {name: links for name, links in idle.items() if links}
    return sparing(control.law, idle) if idle else control.law


def running_cost(tree: Tree, cost: Any, parameters: Array, shape: str) -> Given | None:
    """A cost as it was given, None for none."""
    if cost is None:
        return None
    return traced_law(tree, "cost", cost, parameters, shape, _number, (), ("q", "v", "parameters", "tau"))


def traced_law(
    tree: Tree,
    what: str,
    function: Any,
    parameters: Array,
    shape: str,
    algorithm: Callable[[Expressions], Callable[..., Any]],
    result: tuple[int, ...],
    arrays: tuple[str, ...] = ("q", "v", "parameters"),
) -> Given:
    """A function of t and these arrays, to be compiled by way of an algorithm, if that is possible."""
    if not callable(function):
        ready = " or one of catena.controllers" if what == "control" else ""
        raise UnsupportedError(
            f"{what} must be a function of ({', '.join(('t', *arrays))}){ready}, got {kind_of(function)}"
        )
    width = parameters.shape[-1]
    inputs = {"parameters": f"robot:{width}"} if width else {}
    values = {"parameters": parameters} if width else {}
    if shape == "rolled":
        return Given(what, function, reason="as loops over many links know no whole states")
    sizes: dict[str, int | None] = {"t": None}
    sizes |= {name: {"q": tree.nq, "v": tree.nv, "parameters": width, "tau": tree.nv}[name] for name in arrays}
    asked = Given(what, function)
    try:
        found = tried(
            getattr(function, "function", function),
            sizes,
            lambda *given: numbers_of(asked(*given), result, what),
            lambda *given: np.broadcast_to(getattr(function, "numbers", asked)(*given), result),
        )
    except Exception as error:  # whatever the function does with what it does not expect
        return Given(what, function, reason=f"as it could not be traced ({type(error).__name__}: {error})")
    name = f"{what}-{width}-{found.digest}"
    law = Law(name, algorithm(found), inputs, whole=True)
    return Given(what, function, law, values, springy=found.depends_on("q"))


def _remembering(
    tree: Tree, control: Remembering, parameters: Array, shape: str, places: list[int] | None, width: int
) -> Given:
    """A controller that remembers, compiled if that is possible."""
    count, wide = control.memory.shape[-1], parameters.shape[-1]
    sizes = {"t": None, "q": tree.nq, "v": tree.nv, "memory": count, "parameters": wide}
    asked = Given("control", control.function, remembers=count)
    if shape == "rolled":
        return replace(asked, reason="as loops over many links know no whole states")

    def traced_by(*given: Any) -> list[Any]:
        tau, memory = asked(*given)
        return [*numbers_of(tau, (width,), "control"), *numbers_of(memory, (count,), "memory of control")]

    def called_by(*given: Any) -> Array:
        tau, memory = asked(*given)
        return np.concatenate([np.broadcast_to(tau, (width,)), np.broadcast_to(memory, (count,))])

    try:
        found = tried(control.function, sizes, traced_by, called_by)
    except Exception as error:  # whatever the function does with what it does not expect
        return replace(asked, reason=f"as it could not be traced ({type(error).__name__}: {error})")

    def algorithm(links: Any, t: Any, q: Any, v: Any, memory: Any, parameters: Any = ()) -> Any:
        numbers = found.on(t=t, q=flat(links, q), v=flat(links, v), memory=[*memory], parameters=parameters)
        return _on_joints(links, places, numbers[:width]), numbers[width:]

    inputs, values = ({"parameters": f"robot:{wide}"}, {"parameters": parameters}) if wide else ({}, {})
    law = Law(f"remembering-{count}-{wide}-{found.digest}", algorithm, inputs, whole=True, remembers=count)
    return replace(asked, law=law, values=values, springy=found.depends_on("q"))


def _torques(places: list[int] | None, found: Expressions) -> Callable[..., Any]:
    def algorithm(links: Any, t: Any, q: Any, v: Any, parameters: Any = ()) -> Any:
        given = {"t": t, "q": flat(links, q), "v": flat(links, v), "parameters": parameters}
        return _on_joints(links, places, found.on(**given))

    return algorithm


def _on_joints(links: Any, places: list[int] | None, given: list[Any]) -> Any:
    """Torques, or controls of actuators at their places, as a field."""
    count = sum(k.joint_type.nv for k in links.leaders)
    numbers = iter(given if places is None else _spread(given, places, count))
    (tau,) = links.fields("tau")
    for k in links:
        drives = k.leader is k
        tau[k] = Dofs([next(numbers) if drives else 0.0 for _ in range(k.joint_type.nv)])
    return tau


def _number(found: Expressions) -> Callable[..., Any]:
    def algorithm(links: Any, t: Any, q: Any, v: Any, tau: Any, parameters: Any = ()) -> Any:
        arrays = {"q": flat(links, q), "v": flat(links, v), "tau": flat(links, tau)}
        return found.on(t=t, parameters=parameters, **arrays)[0]

    return algorithm


def _spread(given: list[Any], places: list[int], count: int) -> list[Any]:
    """Numbers at their places, zeros elsewhere."""
    spread: list[Any] = [0.0] * count
    for i, x in zip(places, given, strict=True):
        spread[i] = x
    return spread


def flat(links: Any, values: Any) -> list[Any]:
    """The numbers of all links, one after the other."""
    return [x for k in links.leaders for x in values[k]]


def parameter_array(parameters: Any) -> Array:
    """Parameters as an array (..., count), of no numbers if there are none; refused if they are those of a robot."""
    if isinstance(parameters, Parameters):
        raise UnsupportedError(
            "rollout and simulate: parameters= are numbers for control, cost and f_ext, got the Parameters of a robot; "
            "make a robot of them, robot.with_parameters(P), and roll that out"
        )
    array = np.zeros(0) if parameters is None else as_floats(parameters, "parameters (..., count)")
    return array if array.ndim else array[None]
