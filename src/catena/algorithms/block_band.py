"""Symmetric matrices of blocks, each coupled to the block before it: factors, solutions, determinant and inverse.

A banded matrix of half-bandwidth w is one of w x w blocks A(k,k) and A(k,k−1): a chain. Eliminating from the last block
to the first is a sweep to the base, with the pivots S(k) and the gains K(k) = S(k)⁻¹ A(k,k−1):

    S(k−1) = A(k−1,k−1) − A(k,k−1)ᵀ K(k)
    log det A = Σ log det S(k)
    Z(k,k−1) = −K(k) Z(k−1,k−1),   Z(k,k) = S(k)⁻¹ − Z(k,k−1) K(k)ᵀ     the inverse, where A has entries

Links stand for blocks here, and nothing else of them is used.
"""

from __future__ import annotations

import math
from functools import cache, reduce
from operator import add
from typing import Any, NamedTuple

from catena.functions.function import Function
from catena.scalars import Scalar, log
from catena.spatial import Dofs, SmallSymmetric
from catena.sweeps import Field, Links

Rows = list[list[Scalar]]


def factors(links: Links, diagonal: Field, coupling: Field) -> tuple[Field, Field, Field]:
    """S(k)⁻¹ and K(k) of each block, and log det A at the base. The coupling of the first block must be zero."""
    S, inverse, gain, total = links.fields("S inverse gain total")
    total[links.base] = 0
    for k in links.base_to_tip():
        S[k], total[k] = Dofs(diagonal[k]), 0
    for k in links.tip_to_base():
        rows, A = _square(list(S[k])), _square(coupling[k])
        pivot = SmallSymmetric.of(rows).inv
        unit = [[int(i == j) for j in range(len(A))] for i in range(len(A))]
        inverse[k] = [x for row in _transposed([list(pivot @ Dofs(e)) for e in unit]) for x in row]
        K = _transposed([list(pivot @ Dofs(column)) for column in _transposed(A)])
        gain[k] = [x for row in K for x in row]
        S[k.parent] += Dofs([-x for row in _times(_transposed(A), K) for x in row])
        total[k.parent] += sum((log(x) for x in pivot.pivots), start=total[k])
    return inverse, gain, total


def solve(links: Links, inverse: Field, gain: Field, b: Field, size: int) -> Field:
    """A⁻¹ b from the factors, for blocks of `size` rows."""
    x: Field
    y, x = links.fields("y x")
    x[links.base] = Dofs([0] * size)
    for k in links.base_to_tip():
        y[k] = Dofs(b[k])
    for k in links.tip_to_base():
        K = _square(gain[k])
        y[k.parent] += Dofs([-_dot(column, y[k]) for column in _transposed(K)])
    for k in links.base_to_tip():
        alone = [_dot(row, y[k]) for row in _square(inverse[k])]
        x[k] = Dofs([own - _dot(row, x[k.parent]) for own, row in zip(alone, _square(gain[k]), strict=True)])
    return x


def inverse_entries(links: Links, diagonal: Field, coupling: Field, size: int) -> tuple[Field, Field, Field]:
    """log det A at the base, and the blocks Z(k,k) and Z(k,k−1) of A⁻¹."""
    Z, beside = links.fields("Z beside")
    inverse, gain, total = factors(links, diagonal, coupling)
    Z[links.base] = Dofs([0] * size**2)
    for k in links.base_to_tip():
        K = _square(gain[k])
        off = [[-x for x in row] for row in _times(K, _square(list(Z[k.parent])))]
        more = _times(off, _transposed(K))
        beside[k] = Dofs([x for row in off for x in row])
        Z[k] = Dofs([x - y for x, y in zip(inverse[k], [x for row in more for x in row], strict=True)])
    return total, Z, beside


def _square(numbers: Any) -> Rows:
    n = math.isqrt(len(numbers))
    return [list(numbers[n * i : n * i + n]) for i in range(n)]


def _transposed(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


def _dot(a: Any, b: Any) -> Scalar:
    return reduce(add, [x * y for x, y in zip(a, b, strict=True)])


def _times(A: Rows, B: Rows) -> Rows:
    return [[_dot(row, column) for column in _transposed(B)] for row in A]


class BlockFunctions(NamedTuple):
    """The functions for blocks of one size."""

    factors: Function
    solve: Function
    inverse_entries: Function


@cache
def block_functions(size: int) -> BlockFunctions:
    """The functions for blocks of `size` rows."""
    square, row = f"link:{size},{size}", f"link:{size}"
    matrix = {"diagonal": square, "coupling": square}

    def solve_(links: Links, inverse: Field, gain: Field, b: Field) -> Field:
        return solve(links, inverse, gain, b, size)

    def inverse_entries_(links: Links, diagonal: Field, coupling: Field) -> tuple[Field, Field, Field]:
        return inverse_entries(links, diagonal, coupling, size)

    known = {"inverse": square, "gain": square}
    return BlockFunctions(
        Function(f"block_factors/{size}", factors, matrix, {**known, "log_determinant": "robot"}),
        Function(f"block_solve/{size}", solve_, {**known, "b": row}, {"x": row}),
        Function(
            f"block_inverse/{size}",
            inverse_entries_,
            matrix,
            {"log_determinant": "robot", "diagonal": square, "beside": square},
        ),
    )
