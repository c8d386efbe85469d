"""Lee & Chirikjian (2005) in sweeps: planar chains and trees of point masses by Fixman's partition.

Every link is a weightless rod that turns about an axis across it, with a point mass at its end, where the next joints
are. Cut loose, a mass has mobility 1/m; link k's hard coordinate is its length, with the row n along the link, its soft
one the absolute angle, with the row t = n turned by 90° over the length. Joint angles are differences of absolute ones,
so joint torques add up to torques on links: β(k) = τ(k) − Σ τ(children). Nothing is singular at any angle, see errata.

The same sweeps as for rigid bodies then close the lengths again. The banded form of the paper is in
:mod:`catena.fixman.planar_point_masses`.
"""

from __future__ import annotations

from typing import Any

from catena.algorithms.fixman import Cut, joined, on_chain
from catena.kinds import Function
from catena.scalars import Scalar, log, sqrt
from catena.spatial import Dofs, Force, Motion, Vec3
from catena.spatial.cut import CutMobility, Directions
from catena.sweeps import Field, Links


def rod(k: Any) -> tuple[Vec3, Scalar]:
    """The direction of a link from its joint to its mass, in its frame, and its length."""
    M = k.M
    size = sqrt(M.h.dot(M.h))
    return M.h * (1 / size), size / M.m


def forward_dynamics(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Joint accelerations."""
    return tensions(links, q, v, tau, f_ext)[0]


def tensions(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> tuple[Field, Field]:
    """Joint accelerations, and the force along each link that keeps its length: positive when it pulls."""
    cut, (turn, torque, pull) = Cut.of(links, links.gravity), links.fields("turn torque pull")
    turn[links.base] = 0
    for k in links.base_to_tip():
        n, length = _cut_loose(cut, k, q)
        turn[k] = turn[k.parent] + v[k][0]
        cut.a[k] = Motion(Vec3.zero(), n * -(length * turn[k] * turn[k]))
        cut.u[k] = cut.w[k] = Motion.zero()
        torque[k] = Dofs([tau[k][0]])
        if f_ext is not None:
            load = k.frame @ f_ext[k]  # a force at the mass, and a torque on the link
            cut.u[k] = cut.w[k] = cut.N[k] @ load
            torque[k] = torque[k] + Dofs([load.angular.z - length * n.cross(load.linear).z])
    turns, wrench = _closed(links, cut, torque, tau)
    for k in links.base_to_tip():
        pull[k] = -wrench[k].linear.dot(rod(k)[0])
    return _relative(links, turns), pull


def solve(links: Links, q: Field, b: Field) -> Field:
    """x = (G^θθ)⁻¹ b (9)."""
    cut, (torque,) = Cut.of(links, Motion.zero()), links.fields("torque")
    for k in links.base_to_tip():
        _cut_loose(cut, k, q)
        cut.u[k] = cut.w[k] = cut.a[k] = Motion.zero()
        torque[k] = Dofs([b[k][0]])
    return _relative(links, _closed(links, cut, torque, b)[0])


def log_determinant(links: Links, q: Field) -> Field:
    """log det G^θθ = Σ (2 log m + 2 log L) + log det H^LL (8), kept at the base."""
    total: Field
    cut, (total,) = Cut.of(links, Motion.zero()), links.fields("total")
    total[links.base] = 0
    for k in links.base_to_tip():
        _, length = _cut_loose(cut, k, q)
        total[k] = 2 * log(k.M.m * length)
    for k in links.tip_to_base():
        W_parent = (cut.N if on_chain(links) else cut.W)[k.parent].to_child(cut.phi[k])
        E = cut.Z[k].congruence(cut.W[k] + W_parent).inv
        cut.W[k.parent] += -cut.Z[k].moved_by(W_parent).weighted(E).to_parent(cut.phi[k])
        total[k.parent] += total[k] + log(E.pivots[0])
    return total


def _cut_loose(cut: Cut, k: Any, q: Field) -> tuple[Vec3, Scalar]:
    """The transform, the rows t and n of (18), (21) with errata, and the mass's mobility; returns n and the length."""
    n, length = rod(k)
    across = Vec3(-n.y, n.x, 0) * (1 / length)
    cut.phi[k], _ = k.joint(q[k])
    cut.A[k] = Directions([Force(Vec3.zero(), across)], [])
    cut.Z[k] = Directions([Force(Vec3.zero(), n)], [0])
    cut.N[k] = cut.W[k] = CutMobility.of_point(k.M.m)
    return n, length


def _closed(links: Links, cut: Cut, torque: Field, tau: Field) -> tuple[Field, Field]:
    """Take the children's torques off each link's own, then close the lengths."""
    (own,) = links.fields("own")
    for k in links.tip_to_base():
        own[k] = torque[k]
        torque[k.parent] += -tau[k]
    return joined(links, cut, own)


def _relative(links: Links, turns: Field) -> Field:
    """Accelerations of joint angles from those of absolute ones."""
    x: Field
    (x,) = links.fields("x")
    turns[links.base] = Dofs([0])
    for k in links.base_to_tip():
        x[k] = turns[k] - turns[k.parent]
    return x


_STATE = {"q": "q", "v": "v", "tau": "v", "f_ext": "force"}

POINT_MASS = Function(
    "forward_dynamics/point_mass", forward_dynamics, _STATE, {"a": "v"}, optional=("f_ext",), regroup=False
)
TENSIONS = Function("tensions", tensions, _STATE, {"a": "v", "tension": "link"}, optional=("f_ext",), regroup=False)
SOLVE = Function("solve/point_mass", solve, {"q": "q", "b": "v"}, {"x": "v"}, regroup=False)
LOG_DETERMINANT = Function(
    "log_determinant/point_mass", log_determinant, {"q": "q"}, {"log_determinant": "robot"}, regroup=False
)
