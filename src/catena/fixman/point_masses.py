"""Fixman's partition of any holonomic system of point masses: Lee & Chirikjian (2005), section II, in any coordinates.

The coordinates are functions of the masses' positions. They are traced once, their derivatives come from the trace, and
as each depends on a few points only, all blocks of H = ∂q/∂x diag(1/m) ∂q/∂xᵀ (3), (7) are sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags

from catena.arguments.arrays import as_floats
from catena.errors import ShapeError, SingularError
from catena.fixman.rounding import rounding
from catena.fixman.sparse_solve import Factored, log_abs_determinant
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
        outputs, _ = _traced(self.function, k, x.shape[1])
        return values(outputs, {"x": x[self.numbers].reshape(m, k * x.shape[1])}).ravel()

    def slopes(self, x: Array) -> csr_matrix:
        """∂(coordinates)/∂x: a sparse matrix with d columns for each point."""
        (n, d), numbers = x.shape, self.numbers
        outputs, entries = _traced(self.function, numbers.shape[1], d)
        number, where = len(outputs), list(entries)
        slopes = values(list(entries.values()), {"x": x[numbers].reshape(len(numbers), numbers.shape[1] * d)})
        rows = np.arange(len(numbers))[:, None] * number + np.array([i for i, _ in where], dtype=np.int64)
        columns = np.stack([d * numbers[:, j // d] + j % d for _, j in where], axis=1)
        shape = (number * len(numbers), n * d)
        return csr_matrix((slopes.ravel(), (rows.ravel(), columns.ravel())), shape=shape)


@lru_cache(maxsize=64)
def _traced(function: Coordinate, k: int, dimension: int) -> tuple[list[Operand], dict[tuple[int, int], Operand]]:
    """Values and slopes of a function of k points, as expressions of `dimension` numbers for each of them."""
    graph = Graph()
    leaves = [[graph.input("x", dimension * i + j) for j in range(dimension)] for i in range(k)]
    result = function(*[Vec3(*own, *[0] * (3 - dimension)) for own in leaves])
    outputs: list[Operand] = list(result) if isinstance(result, Sequence) else [result]
    return outputs, jacobian(outputs, [leaf for own in leaves for leaf in own])


class Solution(NamedTuple):
    """Accelerations x of the soft coordinates, reactions −e along the hard ones, an estimate of x's relative error."""

    x: Array
    reaction: Array
    error: float


class Partition:
    """A system of point masses with its coordinates parted into soft and hard ones. Made by :func:`partition`."""

    def __init__(self, soft: Sequence[Family], hard: Sequence[Family], masses: Array, dimension: int) -> None:
        self.soft, self.hard, self.masses, self.dimension = tuple(soft), tuple(hard), masses, dimension

    def at(self, positions: npt.ArrayLike) -> Blocks:
        """The blocks of H at positions (n, dimension)."""
        x = as_floats(positions, "positions")
        if x.shape != (len(self.masses), self.dimension):
            raise ShapeError(f"positions: expected shape {(len(self.masses), self.dimension)}, found {x.shape}")
        soft, hard = (_stacked([family.slopes(x) for family in side], x.size) for side in (self.soft, self.hard))
        return Blocks(soft, hard, self.masses, self.dimension)

    def coordinates(self, positions: npt.ArrayLike) -> tuple[Array, Array]:
        """The soft and the hard coordinates at positions (n, dimension)."""
        x = as_floats(positions, "positions")
        soft, hard = ([family.evaluate(x) for family in side] for side in (self.soft, self.hard))
        return np.concatenate([*soft, np.empty(0)]), np.concatenate([*hard, np.empty(0)])


