"""Recipes on scalars: what is composed of other functions, traced as an algorithm is.

A recipe (:mod:`catena.functions.recipes`) is written with arrays and asks for other functions of the same mechanism.
Given arrays of expressions, on which those other functions run, it leaves one graph, of which one kernel is made:
machine code without NumPy in it. Given numbers of 50 digits, it has as many.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.functions.function import Function, array_shape
from catena.functions.linkwise import Outputs, Traced, links_for, run_on
from catena.model.tree import Tree
from catena.scalars import Scalar
from catena.trace.graph import Graph

Array = npt.NDArray[Any]


def evaluate(
    tree: Tree, function: Function, values: Mapping[str, Any], scalar: Callable[[float], Scalar] = float
) -> dict[str, Array]:
    """The readable reference: run the function on scalars made by ``scalar``, link by link or by its recipe.

    ``values`` holds the inputs by name; those left out must be optional. Returns the outputs by name, arrays of these
    scalars. Scalars with more digits than floats get the mechanism as it is given, lowered in their own arithmetic.
    """
    numbers = {
        name: [scalar(x) for x in np.ravel(np.asarray(values[name], dtype=object)).tolist()]
        for name in function.given(tuple(values))
    }
    results = outputs_of(tree, function, numbers, scalar)
    return {name: np.array(found, dtype=object).reshape(shape) for name, (found, shape) in results.items()}


def trace_for(tree: Tree, function: Function, present: tuple[str, ...]) -> Traced:
    """Run a function on expressions, link by link or by its recipe: sizes of inputs, expressions of outputs."""
    graph = Graph()
    sizes = {name: math.prod(array_shape(of, *_sizes(tree))) for name, of in function.given(present).items()}
    values = {name: [graph.input(name, i) for i in range(size)] for name, size in sizes.items()}
    results = outputs_of(tree, function, values)
    return sizes, {name: numbers for name, (numbers, _) in results.items()}


def outputs_of(
    tree: Tree,
    function: Function,
    values: Mapping[str, Sequence[Scalar]],
    scalar: Callable[[float], Scalar] | None = None,
) -> Outputs:
    """Run a function on scalars of any kind, link by link or by its recipe."""
    if not function.composed:
        return run_on(function, links_for(tree, function, scalar), values)
    arrays = [
        _objects(values[name], array_shape(of, *_sizes(tree))) for name, of in function.given(tuple(values)).items()
    ]
    recipe: Any = function.recipe
    found = recipe(OnScalars(tree, scalar), *arrays)
    results = found if isinstance(found, tuple) else (found,)
    shapes = [array_shape(of, *_sizes(tree)) for of in function.outputs.values()]
    return {
        name: (list(np.broadcast_to(np.asarray(result, dtype=object), shape).ravel()), shape)
        for name, result, shape in zip(function.outputs, results, shapes, strict=True)
    }


class OnScalars:
    """What a recipe asks with, an :class:`~catena.functions.recipes.Ask`, where arrays are arrays of scalars."""

    dtype = np.dtype(object)

    def __init__(self, tree: Tree, scalar: Callable[[float], Scalar] | None) -> None:
        self.tree, self._scalar = tree, scalar

    @property
    def gravity(self) -> Array:
        """The model's, (3,)."""
        return self.tree.gravity

    def __call__(self, function: Function, *arrays: Any) -> Any:
        """What the function makes of the arrays, of one sample after the other: the result, or a tuple of results."""
        given = function.given(function.present(len(arrays)))
        shapes = [array_shape(of, *_sizes(self.tree)) for of in given.values()]
        leading = np.broadcast_shapes(
            *[np.shape(a)[: np.ndim(a) - len(s)] for a, s in zip(arrays, shapes, strict=True)]
        )
        wide = [np.broadcast_to(np.asarray(a, dtype=object), leading + s) for a, s in zip(arrays, shapes, strict=True)]
        samples = []
        for at in itertools.product(*map(range, leading)):
            values = {name: list(np.ravel(a[at])) for name, a in zip(given, wide, strict=True)}
            samples.append(outputs_of(self.tree, function, values, self._scalar))
        results = tuple(
            _objects([x for sample in samples for x in sample[name][0]], leading + array_shape(of, *_sizes(self.tree)))
            for name, of in function.outputs.items()
        )
        return results if len(results) > 1 else results[0]


def _sizes(tree: Tree) -> tuple[int, int, int]:
    return tree.n, tree.nq, tree.nv


def _objects(numbers: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """Scalars as an array of objects; NumPy would look into those that are sequences."""
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.reshape(shape)
