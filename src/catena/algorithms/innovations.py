"""Forward dynamics by the innovations factorization of the mass matrix: Rodriguez & Kreutz (1988), section 5.

P(k) is the inertia of all that hangs on link k, felt through the free joints beyond it: the articulated-body inertia.
"""

from __future__ import annotations

from catena.spatial import Motion
from catena.sweeps import Field, Links


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
        U = P[k] @ H[k].T
        D = (H[k] @ U).plus_diagonal(k.armature)  # (4.6)
        G[k] = U @ D.inv  # (5.12)
        eps = tau[k] - H[k] @ z[k]  # (5.16)
        nu[k] = D.inv @ eps
        P_plus = P[k] - U @ G[k].T  # what the parent feels through the joint
        P[k.parent] += phi[k].congruence(P_plus)  # (4.5)
        z[k.parent] += phi[k] @ (z[k] + P_plus @ a[k] + G[k] @ eps)  # (5.15)
    for k in links.base_to_tip():
        alpha_in = phi[k].T @ alpha[k.parent] + a[k]
        vdot[k] = nu[k] - G[k].T @ alpha_in  # (5.17)
        alpha[k] = alpha_in + H[k].T @ vdot[k]
    return vdot
