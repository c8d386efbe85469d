"""Energies, momenta and the centre of mass: sums over all links, carried to the base.

Sweeps give the sums at the base's origin. What is about the centre of mass follows from them by a few operations that
are written once, over any scalar: they are traced into unrolled kernels, and run on whole arrays after rolled ones.
"""

from __future__ import annotations

from typing import Any

from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Force, Motion, RigidInertia, Sym3, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links


def total_inertia(links: Links, q: Field) -> Field:
    """At the base: the inertia of all that moves as one rigid body, about the base's origin."""
    phi, M = links.fields("phi M")
    M[links.base] = RigidInertia(0, Vec3.zero(), Sym3.scalar(0))
    for k in links.base_to_tip():
        phi[k], _ = k.joint(q[k])
        M[k] = k.M
    for k in links.tip_to_base():
        M[k.parent] += phi[k].congruence(M[k])
    return M


def momentum(links: Links, q: Field, v: Field) -> Field:
    """At the base: the momentum of all links (angular about the base's origin, linear)."""
    phi, V, f = links.fields("phi V f")
    V[links.base], f[links.base] = Motion.zero(), Force.zero()
    for k in links.base_to_tip():
        phi[k], H = k.joint(q[k])
        V[k] = phi[k].T @ V[k.parent] + H.T @ v[k]
        f[k] = k.M @ V[k]
    for k in links.tip_to_base():
        f[k.parent] += phi[k] @ f[k]
    return f


def momentum_axes(links: Links, q: Field) -> Field:
    """For each degree of freedom the momentum of all links at unit speed, in the base's frame and about its origin."""
    phi, H, M, X, axes = links.fields("phi H M X axes")
    X[links.base] = Pose.identity()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        M[k] = k.M
        X[k] = X[k.parent].then(phi[k])
    for k in links.tip_to_base():
        axes[k] = [X[k].force_out(M[k] @ column) for column in H[k].columns]
        M[k.parent] += phi[k].congruence(M[k])
    return axes


def kinetic_energy(links: Links, q: Field, v: Field) -> Field:
    """At the base: ½ vᵀ M(q) v, the rotors' inertia (armature) included."""
    V, E = links.fields("V E")
    V[links.base], E[links.base] = Motion.zero(), 0
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        V[k] = phi.T @ V[k.parent] + H.T @ v[k]
        E[k] = 0.5 * (V[k].dot(k.M @ V[k]) + v[k].dot(k.armature * v[k]))
    for k in links.tip_to_base():
        E[k.parent] += E[k]
    return E


def gravity_torque(links: Links, q: Field) -> Field:
    """The joint torques that hold the mechanism at rest against gravity."""
    phi, H, alpha, f, tau = links.fields("phi H alpha f tau")
    alpha[links.base] = -links.gravity
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        alpha[k] = phi[k].T @ alpha[k.parent]
        f[k] = k.M @ alpha[k]
    for k in links.tip_to_base():
        tau[k] = H[k] @ f[k]
        f[k.parent] += phi[k] @ f[k]
    return tau


def center_of_mass(total: RigidInertia) -> Vec3:
    """The centre of mass of a body whose inertia is given."""
    c: Vec3 = total.h * (1 / total.m)
    return c


def potential_energy(total: RigidInertia, gravity: Motion) -> Scalar:
    """-g · m c: zero when the centre of mass is at the base's origin."""
    return -(gravity.linear.dot(total.h))


def about(c: Vec3, f: Force) -> Force:
    """A momentum about the origin, about the point c."""
    return Force(f.angular - c.cross(f.linear), f.linear)


def mean_velocity(total: RigidInertia, f: Force) -> Vec3:
    """The velocity of the centre of mass of a body with momentum f."""
    v: Vec3 = f.linear * (1 / total.m)
    return v


