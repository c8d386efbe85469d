"""Rigid transforms as short chains of elementary stages, applied one after the other and never multiplied out.

A :class:`Transform` goes from a parent frame to a child frame. As in Rodriguez & Kreutz, ``phi @ force`` carries a
force from the child to the parent, ``phi.T @ motion`` carries a motion from the parent to the child, and
``phi.congruence(P)`` = φ P φᵀ carries an inertia from the child to the parent.

Turning a plane costs less when the sum and the difference of the diagonal entries are turned instead of the entries:
with w = s (S_ii − S_jj) + c (S_ij + S_ji), S_ii − s w, S_jj + s w, c w − S_ji and c w − S_ij are the turned entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar, overload

from catena.scalars import Scalar, is_zero
from catena.spatial.inertia import ArticulatedInertia, RigidInertia
from catena.spatial.motion import Force, Motion
from catena.spatial.vectors import Mat3, Sym3, Vec3

Inertia = TypeVar("Inertia", RigidInertia, ArticulatedInertia)


class Stage(Protocol):
    """An elementary rigid motion from a parent frame to a child frame."""

    def force_to_parent(self, f: Force) -> Force:
        """A force given in the child's frame, in the parent's."""

    def force_to_child(self, f: Force) -> Force:
        """A force given in the parent's frame, in the child's."""

    def motion_to_parent(self, V: Motion) -> Motion:
        """A motion given in the child's frame, in the parent's."""

    def motion_to_child(self, V: Motion) -> Motion:
        """A motion given in the parent's frame, in the child's."""

    def rigid_to_parent(self, M: RigidInertia) -> RigidInertia:
        """A rigid inertia given in the child's frame, in the parent's."""

    def articulated_to_parent(self, P: ArticulatedInertia) -> ArticulatedInertia:
        """An articulated inertia given in the child's frame, in the parent's."""


@dataclass(slots=True)
class TurnAbout:
    """A rotation about the frame's own axis "x", "y" or "z", by the angle with cosine c and sine s."""

    axis: str
    c: Scalar
    s: Scalar

    def _out(self, u: Vec3) -> Vec3:
        i, j, k = u.cycle(self.axis)
        return Vec3.from_cycle(self.axis, self.c * i - self.s * j, self.s * i + self.c * j, k)

    def _in(self, u: Vec3) -> Vec3:
        i, j, k = u.cycle(self.axis)
        return Vec3.from_cycle(self.axis, self.c * i + self.s * j, self.c * j - self.s * i, k)

    def force_to_parent(self, f: Force) -> Force:
        """Turn both parts outwards."""
        return Force(self._out(f.angular), self._out(f.linear))

    def force_to_child(self, f: Force) -> Force:
        """Turn both parts inwards."""
        return Force(self._in(f.angular), self._in(f.linear))

    def motion_to_parent(self, V: Motion) -> Motion:
        """Turn both parts outwards."""
        return Motion(self._out(V.angular), self._out(V.linear))

    def motion_to_child(self, V: Motion) -> Motion:
        """Turn both parts inwards."""
        return Motion(self._in(V.angular), self._in(V.linear))

    def _symmetric(self, S: Sym3) -> Sym3:
        c, s = self.c, self.s
        ii, ij, ik, jj, jk, kk = S.cycle(self.axis)
        tips = (c * ik - s * jk, s * ik + c * jk)
        if is_zero(jj) and is_zero(ij):  # what a joint leaves free: no sums, no digits lost where c or s is small
            plane = (c * c * ii, s * c * ii, s * s * ii)
        elif is_zero(ii) and is_zero(ij):
            plane = (s * s * jj, -(s * c * jj), c * c * jj)
        else:
            w = s * (ii - jj) + c * (ij + ij)
            plane = (ii - s * w, c * w - ij, jj + s * w)
        return Sym3.from_cycle(self.axis, plane[0], plane[1], tips[0], plane[2], tips[1], kk)

    def _general(self, A: Mat3) -> Mat3:
        c, s = self.c, self.s
        ii, ij, ik, ji, jj, jk, ki, kj, kk = A.cycle(self.axis)
        w = s * (ii - jj) + c * (ij + ji)
        return Mat3.from_cycle(
            self.axis,
            *(ii - s * w, c * w - ji, c * ik - s * jk),
            *(c * w - ij, jj + s * w, s * ik + c * jk),
            *(c * ki - s * kj, s * ki + c * kj, kk),
        )

    def rigid_to_parent(self, M: RigidInertia) -> RigidInertia:
        """Turn the first moment and the moment of inertia."""
        return RigidInertia(M.m, self._out(M.h), self._symmetric(M.I))

    def articulated_to_parent(self, P: ArticulatedInertia) -> ArticulatedInertia:
        """Turn the three blocks."""
        return ArticulatedInertia(self._symmetric(P.J), self._general(P.H), self._symmetric(P.M))


