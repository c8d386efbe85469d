"""Bodies cut loose from one another: their own mobilities, and what fastening an inertia does to a mobility."""

from __future__ import annotations

from dataclasses import dataclass

from catena.scalars import Scalar
from catena.spatial.axes import Dofs, SmallSymmetric
from catena.spatial.directions import Motions
from catena.spatial.inertia import ArticulatedInertia, RigidInertia
from catena.spatial.mobility import Mobility, reversed_stage
from catena.spatial.motion import Force, Motion
from catena.spatial.transform import ShiftAlong, Transform
from catena.spatial.vectors import Mat3, Sym3, Vec3


@dataclass(slots=True)
class RigidMobility:
    """M⁻¹ of a rigid body in ten numbers: its centre c, 1/m there, and the inverse of its inertia about it.

    Only bodies with a mass and with inertia about every axis through their centres have one.
    """

    linear: Scalar
    c: Vec3
    angular: Sym3

    @classmethod
    def of(cls, M: RigidInertia) -> RigidMobility:
        """From the inertia at a frame."""
        linear = 1 / M.m
        c = M.h * linear
        return cls(linear, c, inverse(_at_centre(M, c)))

    @classmethod
    def zero(cls) -> RigidMobility:
        """Of a body that no wrench can move."""
        return cls(0, Vec3.zero(), Sym3.scalar(0))

    def __matmul__(self, f: Force) -> Motion:
        turning = self.angular @ (f.angular - self.c.cross(f.linear))
        return Motion(turning, f.linear * self.linear + self.c.cross(turning))

    def carried(self, phi: Transform) -> Mobility:
        """φᵀ M⁻¹ φ: the mobility given in a parent's frame, in the child's, in blocks."""
        body = RigidInertia(self.linear, self.c, self.angular)
        for stage in phi.stages:
            back = reversed_stage(stage)
            if isinstance(back, ShiftAlong):
                i, j, k = body.h.cycle(back.axis)
                body = RigidInertia(body.m, Vec3.from_cycle(back.axis, i, j, k + back.d), body.I)
            else:
                body = back.rigid_to_parent(body)
        return RigidMobility(body.m, body.h, body.I).blocks

    @property
    def blocks(self) -> Mobility:
        """The 6 x 6 matrix in blocks."""
        lever = Mat3(*[x for column in self.angular.rows for x in self.c.cross(column)]).T  # c̃ I⁻¹
        moving = Mat3.skew(self.c).conjugate(self.angular) + Sym3.scalar(self.linear)
        return Mobility(ArticulatedInertia(moving, lever, self.angular))


def carrying(W: Mobility, P: ArticulatedInertia) -> tuple[Mobility, list[Scalar]]:
    """(W⁻¹ + P)⁻¹, a mobility W with an inertia P fastened to it; and numbers whose product is det(1 + W P).

    With W = L diag(d) Lᵀ it is L (diag(1/d) + Lᵀ P L)⁻¹ Lᵀ, so a P that is singular, or much larger than W⁻¹, costs no
    digits.
    """
    factors = SmallSymmetric.of(W.rows).inv
    columns = [Motion.of([0] * j + [1] + [factors.L[i][j] for i in range(j + 1, 6)]) for j in range(6)]
    felt = [P @ column for column in columns]
    inner = SmallSymmetric([[columns[j].dot(felt[i]) for j in range(i + 1)] for i in range(6)])
    inverse = inner.plus_diagonal(Dofs(factors.reciprocals)).inv
    return Motions(columns).weighted(inverse), [*factors.pivots, *inverse.pivots]


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
