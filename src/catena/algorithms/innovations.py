"""The innovations factorization of the mass matrix: Rodriguez & Kreutz (1988), section 4.

    M   = (I + HΦL) D (I + HΦL)ᵀ          Fact 4.1, (4.11)
    M⁻¹ = (I − HΨL)ᵀ D⁻¹ (I − HΨL)        Theorem 4.1, (4.16)

P(k) is the inertia of all that hangs on link k, felt through the free joints beyond it: the articulated-body inertia. G
= P Hᵀ D⁻¹ is the Kalman gain, L = φ G. Factor once, with :func:`factor`; each action then is one or two sweeps that
take the stored G and D:

    G, D = factor(links, q)               O(n), the Riccati equation (4.4)-(4.6)
    colour, colour_transposed             (I + HΦL) x, (I + HΦL)ᵀ x
    whiten, whiten_transposed             (I − HΨL) x, (I − HΨL)ᵀ x
    solve, multiply                       M⁻¹ x, M x
    root, inverse_root                    A x with A Aᵀ = M, A x with A Aᵀ = M⁻¹
    response                              accelerations of all links to wrenches on all links, φᵀHᵀ M⁻¹ Hφ f

The paper counts from the tip to the base; k.parent here is k + 1 there. A rotor's inertia adds to D alone, and both
factorizations still hold. G is in the internal frame of its link: an intermediate result for the functions of this file
and for :mod:`catena.algorithms.operational_space`.
"""

from __future__ import annotations

from collections.abc import Callable

from catena.functions.function import Function
from catena.spatial import Dofs, Force, Motion, SmallSymmetric, small
from catena.sweeps import Field, Links


def riccati(links: Links, q: Field) -> tuple[Field, Field, Field]:
    """P, D and G of (4.4)-(4.6), (5.12): P is symmetric by construction, so rounding cannot make it drift."""
    phi, H, P, D, G = links.fields("phi H P D G")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        P[k] = k.M.articulated  # (4.4)
    for k in links.tip_to_base():
        U = P[k] @ H[k].T
        D[k] = (H[k] @ U).plus_diagonal(k.armature)  # (4.6)
        G[k] = U @ D[k].inv  # (5.12)
        P[k.parent] += phi[k].congruence(P[k] - U @ G[k].T)  # (4.5), see errata
    return P, D, G


def factor(links: Links, q: Field) -> tuple[Field, Field]:
    """G and D: all that the actions below need."""
    _, D, G = riccati(links, q)
    return G, D


def inertias(links: Links, q: Field) -> tuple[Field, ...]:
    """D, G and the six columns of P(k), of the links as they are: no inertia is regrouped."""
    P, D, G = riccati(links, q)
    columns = links.fields("wx wy wz vx vy vz")
    for k in links.base_to_tip():
        for i, column in enumerate(columns):
            column[k] = P[k] @ Motion.of([int(i == j) for j in range(6)])
    return D, G, *columns


def colour(links: Links, q: Field, G: Field, x: Field) -> Field:
    """(I + HΦL) x: white innovations in, torques out, tip to base (4.13)."""
    z, y = links.fields("z y")
    for k in links.base_to_tip():
        z[k] = Force.zero()
    for k in links.tip_to_base():
        phi, H = k.joint(q[k])
        y[k] = H @ z[k] + x[k]
        z[k.parent] += phi @ (z[k] + G[k] @ x[k])
    return y


def whiten(links: Links, q: Field, G: Field, x: Field) -> Field:
    """(I − HΨL) x: the Kalman filter that turns torques into innovations, tip to base (4.15)."""
    z, eps = links.fields("z eps")
    for k in links.base_to_tip():
        z[k] = Force.zero()
    for k in links.tip_to_base():
        phi, H = k.joint(q[k])
        eps[k] = x[k] - H @ z[k]
        z[k.parent] += phi @ (z[k] + G[k] @ eps[k])  # ψ z + L x
    return eps


def colour_transposed(links: Links, q: Field, G: Field, x: Field) -> Field:
    """(I + HΦL)ᵀ x, base to tip."""
    lam, y = links.fields("lam y")
    lam[links.base] = Motion.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        lam_in = phi.T @ lam[k.parent]
        y[k] = x[k] + G[k].T @ lam_in
        lam[k] = lam_in + H.T @ x[k]
    return y


def whiten_transposed(links: Links, q: Field, G: Field, x: Field) -> Field:
    """(I − HΨL)ᵀ x: the smoother, base to tip (4.22)."""
    lam, y = links.fields("lam y")
    lam[links.base] = Motion.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        lam_in = phi.T @ lam[k.parent]
        y[k] = x[k] - G[k].T @ lam_in
        lam[k] = lam_in + H.T @ y[k]  # ψᵀ λ + Hᵀ x
    return y


