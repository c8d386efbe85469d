"""Hard coordinates of point masses, in batches: their values and slopes, Hᵇᵇ, and Fixman's potential with its force.

With B = ∂b/∂x the slopes of the hard coordinates b and W = diag(1/m), Hᵇᵇ = B W Bᵀ (7). Its inverse Z is wanted only
where Hᵇᵇ has entries, because the gradient of log det Hᵇᵇ is 2 Σ_c ∇²b_c · (W Bᵀ Z)_c, and coordinate c meets only
those that share a point with it. So value and gradient take O(n) for coordinates with a narrow band.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from catena.fixman.banded import Banded, Factors
from catena.fixman.families import Coordinate, Family, traced
from catena.trace.derivatives import jacobian
from catena.trace.graph import Operand
from catena.trace.interpret import values

Array = npt.NDArray[Any]


class CartesianPotential(NamedTuple):
    """Fixman's potential (...), in the unit of kT, and the force −∂U/∂x on each point, (..., points, dimension)."""

    potential: Any
    force: Array


class HardCoordinates:
    """Hard coordinates of point masses: `families` of them, for points of `masses` (points,) in `dimension` directions.

    A mass of infinity marks a point that does not move. All positions are (..., points, dimension).
    """

    def __init__(self, families: Sequence[Family], masses: Array, dimension: int) -> None:
        self._parts = [_Part(family, dimension) for family in families if len(family.numbers)]
        self._n, self._d = len(masses), dimension
        self.count = sum(part.count for part in self._parts)
        weights = 1 / masses
        ends = [part.ends(start) for part, start in zip(self._parts, self._starts(), strict=True)]
        coordinate, point = (np.concatenate([np.zeros(0, dtype=np.int64), *[end[i] for end in ends]]) for i in (0, 1))
        self._coordinate, self._point = coordinate, point
        first, second = _meeting(point, weights)
        self._first, self._second = first, second
        self._weight = weights[point[first]]
        self._matrix = Banded(coordinate[first], coordinate[second], self.count) if self.count else None
        shape = (len(point), len(first))
        self._collect = csr_matrix((np.ones(len(first)), (first, np.arange(len(first)))), shape=shape)
        self._spread = csr_matrix((np.ones(len(point)), (point, np.arange(len(point)))), shape=(self._n, len(point)))

    def _starts(self) -> list[int]:
        return [sum(part.count for part in self._parts[:i]) for i in range(len(self._parts))]

    def evaluate(self, x: Array) -> Array:
        """The coordinates at positions x, (..., coordinates)."""
        return _joined([part.evaluate(x) for part in self._parts], x, -1)

    def slopes(self, x: Array) -> Array:
        """B at positions x: a row of `dimension` numbers for each point of each coordinate, (..., ends, dimension)."""
        return _joined([part.slopes(x) for part in self._parts], x, -2)

    def hard_block(self, left: Array, right: Array) -> Array:
        """The entries of B W Bᵀ with slopes B from two sides, as :class:`~catena.fixman.banded.Banded` takes them."""
        dots = np.einsum("...ed,...ed->...e", left[..., self._first, :], right[..., self._second, :])
        return np.asarray(dots * self._weight)

    def factors(self, slopes: Array) -> Factors:
        """Hᵇᵇ of these slopes, factored."""
        if self._matrix is None:
            return Factors((), np.zeros(slopes.shape[:-2]))
        return self._matrix.factors(self.hard_block(slopes, slopes))

    def solve(self, factors: Factors, b: Array) -> Array:
        """(Hᵇᵇ)⁻¹ b for b (..., coordinates)."""
        return b if self._matrix is None else self._matrix.solve(factors, b)

    def rates(self, slopes: Array, velocity: Array) -> Array:
        """B v: how fast the coordinates change at velocities (..., points, dimension)."""
        each = np.einsum("...ed,...ed->...e", slopes, velocity[..., self._point, :])
        return _summed(each, self._coordinate, self.count)

    def forces(self, slopes: Array, reaction: Array) -> Array:
        """Bᵀ λ: the forces on the points (..., points, dimension) of reactions λ (..., coordinates)."""
        return self._to_points(slopes * reaction[..., self._coordinate, None])

    def potential(self, x: Array, kT: Array) -> CartesianPotential:
        """Fixman's potential ½ kT log det Hᵇᵇ, and its force."""
        if self._matrix is None:
            return CartesianPotential(np.zeros(x.shape[:-2]), np.zeros(x.shape))
        slopes = self.slopes(x)
        log_determinant, Z = self._matrix.inverse_entries(self.hard_block(slopes, slopes))
        pushed = slopes[..., self._second, :] * (self._weight * Z)[..., None]
        y = _times(self._collect, pushed)  # (W Bᵀ Z)_c at each end of c
        parts, start = [], 0
        for part in self._parts:
            parts.append(part.curved(x, y[..., start : start + part.size, :]))
            start += part.size
        gradient = self._to_points(_joined(parts, x, -2))
        return CartesianPotential(0.5 * kT * log_determinant, -kT[..., None, None] * gradient)

    def _to_points(self, at_ends: Array) -> Array:
        return _times(self._spread, at_ends)


