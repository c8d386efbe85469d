"""The UDUᵀ decomposition of the mass matrix: Saha (1995), equations (21)-(39), and Saha (1997).

I = U D Uᵀ, with U unit upper triangular and D diagonal (block diagonal where joints have several degrees of freedom),
for chains and trees. Nothing here forms a matrix: each function is two or three sweeps, O(n).

In the papers' notation: B carries a twist from a link to the next, p is what a joint adds to it, M̂ is the extended
mass of the articulated body that begins at a link, ψ = M̂ p, m̂ = pᵀ ψ. ``Bt[i] @ w`` is Bᵀ w, ``Bt[i].T @ t`` is B t,
``pt[i] @ w`` is pᵀ w and ``pt[i].T @ x`` is p x. Twists are about the origins of the links' frames, not about the mass
centres; that shifts p, B and M together and leaves every product pᵀ M̂ B p, hence U and D, as in the papers.
:mod:`catena.algorithms.denoc` keeps the mass centres. What U and D do to a vector, from stored ψ̂ and m̂, is in
:mod:`catena.algorithms.innovations`: there U is I + HΦL, and the gain G is ψ̂.
"""

from __future__ import annotations

from typing import Any

from catena.algorithms.newton_euler import at_rest
from catena.algorithms.steps import filtered, free_joint, smoothed
from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Force, Motion
from catena.sweeps import Field, Links

Matrix = list[list[Scalar]]


def forward_dynamics(links: Links, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> Field:
    """Joint accelerations from U τ̂ = τ, D τ̃ = τ̂, Uᵀ θ̈ = τ̃ (24), where τ is what is left of the torques after the bias.

    The bias torques come from the Newton-Euler equations with θ̈ = 0 (see errata). Their wrenches go towards the base
    exactly as η̃ does, so the two travel as one.
    """
    Bt, pt, t, M, eta, left = links.fields("Bt pt t M eta left")
    t[links.base] = at_rest(links)
    for i in links.base_to_tip():
        Bt[i], pt[i] = i.joint(q[i])
        # (3) and its rate, with zero accelerations
        t[i] = t[i.parent].through(Bt[i]).joined(pt[i], v[i], i.joint_type.axes_rate(q[i], v[i]))
        M[i], eta[i] = i.M.articulated, t[i].wrench(i.M)
        if f_ext is not None:
            eta[i] = eta[i] - i.frame @ f_ext[i]
        left[i] = tau[i] - i.rotor_bias(pt[i], v[i])
    return _eliminated(links, Bt, pt, M, eta, left)


def solve(links: Links, q: Field, x: Field) -> Field:
    """I⁻¹ x by (24): the accelerations that torques x cause in a mechanism at rest without gravity. O(n)."""
    Bt, pt, M, eta = links.fields("Bt pt M eta")
    for i in links.base_to_tip():
        Bt[i], pt[i] = i.joint(q[i])
        M[i], eta[i] = i.M.articulated, Force.zero()
    return _eliminated(links, Bt, pt, M, eta, x)


def _eliminated(links: Links, Bt: Field, pt: Field, M: Field, eta: Field, tau: Field) -> Field:
    """θ̈ by (32)-(39): U and D are made and used in one sweep to the base, Uᵀ in one back to the tips.

    M and eta hold the links' own extended masses and wrenches, and end as M̂ and η̃.
    """
    m, psi, tau_hat, tau_tilde, mu, vdot = links.fields("m psi tau_hat tau_tilde mu vdot")
    for i in links.tip_to_base():
        m[i], psi[i], M_ii = free_joint(M[i], pt[i], i.armature)  # (32), (33), below (35)
        tau_hat[i], eta_ii = filtered(eta[i], tau[i], pt[i], psi[i])  # (36)
        tau_tilde[i] = m[i].inv @ tau_hat[i]
        M[i.parent] += Bt[i].congruence(M_ii)  # (35)
        eta[i.parent] += Bt[i] @ eta_ii  # (37)
    mu[links.base] = Motion.zero()
    for i in links.base_to_tip():
        vdot[i], mu[i] = smoothed(Bt[i].T @ mu[i.parent], tau_tilde[i], pt[i], psi[i])  # (38), (39)
    return vdot


def articulated_bodies(links: Links, q: Field) -> Field:
    """M̂_{i,i+1} (35): the extended mass of links i, i + 1, … with their joints free, about the origin of link i.

    It is what a force on link i has to move: Featherstone's articulated-body inertia, Rodriguez's P(i).
    """
    return _decomposition(links, q)[0]


def factors(links: Links, q: Field) -> tuple[Field, Field]:
    """ψ̂ (33), six numbers for each degree of freedom in the link's own frame, and the blocks m̂ (32) of D."""
    _, psi, m = _decomposition(links, q)
    return psi, m


def _decomposition(links: Links, q: Field) -> tuple[Field, Field, Field]:
    """M̂, ψ̂ and m̂, from the tips to the base."""
    Bt, pt, M, m, psi = links.fields("Bt pt M m psi")
    for i in links.base_to_tip():
        Bt[i], pt[i] = i.joint(q[i])
        M[i] = i.M.articulated  # M̂_{n,n+1} = M_n at a tip
    for i in links.tip_to_base():
        m[i], psi[i], M_ii = free_joint(M[i], pt[i], i.armature)  # (32), (33), below (35)
        M[i.parent] += Bt[i].congruence(M_ii)  # (35)
    return M, psi, m


def elements(links: Any, q: Field) -> tuple[Matrix, Matrix]:
    """U and D in full, nv x nv: u_ij = α_ij = p_iᵀ B_jiᵀ ψ̂_j (31) where i carries j, 0 elsewhere. O(n²) for a chain."""
    Bt, pt = links.fields("Bt pt")
    for i in links.base_to_tip():
        Bt[i], pt[i] = i.joint(q[i])
    psi, m = factors(links, q)
    nv = links.nv
    U: Matrix = [[int(i == j) for j in range(nv)] for i in range(nv)]
    D: Matrix = [[0] * nv for _ in range(nv)]
    for k in links.tip_to_base():
        for a, row in enumerate(m[k].lower):
            for b, x in enumerate(row):
                D[k.v_start + a][k.v_start + b] = D[k.v_start + b][k.v_start + a] = x
        for column, force in enumerate(psi[k].columns):
            i = k
            while i.parent is not links.base:
                force, i = Bt[i] @ force, i.parent  # ψ̂_ik (32)
                for row, x in enumerate(pt[i] @ force):
                    U[i.v_start + row][k.v_start + column] = x
    return U, D


FORWARD_DYNAMICS = Function(
    "forward_dynamics/udu",
    forward_dynamics,
    {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"},
    {"vdot": "v"},
    optional=("f_ext",),
)
SOLVE = Function("udu/solve", solve, {"q": "q", "x": "tau"}, {"y": "v"})
ELEMENTS = Function("udu/elements", elements, {"q": "q"}, {"U": "dense:nv,nv", "D": "dense:nv,nv"})
FACTORS = Function("udu/factors", factors, {"q": "q"}, {"psi": "axes", "m": "small"})
