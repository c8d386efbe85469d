"""Energies, momenta and the centre of mass: sums over all links, carried to the base.

Sweeps give the sums at the base's origin. What is about the centre of mass follows from them at the base, after the
sweeps, by a few operations over any scalar; for whole matrices on long chains the scalars are arrays.
"""

from __future__ import annotations

from typing import Any

from catena.functions.function import Function
from catena.functions.recipes import Ask, parts, stacked
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


def center_of_mass(links: Links, q: Field) -> Field:
    """At the base: the centre of mass of all that moves."""
    (c,) = links.fields("c")
    c[links.base] = middle(total_inertia(links, q)[links.base])
    return c


def potential_energy(links: Links, q: Field) -> Field:
    """At the base: -g · m c, which is zero when the centre of mass is at the base's origin."""
    (E,) = links.fields("E")
    E[links.base] = -(links.gravity.linear.dot(total_inertia(links, q)[links.base].h))
    return E


def center_of_mass_velocity(links: Links, q: Field, v: Field) -> Field:
    """At the base: the velocity of the centre of mass."""
    (u,) = links.fields("u")
    total = total_inertia(links, q)[links.base]
    u[links.base] = mean_velocity(total, momentum(links, q, v)[links.base])
    return u


def momentum_about(links: Links, q: Field, v: Field, point: list[Scalar]) -> Field:
    """At the base: the momentum of all links, angular about a point in the base's frame."""
    (f,) = links.fields("f")
    f[links.base] = about(Vec3(*point), momentum(links, q, v)[links.base])
    return f


def centroidal_momentum(links: Links, q: Field, v: Field) -> Field:
    """At the base: the momentum of all links, angular about the centre of mass."""
    (f,) = links.fields("f")
    c = middle(total_inertia(links, q)[links.base])
    f[links.base] = about(c, momentum(links, q, v)[links.base])
    return f


def quadratic_form(links: Links, q: Field, v: Field) -> Field:
    """At the base: vᵀ M(q) v, twice the kinetic energy."""
    (form,) = links.fields("form")
    E = kinetic_energy(links, q, v)[links.base]
    form[links.base] = E + E
    return form


def center_of_mass_jacobian(links: Any, q: Field) -> list[list[Scalar]]:
    """Three rows, one column for each degree of freedom. For unrolled kernels only."""
    total, axes = total_inertia(links, q)[links.base], momentum_axes(links, q)
    return _rows([list(mean_velocity(total, f)) for k in links for f in axes[k]])


def centroidal_momentum_matrix(links: Any, q: Field) -> list[list[Scalar]]:
    """Six rows, one column for each degree of freedom. For unrolled kernels only."""
    c, axes = middle(total_inertia(links, q)[links.base]), momentum_axes(links, q)
    return _rows([about(c, f).components for k in links for f in axes[k]])


def middle(total: RigidInertia) -> Vec3:
    """The centre of mass of a body whose inertia is given."""
    c: Vec3 = total.h * (1 / total.m)
    return c


def about(c: Vec3, f: Force) -> Force:
    """A momentum about the origin, about the point c."""
    return Force(f.angular - c.cross(f.linear), f.linear)


def mean_velocity(total: RigidInertia, f: Force) -> Vec3:
    """The velocity of the centre of mass of a body with momentum f."""
    v: Vec3 = f.linear * (1 / total.m)
    return v


def _rows(columns: list[list[Scalar]]) -> list[list[Scalar]]:
    return [list(row) for row in zip(*columns, strict=True)]


_Q, _QV = {"q": "q"}, {"q": "q", "v": "v"}

TOTAL_INERTIA = Function("total_inertia", total_inertia, _Q, {"total": "robot:10"}, regroup=False)
MOMENTUM = Function("momentum", momentum, _QV, {"momentum": "robot:6"})
MOMENTUM_AXES = Function("momentum_axes", momentum_axes, _Q, {"axes": "axes"})
KINETIC_ENERGY = Function("kinetic_energy", kinetic_energy, _QV, {"energy": "robot"})
QUADRATIC_FORM = Function("quadratic_form", quadratic_form, _QV, {"form": "robot"})
GRAVITY_TORQUE = Function("gravity_torque", gravity_torque, _Q, {"tau": "tau"})

CENTER_OF_MASS = Function("center_of_mass", center_of_mass, _Q, {"c": "robot:3"}, regroup=False)
POTENTIAL_ENERGY = Function("potential_energy", potential_energy, _Q, {"energy": "robot"}, regroup=False)
CENTER_OF_MASS_VELOCITY = Function(
    "center_of_mass_velocity", center_of_mass_velocity, _QV, {"v": "robot:3"}, regroup=False
)
MOMENTUM_ABOUT = Function("momentum/about", momentum_about, {**_QV, "about": "robot:3"}, {"momentum": "robot:6"})
CENTROIDAL_MOMENTUM = Function("momentum/centroidal", centroidal_momentum, _QV, {"momentum": "robot:6"}, regroup=False)


def _momenta(ask: Ask, q: Any) -> tuple[RigidInertia, Force]:
    """The inertia of all links, and the momenta at unit speeds, over arrays that broadcast along the speeds."""
    m, hx, hy, hz, *moments = parts(ask(TOTAL_INERTIA, q[..., None, :]))
    return RigidInertia(m, Vec3(hx, hy, hz), Sym3(*moments)), Force.of(parts(ask(MOMENTUM_AXES, q)))


def _rolled_jacobian(ask: Ask, q: Any) -> Any:
    return stacked(list(mean_velocity(*_momenta(ask, q))), axis=-2)


def _rolled_matrix(ask: Ask, q: Any) -> Any:
    total, momenta = _momenta(ask, q)
    return stacked(about(middle(total), momenta).components, axis=-2)


CENTER_OF_MASS_JACOBIAN = Function(
    "center_of_mass_jacobian",
    center_of_mass_jacobian,
    _Q,
    {"J": "dense:3,nv"},
    regroup=False,
    recipe=_rolled_jacobian,
)
CENTROIDAL_MOMENTUM_MATRIX = Function(
    "centroidal_momentum_matrix",
    centroidal_momentum_matrix,
    _Q,
    {"A": "dense:6,nv"},
    regroup=False,
    recipe=_rolled_matrix,
)
