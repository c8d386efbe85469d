"""Coordinates of one form, such as all bond lengths: functions of a few points, traced once with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

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

    def evaluate(self, x: Array) -> Array:
        """The coordinates at positions x (n, d), in rows as they are in `points`."""
        m, k = self.numbers.shape
        outputs, _ = traced(self.function, k, x.shape[1])
        return values(outputs, {"x": x[self.numbers].reshape(m, k * x.shape[1])}).ravel()

    def slopes(self, x: Array) -> csr_matrix:
        """∂(coordinates)/∂x: a sparse matrix with d columns for each point."""
        (n, d), numbers = x.shape, self.numbers
        outputs, entries = traced(self.function, numbers.shape[1], d)
        number, where = len(outputs), list(entries)
        slopes = values(list(entries.values()), {"x": x[numbers].reshape(len(numbers), numbers.shape[1] * d)})
        rows = np.arange(len(numbers))[:, None] * number + np.array([i for i, _ in where], dtype=np.int64)
        columns = np.stack([d * numbers[:, j // d] + j % d for _, j in where], axis=1)
        shape = (number * len(numbers), n * d)
        return csr_matrix((slopes.ravel(), (rows.ravel(), columns.ravel())), shape=shape)


@lru_cache(maxsize=64)
def traced(function: Coordinate, k: int, dimension: int) -> tuple[list[Operand], dict[tuple[int, int], Operand]]:
    """Values and slopes of a function of k points, as expressions of `dimension` numbers for each of them."""
    graph = Graph()
    leaves = [[graph.input("x", dimension * i + j) for j in range(dimension)] for i in range(k)]
    result = function(*[Vec3(*own, *[0] * (3 - dimension)) for own in leaves])
    outputs: list[Operand] = list(result) if isinstance(result, Sequence) else [result]
    return outputs, jacobian(outputs, [leaf for own in leaves for leaf in own])