@dataclass(slots=True)
class ShiftAlong:
    """A translation by d along the frame's own axis "x", "y" or "z"."""

    axis: str
    d: Scalar

    def _moment(self, f: Vec3) -> Vec3:
        """The moment d e_k × f, as seen from the parent."""
        i, j, _ = f.cycle(self.axis)
        return Vec3.from_cycle(self.axis, -(self.d * j), self.d * i, 0)

    def force_to_parent(self, f: Force) -> Force:
        """Add the moment of the force."""
        return Force(f.angular + self._moment(f.linear), f.linear)

    def force_to_child(self, f: Force) -> Force:
        """Take the moment of the force away."""
        return Force(f.angular - self._moment(f.linear), f.linear)

    def motion_to_parent(self, V: Motion) -> Motion:
        """Take the velocity of the shifted origin away."""
        return Motion(V.angular, V.linear + self._moment(V.angular))

    def motion_to_child(self, V: Motion) -> Motion:
        """Add the velocity ω × d e_k of the shifted origin."""
        return Motion(V.angular, V.linear - self._moment(V.angular))

    def rigid_to_parent(self, M: RigidInertia) -> RigidInertia:
        """The parallel-axis theorem along one axis."""
        d, (hi, hj, hk) = self.d, M.h.cycle(self.axis)
        ii, ij, ik, jj, jk, kk = M.I.cycle(self.axis)
        hk_new = hk + d * M.m
        steiner = d * (hk + hk_new)
        I = Sym3.from_cycle(self.axis, ii + steiner, ij, ik - d * hi, jj + steiner, jk - d * hj, kk)
        return RigidInertia(M.m, Vec3.from_cycle(self.axis, hi, hj, hk_new), I)

    def articulated_to_parent(self, P: ArticulatedInertia) -> ArticulatedInertia:
        """H + p̃ M, and J − H p̃ + p̃ (H + p̃ M)ᵀ, for p = d e_k."""
        d, axis = self.d, self.axis
        Mii, Mij, Mik, Mjj, Mjk, _ = P.M.cycle(axis)
        ii, ij, ik, ji, jj, jk, ki, kj, kk = P.H.cycle(axis)
        ii_, ij_, ik_ = ii - d * Mij, ij - d * Mjj, ik - d * Mjk
        ji_, jj_, jk_ = ji + d * Mii, jj + d * Mij, jk + d * Mik
        Jii, Jij, Jik, Jjj, Jjk, Jkk = P.J.cycle(axis)
        J = Sym3.from_cycle(
            axis,
            *(Jii - d * (ij + ij_), Jij + d * (ii - jj_), Jik - d * kj),
            *(Jjj + d * (ji + ji_), Jjk + d * ki, Jkk),
        )
        return ArticulatedInertia(J, Mat3.from_cycle(axis, ii_, ij_, ik_, ji_, jj_, jk_, ki, kj, kk), P.M)


