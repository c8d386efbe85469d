"""log det M by Fixman's theorem: det G · det Hᵇᵇ = det Gᵃᵃ, Lee & Chirikjian (2005) (8), for trees of rigid bodies.

    log det M = Σ (log det I(k) + 3 log m(k)) + 2 Σ log |det K(k)| + log det Hᵇᵇ          errata.md

The first sum is det G of the cut mechanism, known in closed form; the last one comes from the pivots of the
leaves-first factorization in :mod:`catena.algorithms.fixman`. Where a joint stays whole its part of the product is

    det D(k)                       of a link without a mobility, times det(1 + W P⁺) if its parent has one
    det M(k) |det K|² det Z W Zᵀ   of a link with a mobility, on a parent without

because det(Z W Zᵀ) = det D det W / |det K|² links the two ways to count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catena.algorithms.steps import free_joint
from catena.functions.function import Function
from catena.scalars import Scalar, log
from catena.spatial import ArticulatedInertia
from catena.spatial.cut import RigidMobility, carrying, determinant_of_body
from catena.spatial.directions import is_one, parted, squared_length
from catena.spatial.mobility import Mobility
from catena.sweeps import Field, Links


def log_determinant(links: Links, q: Field) -> Field:
    """log det M(q), kept at the base. One sweep after the transforms, O(n)."""
    total: Field
    phi, H, N, W, P, total = links.fields("phi H N W P total")
    N[links.base], W[links.base] = RigidMobility.zero(), Mobility.zero()
    total[links.base] = 0
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        if k.solid:
            N[k] = RigidMobility.of(k.M)
            W[k] = N[k].blocks
            sizes = [squared_length(column) for column in H[k].columns]  # |det K|² of orthogonal axes
            total[k] = _logs([determinant_of_body(k.M), *[x for x in sizes if not is_one(x)]])
        else:
            P[k], total[k] = k.M.articulated, 0
    for k in links.tip_to_base():
        pivots: list[Scalar]
        before = N if k.only_child else W  # the parent's mobility before this link is joined to it
        if k.solid and k.on_solid:
            _, Z = parted(H[k], k.armature)
            W_parent = before[k.parent].carried(phi[k])
            E = Z.congruence(W[k] + W_parent).inv
            W[k.parent] += -Z.moved_by(W_parent).weighted(E).carried_back(phi[k])
            pivots = E.pivots
        else:
            felt, pivots = _felt(k, H[k], W, P)
            felt = phi[k].congruence(felt)
            if k.on_solid:
                W_parent = before[k.parent].blocks
                together, more = carrying(W_parent, felt)
                W[k.parent] += together - W_parent
                pivots = pivots + more
            else:
                P[k.parent] += felt
        total[k.parent] += total[k] + _logs(pivots)
    return total


def _felt(k: Any, H: Any, W: Field, P: Field) -> tuple[ArticulatedInertia, list[Scalar]]:
    """What the parent feels through a joint that stays whole, and the pivots of the joint."""
    if k.solid:
        _, Z = parted(H, k.armature)
        hold = Z.congruence(W[k]).inv
        return Z.weighted(hold), hold.pivots
    D, _, P_plus = free_joint(P[k], H, k.armature)
    return P_plus, D.inv.pivots


def _logs(factors: Iterable[Scalar]) -> Scalar:
    """The sum of the logarithms."""
    return sum((log(x) for x in factors), start=0)


LOG_DETERMINANT = Function(
    "log_determinant/fixman", log_determinant, {"q": "q"}, {"log_determinant": "robot"}, regroup=False, cut=True
)
