"""The directions in which a joint moves or holds a body, and what a mobility makes of forces along them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from catena.scalars import Scalar, is_zero, sqrt
from catena.spatial.axes import Axes, Dofs, InverseOfSmall, SmallSymmetric
from catena.spatial.inertia import ArticulatedInertia
from catena.spatial.mobility import Mobility
from catena.spatial.motion import Force, Motion
from catena.spatial.vectors import Mat3, Sym3

Rows = list[list[Scalar]]


@dataclass(slots=True)
class Directions:
    """Rows that read numbers off a motion: ``Z @ motion``; transposed, forces along them: ``Z.T @ numbers``.

    ``give`` is what each row yields of itself: it is added to the diagonal of Z W Zᵀ.
    """

    rows: list[Force]
    give: list[Scalar]

    def __iter__(self) -> Iterator[Force]:
        return iter(self.rows)

    @property
    def T(self) -> DirectionsTransposed:
        """Zᵀ."""
        return DirectionsTransposed(self)

    def __matmul__(self, V: Motion) -> Dofs:
        return Dofs([V.dot(row) for row in self.rows])

    def congruence(self, W: Mobility) -> SmallSymmetric:
        """Z W Zᵀ + diag(give)."""
        moved = [W @ row for row in self.rows]
        product = SmallSymmetric([[moved[i].dot(self.rows[j]) for j in range(i + 1)] for i in range(len(moved))])
        return product.plus_diagonal(Dofs(self.give))

    def moved_by(self, W: Mobility) -> Motions:
        """W Zᵀ."""
        return Motions([W @ row for row in self.rows])

    def weighted(self, inverse: InverseOfSmall) -> ArticulatedInertia:
        """Zᵀ D⁻¹ Z: the inertia felt along the rows by who moves them against D⁻¹."""
        rows = _weighted([row.components for row in self.rows], inverse)
        w, v = (0, 1, 2), (3, 4, 5)
        return ArticulatedInertia(
            Sym3(*[rows[a][b] for a in w for b in w if a <= b]),
            Mat3(*[rows[a][b] for a in w for b in v]),
            Sym3(*[rows[a][b] for a in v for b in v if a <= b]),
        )


@dataclass(slots=True)
class DirectionsTransposed:
    """Zᵀ."""

    directions: Directions

    def __matmul__(self, e: Dofs) -> Force:
        total = Force.zero()
        for x, row in zip(e, self.directions, strict=True):
            total = total + row * x
        return total


@dataclass(slots=True)
class Motions:
    """Motions side by side: the columns of a 6 x h matrix."""

    columns: list[Motion]

    def __matmul__(self, e: Dofs) -> Motion:
        total = Motion.zero()
        for x, column in zip(e, self.columns, strict=True):
            total = total + column * x
        return total

    def transposed_times(self, f: Force) -> Dofs:
        """Cᵀ f."""
        return Dofs([column.dot(f) for column in self.columns])

    def weighted(self, inverse: InverseOfSmall) -> Mobility:
        """C D⁻¹ Cᵀ."""
        return Mobility.of(_weighted([column.components for column in self.columns], inverse))


def _weighted(columns: Rows, inverse: InverseOfSmall) -> Rows:
    """C D⁻¹ Cᵀ for D = L diag(d) Lᵀ: with rows y = L⁻¹ Cᵀ, the sum of y yᵀ / d, symmetric by construction."""
    y: Rows = []
    for i, column in enumerate(columns):
        for j in range(i):
            column = [a - inverse.L[i][j] * b for a, b in zip(column, y[j], strict=True)]
        y.append(column)
    scaled = [[x * r for x in row] for row, r in zip(y, inverse.reciprocals, strict=True)]
    total: Rows = [[0] * 6 for _ in range(6)]
    for a in range(6):
        for b in range(a, 6):
            for left, right in zip(scaled, y, strict=True):
                total[a][b] = total[a][b] + left[a] * right[b]
            total[b][a] = total[a][b]
    return total


def parted(H: Axes, armature: Dofs) -> tuple[Directions, Directions]:
    """A, and the hard rows: B, then √R A for each axis with a rotor.

    A joint's axes are orthogonal to one another, and each has one component or two; where it has two, the direction
    across it lies in the same plane. So K = [S T] is as orthogonal as can be, which keeps four digits that a random
    complement would lose.
    """
    soft: list[Force] = []
    hard: list[Force] = []
    taken: set[int] = set()
    for column in H.columns:
        used = [i for i, x in enumerate(column.components) if not is_zero(x)]
        taken.update(used)
        size = squared_length(column)
        soft.append(Force.of([x / size if i in used else 0 for i, x in enumerate(column.components)]))
        if len(used) == 2:
            hard.append(_across(column.components, used[0], used[1], 1 if is_one(size) else sqrt(size)))
    hard += [Force.of([int(i == j) for j in range(6)]) for i in range(6) if i not in taken]
    rotors = [row * sqrt(r) for row, r in zip(soft, armature, strict=True) if not is_zero(r)]
    return Directions(soft, []), Directions(hard + rotors, [0] * len(hard) + [1] * len(rotors))


def _across(components: list[Scalar], i: int, j: int, length: Scalar) -> Force:
    row: list[Any] = [0] * 6
    row[i], row[j] = -components[j] / length, components[i] / length
    return Force.of(row)


def squared_length(column: Motion) -> Scalar:
    """S·S of one axis: 1 exactly for turns about a unit vector, whatever its rounding."""
    if is_zero(column.linear.x) and is_zero(column.linear.y) and is_zero(column.linear.z):
        return 1
    return sum((x * x for x in column.components if not is_zero(x)), start=0)


def is_one(x: Scalar) -> bool:
    """Whether x is known to be 1 whatever the state."""
    return isinstance(x, int | float) and x == 1
