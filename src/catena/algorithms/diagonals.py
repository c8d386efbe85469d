"""The diagonals of M and of M⁻¹, without the matrices: O(n) each."""

from __future__ import annotations

from catena.algorithms.innovations import factor
from catena.functions.function import Function
from catena.spatial import Dofs, small
from catena.spatial.mobility import Mobility
from catena.sweeps import Field, Links


def diagonal(links: Links, q: Field) -> Field:
    """The diagonal of M(q), from composite bodies: what each degree of freedom feels when it moves alone."""
    phi, H, M, d = links.fields("phi H M d")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        M[k] = k.M
    for k in links.tip_to_base():
        d[k] = Dofs([axis.dot(M[k] @ axis) for axis in H[k].columns]) + k.armature
        M[k.parent] += phi[k].congruence(M[k])
    return d


def inverse_diagonal(links: Links, q: Field) -> Field:
    """The diagonal of M(q)⁻¹: D⁻¹ + Gᵀ φᵀ Υ φ G, joint by joint, with Υ the mobility of the parent."""
    G, D = factor(links, q)
    Upsilon, d = links.fields("Upsilon d")
    Upsilon[links.base] = Mobility.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        before = Upsilon[k.parent].carried(phi)
        own = small.inverse(D[k]).lower
        d[k] = Dofs([(before @ g).dot(g) + own[i][i] for i, g in enumerate(G[k].columns)])
        Upsilon[k] = before.through(H, G[k], D[k])
    return d


DIAGONAL = Function("mass_matrix_diagonal", diagonal, {"q": "q"}, {"d": "v"})
INVERSE_DIAGONAL = Function("inverse_mass_matrix_diagonal", inverse_diagonal, {"q": "q"}, {"d": "v"})