class _Part:
    """The coordinates of one family, with several outputs each where its function gives several."""

    def __init__(self, family: Family, dimension: int) -> None:
        self._function, self._numbers, self._d = family.function, family.numbers, dimension
        self._rows, self._k = family.numbers.shape
        self._outputs = len(traced(self._function, self._k, dimension)[0])
        self.count = self._rows * self._outputs
        self.size = self.count * self._k

    def ends(self, start: int) -> tuple[Array, Array]:
        """The coordinate and the point of each end, coordinates counted from `start`."""
        coordinate = np.repeat(start + np.arange(self.count), self._k)
        return coordinate, np.repeat(self._numbers, self._outputs, axis=0).ravel()

    def _local(self, x: Array) -> Array:
        return np.asarray(x[..., self._numbers, :].reshape(*x.shape[:-2], self._rows, self._k * self._d))

    def evaluate(self, x: Array) -> Array:
        found = values(traced(self._function, self._k, self._d)[0], {"x": self._local(x)})
        return np.asarray(found.reshape(*x.shape[:-2], self.count))

    def slopes(self, x: Array) -> Array:
        entries = traced(self._function, self._k, self._d)[1]
        found = values(list(entries.values()), {"x": self._local(x)})
        full = np.zeros((*x.shape[:-2], self._rows, self._outputs, self._k * self._d))
        for number, (i, j) in enumerate(entries):
            full[..., i, j] = found[..., number]
        return np.asarray(full.reshape(*x.shape[:-2], self.size, self._d))

    def curved(self, x: Array, y: Array) -> Array:
        """∇²b · y for each coordinate b: at its ends, as y is."""
        entries = _curvature(self._function, self._k, self._d)
        along = y.reshape(*y.shape[:-2], self._rows, self._outputs, self._k * self._d)
        full = np.zeros(along.shape)
        found = values(list(entries.values()), {"x": self._local(x)})
        for number, (output, i, j) in enumerate(entries):
            full[..., output, i] += found[..., number] * along[..., output, j]
        return np.asarray(full.reshape(y.shape))


@lru_cache(maxsize=64)
def _curvature(function: Coordinate, k: int, dimension: int) -> dict[tuple[int, int, int], Operand]:
    """The second derivatives of a family's function: by output, and twice by position."""
    _, entries = traced(function, k, dimension)
    graphs = [entry.graph for entry in entries.values() if hasattr(entry, "graph")]
    if not graphs:
        return {}
    leaves = [graphs[0].input("x", i) for i in range(k * dimension)]
    where = list(entries)
    second = jacobian(list(entries.values()), leaves)
    return {(where[row][0], where[row][1], j): slope for (row, j), slope in second.items()}


def _meeting(point: Array, weights: Array) -> tuple[Array, Array]:
    """All pairs of ends at the same moving point."""
    order = np.argsort(point, kind="stable")
    starts = np.searchsorted(point[order], np.arange(len(weights) + 1))
    degree = np.diff(starts)
    degree[weights == 0] = 0
    own = np.repeat(np.arange(len(weights)), degree**2)  # the point of each pair
    index = np.arange(len(own)) - np.repeat(np.cumsum(degree**2) - degree**2, degree**2)
    left, right = np.divmod(index, np.maximum(degree[own], 1))
    return order[starts[own] + left], order[starts[own] + right]


def _times(matrix: csr_matrix, x: Array) -> Array:
    """A sparse matrix times x (..., rows, d) along the rows."""
    flat = np.moveaxis(x, -2, 0)
    return np.asarray(
        np.moveaxis((matrix @ flat.reshape(len(flat), -1)).reshape(matrix.shape[0], *flat.shape[1:]), 0, -2)
    )


def _summed(each: Array, where: Array, count: int) -> Array:
    """Sums of neighbours that belong to the same coordinate: `where` never goes down."""
    if not count:
        return np.zeros((*each.shape[:-1], 0))
    return np.asarray(np.add.reduceat(each, np.searchsorted(where, np.arange(count)), axis=-1))


def _joined(parts: list[Array], x: Array, axis: int) -> Array:
    empty = np.zeros((*x.shape[:-2], 0)) if axis == -1 else np.zeros((*x.shape[:-2], 0, x.shape[-1]))
    return np.concatenate([empty, *parts], axis=axis)
