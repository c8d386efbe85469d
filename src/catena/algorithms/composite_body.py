"""The whole mass matrix from composite bodies: each joint moves one rigid body made of all links beyond it.

One sweep for the composite inertias, then for each joint a walk to the base: O(n d) for a tree of depth d.
"""

from __future__ import annotations

from catena.scalars import Scalar
from catena.sweeps import Field, Links


def mass_matrix(links: Links, q: Field) -> dict[tuple[int, int], list[list[Scalar]]]:
    """M(q) in blocks: entry (i, j), for link i and its ancestor or itself j, holds the rows of joint i, columns of joint j."""
    phi, H, M = links.fields("phi H M")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        M[k] = k.M
    blocks = {}
    for k in links.tip_to_base():
        forces = [M[k] @ axis for axis in H[k].columns]
        own = [list(H[k] @ f) for f in forces]
        blocks[k.index, k.index] = [[x + k.armature[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(own)]
        link = k
        while link.parent is not links.base:
            forces = [phi[link] @ f for f in forces]
            link = link.parent
            blocks[k.index, link.index] = [list(H[link] @ f) for f in forces]
        M[k.parent] += phi[k].congruence(M[k])
    return blocks
