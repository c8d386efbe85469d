"""Recursive Newton-Euler inverse dynamics: Rodriguez & Kreutz (1988), (2.1)-(2.13) in the spatial form (2.24)-(2.30).

Two sweeps, O(n). In link frames; gravity enters as an acceleration of the base.
"""

from __future__ import annotations

from catena.spatial import Motion
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
