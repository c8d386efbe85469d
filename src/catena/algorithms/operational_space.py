"""Operational space: the mobility Ω = J M⁻¹ Jᵀ of links and frames, and Khatib's inertia Λ = Ω⁻¹, in O(n).

Rodriguez & Kreutz (1988) announce it. Four questions, each from the innovations factorization, so that M⁻¹ is never
formed; J is the Jacobian of the links or frames that are asked about:

    mobility            Ω of some frames together, with the blocks between them: innovations of unit wrenches, (4.15)
    response            Ω f for wrenches f on all links: a filter and a smoother, on chains of any length
    operational_dynamics    Λ, with the Coriolis and gravity forces μ and p in operational space
    link_mobilities     Ω of every link by itself, in one sweep from the base: Part II, section 6

The last one is the recursion

    Υ(base) = 0,   Υ(k) = ψᵀ Υ(k+1) ψ + Hᵀ D⁻¹ H                 ψ = φ (I − GH)

in which Υ(k) is Ω of link k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from catena.algorithms.coriolis import coriolis_times
from catena.algorithms.energy import gravity_torque
from catena.algorithms.frames import Place, jacobian_dot_times, jacobian_times, points_of
from catena.algorithms.innovations import factor, solve
from catena.algorithms.inverse_matrix import Matrix, Whitener
from catena.algorithms.steps import smoothed
from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Dofs, Force, Motion
from catena.spatial.mobility import Mobility, inertia_of
from catena.sweeps import Field, Links


def mobility(links: Any, q: Field, *points: list[Scalar] | None, places: Sequence[Place]) -> Matrix:
    """Ω = J M⁻¹ Jᵀ of frames together, 6 rows for each. O(d²) at most for frames of depth d."""
    whitener = Whitener(links, q)
    columns = whitener.wrenches(q, places, points)
    return whitener.products(columns, columns)


def operational_inertia(
    links: Any, q: Field, *points: list[Scalar] | None, places: Sequence[Place]
) -> tuple[Matrix, Matrix]:
    """Λ = Ω⁻¹ and Ω of frames together."""
    Omega = mobility(links, q, *points, places=places)
    return inertia_of(Omega)[0], Omega


def consistent_inverse(links: Any, q: Field, *points: list[Scalar] | None, places: Sequence[Place]) -> Matrix:
    """J̄ = M⁻¹ Jᵀ Λ, nv rows: the right inverse of J that is weighted by M."""
    whitener = Whitener(links, q)
    columns = whitener.wrenches(q, places, points)
    _, hold, sure = inertia_of(whitener.products(columns, columns))
    rows = whitener.products(whitener.torques(), columns)
    return [[sure * x for x in hold @ Dofs(row)] for row in rows]


def operational_dynamics(
    links: Any, q: Field, v: Field, point: Any = None, *, places: Sequence[Place]
) -> tuple[Matrix, list[Scalar], list[Scalar]]:
    """Λ, μ and p of Λ ẍ + μ + p = F: μ = Λ (J M⁻¹ C v − J̇ v) and p = Λ J M⁻¹ g (Khatib 1987)."""
    points: list[Any] = list(points_of(point, places))
    Omega = mobility(links, q, *points, places=places)
    Lambda, hold, sure = inertia_of(Omega)
    factors = factor(links, q)
    swung, hung = (
        jacobian_times(links, q, solve(links, q, *factors, torque), point, places=places)
        for torque in (coriolis_times(links, q, v, v), gravity_torque(links, q))
    )
    drift = jacobian_dot_times(links, q, v, point, places=places)
    mu, p = hold @ Dofs([x - y for x, y in zip(swung, drift, strict=True)]), hold @ Dofs(hung)
    return Lambda, [sure * x for x in mu], [sure * x for x in p]


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
        vdot[k], lam[k] = smoothed(phi[k].T @ lam[k.parent], nu[k], H[k], G[k])  # (4.22)
        alpha[k] = k.frame.T @ lam[k]
    return vdot, alpha


def mobilities(links: Links, q: Field) -> Iterator[tuple[Any, Mobility, Mobility, Any, Any]]:
    """A sweep that finds Υ, in link frames before and behind each joint: k, φᵀ Υ(k+1) φ, Υ(k), G(k) and D(k)."""
    G, D = factor(links, q)
    (Upsilon,) = links.fields("Upsilon")
    Upsilon[links.base] = Mobility.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        before = Upsilon[k.parent].carried(phi)
        Upsilon[k] = before.through(H, G[k], D[k])
        yield k, before, Upsilon[k], G[k], D[k]


def link_mobilities(links: Links, q: Field) -> Field:
    """Ω = J M⁻¹ Jᵀ of every link, in its own frame: six rows of six."""
    (rows,) = links.fields("rows")
    for k, _, Upsilon, _, _ in mobilities(links, q):
        Omega = Upsilon.carried(k.frame)
        columns = [(Omega @ Force.of([int(i == j) for i in range(6)])).components for j in range(6)]
        rows[k] = [list(row) for row in zip(*columns, strict=True)]
    return rows


MOBILITY = Function("link_mobilities", link_mobilities, {"q": "q"}, {"mobilities": "link:6,6"})
RESPONSE = Function(
    "operational_space/response",
    response,
    {"q": "q", "G": "axes", "D": "small", "f": "force"},
    {"vdot": "v", "alpha": "motion"},
)
