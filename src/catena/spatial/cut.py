"""Mobilities of bodies cut loose from one another, and the directions in which joints hold them: Fixman's partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from catena.scalars import Scalar
from catena.spatial.axes import Dofs, InverseOfSmall, SmallSymmetric
from catena.spatial.inertia import ArticulatedInertia, RigidInertia
from catena.spatial.mobility import Mobility
from catena.spatial.motion import Force, Motion
from catena.spatial.transform import Transform
from catena.spatial.vectors import Mat3, Sym3, Vec3


@dataclass(slots=True)
class CutMobility(Mobility):
    """The inverse of an inertia; such mobilities add up, and change frames both ways."""

    @classmethod
    def of_point(cls, m: Scalar) -> CutMobility:
        """Of a point mass, which only forces move: moments have nothing to turn."""
        return cls(ArticulatedInertia(Sym3.scalar(1 / m), Mat3.skew(Vec3.zero()), Sym3.scalar(0)))

    @classmethod
    def of_body(cls, M: RigidInertia) -> CutMobility:
        """M⁻¹ of a rigid body at its frame; the body needs a mass and inertia about every axis through its centre."""
        c = M.h * (1 / M.m)
        turning = inverse(_at_centre(M, c))
        lever = Mat3(*[x for column in turning.rows for x in c.cross(column)]).T  # c̃ I⁻¹
        return cls(ArticulatedInertia(Mat3.skew(c).conjugate(turning) + Sym3.scalar(1 / M.m), lever, turning))

    def __add__(self, o: CutMobility) -> CutMobility:
        return CutMobility(self.dual + o.dual)

    def __neg__(self) -> CutMobility:
        return CutMobility(CutMobility.zero().dual - self.dual)

    def to_parent(self, phi: Transform) -> CutMobility:
        """φ⁻ᵀ W φ⁻¹: a mobility given in the child's frame, in the parent's."""
        return CutMobility(phi.congruence(self.dual))

    def to_child(self, phi: Transform) -> CutMobility:
        """φᵀ W φ: a mobility given in the parent's frame, in the child's."""
        return CutMobility(self.carried(phi).dual)


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

    def congruence(self, W: CutMobility) -> SmallSymmetric:
        """Z W Zᵀ + diag(give)."""
        moved = [W @ row for row in self.rows]
        product = SmallSymmetric([[moved[i].dot(self.rows[j]) for j in range(i + 1)] for i in range(len(moved))])
        return product.plus_diagonal(Dofs(self.give))

    def moved_by(self, W: CutMobility) -> Motions:
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

    def weighted(self, inverse: InverseOfSmall) -> CutMobility:
        """C D⁻¹ Cᵀ for D = L diag(d) Lᵀ: with rows y = L⁻¹ Cᵀ, the sum of y yᵀ / d, symmetric by construction."""
        y: list[Motion] = []
        for i, column in enumerate(self.columns):
            for j in range(i):
                column = column - y[j] * inverse.L[i][j]
            y.append(column)
        total = CutMobility(CutMobility.zero().dual)
        for column, r in zip(y, inverse.reciprocals, strict=True):
            total = total + _outer(column, r)
        return total


def _outer(V: Motion, r: Scalar) -> CutMobility:
    """r V Vᵀ."""
    w, v = V.angular, V.linear
    rw, rv = w * r, v * r
    return CutMobility(
        ArticulatedInertia(
            Sym3(rv.x * v.x, rv.x * v.y, rv.x * v.z, rv.y * v.y, rv.y * v.z, rv.z * v.z),
            Mat3(*[a * b for a in rv for b in w]),
            Sym3(rw.x * w.x, rw.x * w.y, rw.x * w.z, rw.y * w.y, rw.y * w.z, rw.z * w.z),
        )
    )
