"""The innovations factorization of the mass matrix: Rodriguez & Kreutz (1988), section 4.

    M   = U D Uᵀ,              U   = I + HΦL        Fact 4.1, (4.11)
    M⁻¹ = U⁻ᵀ D⁻¹ U⁻¹,         U⁻¹ = I − HΨL        Fact 4.2, (4.14), and Theorem 4.1, (4.16)

P(k) is the inertia of all that hangs on link k, felt through the free joints beyond it: the articulated-body inertia. G
= P Hᵀ D⁻¹ is the Kalman gain, L = φ G. Factor once, with :func:`factor`; each action then is one or two sweeps that
take the stored G and D:

    G, D = factor(links, q)               O(n), the Riccati equation (4.4)-(4.6)
    U_times, Ut_times                     U x, Uᵀ x: (I + HΦL) colours white noise
    U_solve, Ut_solve                     U⁻¹ x, U⁻ᵀ x: (I − HΨL) whitens it again
    D_times, D_solve                      D x, D⁻¹ x
    times, solve                          M x, M⁻¹ x
    root, inverse_root                    A x with A Aᵀ = M, A x with A Aᵀ = M⁻¹
    whitened                              Aᵀ x with the latter: x M⁻¹ y is a product of two such

The paper counts from the tip to the base; k.parent here is k + 1 there. A rotor's inertia adds to D alone, and both
factorizations still hold. G is in the internal frame of its link: an intermediate result for the functions of this file
and for :mod:`catena.algorithms.operational_space`. Saha's U and D, the ψ̂ and m̂ of :mod:`catena.algorithms.udu`, are the
same numbers, and these functions serve them as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from catena.algorithms.steps import Step, coloured, filtered, free_joint, smoothed, unsmoothed
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
        D[k], G[k], P_plus = free_joint(P[k], H[k], k.armature)  # (4.6), (5.12), (4.5)
        P[k.parent] += phi[k].congruence(P_plus)
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


def U_times(links: Links, q: Field, G: Field, x: Field) -> Field:
    """U x = (I + HΦL) x, tip to base (4.13): white innovations in, torques out. Saha (22a)."""
    return _to_base(coloured, links, q, G, x)


def U_solve(links: Links, q: Field, G: Field, x: Field) -> Field:
    """U⁻¹ x = (I − HΨL) x, tip to base (4.15): the Kalman filter, from torques to innovations. Saha (36), (37)."""
    return _to_base(filtered, links, q, G, x)


def Ut_times(links: Links, q: Field, G: Field, x: Field) -> Field:
    """Uᵀ x = (I + HΦL)ᵀ x, base to tip."""
    return _to_tips(unsmoothed, links, q, G, x)


def Ut_solve(links: Links, q: Field, G: Field, x: Field) -> Field:
    """U⁻ᵀ x = (I − HΨL)ᵀ x, base to tip (4.22): the smoother. Saha (38), (39)."""
    return _to_tips(smoothed, links, q, G, x)


def _to_base(step: Step[Force], links: Links, q: Field, G: Field, x: Field) -> Field:
    """What a step makes of x at each joint, with forces z that go on to the parent."""
    z, y = links.fields("z y")
    for k in links.base_to_tip():
        z[k] = Force.zero()
    for k in links.tip_to_base():
        phi, H = k.joint(q[k])
        y[k], z_plus = step(z[k], x[k], H, G[k])
        z[k.parent] += phi @ z_plus
    return y


def _to_tips(step: Step[Motion], links: Links, q: Field, G: Field, x: Field) -> Field:
    """What a step makes of x at each joint, with accelerations λ that come from the parent."""
    lam, y = links.fields("lam y")
    lam[links.base] = Motion.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        y[k], lam[k] = step(phi.T @ lam[k.parent], x[k], H, G[k])
    return y


def joint_by_joint(action: Callable[[SmallSymmetric, Dofs], Dofs], links: Links, D: Field, x: Field) -> Field:
    """What `action` makes of each joint's block of D and of x there; no joint looks at another."""
    (y,) = links.fields("y")
    for k in links.base_to_tip():
        y[k] = action(D[k], x[k])
    return y


