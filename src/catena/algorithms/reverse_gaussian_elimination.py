"""Reverse Gaussian elimination: Saha (1995), appendix A, on a matrix that is already there.

Elimination starts with the last column. On a symmetric matrix it gives I = U D Uᵀ, and on the mass matrix of a tree
numbered base to tip it never fills a zero, whatever the branching. O(n³) for a chain: this is the method that the
recursions of :mod:`catena.algorithms.udu` are measured against, and how it was found where they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.algorithms.composite_body import mass_matrix
from catena.algorithms.newton_euler import bias
from catena.functions.function import Function
from catena.scalars import Scalar, is_zero
from catena.sweeps import Field

Matrix = list[list[Scalar]]


def eliminate(matrix: Sequence[Sequence[Scalar]]) -> tuple[Matrix, list[Scalar]]:
    """U, by its entries α_ik above the diagonal, and D, such that the symmetric matrix is U D Uᵀ: (25)-(30)."""
    n = len(matrix)
    rest = [list(row) for row in matrix]
    U: Matrix = [[int(i == k) for k in range(n)] for i in range(n)]
    for k in reversed(range(n)):
        reciprocal = 1 / rest[k][k] if k else None
        for i in reversed(range(k)):
            if is_zero(rest[i][k]):
                continue
            U[i][k] = rest[i][k] * reciprocal  # α_ik
            for j in range(i + 1):
                if not is_zero(rest[j][k]):
                    rest[i][j] = rest[j][i] = rest[i][j] - U[i][k] * rest[j][k]  # i_ij of L_k = E_k L_(k+1) (30)
    return U, [rest[k][k] for k in range(n)]


def eliminated(U: Matrix, b: Sequence[Scalar]) -> list[Scalar]:
    """U⁻¹ b, the first of the three steps (24)."""
    x = list(b)
    for k in reversed(range(len(x))):
        for i in range(k):
            if not is_zero(U[i][k]):
                x[i] = x[i] - U[i][k] * x[k]
    return x


def substitute(U: Matrix, D: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """The solution of U D Uᵀ x = b in the three steps (24)."""
    n, x = len(D), eliminated(U, b)
    x = [x[k] * (1 / D[k]) for k in range(n)]
    for k in range(n):
        for i in range(k):
            if not is_zero(U[i][k]):
                x[k] = x[k] - U[i][k] * x[i]
    return x


def forward_dynamics(links: Any, q: Field, v: Field, tau: Field, f_ext: Field | None = None) -> list[Scalar]:
    """Joint accelerations from the whole mass matrix: composite bodies, elimination, substitution. O(n³) for chains."""
    left = bias(links, q, v, f_ext)
    torques = [x for i in links.base_to_tip() for x in tau[i] - left[i]]
    return substitute(*eliminate(mass_matrix(links, q)), torques)


def solve(links: Any, q: Field, x: Field) -> list[Scalar]:
    """I⁻¹ x from the whole mass matrix. O(n³) for a chain."""
    return substitute(*eliminate(mass_matrix(links, q)), [number for i in links.base_to_tip() for number in x[i]])


FORWARD_DYNAMICS = Function(
    "forward_dynamics/dense",
    forward_dynamics,
    {"q": "q", "v": "v", "tau": "tau", "f_ext": "force"},
    {"vdot": "dense:nv"},
    optional=("f_ext",),
)
SOLVE = Function("dense/solve", solve, {"q": "q", "x": "tau"}, {"y": "dense:nv"})
