"""Inverse inertias over any scalar: what a force does to a body, in the same blocks as an articulated inertia."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from catena.scalars import Scalar
from catena.spatial.axes import Dofs, InverseOfSmall, SmallSymmetric
from catena.spatial.inertia import ArticulatedInertia, RigidInertia
from catena.spatial.motion import Force, Motion
from catena.spatial.transform import ShiftAlong, Stage, Transform, Turn, TurnAbout
from catena.spatial.vectors import Mat3, Sym3, Vec3


@dataclass(slots=True)
class Mobility:
    """A symmetric map from forces to motions: ω = A moment + C force, v = Cᵀ moment + B force."""

    A: Sym3
    C: Mat3
    B: Sym3

    @classmethod
    def zero(cls) -> Mobility:
        """Of a body that nothing can move: the base."""
        return cls(Sym3(0, 0, 0, 0, 0, 0), Mat3(0, 0, 0, 0, 0, 0, 0, 0, 0), Sym3(0, 0, 0, 0, 0, 0))

    @classmethod
    def of_body(cls, M: RigidInertia) -> Mobility:
        """M⁻¹ of a rigid body at its frame; the body needs a mass and inertia about every axis through its centre."""
        c = M.h * (1 / M.m)
        A = inverse(_at_centre(M, c))
        C = Mat3(*[-x for row in A.rows for x in row.cross(c)])  # A c̃, row by row: a × c; here −A c̃
        lever = Mat3.skew(c).conjugate(A)
        return cls(A, C, lever + Sym3.scalar(1 / M.m))

    def __add__(self, o: Mobility) -> Mobility:
        return Mobility(self.A + o.A, self.C + o.C, self.B + o.B)

    def __sub__(self, o: Mobility) -> Mobility:
        return Mobility(self.A - o.A, self.C - o.C, self.B - o.B)

    def __neg__(self) -> Mobility:
        return Mobility.zero() - self

    def __matmul__(self, f: Force) -> Motion:
        return Motion(self.A @ f.angular + self.C @ f.linear, self.C.T @ f.angular + self.B @ f.linear)

    @property
    def _swapped(self) -> ArticulatedInertia:
        """With linear parts first a motion changes frames as a force does, so this changes as an inertia does."""
        return ArticulatedInertia(self.B, self.C.T, self.A)

    def to_parent(self, phi: Transform) -> Mobility:
        """φ⁻ᵀ W φ⁻¹: a mobility given in the child's frame, in the parent's."""
        P = phi.congruence(self._swapped)
        return Mobility(P.M, P.H.T, P.J)

    def to_child(self, phi: Transform) -> Mobility:
        """φᵀ W φ: a mobility given in the parent's frame, in the child's."""
        P = self._swapped
        for stage in phi.stages:
            P = _undone(stage).articulated_to_parent(P)
        return Mobility(P.M, P.H.T, P.J)


def _undone(stage: Stage) -> Stage:
    if isinstance(stage, TurnAbout):
        return TurnAbout(stage.axis, stage.c, -stage.s)
    if isinstance(stage, ShiftAlong):
        return ShiftAlong(stage.axis, -stage.d)
    if isinstance(stage, Turn):
        return Turn(stage.R.T)
    raise TypeError(f"no inverse is known of a {type(stage).__name__}")


def _at_centre(M: RigidInertia, c: Vec3) -> Sym3:
    """The inertia about the centre of mass c."""
    x, y, z = c.x * M.h.x, c.y * M.h.y, c.z * M.h.z
    xy, xz, yz = c.x * M.h.y, c.x * M.h.z, c.y * M.h.z
    return M.I - Sym3(y + z, -xy, -xz, x + z, -yz, x + y)


def _cofactors(S: Sym3) -> Sym3:
    x, y, z = S.rows
    yz, zx, xy = y.cross(z), z.cross(x), x.cross(y)
    return Sym3(yz.x, yz.y, yz.z, zx.y, zx.z, xy.z)


def determinant(S: Sym3) -> Scalar:
    """det S."""
    return S.rows[0].dot(_cofactors(S).rows[0])


def inverse(S: Sym3) -> Sym3:
    """S⁻¹ by cofactors."""
    cofactors = _cofactors(S)
    reciprocal = 1 / S.rows[0].dot(cofactors.rows[0])
    return Sym3(*[reciprocal * x for x in cofactors])


def determinant_of_body(M: RigidInertia) -> Scalar:
    """det M of a rigid body: m³ det I, with I about the centre of mass."""
    return M.m * M.m * M.m * determinant(_at_centre(M, M.h * (1 / M.m)))


@dataclass(slots=True)
class Directions:
    """Rows that read numbers off a motion: ``Z @ motion``; transposed, forces along them: ``Z.T @ numbers``."""

    rows: list[Force]

    def __iter__(self) -> Iterator[Force]:
        return iter(self.rows)

    @property
    def T(self) -> DirectionsTransposed:
        """Zᵀ."""
        return DirectionsTransposed(self)

    def __matmul__(self, V: Motion) -> Dofs:
        return Dofs([V.dot(row) for row in self.rows])

    def congruence(self, W: Mobility) -> SmallSymmetric:
        """Z W Zᵀ."""
        moved = [W @ row for row in self.rows]
        return SmallSymmetric([[moved[i].dot(self.rows[j]) for j in range(i + 1)] for i in range(len(moved))])

    def moved_by(self, W: Mobility) -> Motions:
        """W Zᵀ."""
        return Motions([W @ row for row in self.rows])


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
        """C D⁻¹ Cᵀ for D = L diag(d) Lᵀ: with rows y = L⁻¹ Cᵀ, the sum of y yᵀ / d, symmetric by construction."""
        y: list[Motion] = []
        for i, column in enumerate(self.columns):
            for j in range(i):
                column = column - y[j] * inverse.L[i][j]
            y.append(column)
        total = Mobility.zero()
        for column, r in zip(y, inverse.reciprocals, strict=True):
            total = total + _outer(column, r)
        return total


def _outer(V: Motion, r: Scalar) -> Mobility:
    """r V Vᵀ."""
    w, v = V.angular, V.linear
    rw, rv = w * r, v * r
    return Mobility(
        Sym3(rw.x * w.x, rw.x * w.y, rw.x * w.z, rw.y * w.y, rw.y * w.z, rw.z * w.z),
        Mat3(*[a * b for a in rw for b in v]),
        Sym3(rv.x * v.x, rv.x * v.y, rv.x * v.z, rv.y * v.y, rv.y * v.z, rv.z * v.z),
    )
