"""Rigid and articulated inertias in blocks, never as 6 x 6 matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from catena.scalars import Scalar
from catena.spatial.axes import AxesTransposed, Columns
from catena.spatial.motion import Force, Motion
from catena.spatial.vectors import Mat3, Sym3, Vec3


@dataclass(slots=True)
class RigidInertia:
    """The inertia of a rigid body at a frame: mass m, first moment h = m c, moment of inertia I about the origin."""

    m: Scalar
    h: Vec3
    I: Sym3

    def __matmul__(self, V: Motion) -> Force:
        """The momentum of the body moving with V."""
        w, v = V.angular, V.linear
        return Force(self.I @ w + self.h.cross(v), v * self.m - self.h.cross(w))

    def __add__(self, o: RigidInertia) -> RigidInertia:
        return RigidInertia(self.m + o.m, self.h + o.h, self.I + o.I)

    @property
    def articulated(self) -> ArticulatedInertia:
        """The same inertia in the blocks of an articulated one."""
        return ArticulatedInertia(self.I, Mat3.skew(self.h), Sym3.scalar(self.m))


@dataclass(slots=True)
class ArticulatedInertia:
    """An inertia felt through joints: moment = J ω + H v, force = Hᵀ ω + M v, with J and M symmetric."""

    J: Sym3
    H: Mat3
    M: Sym3

    def __add__(self, o: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.J + o.J, self.H + o.H, self.M + o.M)

    def __sub__(self, o: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.J - o.J, self.H - o.H, self.M - o.M)

    @overload
    def __matmul__(self, V: Motion) -> Force: ...
    @overload
    def __matmul__(self, V: AxesTransposed) -> Columns: ...
    def __matmul__(self, V: Motion | AxesTransposed) -> Force | Columns:
        """The force that gives the body acceleration V, or one such force for each axis of a joint."""
        if isinstance(V, AxesTransposed):
            return Columns([self @ column for column in V.axes.columns], V.axes)
        w, v = V.angular, V.linear
        return Force(self.J @ w + self.H @ v, self.H.T @ w + self.M @ v)
