"""Coordinates of one form, such as all bond lengths: functions of a few points, traced once with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError
from catena.scalars import Scalar
from catena.spatial import Vec3
from catena.trace.derivatives import jacobian
from catena.trace.graph import Graph, Operand
from catena.trace.interpret import values

Array = npt.NDArray[Any]
Coordinate = Callable[..., Scalar | Sequence[Scalar]]


@dataclass(frozen=True)
class Family:
    """Coordinates of one form, such as all bond lengths: a function of k points, and the points of each coordinate.

    `function` is applied to each row of `points`, an (m, k) array of the points' numbers.

    The function gets k :class:`~catena.spatial.Vec3` (z = 0 in the plane) and returns a scalar, or several.
    """

    function: Coordinate
    points: npt.ArrayLike

    @cached_property
    def numbers(self) -> Array:
        """The numbers of the points, (m, k)."""
        numbers = np.asarray(self.points, dtype=np.int64)
        if numbers.ndim != 2:
            raise ShapeError(f"points: expected a row of numbers for each coordinate, found shape {numbers.shape}")
        return numbers

    def _local(self, x: Array) -> Array:
        """The positions of the points of each coordinate, (..., m, k d)."""
        (m, k), d = self.numbers.shape, x.shape[-1]
        return np.asarray(x[..., self.numbers, :].reshape(*x.shape[:-2], m, k * d))

    def evaluate(self, x: Array) -> Array:
        """The coordinates at positions x (..., n, d), in the order of `points`: (..., coordinates)."""
        outputs, _ = traced(self.function, self.numbers.shape[1], x.shape[-1])
        return np.asarray(values(outputs, {"x": self._local(x)}).reshape(*x.shape[:-2], self.count(x.shape[-1])))

    def count(self, d: int) -> int:
        """How many coordinates they are, of points in d dimensions."""
        return len(traced(self.function, self.numbers.shape[1], d)[0]) * len(self.numbers)

    def slopes(self, x: Array) -> tuple[Array, Array, Array]:
        """∂(coordinates)/∂x at positions x (samples, n, d): entries (samples, e), their rows and columns (e,).

        There are d columns for each point.
        """
        d, numbers = x.shape[-1], self.numbers
        outputs, entries = traced(self.function, numbers.shape[1], d)
        where = list(entries)
        slopes = values(list(entries.values()), {"x": self._local(x)})
        rows = np.arange(len(numbers))[:, None] * len(outputs) + np.array([i for i, _ in where], dtype=np.int64)
        columns = np.stack([d * numbers[:, j // d] + j % d for _, j in where], axis=1)
        return slopes.reshape(len(x), rows.size), rows.ravel(), columns.ravel()


@lru_cache(maxsize=64)
def traced(function: Coordinate, k: int, dimension: int) -> tuple[list[Operand], dict[tuple[int, int], Operand]]:
    """Values and slopes of a function of k points, as expressions of `dimension` numbers for each of them."""
    graph = Graph()
    leaves = [[graph.input("x", dimension * i + j) for j in range(dimension)] for i in range(k)]
    result = function(*[Vec3(*own, *[0] * (3 - dimension)) for own in leaves])
    outputs: list[Operand] = list(result) if isinstance(result, Sequence) else [result]
    return outputs, jacobian(outputs, [leaf for own in leaves for leaf in own])
