"""What loops over links cannot answer by themselves, composed of what they can: called as kernels are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.functions.function import Function
from catena.model.tree import Tree

if TYPE_CHECKING:
    from catena.arguments.arrays import Signature

Recipe = Callable[..., Any]
"""Takes a :class:`Loops` and the arrays of a call; gives the result, or a tuple of results."""


class Loops:
    """What a recipe asks with, an :class:`~catena.functions.recipes.Ask`: other functions, in the same dtype.

    `tree` is the mechanism; `find` gives what evaluates a function by its rolled kernel, and is asked once for each.
    """

    def __init__(self, tree: Tree, find: Callable[[Function], Callable[..., Any]]) -> None:
        self.tree, self._find = tree, find
        self._known: dict[str, Callable[..., Any]] = {}

    def __call__(self, function: Function, *arrays: Any) -> Any:
        """What the function makes of the arrays: the result, or a tuple of results."""
        run = self._known.get(function.name)
        if run is None:
            run = self._known[function.name] = self._find(function)
        return run(*arrays)


class Composed:
    """A function answered by its recipe: arrays in, arrays out, any leading dimensions, as of a kernel.

    Args:
        recipe: gets the arrays as they were given; what it returns is broadcast over all leading dimensions.
        signature: what calls take and give.
        tree: the mechanism.
        find: gives what evaluates another function by its rolled kernel.
    """

    def __init__(
        self, recipe: Recipe, signature: Signature, tree: Tree, find: Callable[[Function], Callable[..., Any]]
    ) -> None:
        self.signature, self._recipe, self._ask = signature, recipe, Loops(tree, find)
        self.name, self.inputs, self.outputs, self.dtype = signature

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """The result, or a tuple of results: new arrays, or those given as ``out``, which may overlap the arguments."""
        given, batch = self.signature.arguments(arrays)
        wanted = self.signature.wanted(out, batch)
        found = self._recipe(self._ask, *given)
        found = found if isinstance(found, tuple) else (found,)
        results = [
            self._result(x, batch + port.shape, w) for x, port, w in zip(found, self.outputs, wanted, strict=True)
        ]
        returned = [r if r.ndim or out is not None else r[()] for r in results]
        return returned[0] if len(returned) == 1 else tuple(returned)

    def _result(self, found: Any, shape: tuple[int, ...], out: np.ndarray | None) -> np.ndarray:
        if out is None and found.shape == shape:
            return np.asarray(found, self.dtype, order="C")
        result = np.empty(shape, self.dtype) if out is None else out
        result[...] = found
        return result
