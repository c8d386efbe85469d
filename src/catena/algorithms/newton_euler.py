"""Recursive Newton-Euler inverse dynamics: Rodriguez & Kreutz (1988), (2.1)-(2.13) in the spatial form (2.24)-(2.30).

Two sweeps, O(n). In link frames; gravity enters as an acceleration of the base.
"""

from __future__ import annotations

from typing import Any

from catena.functions.function import Function
from catena.spatial import Motion, Vec3
from catena.spatial.rates import Rates
from catena.sweeps import Field, Links


def inverse_dynamics(links: Links, q: Field, v: Field, vdot: Field, f_ext: Field | None = None) -> Field:
    """The joint torques that give accelerations vdot at the state (q, v), with wrenches f_ext acting on the links.

    RNE (2.1)-(2.13), for all joint types: ω, ω̇ and v̇ go out to the tips, moments and forces come back.
    """
    phi, H, rates, f, tau = links.fields("phi H rates f tau")
    rates[links.base] = at_rest(links)  # (2.1)
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        driven = H[k].T @ vdot[k] + k.joint_type.axes_rate(q[k], v[k])
        rates[k] = rates[k.parent].through(phi[k]).joined(H[k], v[k], driven)  # (2.2)-(2.5), see errata
        f[k] = rates[k].wrench(k.M)  # (2.9), (2.10)
        if f_ext is not None:
            f[k] = f[k] - k.frame @ f_ext[k]  # (2.8), on any link
    for k in links.tip_to_base():
        tau[k] = H[k] @ f[k] + k.armature * vdot[k] + k.rotor_bias(H[k], v[k])  # (2.13)
        f[k.parent] += phi[k] @ f[k]  # (2.11), (2.12)
    return tau


def recursive_spatial_dynamics(
    links: Links, q: Field, v: Field, vdot: Field, f_ext: Field | None = None
) -> tuple[Field, Field, Field, Field]:
    """RSD (2.24)-(2.30) with all it finds: torques, and of each link its velocity, acceleration and the force on it.

    In the links' own frames: (ω, v) and (ω̇, v̇) of the frame's origin, and the wrench that the parent exerts on the
    link through its joint, moment about the frame's origin first. Interlink forces need the links' own inertias, so no
    regrouping.
    """
    phi, H, V, alpha, f, g = links.fields("phi H V alpha f g")
    tau, velocity, acceleration, force = links.fields("tau velocity acceleration force")
    V[links.base], alpha[links.base], g[links.base] = Motion.zero(), -links.gravity, links.gravity  # (2.24)
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        V[k] = phi[k].T @ V[k.parent] + H[k].T @ v[k]  # (2.25)
        a = k.bias_acceleration(V[k], H[k], q[k], v[k])  # (2.19), (2.32) with errata
        alpha[k] = phi[k].T @ alpha[k.parent] + H[k].T @ vdot[k] + a  # (2.26)
        g[k] = phi[k].T @ g[k.parent]
        f[k] = k.M @ alpha[k] + V[k].cross(k.M @ V[k])  # (2.29)
        if f_ext is not None:
            f[k] = f[k] - k.frame @ f_ext[k]
        velocity[k] = k.frame.T @ V[k]
        acceleration[k] = of_frame(k, V[k], alpha[k] + g[k])
    for k in links.tip_to_base():
        tau[k] = H[k] @ f[k] + k.armature * vdot[k] + k.rotor_bias(H[k], v[k])  # (2.30)
        force[k] = k.frame.inv @ f[k]
        f[k.parent] += phi[k] @ f[k]
    return tau, velocity, acceleration, force


def at_rest(links: Links) -> Rates:
    """A base that does not move, and accelerates against gravity."""
    return Rates(Vec3.zero(), Vec3.zero(), -links.gravity.linear)


def of_frame(k: Any, V: Motion, A: Motion) -> Motion:
    """(ω̇, v̇) of the origin of link k's own frame, from spatial velocity and acceleration in the internal frame."""
    moving, rate = k.frame.T @ V, k.frame.T @ A
    return Motion(rate.angular, rate.linear + moving.angular.cross(moving.linear))


def bias(links: Links, q: Field, v: Field, f_ext: Field | None = None) -> Field:
    """The torques that hold every joint's acceleration at zero: Coriolis, centrifugal, gravity and link wrenches."""
    phi, H, rates, f, tau = links.fields("phi H rates f tau")
    rates[links.base] = at_rest(links)
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        rates[k] = rates[k.parent].through(phi[k]).joined(H[k], v[k], k.joint_type.axes_rate(q[k], v[k]))
        f[k] = rates[k].wrench(k.M)
        if f_ext is not None:
            f[k] = f[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        tau[k] = H[k] @ f[k] + k.rotor_bias(H[k], v[k])
        f[k.parent] += phi[k] @ f[k]
    return tau


def mass_matrix_times(links: Links, q: Field, x: Field) -> Field:
    """M(q) x: inverse dynamics of a mechanism at rest without gravity."""
    phi, H, alpha, f, y = links.fields("phi H alpha f y")
    alpha[links.base] = Motion.zero()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        alpha[k] = phi[k].T @ alpha[k.parent] + H[k].T @ x[k]
        f[k] = k.M @ alpha[k]
    for k in links.tip_to_base():
        y[k] = H[k] @ f[k] + k.armature * x[k]
        f[k.parent] += phi[k] @ f[k]
    return y


_STATE = {"q": "q", "v": "v", "a": "v", "f_ext": "force"}

MASS_MATRIX_TIMES = Function("mass_matrix_times", mass_matrix_times, inputs={"q": "q", "x": "v"}, outputs={"y": "tau"})
INVERSE_DYNAMICS = Function("inverse_dynamics", inverse_dynamics, _STATE, {"tau": "tau"}, optional=("f_ext",))
INTERLINK_FORCES = Function(
    "interlink_forces",
    lambda *arguments: recursive_spatial_dynamics(*arguments)[3],
    _STATE,
    {"force": "force"},
    optional=("f_ext",),
    regroup=False,
)
ORIGIN_ACCELERATIONS = Function(
    "origin_accelerations",
    lambda *arguments: recursive_spatial_dynamics(*arguments)[2],
    {"q": "q", "v": "v", "a": "v"},
    {"acceleration": "motion"},
    regroup=False,
)
RECURSIVE_SPATIAL_DYNAMICS = Function(
    "spatial_dynamics",
    recursive_spatial_dynamics,
    _STATE,
    {"tau": "tau", "velocity": "motion", "acceleration": "motion", "force": "force"},
    optional=("f_ext",),
    regroup=False,
)