class Blocks:
    """H = [Hᵃᵃ Hᵃᵇ; Hᵇᵃ Hᵇᵇ] at one configuration (6), sparse, and what Fixman's theorem makes of it."""

    def __init__(self, soft: csr_matrix, hard: csr_matrix, masses: Array, dimension: int) -> None:
        self.soft, self.hard, self._masses = soft, hard, masses
        self._weights = diags(np.repeat(1 / masses, dimension))
        self._dimension = dimension

    @cached_property
    def aa(self) -> csr_matrix:
        """Hᵃᵃ (7)."""
        return csr_matrix(self.soft @ self._weights @ self.soft.T)

    @cached_property
    def ab(self) -> csr_matrix:
        """Hᵃᵇ (7)."""
        return csr_matrix(self.soft @ self._weights @ self.hard.T)

    @cached_property
    def bb(self) -> csr_matrix:
        """Hᵇᵇ (7)."""
        return csr_matrix(self.hard @ self._weights @ self.hard.T)

    @cached_property
    def _factored(self) -> Factored:
        return Factored(self.bb)

    def solve(self, b: npt.ArrayLike) -> Solution:
        """(Gᵃᵃ)⁻¹ b for b of shape (soft,), by the pipeline (13), with one step of refinement that tells the error."""
        b = as_floats(b, "b")
        if b.shape != (self.soft.shape[0],):
            raise ShapeError(f"b: expected {self.soft.shape[0]} numbers, one for each soft coordinate, found {b.shape}")
        c, d = self.aa @ b, self.ab.T @ b
        e = self._factored.solve(d)
        better = self._factored.solve(d - self.bb @ e)
        f, change = self.ab @ e, self.ab @ better
        x = c - f - change
        size = _largest(x)
        error = max(2 * _largest(change), rounding(float) * max(_largest(c), _largest(f))) / size if size else 0.0
        return Solution(x, -(e + better), error)

    def log_determinant(self) -> float:
        """log det Gᵃᵃ = log det G + log det Hᵇᵇ, Fixman's theorem (8)."""
        return self.log_determinant_of_all() + self.log_determinant_of_hard()

    def log_determinant_of_hard(self) -> float:
        """log det Hᵇᵇ: times ½ kT, Fixman's potential, which undoes what rigid constraints do to probabilities."""
        return self._factored.log_determinant()

    def log_determinant_of_all(self) -> float:
        """log det G of the unconstrained system, 3 Σ log m − 2 log |det ∂q/∂x|; needs a full set of coordinates."""
        moving = np.flatnonzero(np.repeat(np.isfinite(self._masses), self._dimension))
        rows = _stacked([self.soft, self.hard], self.soft.shape[1])[:, moving]
        if rows.shape[0] != rows.shape[1]:
            raise SingularError(
                f"the determinant needs as many coordinates as there are directions to move in: expected "
                f"{rows.shape[1]} soft and hard ones together, found {rows.shape[0]}"
            )
        finite = self._masses[np.isfinite(self._masses)]
        return self._dimension * float(np.sum(np.log(finite))) - 2 * log_abs_determinant(rows)


def partition(
    soft: Sequence[Family] | Coordinate,
    hard: Sequence[Family] | Coordinate,
    masses: npt.ArrayLike,
    dimension: int = 3,
) -> Partition:
    """Part the coordinates of point masses into soft ones, which move, and hard ones, which constraints hold.

        bonds = catena.fixman.Family(distance, [[0, 1], [1, 2]])
        trimer = catena.fixman.partition([], [bonds], masses=np.ones(3))
        trimer.at(positions).log_determinant_of_hard()

    `soft` and `hard` are lists of :class:`Family`, or a function of all points that returns a list of coordinates.
    A mass of infinity marks a point that does not move. Together the coordinates must be as many as the directions in
    which the masses can move. For :meth:`Blocks.solve` fewer soft ones do: the others then move freely, with no force.
    """
    weights = np.array(masses, dtype=float)
    if weights.ndim != 1 or not (weights > 0).all():
        raise SingularError("masses: expected a number above zero for each point, infinity for one that does not move")
    if dimension not in (2, 3):
        raise ShapeError(f"dimension: expected 2 or 3, found {dimension!r}")
    everyone = np.arange(len(weights))[None]
    sides = [[Family(side, everyone)] if callable(side) else list(side) for side in (soft, hard)]
    return Partition(sides[0], sides[1], weights, dimension)


def _largest(x: Array) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def _stacked(parts: Sequence[csr_matrix], columns: int) -> csr_matrix:
    from scipy.sparse import vstack

    return csr_matrix(vstack([*parts, csr_matrix((0, columns))]))
