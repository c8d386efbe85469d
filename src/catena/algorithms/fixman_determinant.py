"""log det M by Fixman's theorem: det G · det Hᵇᵇ = det Gᵃᵃ, Lee & Chirikjian (2005) (8), for trees of rigid bodies.

    log det M = Σ (log det I(k) + 3 log m(k)) + 2 Σ log |det K(k)| + log det Hᵇᵇ          errata.md

The first sum is det G of the cut mechanism, known in closed form; the last one comes from the pivots of the
leaves-first factorization in :mod:`catena.algorithms.fixman`.
"""

from __future__ import annotations

from catena.algorithms.fixman import is_one, on_chain, parted, squared_length
from catena.kinds import Function
from catena.scalars import log
from catena.spatial.cut import CutMobility, determinant_of_body
from catena.sweeps import Field, Links


def log_determinant(links: Links, q: Field) -> Field:
    """log det M(q), kept at the base. One sweep after the transforms, O(n)."""
    total: Field
    phi, H, N, W, total = links.fields("phi H N W total")
    N[links.base] = W[links.base] = CutMobility.zero()
    total[links.base] = 0
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        N[k] = W[k] = CutMobility.of_body(k.M)
        total[k] = log(determinant_of_body(k.M))
        for column in H[k].columns:
            size = squared_length(column)  # 2 log |det K| of orthogonal axes
            if not is_one(size):
                total[k] = total[k] + log(size)
    for k in links.tip_to_base():
        _, Z = parted(H[k], k.armature)
        W_parent = (N if on_chain(links) else W)[k.parent].to_child(phi[k])
        E = Z.congruence(W[k] + W_parent).inv
        W[k.parent] += -Z.moved_by(W_parent).weighted(E).to_parent(phi[k])
        own = sum((log(pivot) for pivot in E.pivots), start=total[k])
        total[k.parent] += own
    return total


LOG_DETERMINANT = Function(
    "log_determinant/fixman", log_determinant, {"q": "q"}, {"log_determinant": "robot"}, regroup=False
)