D_times = partial(joint_by_joint, small.times)
D_solve = partial(joint_by_joint, small.solve)
D_root = partial(joint_by_joint, small.root)
D_inverse_root = partial(joint_by_joint, small.inverse_root)
D_whitened = partial(joint_by_joint, small.whitened)


def times(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """M x = U D Uᵀ x (4.11), from the factors."""
    return U_times(links, q, G, D_times(links, D, Ut_times(links, q, G, x)))


def solve(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """M⁻¹ x = U⁻ᵀ D⁻¹ U⁻¹ x (4.16): filter tip to base, smooth base to tip, as in (4.19)-(4.22). Saha (24)."""
    phi, H, z, nu, lam, y = links.fields("phi H z nu lam y")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        z[k] = Force.zero()  # (4.19)
    for k in links.tip_to_base():
        eps, z_plus = filtered(z[k], x[k], H[k], G[k])  # (4.20), see errata
        nu[k] = D[k].inv @ eps
        z[k.parent] += phi[k] @ z_plus
    lam[links.base] = Motion.zero()  # (4.21)
    for k in links.base_to_tip():
        y[k], lam[k] = smoothed(phi[k].T @ lam[k.parent], nu[k], H[k], G[k])  # (4.22)
    return y


def root(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """A x with A = U D^½, so that A Aᵀ = M: momenta from white noise."""
    return U_times(links, q, G, D_root(links, D, x))


def inverse_root(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """A x with A = U⁻ᵀ D^−½, so that A Aᵀ = M⁻¹: velocities from white noise."""
    return Ut_solve(links, q, G, D_inverse_root(links, D, x))


def whitened(links: Links, q: Field, G: Field, D: Field, x: Field) -> Field:
    """Aᵀ x with A = U⁻ᵀ D^−½: white innovations from torques, the transpose of :func:`inverse_root`."""
    return D_whitened(links, D, U_solve(links, q, G, x))


_U, _UT = {"q": "q", "G": "axes", "x": "tau"}, {"q": "q", "G": "axes", "x": "v"}
_D = {"D": "small", "x": "v"}
_FACTORED = {"q": "q", "G": "axes", "D": "small", "x": "v"}
_INVERSE = {**_FACTORED, "x": "tau"}

FACTOR = Function("innovations/factor", factor, {"q": "q"}, {"G": "axes", "D": "small"})
INERTIAS = Function(
    "innovations/inertias",
    inertias,
    {"q": "q"},
    {"D": "small", "G": "axes", **dict.fromkeys(("wx", "wy", "wz", "vx", "vy", "vz"), "force")},
    regroup=False,
    choose=False,
)
U_TIMES = Function("innovations/U_times", U_times, _U, {"y": "tau"})
U_SOLVE = Function("innovations/U_solve", U_solve, _U, {"y": "tau"})
UT_TIMES = Function("innovations/Ut_times", Ut_times, _UT, {"y": "v"})
UT_SOLVE = Function("innovations/Ut_solve", Ut_solve, _UT, {"y": "v"})
D_TIMES = Function("innovations/D_times", D_times, _D, {"y": "tau"})
D_SOLVE = Function("innovations/D_solve", D_solve, {**_D, "x": "tau"}, {"y": "v"})
TIMES = Function("innovations/times", times, _FACTORED, {"y": "tau"})
SOLVE = Function("innovations/solve", solve, _INVERSE, {"y": "v"})
ROOT = Function("innovations/root", root, _FACTORED, {"y": "tau"})
INVERSE_ROOT = Function("innovations/inverse_root", inverse_root, _FACTORED, {"y": "v"})
WHITENED = Function("innovations/whitened", whitened, _INVERSE, {"y": "v"})
