"""What loops over links cannot answer by themselves, composed of what they can: called as kernels are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.functions.function import Function
from catena.kernels.call.kernel import Computing
from catena.model.tree import Tree

if TYPE_CHECKING:
    from catena.arguments.arrays import Shape, Signature

Recipe = Callable[..., Any]
"""Takes a :class:`Loops` and the arrays of a call; gives the result, or a tuple of results."""

Find = Callable[[Function, tuple[str, ...]], Callable[..., Any]]
"""Gives the kernel of a function with the optional inputs that are present."""


class Loops:
    """What a recipe asks with, an :class:`~catena.functions.recipes.Ask`: other functions, in the same dtype.

    `tree` is the mechanism; `find` gives the kernel of a function, with the optional inputs that are present.
    """

    def __init__(self, tree: Tree, dtype: np.dtype[Any], find: Find) -> None:
        self.tree, self.dtype, self._find = tree, dtype, find

    @property
    def gravity(self) -> np.ndarray:
        """The model's, (3,)."""
        return self.tree.gravity

    def __call__(self, function: Function, *arrays: Any) -> Any:
        """What the function makes of the arrays: the result, or a tuple of results.

        These are for all inputs that it must have and, if there are more, for the first of the optional ones.
        """
        return self._find(function, function.present(len(arrays)))(*arrays)


class Composed(Computing):
    """A function answered by its recipe: arrays in, arrays out, any leading dimensions, as of a kernel.

    Args:
        recipe: gets the arrays as they were given; what it returns is broadcast over all leading dimensions.
        signature: what calls take and give.
        tree: the mechanism.
        find: gives the kernel of another function.
    """

    def __init__(self, recipe: Recipe, signature: Signature, tree: Tree, find: Find) -> None:
        self.signature, self._recipe, self._ask = signature, recipe, Loops(tree, signature.dtype, find)
        self.name, self.inputs, self.outputs, self.dtype = signature

    def compute(
        self, given: list[np.ndarray], wanted: list[np.ndarray | None], batch: Shape, *, keep: bool = False
    ) -> list[Any]:
        """The results for checked arguments, broadcast from what the recipe gives."""
        rows = [np.asarray(a, self.dtype, order="C") for a in given]  # NumPy's sums depend on how arrays lie in memory
        found = self._recipe(self._ask, *rows)
        found = found if isinstance(found, tuple) else (found,)
        results = [
            self._result(x, batch + port.shape, w) for x, port, w in zip(found, self.outputs, wanted, strict=True)
        ]
        return [r if r.ndim or keep else r[()] for r in results]

    def _result(self, found: Any, shape: tuple[int, ...], out: np.ndarray | None) -> np.ndarray:
        if out is None and found.shape == shape:
            return np.asarray(found, self.dtype, order="C")
        result = np.empty(shape, self.dtype) if out is None else out
        result[...] = found
        return result
