"""Dynamics of robots whose inertias, joint losses, rotors and gravity are inputs: any function, without its model's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.errors import UnsupportedError
from catena.functions.function import Function, kind
from catena.functions.recipes import Ask
from catena.sweeps import Links

FACTORS = frozenset(("G", "D", "A", "A_inv"))
"""Inputs that are factors of a mass matrix: a function that starts from these needs no inertias."""


def with_parameters(function: Function) -> Function:
    """The same function with one more input, "parameters", in place of what the model says.

    The input is a row of numbers (:data:`catena.functions.function.PARAMETERS`); links take theirs from it before the
    algorithm runs, which is not changed. Nothing is regrouped: which inertias may be moved between links without losing
    digits depends on the numbers.
    """
    if function.cut:
        raise UnsupportedError(
            f"{function.question} by Fixman's partition depends on which links of the model have an inverse inertia; "
            "for parameters= use another method, such as 'innovations'"
        )

    def algorithm(links: Links, *given: Any) -> Any:
        *state, parameters = given
        with links.adopting(parameters):
            return function.algorithm(links, *state)

    def recipe(ask: Ask, *given: Any) -> Any:
        assert function.recipe is not None
        leading = _leading(adopting, given)
        most = max(leading.values())
        more = [most - own if name not in function.shared else 0 for name, own in leading.items()]
        *state, parameters = (x.reshape((1,) * some + x.shape) for x, some in zip(given, more, strict=True))
        return function.recipe(_Adopting(ask, parameters, most), *state)

    adopting = replace(
        function,
        name=f"{function.name}/parameters",
        algorithm=algorithm if function.sweeps else function.algorithm,
        inputs={**function.inputs, "parameters": "parameters"},
        regroup=False,
        recipe=None if function.recipe is None else recipe,
        adopts=function,
        fast=None if function.fast is None else with_parameters(function.fast),
    )
    return adopting


def for_samples(ask: Any, chosen: np.ndarray) -> Any:
    """What a recipe asks with for some samples alone, `chosen` of (...): their parameters, if there are any."""
    return ask.only(chosen) if isinstance(ask, _Adopting) else ask


def _leading(function: Function, arrays: Any) -> dict[str, int]:
    """How many leading dimensions each array of a call has."""
    given = function.given(function.present(len(arrays)))
    return {
        name: int(np.ndim(x)) - len(kind(k).full_shape(1, 1, 1))
        for (name, k), x in zip(given.items(), arrays, strict=True)
    }


@dataclass(frozen=True)
class _Adopting:
    """What a recipe asks with: other functions, with the parameters of the call.

    Where a recipe gives its arrays one more dimension, as for the columns of a matrix, the parameters get it too.
    """

    ask: Ask
    parameters: Any
    leading: int

    @property
    def tree(self) -> Any:
        return self.ask.tree

    @property
    def dtype(self) -> Any:
        return self.ask.dtype

    @property
    def gravity(self) -> Any:
        return self.parameters[..., -3:]

    def only(self, chosen: np.ndarray) -> _Adopting:
        """The same for some samples."""
        rows = np.broadcast_to(self.parameters, chosen.shape + self.parameters.shape[-1:])
        return _Adopting(self.ask, rows[chosen], 1)

    def __call__(self, function: Function, *arrays: Any) -> Any:
        if FACTORS & set(function.inputs) or "parameters" in function.inputs:
            return self.ask(function, *arrays)
        more = max(_leading(function, arrays).values()) - self.leading
        row = self.parameters.reshape(*self.parameters.shape[:-1], *[1] * more, self.parameters.shape[-1])
        return self.ask(with_parameters(function), *arrays, row)
