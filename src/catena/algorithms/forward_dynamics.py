"""Forward dynamics in four ways: algorithms FD1 to FD4 of Rodriguez & Kreutz (1988), sections 4 and 5.

All give the same joint accelerations in O(n). FD1 and FD2 take the bias torques away first, four sweeps; FD3 and FD4 do
without, three sweeps. FD2 and FD3 also give the accelerations of the links. :mod:`catena.algorithms.two_sweep` has the
one the paper only announces.

V, a, b, P, D and G are computed along the way, in the sweeps the paper names. Gravity is an acceleration of the base,
(3.21). ψ is never formed: ψ(k+1,k) z = φ (z − G H z), and L = φ G. V and ζ = φᵀa travel together as the rates of a
frame, with accelerations of points as in the paper; FD4 uses spatial accelerations, whose bias a(k) is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from catena.algorithms.newton_euler import at_rest
from catena.algorithms.steps import filtered, free_joint, smoothed
from catena.functions.function import Function
from catena.spatial import Force, Motion
from catena.sweeps import Field, Links


def fd1(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Algorithm FD1 (4.17)-(4.22): bias torques by Newton-Euler, then M⁻¹ as a filter and a smoother. Four sweeps."""
    phi, H, _, T = _bias_free(links, q, v, tau, f_ext)
    vdot, _ = _filter_and_smooth(links, phi, H, T)
    return vdot


