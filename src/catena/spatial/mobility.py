"""Mobility: how a link gives way to a wrench, the symmetric map from forces to accelerations that goes down a chain.

It is the dual of an inertia, (φᵀ, base to tip) in place of (φ, tip to base): exchanging the angular and the linear part
and reversing each stage of a transform turns one into the other, so both share the same arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

from catena.scalars import Scalar, unless_lost_in_rounding
from catena.spatial.axes import Axes, Columns, Dofs, InverseOfSmall, SmallSymmetric
from catena.spatial.inertia import ArticulatedInertia
from catena.spatial.motion import Force, Motion
from catena.spatial.small import inverse
from catena.spatial.transform import ShiftAlong, Stage, Transform, Turn, TurnAbout
from catena.spatial.vectors import Mat3, Sym3, Vec3

_SIX = range(6)


@dataclass(slots=True)
class Mobility:
    """Υ: (ω̇, v̇) = Υ (moment, force). `dual` holds its blocks: v̇ = J force + H moment, ω̇ = Hᵀ force + M moment."""

    dual: ArticulatedInertia

    @classmethod
    def zero(cls) -> Mobility:
        """A link that no wrench can move."""
        return cls(ArticulatedInertia(Sym3.scalar(0), Mat3.skew(Vec3.zero()), Sym3.scalar(0)))

    def __add__(self, o: Mobility) -> Mobility:
        return Mobility(self.dual + o.dual)

    def __sub__(self, o: Mobility) -> Mobility:
        return Mobility(self.dual - o.dual)

    def __neg__(self) -> Mobility:
        return Mobility.zero() - self

    def __matmul__(self, f: Force) -> Motion:
        answer = self.dual @ Motion(f.linear, f.angular)
        return Motion(answer.linear, answer.angular)

    @property
    def blocks(self) -> Mobility:
        """Itself: mobilities of rigid bodies, in fewer numbers, have blocks as well."""
        return self

    @property
    def rows(self) -> list[list[Scalar]]:
        """The 6 x 6 matrix, angular part first."""
        w, n, v = self.dual.M.rows, self.dual.H.T.rows, self.dual.J.rows
        upper = [[*a, *b] for a, b in zip(w, n, strict=True)]
        return upper + [[*a, *b] for a, b in zip(self.dual.H.rows, v, strict=True)]

    @classmethod
    def of(cls, rows: list[list[Scalar]]) -> Mobility:
        """From the upper triangle of a 6 x 6 matrix."""
        J = Sym3(*[rows[a][b] for a in (3, 4, 5) for b in (3, 4, 5) if a <= b])
        H = Mat3(*[rows[b][a] for a in (3, 4, 5) for b in (0, 1, 2)])
        M = Sym3(*[rows[a][b] for a in (0, 1, 2) for b in (0, 1, 2) if a <= b])
        return cls(ArticulatedInertia(J, H, M))

    def carried(self, phi: Transform) -> Mobility:
        """φᵀ Υ φ: the mobility given in a parent's frame, in the child's."""
        dual = self.dual
        for stage in phi.stages:
            dual = reversed_stage(stage).articulated_to_parent(dual)
        return Mobility(dual)

    def carried_back(self, phi: Transform) -> Mobility:
        """φ⁻ᵀ Υ φ⁻¹: the mobility given in a child's frame, in the parent's."""
        return Mobility(phi.congruence(self.dual))

    def through(self, H: Axes, G: Columns, D: SmallSymmetric) -> Mobility:
        """(I − GH)ᵀ Υ (I − GH) + Hᵀ D⁻¹ H: what a free joint makes of the mobility in front of it."""
        return self._through_units(H, G, D) if len(H.units) == len(H.columns) else self._through_any(H, G, D)

    def _through_units(self, H: Axes, G: Columns, D: SmallSymmetric) -> Mobility:
        """Axes that are unit vectors e touch their own rows only. Without rotors G is 1 there: e − G is exactly 0."""
        place = {number: component for component, number in H.units.items()}
        exact = {} if D.shifted else H.units
        K = [
            Force.of([0 if i in exact else int(i == place[j]) - x for i, x in enumerate(g.components)])
            for j, g in enumerate(G.columns)
        ]
        moved = [self @ k for k in K]
        rows, Dinv = self.rows, inverse(D).lower
        for j, column in enumerate(moved):
            for a, x in enumerate(column.components):
                rows[a][place[j]] = rows[place[j]][a] = x
        for i in range(len(K)):
            for j in range(i + 1):
                x = moved[i].dot(K[j]) + Dinv[i][j]
                rows[place[i]][place[j]] = rows[place[j]][place[i]] = x
        return Mobility.of(rows)

    def _through_any(self, H: Axes, G: Columns, D: SmallSymmetric) -> Mobility:
        h = [axis.components for axis in H.columns]
        # columns of I − GH, and those of Hᵀ D⁻¹ H
        K = [Force.of([int(i == b) for i in _SIX]) - G @ Dofs([axis[b] for axis in h]) for b in _SIX]
        held = [H.T @ (D.inv @ Dofs([axis[b] for axis in h])) for b in _SIX]
        moved = [self @ k for k in K]
        rows = [[moved[b].dot(K[a]) + held[b].components[a] for b in _SIX] for a in _SIX]
        return Mobility.of(rows)


def reversed_stage(stage: Stage) -> Stage:
    """The stage from the child's frame back to the parent's."""
    if isinstance(stage, TurnAbout):
        return TurnAbout(stage.axis, stage.c, -stage.s)
    if isinstance(stage, ShiftAlong):
        return ShiftAlong(stage.axis, -stage.d)
    if isinstance(stage, Turn):
        return Turn(stage.R.T)
    raise TypeError(f"a mobility cannot be carried through a {type(stage).__name__}")


def inertia_of(S: list[list[Scalar]]) -> tuple[list[list[Scalar]], InverseOfSmall, Scalar]:
    """Λ = S⁻¹ of a mobility, without pivoting; its factors; and one, or infinite where no inverse can be had.

    One divided by an entry of the diagonal of Λ is what elimination leaves of that of S, if it comes last. Where that
    is no more than the rounding of what is along all three axes, nothing is left, and the diagonal of Λ is infinite.
    """
    symmetric = SmallSymmetric.of(S)
    rows = inverse(symmetric).rows
    along = [S[i][i] + S[i + 1][i + 1] + S[i + 2][i + 2] for i in range(0, len(S), 3)]
    sure = unless_lost_in_rounding([along[i // 3] * rows[i][i] for i in range(len(S))])
    whole = [[x * (sure if i == j else 1) for j, x in enumerate(row)] for i, row in enumerate(rows)]
    return whole, symmetric.inv, sure
