"""Recursive Newton-Euler inverse dynamics: Rodriguez & Kreutz (1988), (2.1)-(2.13) in the spatial form (2.24)-(2.30).

Two sweeps, O(n). In link frames; gravity enters as an acceleration of the base.
"""

from __future__ import annotations

from typing import Any

from catena.kinds import Function
from catena.spatial import Force, Motion, RigidInertia, Vec3
from catena.sweeps import Field, Links


def inverse_dynamics(links: Links, q: Field, v: Field, vdot: Field, f_ext: Field | None = None) -> Field:
    """The joint torques that give accelerations vdot at the state (q, v), with wrenches f_ext acting on the links."""
    phi, H, V, alpha, f, tau = links.fields("phi H V alpha f tau")
    V[links.base], alpha[links.base] = Motion.zero(), -links.gravity
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        V[k] = phi[k].T @ V[k.parent] + H[k].T @ v[k]  # (2.25)
        a = k.bias_acceleration(V[k], H[k], q[k], v[k])  # (2.19), (2.32) with errata
        alpha[k] = phi[k].T @ alpha[k.parent] + H[k].T @ vdot[k] + a  # (2.26)
        f[k] = k.M @ alpha[k] + V[k].cross(k.M @ V[k])  # (2.27), (2.23)
        if f_ext is not None:
            f[k] = f[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        tau[k] = H[k] @ f[k] + k.armature * vdot[k]  # (2.28)
        f[k.parent] += phi[k] @ f[k]
    return tau


def recursive_newton_euler(links: Links, q: Field, v: Field, vdot: Field, f_ext: Field | None = None) -> Field:
    """RNE (2.1)-(2.13), the same torques from vectors of ordinary space: the textbook form, for all joint types.

    ℓ is the link's origin seen from its parent's, h θ̇ has an angular part ω_r and a linear part v_r, all in the link's
    own axes.
    """
    phi, H, omega, rate, f, tau = links.fields("phi H omega rate f tau")
    omega[links.base], rate[links.base] = Vec3.zero(), -links.gravity  # (2.1)
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        carried = phi[k].T @ Motion(omega[k.parent], Vec3.zero())
        w, w_cross_l = carried.angular, carried.linear  # ω(k+1), ω(k+1) × ℓ
        own = H[k].T @ v[k]
        omega[k] = w + own.angular  # (2.2)
        spin, slide = own.angular, own.linear
        centripetal = w.cross(w_cross_l) + (w + w + spin).cross(slide)  # the sliding terms (2.5) lacks, see errata
        driven = H[k].T @ vdot[k] + k.kind.axes_rate(q[k], v[k])
        rate[k] = phi[k].T @ rate[k.parent] + driven + Motion(w.cross(spin), centripetal)  # (2.4), (2.5)
        f[k] = _newton_euler(k.M, omega[k], rate[k])
        if f_ext is not None:
            f[k] = f[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        tau[k] = H[k] @ f[k] + k.armature * vdot[k]  # (2.13)
        f[k.parent] += phi[k] @ f[k]  # (2.11), (2.12)
    return tau


def _newton_euler(M: RigidInertia, omega: Vec3, rate: Motion) -> Force:
    """(2.9) and (2.10) at the link's origin: the moment and force a rigid body needs to move as it does."""
    first, spin = M.h, rate.angular
    moment = M.I @ spin + omega.cross(M.I @ omega) + first.cross(rate.linear)
    return Force(moment, rate.linear * M.m + spin.cross(first) + omega.cross(omega.cross(first)))


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
        tau[k] = H[k] @ f[k] + k.armature * vdot[k]  # (2.30)
        force[k] = k.frame.inv @ f[k]
        f[k.parent] += phi[k] @ f[k]
    return tau, velocity, acceleration, force


def of_frame(k: Any, V: Motion, A: Motion) -> Motion:
    """(ω̇, v̇) of the origin of link k's own frame, from spatial velocity and acceleration in the internal frame."""
    moving, rate = k.frame.T @ V, k.frame.T @ A
    return Motion(rate.angular, rate.linear + moving.angular.cross(moving.linear))


def bias(links: Links, q: Field, v: Field, f_ext: Field | None = None) -> Field:
    """The torques that hold every joint's acceleration at zero: Coriolis, centrifugal, gravity and link wrenches."""
    phi, H, V, alpha, f, tau = links.fields("phi H V alpha f tau")
    V[links.base], alpha[links.base] = Motion.zero(), -links.gravity
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        V[k] = phi[k].T @ V[k.parent] + H[k].T @ v[k]
        alpha[k] = phi[k].T @ alpha[k.parent] + k.bias_acceleration(V[k], H[k], q[k], v[k])
        f[k] = k.M @ alpha[k] + V[k].cross(k.M @ V[k])
        if f_ext is not None:
            f[k] = f[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        tau[k] = H[k] @ f[k]
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

RECURSIVE_NEWTON_EULER = Function(
    "inverse_dynamics/rne", recursive_newton_euler, _STATE, {"tau": "v"}, optional=("f_ext",)
)
RECURSIVE_SPATIAL_DYNAMICS = Function(
    "inverse_dynamics/rsd",
    recursive_spatial_dynamics,
    _STATE,
    {"tau": "v", "velocity": "motion", "acceleration": "motion", "force": "force"},
    optional=("f_ext",),
    regroup=False,
)
