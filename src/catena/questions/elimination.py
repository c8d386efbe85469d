"""Reverse Gaussian elimination step by step, with the elementary upper triangular matrices: Saha (1995), appendix A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Elimination:
    """matrix = U D Uᵀ, with the steps that lead there where they were asked for.

    `E[k]` is the elementary upper triangular matrix (26) that makes the columns of joint k zero above the diagonal, and
    `L[k]` = E[k] L[k + 1] (30) what is left after it; joints count from 0, so the steps are k = n - 1, …, 1.
    """

    U: Array
    D: Array
    E: Mapping[int, Array] = field(default_factory=dict)
    L: Mapping[int, Array] = field(default_factory=dict)


def eliminate(matrix: npt.ArrayLike, starts: Sequence[int], *, steps: bool = False) -> Elimination:
    """Eliminate a symmetric positive definite matrix (..., nv, nv) from its last column on, joint by joint.

    Joint k has the rows and columns from starts[k] to starts[k + 1]: for joints with several degrees of freedom D is
    block diagonal and U has unit blocks on its diagonal. O(n³), of which steps=True keeps n matrices.
    """
    L = np.array(matrix, dtype=float)
    nv = L.shape[-1]
    U = np.broadcast_to(np.eye(nv), L.shape).copy()
    E_k: dict[int, Array] = {}
    L_k: dict[int, Array] = {}
    for k in reversed(range(1, len(starts) - 1)):
        block = slice(starts[k], starts[k + 1])
        above = slice(0, starts[k])
        alpha = np.swapaxes(np.linalg.solve(L[..., block, block], np.swapaxes(L[..., above, block], -1, -2)), -1, -2)
        U[..., above, block] = alpha  # (31)
        E = np.broadcast_to(np.eye(nv), L.shape).copy()
        E[..., above, block] = -alpha  # (29)
        L = E @ L  # (30)
        L[..., above, block] = 0.0
        if steps:
            E_k[k], L_k[k] = E, L
    D = np.zeros_like(L)
    for k in range(len(starts) - 1):
        block = slice(starts[k], starts[k + 1])
        D[..., block, block] = L[..., block, block]  # (20)
    return Elimination(U, D, E_k, L_k)
