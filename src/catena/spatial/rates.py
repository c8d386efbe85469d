"""Rates of a moving frame as Newton and Euler had them: ω, ω̇, and the acceleration of the origin as a point.

Written with the acceleration of a point, r̈ = a + U r with U = ω̃̇ + ω̃ ω̃, the inertia forces of a body need no linear
velocity at all, and the same U serves the body's own mass and the origins of the links it carries. That makes it the
cheapest way to the bias torques.
"""

from __future__ import annotations

from dataclasses import dataclass

from catena.spatial.axes import Axes, Dofs
from catena.spatial.inertia import RigidInertia
from catena.spatial.motion import Force, Motion
from catena.spatial.transform import ShiftAlong, Transform
from catena.spatial.vectors import Mat3, Sym3, Vec3


@dataclass(slots=True)
class Rates:
    """Angular velocity w, angular acceleration wdot and acceleration a of the origin, in the frame's own axes."""

    w: Vec3
    wdot: Vec3
    a: Vec3

    @property
    def tensor(self) -> Mat3:
        """U = ω̃̇ + ω̃ ω̃: a point at r has the acceleration a + U r."""
        (x, y, z), (dx, dy, dz) = self.w, self.wdot
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        return Mat3(-(yy + zz), xy - dz, xz + dy, xy + dz, -(xx + zz), yz - dx, xz - dy, yz + dx, -(xx + yy))

    def through(self, phi: Transform) -> Rates:
        """The rates of another frame of the same body, at the end of a transform that does not move."""
        w, wdot, a = self.w, self.wdot, self.a
        for stage in phi.stages:
            if isinstance(stage, ShiftAlong):
                column = dict(zip("xyz", Rates(w, wdot, a).tensor.columns, strict=True))[stage.axis]
                a = a + column * stage.d
            else:
                w = stage.motion_to_child(Motion(w, Vec3.zero())).angular
                turned = stage.motion_to_child(Motion(wdot, a))
                wdot, a = turned.angular, turned.linear
        return Rates(w, wdot, a)

    def joined(self, H: Axes, v: Dofs, rate: Motion) -> Rates:
        """The rates of the link beyond a joint with axes H that moves with speeds v; ``rate`` is Ḣᵀ v plus Hᵀ v̇."""
        relative = H.T @ v
        w, u = self.w, relative.linear
        a = self.a + (w + w + relative.angular).cross(u) + rate.linear
        return Rates(w + relative.angular, self.wdot + w.cross(relative.angular) + rate.angular, a)

    def wrench(self, M: RigidInertia) -> Force:
        """The force that moves a body so: (∫ r × r̈ dm, ∫ r̈ dm), about the origin.

        With J = ∫ r rᵀ dm, the moment ∫ r × U r dm is the skew part of U J.
        """
        U, J, h = self.tensor, second_moments(M.I), M.h
        xx, yy, zz = (rate * rate for rate in self.w)
        moment = Vec3(
            U.zx * J.xy - U.yx * J.xz + (zz - yy) * J.yz + U.zy * J.yy - U.yz * J.zz,
            U.xy * J.yz - U.zy * J.xy + (xx - zz) * J.xz + U.xz * J.zz - U.zx * J.xx,
            U.yz * J.xz - U.xz * J.yz + (yy - xx) * J.xy + U.yx * J.xx - U.xy * J.yy,
        )
        return Force(moment + h.cross(self.a), self.a * M.m + U @ h)


def second_moments(inertia: Sym3) -> Sym3:
    """J = ∫ r rᵀ dm = ½ tr(I) 1 − I of a body with the moment of inertia I."""
    half = (inertia.xx + inertia.yy + inertia.zz) / 2
    return Sym3(half - inertia.xx, -inertia.xy, -inertia.xz, half - inertia.yy, -inertia.yz, half - inertia.zz)
