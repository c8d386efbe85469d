"""What follows from the motion and the forces of a closed chain: a function of open trees, asked after its dynamics.

With the wrenches of the constraints among those on the links, each tree moves as it would alone. So questions about
links are those of the forest, pushed by the constraints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.functions.function import Function, by_recipe
from catena.functions.recipes import Ask

if TYPE_CHECKING:
    from catena.functions.closures import Closures


def pushed(function: Function, closures: Closures) -> Function:
    """A function of open trees that takes wrenches on links, "f_ext", with those that the constraints exert as well.

    It takes these as one more input, "forces", before the wrenches.
    """
    others = tuple(name for name in function.inputs if name != "f_ext")

    def algorithm(links: Any, *given: Any) -> Any:
        *state, forces = given[: len(others) + 1]
        f = closures.pushes.algorithm(links, given[0], forces)
        for f_ext in given[len(others) + 1 :]:
            for k in links.base_to_tip() if f_ext is not None else ():
                f[k] = f[k] + f_ext[k]
        return function.algorithm(links, *state, f)

    def recipe(ask: Ask, *given: Any) -> Any:
        *state, forces = given[: len(others) + 1]
        return ask(function, *state, sum(given[len(others) + 1 :], start=ask(closures.pushes, given[0], forces)))

    inputs = {name: function.inputs[name] for name in others} | {"forces": closures.exerted, "f_ext": "force"}
    name = f"{function.name}/closed/{closures.digest}"
    return replace(function, name=name, algorithm=algorithm, inputs=inputs, recipe=recipe, loops=False)


def after_dynamics(
    function: Function, closures: Closures, given: Sequence[str], outputs: Mapping[str, str]
) -> Function:
    """A function of states, accelerations and, perhaps, constraint forces and wrenches, at given torques instead.

    Its results, which come after the accelerations, and these are called `outputs`.
    """
    more = ("f_ext",) if "f_ext" in given else ()
    dynamics = closures.forward_dynamics(more)
    fast = dynamics.fast
    assert fast is not None

    def told(q: Any, v: Any, a: Any, forces: Any, others: Sequence[Any]) -> dict[str, Any]:
        known = {"q": q, "v": v, "a": a, "forces": forces} | dict(zip(more, others, strict=True))
        return {name: known[name] for name in function.inputs if name in known}

    def algorithm(links: Any, q: Any, v: Any, tau: Any, *others: Any) -> Any:
        a, forces = fast.algorithm(links, q, v, tau, *others)
        return a, function.algorithm(links, *told(q, v, a, forces[links.base], others).values())

    def recipe(ask: Ask, q: Any, v: Any, tau: Any, *others: Any) -> Any:
        a, forces = ask(dynamics, q, v, tau, *others)
        return np.asarray(a), ask(function, *told(q, v, a, forces, others).values())

    inputs = {"q": "q", "v": "v", "tau": "tau", **dict.fromkeys(more, "force")}
    name = "/".join((function.name, "after dynamics", closures.digest, *more))
    quick = Function(f"{name}/fast", algorithm, inputs, outputs, regroup=function.regroup, loops=False)
    return Function(name, by_recipe, inputs, outputs, recipe=recipe, double=True, fast=quick)