class Unrolled:
    """The same quantities in one piece, for unrolled kernels."""

    @staticmethod
    def center_of_mass(links: Any, q: Field) -> list[Scalar]:
        """Three numbers in the base's frame."""
        return list(center_of_mass(total_inertia(links, q)[links.base]))

    @staticmethod
    def potential_energy(links: Any, q: Field) -> Scalar:
        """One number."""
        return potential_energy(total_inertia(links, q)[links.base], links.gravity)

    @staticmethod
    def center_of_mass_velocity(links: Any, q: Field, v: Field) -> list[Scalar]:
        """Three numbers in the base's frame."""
        return list(mean_velocity(total_inertia(links, q)[links.base], momentum(links, q, v)[links.base]))

    @staticmethod
    def center_of_mass_jacobian(links: Any, q: Field) -> list[list[Scalar]]:
        """Three rows, one column for each degree of freedom."""
        total, axes = total_inertia(links, q)[links.base], momentum_axes(links, q)
        return _rows([list(mean_velocity(total, f)) for k in links for f in axes[k]])

    @staticmethod
    def momentum_about(links: Any, q: Field, v: Field, point: list[Scalar]) -> list[Scalar]:
        """Six numbers, about a point in the base's frame, in the base's axes."""
        return about(Vec3(*point), momentum(links, q, v)[links.base]).components

    @staticmethod
    def centroidal_momentum(links: Any, q: Field, v: Field) -> list[Scalar]:
        """Six numbers, about the centre of mass, in the base's axes."""
        total = total_inertia(links, q)[links.base]
        return about(center_of_mass(total), momentum(links, q, v)[links.base]).components

    @staticmethod
    def centroidal_momentum_matrix(links: Any, q: Field) -> list[list[Scalar]]:
        """Six rows, one column for each degree of freedom."""
        c, axes = center_of_mass(total_inertia(links, q)[links.base]), momentum_axes(links, q)
        return _rows([about(c, f).components for k in links for f in axes[k]])


def _rows(columns: list[list[Scalar]]) -> list[list[Scalar]]:
    return [list(row) for row in zip(*columns, strict=True)]


_Q, _QV = {"q": "q"}, {"q": "q", "v": "v"}

TOTAL_INERTIA = Function("total_inertia", total_inertia, _Q, {"total": "robot:10"}, regroup=False)
MOMENTUM = Function("momentum", momentum, _QV, {"momentum": "robot:6"})
MOMENTUM_AXES = Function("momentum_axes", momentum_axes, _Q, {"axes": "axes"})
KINETIC_ENERGY = Function("kinetic_energy", kinetic_energy, _QV, {"energy": "robot"})
GRAVITY_TORQUE = Function("gravity_torque", gravity_torque, _Q, {"tau": "v"})

CENTER_OF_MASS = Function("center_of_mass", Unrolled.center_of_mass, _Q, {"c": "dense:3"}, regroup=False)
POTENTIAL_ENERGY = Function("potential_energy", Unrolled.potential_energy, _Q, {"energy": "dense:"}, regroup=False)
CENTER_OF_MASS_VELOCITY = Function(
    "center_of_mass_velocity", Unrolled.center_of_mass_velocity, _QV, {"v": "dense:3"}, regroup=False
)
CENTER_OF_MASS_JACOBIAN = Function(
    "center_of_mass_jacobian", Unrolled.center_of_mass_jacobian, _Q, {"J": "dense:3,nv"}, regroup=False
)
MOMENTUM_ABOUT = Function(
    "momentum/about", Unrolled.momentum_about, {**_QV, "about": "robot:3"}, {"momentum": "dense:6"}
)
CENTROIDAL_MOMENTUM = Function(
    "momentum/centroidal", Unrolled.centroidal_momentum, _QV, {"momentum": "dense:6"}, regroup=False
)
CENTROIDAL_MOMENTUM_MATRIX = Function(
    "centroidal_momentum_matrix", Unrolled.centroidal_momentum_matrix, _Q, {"A": "dense:6,nv"}, regroup=False
)
