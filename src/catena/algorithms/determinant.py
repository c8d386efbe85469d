"""log det M and its gradient from the innovations factorization: Σ log det D(k), in O(n).

Fixman's potential is ½ kT log det M; its gradient is the torque that makes a chain of stiff bonds and one of rigid
bonds visit the same configurations. Formula in errata.md, here in the form that holds with rotors as well:

    ∂ log det M / ∂q(k) = 2 tr(Y · crf(h(k)) · P⁺(k)) + 2 tr(∂H(k) (1 − P⁺(k) Y) G(k)),    Y = φᵀ Υ(parent) φ

P⁺ is what the parent feels of P(k) through the joint; Υ(k) = ψᵀ Υ(parent) ψ + Hᵀ D⁻¹ H is the mobility of link k;
the last term is for joints whose axes move in the child's frame, through D and through P⁺.

Points and thin rods on bonds turn about the bond before and bend against it. Where that angle θ is straight, log det M
and log det G, the determinant in all coordinates (Fixman), both go to minus infinity as log sin² θ. Their difference
has no such place: it is log det M of the same bonds with two axes across each, which are fixed to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catena.algorithms.steps import free_joint
from catena.functions.function import Function
from catena.scalars import Scalar, log, sqrt
from catena.spatial import ArticulatedInertia, Axes, Dofs, Force, Motion, Vec3
from catena.spatial.mobility import Mobility
from catena.sweeps import Field, Links


def log_determinant(links: Links, q: Field) -> Field:
    """log det M(q), kept at the base: the logarithms of all pivots of D(k), summed and never multiplied."""
    total: Field
    phi, H, P, total = links.fields("phi H P total")
    total[links.base] = 0
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        P[k], total[k] = k.M.articulated, 0
    for k in links.tip_to_base():
        D, _, P_plus = free_joint(P[k], H[k], k.armature)  # (4.6), (4.5)
        P[k.parent] += phi[k].congruence(P_plus)
        total[k.parent] += sum((log(pivot) for pivot in D.inv.pivots), start=total[k])
    return total


def log_determinant_gradient(links: Links, q: Field) -> tuple[Field, Field]:
    """log det M(q), kept at the base, and its derivatives along every joint velocity. Three sweeps."""
    return _with_gradient(links, q, lambda k, H: H)


def log_determinant_across_bonds(links: Links, q: Field) -> tuple[Field, Field]:
    """log det M − log det G of points on bonds, up to a constant, and its derivatives along every joint velocity.

    Every universal joint carries a point, or a thin rod, across its second axis, and nothing beyond it resists turning
    about that bond.
    """
    return _with_gradient(links, q, _across_bond)


def fixman_potential(links: Links, q: Field, kT: Scalar) -> tuple[Field, Field]:
    """½ kT log det M(q), kept at the base, and the torques that it stands for: minus its derivatives."""
    return _potential(links, log_determinant_gradient(links, q), kT)


def fixman_potential_across_bonds(links: Links, q: Field, kT: Scalar) -> tuple[Field, Field]:
    """½ kT (log det M − log det G) of points on bonds, up to a constant, and the torques that it stands for."""
    return _potential(links, log_determinant_across_bonds(links, q), kT)


def _potential(links: Links, found: tuple[Field, Field], kT: Scalar) -> tuple[Field, Field]:
    """½ kT times a logarithm at the base, and −½ kT times its derivatives."""
    total, gradient = found
    potential, torque = links.fields("potential torque")
    for k in links.base_to_tip():
        torque[k] = Dofs([-0.5 * kT * x for x in gradient[k]])
    potential[links.base] = 0.5 * kT * total[links.base]
    return potential, torque


def _with_gradient(links: Links, q: Field, chart: Callable[[Any, Axes], Axes]) -> tuple[Field, Field]:
    """log det of M in the velocities along the axes that `chart` gives for a link with axes H, and its derivatives.

    What `chart` puts in place of H must stand still in the frame of the link.
    """
    phi, H, P, P_plus, G, D, Y, total, gradient = links.fields("phi H P P_plus G D Y total gradient")
    total[links.base], Y[links.base] = 0, Mobility.zero()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        P[k], total[k] = k.M.articulated, 0
    for k in links.tip_to_base():
        D[k], G[k], P_plus[k] = free_joint(P[k], chart(k, H[k]), k.armature)  # (4.6), (5.12), (4.5)
        P[k.parent] += phi[k].congruence(P_plus[k])
        total[k.parent] += sum((log(pivot) for pivot in D[k].inv.pivots), start=total[k])
    for k in links.base_to_tip():
        Y_in, own = Y[k.parent].carried(phi[k]), H[k]
        axes, slopes = chart(k, own), [_power(Y_in, axis, P_plus[k]) for axis in own.columns]
        if axes is own:
            felt = [force - P_plus[k] @ (Y_in @ force) for force in G[k].columns]
            slopes = [x + y for x, y in zip(slopes, _moving_axes(k, q[k], felt), strict=True)]
        gradient[k] = Dofs([2 * x for x in slopes])
        Y[k] = Y_in.through(axes, G[k], D[k])
    return total, gradient


def _across_bond(k: Any, H: Axes) -> Axes:
    """The axes of a link; on a universal joint the second one, and one across that and the bond to the point."""
    if k.joint_type.name != "universal":
        return H
    h = k.M.h
    per_length = 1 / sqrt(h.y * h.y + h.z * h.z)
    return Axes([Motion(Vec3(0, -(h.z * per_length), h.y * per_length), Vec3.zero()), H.columns[1]])


def _power(Y: Mobility, h: Motion, P: ArticulatedInertia) -> Scalar:
    """tr(Y crf(h) P): crf(h) f = h ×* f, column by column of P."""
    total: Scalar = 0
    for i in range(6):
        e = Motion.of([int(i == j) for j in range(6)])
        force = h.cross(P @ e)
        total = total + (Y @ Force(force.angular, force.linear)).components[i]
    return total


def _moving_axes(k: Any, q: Dofs, felt: list[Force]) -> list[Scalar]:
    """tr(∂H F) for each coordinate of a joint: an axis moves only with coordinates that come after its own."""
    n = len(felt)

    def rate(*moving: int) -> Motion:
        motion: Motion = k.joint_type.axes_rate(q, Dofs([int(i in moving) for i in range(n)]))
        return motion

    return [sum((rate(i, j).dot(felt[i]) for i in range(j)), start=0) for j in range(n)]


LOG_DETERMINANT = Function("log_determinant", log_determinant, {"q": "q"}, {"log_determinant": "robot"})
FIXMAN_POTENTIAL = Function(
    "fixman_potential", fixman_potential, {"q": "q", "kT": "robot"}, {"potential": "robot", "torque": "tau"}
)
FIXMAN_POTENTIAL_ACROSS_BONDS = Function(
    "fixman_potential/across_bonds",
    fixman_potential_across_bonds,
    {"q": "q", "kT": "robot"},
    {"potential": "robot", "torque": "tau"},
    regroup=False,
)

GRADIENT = Function(
    "logdet_gradient", lambda links, q: log_determinant_gradient(links, q)[1], {"q": "q"}, {"gradient": "tau"}
)
