"""Fixman's partition of any holonomic system of point masses: Lee & Chirikjian (2005), section II, in any coordinates.

The coordinates are functions of the masses' positions. They are traced once, their derivatives come from the trace, and
as each depends on a few points only, all blocks of H = ∂q/∂x diag(1/m) ∂q/∂xᵀ (3), (7) are sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags, vstack

from catena.arguments.arrays import as_floats
from catena.errors import ShapeError, SingularError, UnsupportedError, kind_of, shown
from catena.fixman.families import Coordinate, Family
from catena.fixman.hard_coordinates import CartesianPotential, HardCoordinates
from catena.fixman.rounding import rounding
from catena.fixman.sparse_solve import Factored, log_abs_determinants

Array = npt.NDArray[Any]


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
        """The blocks of H at positions (..., n, dimension), of one configuration or a batch of them."""
        x = self._positions(positions)
        samples = x.reshape(int(np.prod(x.shape[:-2])), *x.shape[-2:])
        sides = self.soft, self.hard
        counts = [sum(family.count(self.dimension) for family in side) for side in sides]
        soft, hard = (self._slopes(side, samples) for side in sides)
        return Blocks(soft, hard, self.masses, self.dimension, (counts[0], counts[1]), x.shape[:-2])

    def _positions(self, positions: npt.ArrayLike) -> Array:
        x, n, d = as_floats(positions, "positions"), len(self.masses), self.dimension
        if x.shape[-2:] != (n, d):
            raise ShapeError(f"positions: expected shape (..., {n}, {d}), found {x.shape}")
        return x

    def _slopes(self, families: Sequence[Family], x: Array) -> csr_matrix:
        """The slopes of coordinates by positions x (samples, n, d), those of one sample after the other's."""
        counts = [family.count(self.dimension) for family in families]
        total, width, samples = sum(counts), len(self.masses) * self.dimension, np.arange(len(x))[:, None]
        parts = []
        for family, start in zip(families, np.cumsum([0, *counts]), strict=False):
            data, rows, columns = family.slopes(x)
            parts.append((data, start + rows + total * samples, columns + width * samples))
        joined = [np.concatenate([np.zeros(0), *[part[i].ravel() for part in parts]]) for i in range(3)]
        rows, columns = (index.astype(np.int64) for index in joined[1:])
        return csr_matrix((joined[0], (rows, columns)), shape=(total * len(x), width * len(x)))

    @cached_property
    def hard_coordinates(self) -> HardCoordinates:
        """The hard coordinates for batches of positions: their values, slopes and Hᵇᵇ."""
        return HardCoordinates(self.hard, self.masses, self.dimension)

    def potential(self, positions: npt.ArrayLike, kT: npt.ArrayLike = 1.0) -> CartesianPotential:
        """Fixman's potential U = ½ kT log det Hᵇᵇ of these hard coordinates, and the force −∂U/∂x on each point.

            rods = catena.fixman.Family(distance, [[0, 1], [1, 2]])
            potential, force = catena.fixman.partition([], [rods], np.ones(3)).potential(positions)

        `positions` are (..., n, dimension); `kT` is a number or one for each sample. The result is a
        :class:`~catena.fixman.hard_coordinates.CartesianPotential`. Where hard coordinates depend on each other U is
        not finite. cond(Hᵇᵇ) grows as n⁴ where bonds and angles of a long chain are hard: there
        :func:`catena.fixman_potential` of the robot keeps its digits. O(n) for chains, branched or not.
        """
        x = self._positions(positions)
        return self.hard_coordinates.potential(x, as_floats(kT, "kT"))

    def coordinates(self, positions: npt.ArrayLike) -> tuple[Array, Array]:
        """The soft and the hard coordinates at positions (..., n, dimension): (..., soft) and (..., hard)."""
        x = self._positions(positions)
        none = np.empty((*x.shape[:-2], 0))
        soft, hard = ([family.evaluate(x) for family in side] for side in (self.soft, self.hard))
        return np.concatenate([none, *soft], axis=-1), np.concatenate([none, *hard], axis=-1)


