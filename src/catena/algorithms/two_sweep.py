"""Forward dynamics in two sweeps, to the base and to the tips: what Rodriguez & Kreutz (1988) announce after FD4.

FD4 needs a first sweep from the base for nothing but the velocities that the bias terms are made of. With accelerations
(ω̇, v̇) of points, as in the paper, a(k) and b(k) depend on the angular velocity of a link alone, and they are
quadratic in it (2.19), (2.23). So the filter can start at the tips without knowing any: it carries z(k) as a quadratic
function of ω(k), 10 coefficients for each of its six components. On the way to a parent, ω(k) = Rᵀ ω(k+1) + h θ̇ is put
in for the argument. The base is at rest, which settles the constants, and the sweep back to the tips finds ω and the
accelerations together.

It costs about three times the operations of FD4: the first loop below only prepares each link by itself and carries
nothing.
"""

from __future__ import annotations

from typing import Any

from catena.algorithms.steps import free_joint, smoothed
from catena.functions.function import Function
from catena.spatial import Dofs, Force, Motion, RigidInertia, Transform, Vec3
from catena.spatial.quadratic import Parts, Quadratic
from catena.sweeps import Field, Links


def two_sweep(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Joint accelerations: FD4 with z(k) a function of ω(k), and ε(k) one of the parent's ω(k+1)."""
    phi, H, P, z, G, D, eps, omega, alpha, vdot = links.fields("phi H P z G D eps omega alpha vdot")
    omega[links.base], alpha[links.base] = Vec3.zero(), -links.gravity
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        P[k], z[k] = k.M.articulated, Quadratic.of(_bias_force(k.M))  # (4.4), (2.23)
        if f_ext is not None:
            z[k] = z[k] - Quadratic.constant(k.frame @ f_ext[k])
    for k in links.tip_to_base():
        own = H[k].T @ v[k]
        D[k], G[k], P_plus = free_joint(P[k], H[k], k.armature)  # (4.6), (5.12), (4.5)
        P[k.parent] += phi[k].congruence(P_plus)
        seen = z[k].shifted(own.angular).turned(phi[k])  # z(k), given ω(k+1)
        a = Quadratic.of(_bias_acceleration(k, phi[k], own, q[k], v[k]))
        eps[k] = Quadratic.constant(tau[k] - k.rotor_bias(H[k], v[k])) - seen.under(H[k])  # (5.16)
        z[k.parent] += (seen + a.under(P_plus) + eps[k].under(G[k])).under(phi[k])
    for k in links.base_to_tip():
        own, w = H[k].T @ v[k], omega[k.parent]
        omega[k] = (phi[k].T @ Motion(w, Vec3.zero())).angular + own.angular  # (2.2)
        alpha_in = phi[k].T @ alpha[k.parent] + _bias_acceleration(k, phi[k], own, q[k], v[k]).at(w)
        vdot[k], alpha[k] = smoothed(alpha_in, D[k].inv @ eps[k].at(w), H[k], G[k])  # (5.17)
    return vdot


def _bias_force(M: RigidInertia) -> Parts:
    """b(k) as a function of ω(k) (2.23)."""
    return Parts(
        Force.zero(),
        lambda w: Force.zero(),
        lambda u, w: Force(u.cross(M.I @ w), u.cross(w.cross(M.h))),
    )


def _bias_acceleration(k: Any, phi: Transform, own: Motion, q: Dofs, v: Dofs) -> Parts:
    """a(k) as a function of ω(k+1) (2.19), (2.32) with errata; `own` = Hᵀθ̇ may both spin and slide."""
    spin, slide = own.angular, own.linear

    def linear(w: Vec3) -> Motion:
        turned = (phi.T @ Motion(w, Vec3.zero())).angular
        return Motion(turned.cross(spin), (turned + turned).cross(slide))

    def bilinear(u: Vec3, w: Vec3) -> Motion:
        one, other = phi.T @ Motion(u, Vec3.zero()), phi.T @ Motion(w, Vec3.zero())
        return Motion(Vec3.zero(), one.angular.cross(other.linear))

    return Parts(k.joint_type.axes_rate(q, v) + Motion(Vec3.zero(), spin.cross(slide)), linear, bilinear)


TWO_SWEEP = Function(
    "forward_dynamics/two_sweep",
    two_sweep,
    {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"},
    {"a": "v"},
    optional=("f_ext",),
)
