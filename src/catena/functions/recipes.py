"""What recipes have in common: answers for long chains, composed of what loops give, with NumPy.

A recipe is called as `recipe(ask, *arrays)`, where `ask(function, *arrays)` evaluates another function of the same
mechanism by a rolled kernel: see :mod:`catena.functions.composed`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from catena.functions.function import Function, kind
from catena.model.tree import Tree

Array = npt.NDArray[Any]


class Ask(Protocol):
    """What a recipe asks with."""

    tree: Tree
    """The mechanism."""

    dtype: np.dtype[Any]
    """What is computed in."""

    def __call__(self, function: Function, *arrays: Any) -> Any:
        """What the function makes of the arrays: the result, or a tuple of results."""


def parts(array: Array) -> list[Any]:
    """The numbers along the last dimension, each an array over the others: scalars for algorithms that run on any."""
    return list(np.moveaxis(array, -1, 0))


def stacked(scalars: Sequence[Any], axis: int = -1) -> Array:
    """Scalars that are arrays as one array, along a new dimension."""
    return np.stack(np.broadcast_arrays(*scalars), axis=axis)


def columns(ask: Callable[..., Any], function: Function, nv: int, *arrays: Array) -> Array:
    """A whole matrix (..., nv, nv): what `function`, whose last input is a vector (..., nv), makes of unit vectors."""
    wide = [np.expand_dims(a, -1 - _rank(k)) for a, k in zip(arrays, function.inputs.values(), strict=False)]
    return np.swapaxes(ask(function, *wide, np.eye(nv)), -1, -2)


def _rank(kind_name: str) -> int:
    return len(kind(kind_name).full_shape(1, 1, 1))