class Blocks:
    """H = [Hᵃᵃ Hᵃᵇ; Hᵇᵃ Hᵇᵇ] (6), sparse, and what Fixman's theorem makes of it.

    Of a batch of configurations, of shape `batch`, the blocks stand one after the other on the diagonals of the
    matrices, and so do the slopes `soft` and `hard`. `counts` are the numbers of soft and hard coordinates.
    """

    def __init__(
        self,
        soft: csr_matrix,
        hard: csr_matrix,
        masses: Array,
        dimension: int,
        counts: tuple[int, int],
        batch: tuple[int, ...] = (),
    ) -> None:
        self.soft, self.hard, self._masses, self.counts, self.batch = soft, hard, masses, counts, batch
        self._samples = int(np.prod(batch))
        self._weights = diags(np.tile(np.repeat(1 / masses, dimension), self._samples))
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
        """(Gᵃᵃ)⁻¹ b for b (..., soft), by the pipeline (13), with one step of refinement that tells the error.

        The error is the largest of the batch.
        """
        given, (soft, hard) = as_floats(b, "b"), self.counts
        if given.shape != (*self.batch, soft)[max(0, len(self.batch) + 1 - given.ndim) :]:
            raise ShapeError(f"b: expected {soft} numbers, one for each soft coordinate, found {given.shape}")
        right = np.broadcast_to(given, (*self.batch, soft)).ravel()
        c, d = self.aa @ right, self.ab.T @ right
        e = self._factored.solve(d)
        better = self._factored.solve(d - self.bb @ e)
        f, change = self.ab @ e, self.ab @ better
        x = c - f - change
        size = _largest(x)
        error = max(2 * _largest(change), rounding(float) * max(_largest(c), _largest(f))) / size if size else 0.0
        return Solution(x.reshape(*self.batch, soft), -(e + better).reshape(*self.batch, hard), error)

    def log_determinant(self) -> Any:
        """log det Gᵃᵃ (...) = log det G + log det Hᵇᵇ, Fixman's theorem (8)."""
        return self.log_determinant_of_all() + self.log_determinant_of_hard()

    def log_determinant_of_hard(self) -> Any:
        """log det Hᵇᵇ (...): times ½ kT, Fixman's potential, which undoes what rigid bonds do to probabilities."""
        return self._each(self._factored.log_determinants(self._samples))

    def _each(self, found: Array) -> Any:
        """One number for each configuration; of a single one, a float."""
        return found.reshape(self.batch) if self.batch else float(found[0])

    def log_determinant_of_all(self) -> Any:
        """log det G of the unconstrained system, 3 Σ log m − 2 log |det ∂q/∂x|; needs a full set of coordinates."""
        finite = self._masses[np.isfinite(self._masses)]
        if sum(self.counts) != len(finite) * self._dimension:
            raise SingularError(
                f"the determinant needs as many coordinates as there are directions to move in: expected "
                f"{len(finite) * self._dimension} soft and hard ones together, found {sum(self.counts)}"
            )
        moving = np.flatnonzero(np.tile(np.repeat(np.isfinite(self._masses), self._dimension), self._samples))
        rows = csr_matrix(vstack([self.soft, self.hard]))[:, moving]
        return self._dimension * float(np.sum(np.log(finite))) - 2 * self._each(
            log_abs_determinants(rows, self._samples)
        )


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
    weights = np.array(as_floats(masses, "masses"))
    if weights.ndim != 1 or not (weights > 0).all():
        raise SingularError("masses: expected a number above zero for each point, infinity for one that does not move")
    if dimension not in (2, 3):
        raise ShapeError(f"dimension: expected 2 or 3, found {shown(dimension)}")
    everyone = np.arange(len(weights))[None]
    sides = [[Family(side, everyone)] if callable(side) else list(side) for side in (soft, hard)]
    for family in (*sides[0], *sides[1]):
        if not isinstance(family, Family):
            raise UnsupportedError(f"soft and hard: expected lists of Family, found {kind_of(family)}")
        if family.numbers.size and not 0 <= family.numbers.min() <= family.numbers.max() < len(weights):
            raise ShapeError(f"points: expected numbers from 0 to {len(weights) - 1}, found {family.numbers.tolist()}")
    return Partition(sides[0], sides[1], weights, dimension)


def _largest(x: Array) -> float:
    return float(np.max(np.abs(x), initial=0.0))
