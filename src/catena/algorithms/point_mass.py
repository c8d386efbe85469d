"""Lee & Chirikjian (2005) in sweeps: planar chains and trees of point masses by Fixman's partition.

Every link is a weightless rod that turns about an axis across it, with a point mass at its end, where the next joints
are. Cut loose, a mass has mobility 1/m; link k's hard coordinate is its length, with the row n along the link, its soft
one the absolute angle, with the row t = n turned by 90° over the length. Joint angles are differences of absolute ones,
so joint torques add up to torques on links: β(k) = τ(k) − Σ τ(children). Nothing is singular at any angle, see errata.

The sweeps are those of :mod:`catena.algorithms.fixman`, with points of a plane in place of bodies: mobilities are 2 x
2, and changing frames is turning. The banded form of the paper is in :mod:`catena.fixman.planar_point_masses`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from catena.functions.function import Function
from catena.scalars import Scalar, log, sqrt
from catena.spatial import Dofs, Motion, Vec3
from catena.spatial.plane import Sym2, Turn2, Vec2
from catena.sweeps import Field, Links


@dataclass
class Rods:
    """The masses cut loose: transforms, torques on links, and what a joint does by velocities alone (a).

    N = 1/m is a mass's own mobility and u what it does when left alone; W is its mobility with all beyond it, w what
    all beyond it adds to u.
    """

    phi: Field
    torque: Field
    a: Field
    N: Field
    u: Field
    W: Field
    w: Field

    @classmethod
    def of(cls, links: Links) -> Rods:
        """Empty fields, with a base that nothing moves."""
        rods = cls(*links.fields("phi torque a N u W w"))
        rods.N[links.base], rods.W[links.base] = 0, Sym2.scalar(0)
        rods.u[links.base] = rods.w[links.base] = Vec2(0, 0)
        return rods

    def loosen(self, k: Any, q: Dofs, b: Dofs) -> None:
        """Cut the mass of link k loose; at rest, with torque b on its joint."""
        self.phi[k], _ = k.joint(q)
        self.torque[k], self.N[k] = b[0], 1 / k.M.m
        self.W[k] = Sym2.scalar(self.N[k])
        self.a[k] = self.u[k] = self.w[k] = Vec2(0, 0)

    def at_parent(self, k: Any) -> tuple[Sym2, Vec2]:
        """Mobility and acceleration of the parent's mass before link k is joined to it, in the frame of k."""
        turn = Turn2.of(self.phi[k])
        if k.only_child:  # finds it as it was
            return Sym2.scalar(self.N[k.parent]), turn.to_child(self.u[k.parent])
        return turn.matrix_to_child(self.W[k.parent]), turn.to_child(self.u[k.parent] + self.w[k.parent])


def rod(k: Any) -> tuple[Vec2, Scalar]:
    """The direction of a link from its joint to its mass, in its frame, and its length."""
    h = Vec2(k.M.h.x, k.M.h.y)
    size = sqrt(h.dot(h))
    return h * (1 / size), size / k.M.m


def forward_dynamics(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Joint accelerations."""
    return tensions(links, q, v, tau, f_ext)[0]


def tensions(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> tuple[Field, Field]:
    """Joint accelerations, and the force along each link that keeps its length: positive when it pulls."""
    rods, (rate,) = Rods.of(links), links.fields("rate")
    rate[links.base] = 0
    for k in links.base_to_tip():
        n, length = rod(k)
        rate[k] = rate[k.parent] + v[k][0]
        rods.loosen(k, q[k], tau[k])
        rods.a[k] = n * -(length * rate[k] * rate[k])
        if f_ext is not None:
            load = k.frame @ f_ext[k]  # a force at the mass, and a torque on the link
            force = Vec2(load.linear.x, load.linear.y)
            rods.u[k] = force * rods.N[k]
            rods.torque[k] = rods.torque[k] + load.angular.z - length * n.across.dot(force)
    return _joined(links, rods, tau, links.gravity)


def solve(links: Links, q: Field, b: Field) -> Field:
    """x = (G^θθ)⁻¹ b (9)."""
    rods = Rods.of(links)
    for k in links.base_to_tip():
        rods.loosen(k, q[k], b[k])
    return _joined(links, rods, b, Motion.zero())[0]


def _joined(links: Links, rods: Rods, tau: Field, gravity: Motion) -> tuple[Field, Field]:
    """Close the lengths again (13): accelerations of the joint angles, and tensions."""
    G, nu, hold, free, alpha, turning, x, pull = links.fields("G nu hold free alpha turning x pull")
    alpha[links.base], turning[links.base] = -gravity.linear, 0
    for k in links.tip_to_base():
        n, length = rod(k)
        drive = n.across * (rods.torque[k] / length)
        free[k] = rods.u[k] + rods.w[k] + rods.W[k] @ drive - rods.a[k]
        moved = rods.W[k] @ n
        hold[k] = n.dot(moved)
        G[k] = (n.across - n * (n.across.dot(moved) / hold[k])) * (1 / length)
        nu[k] = G[k].dot(free[k])
        turn, (W, w) = Turn2.of(rods.phi[k]), rods.at_parent(k)
        C, push = W @ n, W @ drive
        E = 1 / (hold[k] + n.dot(C))  # H^LL(k,k)
        y = n.dot(free[k] - w + push) * E  # (13): d = Hᵇᵃ b, and what the cut masses do anyway
        rods.W[k.parent] += Sym2.outer(turn.to_parent(C), -E)
        rods.w[k.parent] += turn.to_parent(C * y - push)
        rods.torque[k.parent] += -tau[k][0]
    for k in links.base_to_tip():
        n, length = rod(k)
        inside = (rods.phi[k].T @ Motion(Vec3.zero(), alpha[k.parent])).linear  # the base's may point out of the plane
        alpha_in = Vec2(inside.x, inside.y)
        turning[k] = nu[k] - G[k].dot(alpha_in)  # (12), of the absolute angle
        moving = alpha_in + rods.a[k] + n.across * (length * turning[k])
        alpha[k] = Vec3(moving.x, moving.y, 0)
        x[k] = Dofs([turning[k] - turning[k.parent]])
        pull[k] = n.dot(free[k] - alpha_in) / hold[k]
    return x, pull


def log_determinant(links: Links, q: Field) -> Field:
    """log det G^θθ = Σ (2 log m + 2 log L) + log det H^LL (8), kept at the base."""
    total: Field
    rods, (total,) = Rods.of(links), links.fields("total")
    total[links.base] = 0
    for k in links.base_to_tip():
        rods.loosen(k, q[k], Dofs([0]))
        total[k] = 2 * log(k.M.m * rod(k)[1])
    for k in links.tip_to_base():
        n, _ = rod(k)
        C = rods.at_parent(k)[0] @ n
        E = n.dot(rods.W[k] @ n) + n.dot(C)
        rods.W[k.parent] += Sym2.outer(Turn2.of(rods.phi[k]).to_parent(C), -1 / E)
        total[k.parent] += total[k] + log(E)
    return total


_STATE = {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"}

POINT_MASS = Function(
    "forward_dynamics/point_mass", forward_dynamics, _STATE, {"a": "v"}, optional=("f_ext",), regroup=False
)
TENSIONS = Function("tensions", tensions, _STATE, {"a": "v", "tension": "link"}, optional=("f_ext",), regroup=False)
SOLVE = Function("solve/point_mass", solve, {"q": "q", "b": "tau"}, {"x": "v"}, regroup=False)
LOG_DETERMINANT = Function(
    "log_determinant/point_mass", log_determinant, {"q": "q"}, {"log_determinant": "robot"}, regroup=False
)
