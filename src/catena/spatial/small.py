"""What a small symmetric matrix does to a vector: D x, D⁻¹ x and the two square roots, one joint at a time.

D = L diag(d) Lᵀ with L unit lower triangular, so L diag(√d) is a square root of D and L⁻ᵀ diag(1/√d) one of D⁻¹.
"""

from __future__ import annotations

from catena.scalars import Scalar, sqrt
from catena.spatial.axes import Dofs, InverseOfSmall, SmallSymmetric


def times(D: SmallSymmetric, x: Dofs) -> Dofs:
    """D x."""
    return Dofs([Dofs(row).dot(x) for row in D.rows])


def solve(D: SmallSymmetric, x: Dofs) -> Dofs:
    """D⁻¹ x."""
    return D.inv @ x


def root(D: SmallSymmetric, x: Dofs) -> Dofs:
    """A x, where A Aᵀ = D and A = L diag(√d) is lower triangular."""
    factors, n = D.inv, len(x)
    scaled = [sqrt(d) * xi for d, xi in zip(factors.pivots, x, strict=True)]
    return Dofs([_plus(scaled[i], [factors.L[i][j] * scaled[j] for j in range(i)]) for i in range(n)])


def inverse_root(D: SmallSymmetric, x: Dofs) -> Dofs:
    """A x, where A Aᵀ = D⁻¹ and A = L⁻ᵀ diag(1/√d) is upper triangular."""
    factors = D.inv
    return back([xi / sqrt(d) for d, xi in zip(factors.pivots, x, strict=True)], factors)


def whitened(D: SmallSymmetric, x: Dofs) -> Dofs:
    """Aᵀ x with the same A, diag(1/√d) L⁻¹: the transpose of :func:`inverse_root`."""
    factors, y = D.inv, list(x)
    for i in range(len(y)):
        for j in range(i):
            y[i] = y[i] - factors.L[i][j] * y[j]
    return Dofs([yi / sqrt(d) for d, yi in zip(factors.pivots, y, strict=True)])


def inverse(D: SmallSymmetric) -> SmallSymmetric:
    """D⁻¹ itself, column by column."""
    n = len(D.lower)
    columns = [D.inv @ Dofs([int(i == j) for i in range(n)]) for j in range(n)]
    return SmallSymmetric.of([[column[i] for column in columns] for i in range(n)])


def back(y: list[Scalar], factors: InverseOfSmall) -> Dofs:
    """L⁻ᵀ y by substitution."""
    n = len(y)
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            y[i] = y[i] - factors.L[j][i] * y[j]
    return Dofs(y)


def _plus(first: Scalar, others: list[Scalar]) -> Scalar:
    for x in others:
        first = first + x
    return first