@dataclass(slots=True)
class Turn:
    """A rotation by a matrix R whose columns are the child's axes in the parent's frame."""

    R: Mat3

    def force_to_parent(self, f: Force) -> Force:
        """Turn both parts outwards."""
        return Force(self.R @ f.angular, self.R @ f.linear)

    def force_to_child(self, f: Force) -> Force:
        """Turn both parts inwards."""
        return Force(self.R.T @ f.angular, self.R.T @ f.linear)

    def motion_to_parent(self, V: Motion) -> Motion:
        """Turn both parts outwards."""
        return Motion(self.R @ V.angular, self.R @ V.linear)

    def motion_to_child(self, V: Motion) -> Motion:
        """Turn both parts inwards."""
        return Motion(self.R.T @ V.angular, self.R.T @ V.linear)

    def rigid_to_parent(self, M: RigidInertia) -> RigidInertia:
        """Turn the first moment and the moment of inertia."""
        return RigidInertia(M.m, self.R @ M.h, self.R.conjugate(M.I))

    def articulated_to_parent(self, P: ArticulatedInertia) -> ArticulatedInertia:
        """Turn the three blocks."""
        H = self.R.times(P.H).times(self.R.T)
        return ArticulatedInertia(self.R.conjugate(P.J), H, self.R.conjugate(P.M))


@dataclass(slots=True)
class Transform:
    """φ: from a parent frame to a child frame through stages, the one at the parent first."""

    stages: tuple[Stage, ...]

    @classmethod
    def of(cls, *stages: Stage) -> Transform:
        """The transform through the given stages, without those that do nothing."""
        return cls(tuple(s for s in stages if not _does_nothing(s)))

    @classmethod
    def shift(cls, p: Vec3) -> Transform:
        """A translation by p."""
        return cls.of(ShiftAlong("x", p.x), ShiftAlong("y", p.y), ShiftAlong("z", p.z))

    def then(self, o: Transform) -> Transform:
        """First this transform, then another that starts at its child frame."""
        return Transform(self.stages + o.stages)

    @property
    def T(self) -> Transposed:
        """φᵀ, which carries motions from the parent to the child."""
        return Transposed(self)

    @property
    def inv(self) -> Inverse:
        """φ⁻¹, which carries forces from the parent to the child; its transpose carries motions to the parent."""
        return Inverse(self)

    def __matmul__(self, f: Force) -> Force:
        for stage in reversed(self.stages):
            f = stage.force_to_parent(f)
        return f

    def congruence(self, P: Inertia) -> Inertia:
        """φ P φᵀ: an inertia given in the child's frame, in the parent's."""
        for stage in reversed(self.stages):
            P = stage.rigid_to_parent(P) if isinstance(P, RigidInertia) else stage.articulated_to_parent(P)
        return P


def _does_nothing(stage: Stage) -> bool:
    if isinstance(stage, ShiftAlong):
        return is_zero(stage.d)
    return isinstance(stage, TurnAbout) and is_zero(stage.s) and isinstance(stage.c, int | float) and stage.c == 1


@dataclass(slots=True)
class Transposed:
    """φᵀ."""

    phi: Transform

    def __matmul__(self, V: Motion) -> Motion:
        for stage in self.phi.stages:
            V = stage.motion_to_child(V)
        return V


@dataclass(slots=True)
class Inverse:
    """φ⁻¹ on forces, and with ``.T`` φ⁻ᵀ on motions."""

    phi: Transform
    transposed: bool = False

    @property
    def T(self) -> Inverse:
        """The transpose of the inverse."""
        return Inverse(self.phi, not self.transposed)

    @overload
    def __matmul__(self, x: Force) -> Force: ...
    @overload
    def __matmul__(self, x: Motion) -> Motion: ...
    def __matmul__(self, x: Force | Motion) -> Force | Motion:
        if isinstance(x, Motion):
            for stage in reversed(self.phi.stages):
                x = stage.motion_to_parent(x)
            return x
        for stage in self.phi.stages:
            x = stage.force_to_child(x)
        return x
