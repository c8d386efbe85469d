"""The whole mass matrix from composite bodies: each joint moves one rigid body made of all links beyond it.

One sweep for the composite inertias, then for each joint a walk to the base: O(n d) for a tree of depth d.
"""

from __future__ import annotations

from typing import Any

from catena.algorithms.newton_euler import MASS_MATRIX_TIMES
from catena.functions.function import Function
from catena.functions.recipes import columns
from catena.scalars import Scalar
from catena.sweeps import Field


def mass_matrix(links: Any, q: Field) -> list[list[Scalar]]:
    """M(q), nv x nv: the force that link j feels when joint k moves alone, along joint j's axes."""
    phi, H, M = links.fields("phi H M")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        M[k] = k.M
    nv = links.nv
    matrix: list[list[Scalar]] = [[0] * nv for _ in range(nv)]
    for k in links.tip_to_base():
        forces = [M[k] @ axis for axis in H[k].columns]
        _fill(matrix, k, k, [H[k] @ f for f in forces])
        for i, rotor in enumerate(k.armature):
            matrix[k.v_start + i][k.v_start + i] += rotor
        j = k
        while j.parent is not links.base:
            forces = [phi[j] @ f for f in forces]
            j = j.parent
            _fill(matrix, k, j, [H[j] @ f for f in forces])
        M[k.parent] += phi[k].congruence(M[k])
    return matrix


def _fill(matrix: list[list[Scalar]], k: Any, j: Any, block: list[Any]) -> None:
    """Put the block of joints k and j into the matrix, and its transpose at the mirrored place."""
    for row, entries in enumerate(block):
        for column, x in enumerate(entries):
            matrix[k.v_start + row][j.v_start + column] = x
            matrix[j.v_start + column][k.v_start + row] = x


MASS_MATRIX = Function(
    "mass_matrix",
    mass_matrix,
    inputs={"q": "q"},
    outputs={"M": "dense:nv,nv"},
    recipe=lambda ask, q: columns(ask, MASS_MATRIX_TIMES, ask.tree.nv, q),
)
