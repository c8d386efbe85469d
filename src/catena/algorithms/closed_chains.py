"""Closed chains: Rodriguez & Kreutz (1988), Part II, as derived on a page of its own. For unrolled kernels only.

Loops are closed by constraints: each holds the rates J v of some directions between two frames, with forces λ along the
same directions, M a = τ − b + Jᵀλ. With M⁻¹ = Uᵀ⁻¹ D⁻¹ U⁻¹ (4.16) the steps of Part II become

    1.  free motion: the innovations ε = U⁻¹ (τ − b) of the open trees, one sweep to the tips, one to the base
    2.  what unit forces along the held directions leave on their way to the base: C = U⁻¹ Jᵀ; Ω = Cᵀ D⁻¹ C = J M⁻¹Jᵀ
    3.  the contact system Ω λ = −J̇ v − Cᵀ D⁻¹ ε: all constraints together
    4.  correction: a = U⁻ᵀ D⁻¹ (ε + C λ), one sweep to the tips

In step 2 every column ends at the base, so arms that share nothing have no entry in common, and neither does Ω.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from catena.algorithms.closures import Coupled
from catena.algorithms.contact_system import Closure, Contact, smooth, times
from catena.algorithms.inverse_matrix import Column, Matrix, Whitener
from catena.algorithms.kinematics import wrench_torques
from catena.algorithms.newton_euler import at_rest
from catena.algorithms.steps import filtered
from catena.scalars import Scalar, sqrt
from catena.spatial import Dofs, Force
from catena.sweeps import Field


def residual(links: Any, q: Field, *, closures: Sequence[Closure]) -> list[Scalar]:
    """How far the constraints are from being met."""
    return [x for closure in closures for x in closure(links, q).residual]


def jacobian(links: Any, q: Field, *, closures: Sequence[Closure]) -> Matrix:
    """J: a row for each direction that is held."""
    return [row for closure in closures for row in closure(links, q).rows()]


def rates(links: Any, q: Field, v: Field, *, closures: Sequence[Closure]) -> list[Scalar]:
    """J v."""
    return [x for closure in closures for x in closure(links, q).rates(v)]


def bias(links: Any, q: Field, v: Field, *, closures: Sequence[Closure]) -> list[Scalar]:
    """J̇ v."""
    return [x for closure in closures for x in closure(links, q).bias(v)]


def forces(links: Any, q: Field, lam: Sequence[Scalar], *, closures: Sequence[Closure]) -> Matrix:
    """Of each constraint the wrench that multipliers λ amount to."""
    return exerted([closure(links, q) for closure in closures], lam)


def torques(links: Any, q: Field, lam: Sequence[Scalar], *, closures: Sequence[Closure]) -> Field:
    """Jᵀ λ: what multipliers amount to at the joints."""
    J = jacobian(links, q, closures=closures)
    tau: Field
    (tau,) = links.fields("tau")
    for k in links.base_to_tip():
        numbers = range(k.v_start, k.v_start + k.joint_type.nv)
        tau[k] = Dofs([sum(times(row[i], x) for row, x in zip(J, lam, strict=True)) for i in numbers])
    return tau


def pushes(links: Any, q: Field, forces: Sequence[Scalar], *, closures: Sequence[Closure]) -> Field:
    """The wrenches on links, in their own frames, of constraints that exert `forces`, six numbers each."""
    found: Field
    (found,) = links.fields("found")
    for k in links.base_to_tip():
        found[k] = Force.zero()
    for each, f in _with_forces(links, q, forces, closures):
        if isinstance(each, Coupled):
            continue
        for side, wrench in zip(each.sides, each.ends(Force.of(list(f))), strict=True):
            if path := side.place.path(links):
                found[path[-1]] = found[path[-1]] + side.place.at @ wrench
    return found


def torques_of_forces(links: Any, q: Field, forces: Sequence[Scalar], *, closures: Sequence[Closure]) -> Field:
    """Jᵀλ again, from what the constraints exert: couplings act on joints, all else on links."""
    tau: Field = wrench_torques(links, q, pushes(links, q, forces, closures=closures))
    for each, f in _with_forces(links, q, forces, closures):
        for k, slope, _ in each.slopes if isinstance(each, Coupled) else ():
            tau[k] = tau[k] + Dofs([slope * f[0]])
    return tau


def _with_forces(
    links: Any, q: Field, forces: Sequence[Scalar], closures: Sequence[Closure]
) -> list[tuple[Any, Sequence[Scalar]]]:
    """Each constraint, and the six numbers of what it exerts."""
    return [(closure(links, q), forces[6 * i : 6 * i + 6]) for i, closure in enumerate(closures)]


def directions(links: Any, q: Field, *, closures: Sequence[Closure]) -> Matrix:
    """Q: for each direction that is held the wrenches on the frames of both sides, twelve numbers."""
    return [row for closure in closures for row in closure(links, q).held_wrenches]


def exerted(closed: Sequence[Any], lam: Sequence[Scalar]) -> Matrix:
    """Of each constraint the wrench that its part of λ amounts to."""
    ends = list(accumulate(each.holds for each in closed))
    return [each.exerted(lam[end - each.holds : end]) for each, end in zip(closed, ends, strict=True)]


def white_jacobian(links: Any, q: Field, *, closures: Sequence[Closure]) -> Matrix:
    """B = D^−½ U⁻¹ Jᵀ, nv rows, a column for each direction: BᵀB = J M⁻¹Jᵀ, and M⁻¹Jᵀ = U⁻ᵀ D^−½ B."""
    whitener = Whitener(links, q)
    columns = [column for closure in closures for column in closure(links, q).columns(whitener)]
    roots = [sqrt(weight) for weight in whitener.weight]
    return [[times(column.get(i, 0), root) for column in columns] for i, root in enumerate(roots)]


def forward_dynamics(
    links: Any,
    q: Field,
    v: Field,
    tau: Field,
    f_ext: Field | None = None,
    gains: Sequence[Scalar] | None = None,
    driven: Sequence[Scalar] | None = None,
    *,
    closures: Sequence[Closure],
) -> tuple[Field, Matrix, list[Scalar]]:
    """Joint accelerations, the wrenches of the constraints, and how independent these are: 0 where one is redundant.

    Gains (k, d) add k times the residual and d times its rate to what the constraints bring to rest (Baumgarte). Rows
    may be `driven`: residuals, rates and accelerations of all rows, one after the other, in place of zero.
    """
    contact = Contact(links, q, closures)
    e = free_innovations(links, contact.whitener, q, v, tau, f_ext)  # 1.
    return _solved(links, contact, e, contact.wanted(v, gains, driven))


def response(
    links: Any, q: Field, x: Field, wanted: Sequence[Scalar], *, closures: Sequence[Closure]
) -> tuple[Field, Matrix, list[Scalar]]:
    """y with M y = x + Jᵀλ and J y = `wanted`, the wrenches of λ, and how independent the constraints are."""
    contact = Contact(links, q, closures)
    return _solved(links, contact, innovations(links, contact.whitener, x), list(wanted))


def innovations(links: Any, whitener: Whitener, x: Field) -> Column:
    """U⁻¹ x, by (4.15)."""
    (z,) = links.fields("z")
    e: Column = {}
    for k in links.base_to_tip():
        z[k] = Force.zero()
    for k in links.tip_to_base():
        eps, z_plus = filtered(z[k], x[k], whitener.H[k], whitener.G[k])
        e.update(whitener.own(k, eps))
        z[k.parent] += whitener.phi[k] @ z_plus
    return e


def free_innovations(
    links: Any, whitener: Whitener, q: Field, v: Field, tau: Field, f_ext: Field | None = None
) -> Column:
    """U⁻¹ (τ − b) of the open trees: the first two sweeps of FD3, (5.8)-(5.9)."""
    zeta, z = links.fields("zeta z")
    phi, H = whitener.phi, whitener.H
    e: Column = {}
    zeta[links.base] = at_rest(links)
    for k in links.base_to_tip():
        zeta[k] = zeta[k.parent].through(phi[k]).joined(H[k], v[k], k.joint_type.axes_rate(q[k], v[k]))  # (5.8)
        z[k] = zeta[k].wrench(k.M)
        if f_ext is not None:
            z[k] = z[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        eps, z_plus = filtered(z[k], tau[k] - k.rotor_bias(H[k], v[k]), H[k], whitener.G[k])  # (5.9)
        e.update(whitener.own(k, eps))
        z[k.parent] += phi[k] @ z_plus
    return e


def _solved(links: Any, contact: Contact, e: Column, wanted: list[Scalar]) -> tuple[Field, Matrix, list[Scalar]]:
    lam, total = contact.met(e, wanted)
    return smooth(links, contact.whitener, total), exerted(contact.closed, lam), [contact.factors.independence]
