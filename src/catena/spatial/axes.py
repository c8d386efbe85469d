"""What a joint lets move: its axes H, the forces P Hᵀ along them, and the small symmetric matrix D = H P Hᵀ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, overload

from catena.scalars import Scalar, is_zero
from catena.spatial.motion import Force, Motion
from catena.spatial.vectors import Mat3, Sym3

if TYPE_CHECKING:
    from catena.spatial.inertia import ArticulatedInertia


def _sum(terms: list[Scalar]) -> Scalar:
    return reduce(add, terms)


@dataclass(slots=True)
class Dofs:
    """One number for each degree of freedom of a joint: its velocities, torques or accelerations."""

    values: list[Scalar]

    def __add__(self, o: Dofs) -> Dofs:
        return Dofs([a + b for a, b in zip(self.values, o.values, strict=True)])

    def __sub__(self, o: Dofs) -> Dofs:
        return Dofs([a - b for a, b in zip(self.values, o.values, strict=True)])

    def __neg__(self) -> Dofs:
        return Dofs([-a for a in self.values])

    def __mul__(self, o: Dofs) -> Dofs:
        return Dofs([a * b for a, b in zip(self.values, o.values, strict=True)])

    def scaled(self, factor: Scalar) -> Dofs:
        """All numbers times a factor."""
        return Dofs([factor * a for a in self.values])

    def dot(self, o: Dofs) -> Scalar:
        """The scalar product."""
        return _sum([a * b for a, b in zip(self.values, o.values, strict=True)])

    def __iter__(self) -> Iterator[Scalar]:
        return iter(self.values)

    def __getitem__(self, i: int) -> Scalar:
        return self.values[i]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(slots=True)
class Axes:
    """H of one joint: its rows are the motions that the joint allows, in the child's frame.

    ``H @ force`` projects a force onto the axes; ``H.T @ v`` is the motion with joint velocities v.
    """

    columns: list[Motion]

    @property
    def T(self) -> AxesTransposed:
        """Hᵀ."""
        return AxesTransposed(self)

    @property
    def units(self) -> dict[int, int]:
        """For each axis that is a unit vector: the spatial component it moves and its number."""
        found = {}
        for number, column in enumerate(self.columns):
            nonzero = [i for i, x in enumerate(column.components) if not is_zero(x)]
            if len(nonzero) == 1 and isinstance(column.components[nonzero[0]], int):
                found[nonzero[0]] = number
        return found

    @overload
    def __matmul__(self, force: Force) -> Dofs: ...
    @overload
    def __matmul__(self, force: Columns) -> SmallSymmetric: ...
    def __matmul__(self, force: Force | Columns) -> Dofs | SmallSymmetric:
        if isinstance(force, Force):
            return Dofs([column.dot(force) for column in self.columns])
        n = len(self.columns)
        return SmallSymmetric([[self.columns[i].dot(force.columns[j]) for j in range(i + 1)] for i in range(n)])


@dataclass(slots=True)
class AxesTransposed:
    """Hᵀ of one joint."""

    axes: Axes

    def __matmul__(self, v: Dofs) -> Motion:
        motion: Motion = reduce(add, [column * x for x, column in zip(v, self.axes.columns, strict=True)])
        return motion


@dataclass(slots=True)
class Columns:
    """Forces, one for each axis of a joint: P Hᵀ, or the gain G = P Hᵀ D⁻¹."""

    columns: list[Force]
    axes: Axes

    @property
    def T(self) -> ColumnsTransposed:
        """The transpose, which turns motions into joint-space numbers."""
        return ColumnsTransposed(self)

    @property
    def rows(self) -> list[list[Scalar]]:
        """Six rows, one for each spatial component."""
        return [list(row) for row in zip(*[c.components for c in self.columns], strict=True)]

    @overload
    def __matmul__(self, o: Dofs) -> Force: ...
    @overload
    def __matmul__(self, o: InverseOfSmall) -> Columns: ...
    @overload
    def __matmul__(self, o: ColumnsTransposed) -> ArticulatedInertia: ...
    def __matmul__(self, o: Dofs | InverseOfSmall | ColumnsTransposed) -> Force | Columns | ArticulatedInertia:
        if isinstance(o, Dofs):
            force: Force = reduce(add, [column * x for x, column in zip(o, self.columns, strict=True)])
            return force
        if isinstance(o, ColumnsTransposed):
            return self._outer(o.columns)
        return self._gain(o)

    def _gain(self, inverse: InverseOfSmall) -> Columns:
        """U D⁻¹. Along a unit axis a row of U is one of D, so there the result is set to 0s and a 1 exactly."""
        units = {} if inverse.shifted else self.axes.units
        n = len(self.columns)
        rows = [
            [int(j == units[i]) for j in range(n)] if i in units else list(inverse @ Dofs(row))
            for i, row in enumerate(self.rows)
        ]
        return Columns([Force.of([row[j] for row in rows]) for j in range(n)], self.axes)

    def _outer(self, gain: Columns) -> ArticulatedInertia:
        """U Gᵀ, symmetric because G = U D⁻¹. Rows of G that are exact make the entries there exact as well."""
        from catena.spatial.inertia import ArticulatedInertia

        units, U, G = self.axes.units, self.rows, gain.rows

        def entry(a: int, b: int) -> Scalar:
            left, right = (G[a], U[b]) if a in units else (U[a], G[b])
            return _sum([x * y for x, y in zip(left, right, strict=True)])

        w, v = (0, 1, 2), (3, 4, 5)
        return ArticulatedInertia(
            Sym3(*[entry(a, b) for a in w for b in w if a <= b]),
            Mat3(*[entry(a, b) for a in w for b in v]),
            Sym3(*[entry(a, b) for a in v for b in v if a <= b]),
        )


@dataclass(slots=True)
class ColumnsTransposed:
    """Gᵀ: turns a motion into one number for each axis."""

    columns: Columns

    def __matmul__(self, V: Motion) -> Dofs:
        return Dofs([V.dot(column) for column in self.columns.columns])


@dataclass(slots=True)
class SmallSymmetric:
    """D = H P Hᵀ of one joint, by the rows of its lower triangle; at most 6 x 6.

    ``shifted`` tells that something (a rotor's inertia) was added to it, so it is no longer H P Hᵀ itself.
    """

    lower: list[list[Scalar]]
    shifted: bool = False
    _inverse: list[InverseOfSmall] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Scalar]]) -> SmallSymmetric:
        """The matrix with these rows; what is above the diagonal is not looked at."""
        return cls([list(row[: i + 1]) for i, row in enumerate(rows)])

    @property
    def rows(self) -> list[list[Scalar]]:
        """The whole matrix, row by row."""
        n = len(self.lower)
        return [[self.lower[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]

    def plus_diagonal(self, d: Dofs) -> SmallSymmetric:
        """D with d added to its diagonal."""
        if all(is_zero(x) for x in d):
            return self
        lower = [[x + d[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(self.lower)]
        return SmallSymmetric(lower, shifted=True)

    @property
    def inv(self) -> InverseOfSmall:
        """D⁻¹, as factors L diag(d) Lᵀ = D that are applied by substitution."""
        if not self._inverse:
            self._inverse.append(InverseOfSmall.factored(self))
        return self._inverse[0]


@dataclass(slots=True)
class InverseOfSmall:
    """D⁻¹ held as D = L diag(pivots) Lᵀ with unit lower triangular L."""

    L: list[list[Scalar]]
    pivots: list[Scalar]
    reciprocals: list[Scalar]
    shifted: bool

    @classmethod
    def factored(cls, D: SmallSymmetric) -> InverseOfSmall:
        """Factor D without pivoting, which a positive definite matrix does not need."""
        L: list[list[Scalar]] = []
        pivots: list[Scalar] = []
        reciprocals: list[Scalar] = []
        for i, row in enumerate(D.lower):
            scaled: list[Scalar] = []
            for j in range(i):
                scaled.append(row[j] - _sum([0, *[scaled[k] * L[j][k] for k in range(j)]]))
            L.append([scaled[j] * reciprocals[j] for j in range(i)])
            pivots.append(row[i] - _sum([0, *[scaled[j] * L[i][j] for j in range(i)]]))
            reciprocals.append(1 / pivots[i])
        return cls(L, pivots, reciprocals, D.shifted)

    def __matmul__(self, b: Dofs) -> Dofs:
        """D⁻¹ b."""
        n, x = len(self.pivots), list(b)
        for i in range(n):
            for j in range(i):
                x[i] = x[i] - self.L[i][j] * x[j]
        x = [x[i] * self.reciprocals[i] for i in range(n)]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                x[i] = x[i] - self.L[j][i] * x[j]
        return Dofs(x)
