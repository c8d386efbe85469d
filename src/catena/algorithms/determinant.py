"""log det M and its gradient from the innovations factorization: Σ log det D(k), in O(n).

Fixman's potential is ½ kT log det M; its gradient is the torque that makes a chain of stiff bonds and one of rigid
bonds visit the same configurations. Formula in errata.md, here in the form that holds with rotors as well:

    ∂ log det M / ∂q(k) = 2 tr(Y · crf(h(k)) · P⁺(k)) + 2 tr(∂H(k) (1 − P⁺(k) Y) G(k)),    Y = φᵀ Υ(parent) φ

P⁺ is what the parent feels of P(k) through the joint; Υ(k) = ψᵀ Υ(parent) ψ + Hᵀ D⁻¹ H is the mobility of link k;
the last term is for joints whose axes move in the child's frame, through D and through P⁺.
"""

from __future__ import annotations

from typing import Any

from catena.algorithms.steps import free_joint
from catena.functions.function import Function
from catena.scalars import Scalar, log
from catena.spatial import ArticulatedInertia, Dofs, Force, Motion
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
    phi, H, P, P_plus, G, D, Y, total, gradient = links.fields("phi H P P_plus G D Y total gradient")
    total[links.base], Y[links.base] = 0, Mobility.zero()
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        P[k], total[k] = k.M.articulated, 0
    for k in links.tip_to_base():
        D[k], G[k], P_plus[k] = free_joint(P[k], H[k], k.armature)  # (4.6), (5.12), (4.5)
        P[k.parent] += phi[k].congruence(P_plus[k])
        total[k.parent] += sum((log(pivot) for pivot in D[k].inv.pivots), start=total[k])
    for k in links.base_to_tip():
        Y_in = Y[k.parent].carried(phi[k])
        slopes = [_power(Y_in, axis, P_plus[k]) for axis in H[k].columns]
        felt = [force - P_plus[k] @ (Y_in @ force) for force in G[k].columns]
        slopes = [x + y for x, y in zip(slopes, _moving_axes(k, q[k], felt), strict=True)]
        gradient[k] = Dofs([2 * x for x in slopes])
        Y[k] = Y_in.through(H[k], G[k], D[k])
    return total, gradient


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
LOG_DETERMINANT_GRADIENT = Function(
    "log_determinant_gradient", log_determinant_gradient, {"q": "q"}, {"log_determinant": "robot", "gradient": "v"}
)

GRADIENT = Function(
    "logdet_gradient", lambda links, q: log_determinant_gradient(links, q)[1], {"q": "q"}, {"gradient": "v"}
)
