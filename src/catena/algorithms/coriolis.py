"""The Coriolis matrix C(q, v) made of Christoffel symbols, so that Ṁ − 2 C is skew: Echeandia & Wensing (2021).

C = Σ Jᵀ (M J̇ + B J) over the links. B gives each particle of a link, which moves with some velocity u, the acceleration
ω' × u that another turning ω' of the link would give it. Such a B has the blocks [[T, 0], [−f̃, 0]], with f the link's
linear momentum: twelve numbers instead of the 36 of the paper.

Source: S. Echeandia, P. M. Wensing, "Numerical methods to compute the Coriolis matrix and Christoffel symbols for
rigid-body systems", J. Comput. Nonlinear Dyn. 16 (2021), algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.functions.function import Function
from catena.functions.recipes import columns
from catena.scalars import Scalar
from catena.spatial import (
    ArticulatedInertia,
    Axes,
    Dofs,
    Force,
    Mat3,
    Motion,
    RigidInertia,
    ShiftAlong,
    Sym3,
    Transform,
    Vec3,
)
from catena.sweeps import Field, Links


@dataclass(slots=True)
class Turning:
    """B: from a turning ω' of a body whose particles move as they do, to the force that turns their momenta."""

    T: Mat3
    f: Vec3

    @classmethod
    def of(cls, M: RigidInertia, V: Motion) -> Turning:
        """Of a body with inertia M that moves with V: T = ω̃ (I − ½ tr I) − h̃ ṽ."""
        w, v, h = V.angular, V.linear, M.h
        S = M.I - Sym3.scalar(0.5 * (M.I.xx + M.I.yy + M.I.zz))
        T = Mat3.skew(w).times(Mat3(*[x for row in S.rows for x in row])) - Mat3.skew(h).times(Mat3.skew(v))
        return cls(T, (M @ V).linear)

    def __add__(self, o: Turning) -> Turning:
        return Turning(self.T + o.T, self.f + o.f)

    def __matmul__(self, V: Motion) -> Force:
        return Force(self.T @ V.angular, V.angular.cross(self.f))

    def transpose_times(self, V: Motion) -> Force:
        """Bᵀ V."""
        return Force(self.T.T @ V.angular + self.f.cross(V.linear), Vec3.zero())

    def to_parent(self, phi: Transform) -> Turning:
        """φ B φᵀ."""
        T, f = self.T, self.f
        for stage in reversed(phi.stages):
            if isinstance(stage, ShiftAlong):
                T = T - Mat3.skew(Vec3.from_cycle(stage.axis, 0, 0, stage.d)).times(Mat3.skew(f))
            else:
                nothing = Sym3.scalar(0)
                T = stage.articulated_to_parent(ArticulatedInertia(nothing, T, nothing)).H
                f = stage.force_to_parent(Force(Vec3.zero(), f)).linear
        return Turning(T, f)


def _axis_rates(k: Any, V: Motion, H: Axes, q: Dofs, v: Dofs) -> Axes:
    """How fast the axes of a joint change, seen from the base, in the frame of the link."""
    rates = k.joint_type.axis_rates(q, v)
    return Axes([V.cross(axis) + rate for axis, rate in zip(H.columns, rates, strict=True)])


def coriolis_times(links: Links, q: Field, v: Field, x: Field) -> Field:
    """C(q, v) x in two sweeps; with x = v, the Coriolis and centrifugal torques."""
    phi, H, V, W, A, f, y = links.fields("phi H V W A f y")
    V[links.base], W[links.base], A[links.base] = Motion.zero(), Motion.zero(), Motion.zero()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        V[k] = phi[k].T @ V[k.parent] + H[k].T @ v[k]
        W[k] = phi[k].T @ W[k.parent] + H[k].T @ x[k]
        A[k] = phi[k].T @ A[k.parent] + _axis_rates(k, V[k], H[k], q[k], v[k]).T @ x[k]
        f[k] = k.M @ A[k] + Turning.of(k.M, V[k]) @ W[k]
    for k in links.tip_to_base():
        y[k] = H[k] @ f[k] + k.rotor_coriolis(H[k], v[k], x[k])
        f[k.parent] += phi[k] @ f[k]
    return y


def coriolis_matrix(links: Any, q: Field, v: Field) -> list[list[Scalar]]:
    """C(q, v), nv rows. For unrolled kernels only; O(n d) for a tree of depth d."""
    phi, H, rates, V, M, B = links.fields("phi H rates V M B")
    V[links.base] = Motion.zero()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        V[k] = phi[k].T @ V[k.parent] + H[k].T @ v[k]
        rates[k] = _axis_rates(k, V[k], H[k], q[k], v[k])
        M[k], B[k] = k.M, Turning.of(k.M, V[k])
    C: list[list[Scalar]] = [[0] * links.nv for _ in range(links.nv)]
    for k in links.tip_to_base():
        for j, (axis, rate) in enumerate(zip(H[k].columns, rates[k].columns, strict=True), k.v_start):
            down, mass, up = M[k] @ rate + B[k] @ axis, M[k] @ axis, B[k].transpose_times(axis)
            unit = Dofs([int(i == j) for i in range(k.v_start, k.v_start + len(H[k].columns))])
            for i, x in enumerate(H[k] @ down + k.rotor_coriolis(H[k], v[k], unit), k.v_start):
                C[i][j] = x
            link = k
            while link.parent is not links.base:
                down, mass, up = phi[link] @ down, phi[link] @ mass, phi[link] @ up
                link = link.parent
                for i, x in enumerate(H[link] @ down, link.v_start):
                    C[i][j] = x
                for i, x in enumerate(rates[link] @ mass + H[link] @ up, link.v_start):
                    C[j][i] = x
        M[k.parent] += phi[k].congruence(M[k])
        B[k.parent] += B[k].to_parent(phi[k])
    return C


CORIOLIS_TIMES = Function("coriolis_times", coriolis_times, {"q": "q", "v": "v", "x": "v"}, {"y": "tau"})
CORIOLIS_MATRIX = Function(
    "coriolis_matrix",
    coriolis_matrix,
    {"q": "q", "v": "v"},
    {"C": "dense:nv,nv"},
    recipe=lambda ask, q, v: columns(ask, CORIOLIS_TIMES, ask.tree.nv, q, v),
)