def solve(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """M⁻¹ x (4.16): filter tip to base, smooth base to tip, as in (4.19)-(4.22)."""
    phi, H, z, nu, lam, y = links.fields("phi H z nu lam y")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        z[k] = Force.zero()
    for k in links.tip_to_base():
        eps = x[k] - H[k] @ z[k]  # (4.20), see errata
        nu[k] = D[k].inv @ eps
        z[k.parent] += phi[k] @ (z[k] + G[k] @ eps)
    lam[links.base] = Motion.zero()  # (4.21)
    for k in links.base_to_tip():
        lam_in = phi[k].T @ lam[k.parent]
        y[k] = nu[k] - G[k].T @ lam_in  # (4.22)
        lam[k] = lam_in + H[k].T @ y[k]
    return y


def response(links: Links, q: Field, G: Field, D: Field, f: Field) -> tuple[Field, Field]:
    """What wrenches f on the links do at rest: joint accelerations M⁻¹Hφ f and link accelerations ψᵀHᵀ D⁻¹ Hψ f.

    Wrenches and accelerations are those of the links' own frames. With J = φᵀHᵀ the second result is J M⁻¹ Jᵀ f, column
    by column the operational-space inertia of any set of links, blocks between two links included.
    """
    phi, H, z, nu, lam, vdot, alpha = links.fields("phi H z nu lam vdot alpha")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        z[k] = k.frame @ f[k]
    for k in links.tip_to_base():
        eps = H[k] @ z[k]  # Hψ f, by Identity 5.1
        nu[k] = D[k].inv @ eps
        z[k.parent] += phi[k] @ (z[k] - G[k] @ eps)
    lam[links.base] = Motion.zero()
    for k in links.base_to_tip():
        lam_in = phi[k].T @ lam[k.parent]
        vdot[k] = nu[k] - G[k].T @ lam_in
        lam[k] = lam_in + H[k].T @ vdot[k]
        alpha[k] = k.frame.T @ lam[k]
    return vdot, alpha


def multiply(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """M x (4.11), from the factors."""
    return colour(links, q, G, _memoryless(links, small.times, D, colour_transposed(links, q, G, x)))


def root(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """A x with A = (I + HΦL) D^½, so that A Aᵀ = M: momenta from white noise."""
    return colour(links, q, G, _memoryless(links, small.root, D, x))


def inverse_root(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """A x with A = (I − HΨL)ᵀ D^−½, so that A Aᵀ = M⁻¹: velocities from white noise."""
    return whiten_transposed(links, q, G, _memoryless(links, small.inverse_root, D, x))


def _memoryless(links: Links, action: Callable[[SmallSymmetric, Dofs], Dofs], D: Field, x: Field) -> Field:
    """Joint by joint, what `action` makes of D and x."""
    (y,) = links.fields("y")
    for k in links.base_to_tip():
        y[k] = action(D[k], x[k])
    return y


_TRIANGULAR = {"q": "q", "G": "axes", "x": "v"}
_FACTORED = {"q": "q", "G": "axes", "D": "small", "x": "v"}

FACTOR = Function("innovations/factor", factor, {"q": "q"}, {"G": "axes", "D": "small"})
INERTIAS = Function(
    "innovations/inertias",
    inertias,
    {"q": "q"},
    {"D": "small", "G": "axes", **dict.fromkeys(("wx", "wy", "wz", "vx", "vy", "vz"), "force")},
    regroup=False,
    choose=False,
)
COLOUR = Function("innovations/colour", colour, _TRIANGULAR, {"y": "v"})
COLOUR_TRANSPOSED = Function("innovations/colour_transposed", colour_transposed, _TRIANGULAR, {"y": "v"})
WHITEN = Function("innovations/whiten", whiten, _TRIANGULAR, {"y": "v"})
WHITEN_TRANSPOSED = Function("innovations/whiten_transposed", whiten_transposed, _TRIANGULAR, {"y": "v"})
SOLVE = Function("innovations/solve", solve, _FACTORED, {"y": "v"})
MULTIPLY = Function("innovations/multiply", multiply, _FACTORED, {"y": "v"})
ROOT = Function("innovations/root", root, _FACTORED, {"y": "v"})
INVERSE_ROOT = Function("innovations/inverse_root", inverse_root, _FACTORED, {"y": "v"})
RESPONSE = Function(
    "innovations/response",
    response,
    {"q": "q", "G": "axes", "D": "small", "f": "force"},
    {"vdot": "v", "alpha": "motion"},
)
