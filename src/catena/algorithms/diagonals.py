"""The diagonals of M and of M⁻¹, without the matrices: O(n) each."""

from __future__ import annotations

from catena.algorithms.operational_space import mobilities
from catena.functions.function import Function
from catena.spatial import Dofs, small
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
    (d,) = links.fields("d")
    for k, before, _, G, D in mobilities(links, q):
        own = small.inverse(D).lower
        d[k] = Dofs([(before @ g).dot(g) + own[i][i] for i, g in enumerate(G.columns)])
    return d


DIAGONAL = Function("mass_matrix_diagonal", diagonal, {"q": "q"}, {"d": "joint"})
INVERSE_DIAGONAL = Function("inverse_mass_matrix_diagonal", inverse_diagonal, {"q": "q"}, {"d": "joint"})