def fd2(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> tuple[Field, Field]:
    """Algorithm FD2 (5.5)-(5.7): FD1 with the accelerations of the links, α = λ + φᵀa.

    Accelerations are (ω̇, v̇) of each link's own frame, in its axes: the frame's origin may be any point of the link, so
    those of the tips are among them.
    """
    phi, H, zeta, T = _bias_free(links, q, v, tau, f_ext)  # (5.5)
    vdot, lam = _filter_and_smooth(links, phi, H, T)
    return vdot, _of_links(links, phi, zeta, lam)


def _of_links(links: Links, phi: Field, zeta: Field, lam: Field) -> Field:
    """α = λ + φᵀa, of each link's own frame."""
    g, alpha = links.fields("g alpha")
    g[links.base] = links.gravity
    for k in links.base_to_tip():
        g[k] = phi[k].T @ g[k.parent]  # takes the base's fictitious acceleration away again
        tip = zeta[k].through(k.frame)
        alpha[k] = k.frame.T @ (lam[k] + g[k]) + Motion(tip.wdot, tip.a)  # (5.6), (4.23)
    return alpha


def _bias_free(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None) -> tuple[Field, Field, Field, Field]:
    """φ, H, ζ = φᵀa and T' = T − Hφ[Mζ + b − f_ext] (4.17): one sweep to the tips, one to the base."""
    phi, H, zeta, f, T = links.fields("phi H zeta f T")
    zeta[links.base] = at_rest(links)
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        zeta[k] = zeta[k.parent].through(phi[k]).joined(H[k], v[k], k.joint_type.axes_rate(q[k], v[k]))  # (2.25), φᵀa
        f[k] = zeta[k].wrench(k.M)  # Mζ + b
        if f_ext is not None:
            f[k] = f[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        T[k] = tau[k] - H[k] @ f[k] - k.rotor_bias(H[k], v[k])
        f[k.parent] += phi[k] @ f[k]
    return phi, H, zeta, T


def _filter_and_smooth(links: Links, phi: Field, H: Field, T: Field) -> tuple[Field, Field]:
    """θ̈ = M⁻¹ T' and λ = φᵀHᵀθ̈ (4.19)-(4.22): one sweep to the base, one to the tips."""
    P, G, nu, z, lam, vdot = links.fields("P G nu z lam vdot")
    for k in links.base_to_tip():
        P[k], z[k] = k.M.articulated, Force.zero()  # (4.4), (4.19)
    for k in links.tip_to_base():
        D, G[k], P_plus = free_joint(P[k], H[k], k.armature)  # (4.6), (5.12), (4.5)
        eps, z_plus = filtered(z[k], T[k], H[k], G[k])  # (4.20), see errata
        nu[k] = D.inv @ eps
        P[k.parent] += phi[k].congruence(P_plus)
        z[k.parent] += phi[k] @ z_plus
    lam[links.base] = Motion.zero()  # (4.21)
    for k in links.base_to_tip():
        vdot[k], lam[k] = smoothed(phi[k].T @ lam[k.parent], nu[k], H[k], G[k])  # (4.22)
    return vdot, lam


def fd3(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Algorithm FD3 (5.8)-(5.10): the filter takes torques and bias forces together. Three sweeps."""
    return _fd3(links, q, v, tau, f_ext)[0]


def fd3_with_factors(
    links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None
) -> tuple[Field, Field, Field]:
    """FD3 with the factors of M that it finds on its way: θ̈, G and D of :mod:`catena.algorithms.innovations`."""
    return _fd3(links, q, v, tau, f_ext)[:3]


def fd3_with_links(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> tuple[Field, Field]:
    """FD3 with the accelerations of the links as FD2 gives them: the smoother (5.10) leaves λ, and α = λ + φᵀa.

    No bias torque is taken away first, so that long chains lose no digits.
    """
    vdot, _, _, *smoother = _fd3(links, q, v, tau, f_ext)
    return vdot, _of_links(links, *smoother)


def _fd3(
    links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None
) -> tuple[Field, Field, Field, Field, Field, Field]:
    """θ̈, G and D, and φ, ζ and λ of the sweep to the tips."""
    phi, H, zeta, P, z, G, D, nu, lam, vdot = links.fields("phi H zeta P z G D nu lam vdot")
    zeta[links.base], lam[links.base] = at_rest(links), Motion.zero()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        zeta[k] = zeta[k.parent].through(phi[k]).joined(H[k], v[k], k.joint_type.axes_rate(q[k], v[k]))  # (2.25), (5.8)
        P[k], z[k] = k.M.articulated, zeta[k].wrench(k.M)  # (4.4), Mζ + b
        if f_ext is not None:
            z[k] = z[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        D[k], G[k], P_plus = free_joint(P[k], H[k], k.armature)  # (4.6), (5.12), (4.5)
        eps, z_plus = filtered(z[k], tau[k] - k.rotor_bias(H[k], v[k]), H[k], G[k])  # (5.9)
        nu[k] = D[k].inv @ eps
        P[k.parent] += phi[k].congruence(P_plus)
        z[k.parent] += phi[k] @ z_plus  # ψ z + L T
    for k in links.base_to_tip():
        vdot[k], lam[k] = smoothed(phi[k].T @ lam[k.parent], nu[k], H[k], G[k])  # (5.10)
    return vdot, G, D, phi, zeta, lam


def fd4(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Algorithm FD4 (5.13)-(5.17): joint accelerations in three sweeps, with no bias torques computed first."""
    phi, H, V, a, P, z, G, nu, alpha, vdot = links.fields("phi H V a P z G nu alpha vdot")
    V[links.base], alpha[links.base] = Motion.zero(), -links.gravity
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        V[k] = phi[k].T @ V[k.parent] + H[k].T @ v[k]  # (2.25), (5.13) with errata
        a[k] = k.bias_acceleration(V[k], H[k], q[k], v[k])  # (2.19), (2.32) with errata
        P[k], z[k] = k.M.articulated, V[k].cross(k.M @ V[k])  # (4.4), (2.23)
        if f_ext is not None:
            z[k] = z[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        D, G[k], P_plus = free_joint(P[k], H[k], k.armature)  # (4.6), (5.12), (4.5)
        eps = tau[k] - H[k] @ z[k] - k.rotor_bias(H[k], v[k])  # (5.16)
        nu[k] = D.inv @ eps
        P[k.parent] += phi[k].congruence(P_plus)
        z[k.parent] += phi[k] @ (z[k] + P_plus @ a[k] + G[k] @ eps)  # (5.16)
    for k in links.base_to_tip():
        vdot[k], alpha[k] = smoothed(phi[k].T @ alpha[k.parent] + a[k], nu[k], H[k], G[k])  # (5.17)
    return vdot


def _forward(name: str, algorithm: Callable[..., Any], **more: str) -> Function:
    inputs = {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"}
    return Function(f"forward_dynamics/{name}", algorithm, inputs, {"a": "v", **more}, optional=("f_ext",))


FD1 = _forward("fd1", fd1)
FD2 = _forward("fd2", fd2, alpha="motion")
FD3 = _forward("fd3", fd3)
FD4 = _forward("fd4", fd4)
FD3_WITH_FACTORS = _forward("fd3/factors", fd3_with_factors, G="axes", D="small")
FORWARD_LINK_DYNAMICS = replace(_forward("fd3/links", fd3_with_links, alpha="motion"), name="forward_link_dynamics")

METHODS: Mapping[str, Function] = {"fd1": FD1, "fd2": FD2, "fd3": FD3, "fd4": FD4}
"""The algorithms by name. Joint accelerations are the first output of each."""
