"""M⁻¹ as a whole matrix, from M⁻¹ = (I − HΨL)ᵀ D⁻¹ (I − HΨL): Rodriguez & Kreutz (1988), (4.16).

A torque or a wrench on a link is whitened on its way to the base, (4.15): it leaves an innovation at each joint that it
passes, and none elsewhere. An entry of M⁻¹ is then a product of two such columns with D⁻¹ between them, a sum over the
joints that lie between the base and both links: exactly zero where branches part at a fixed base. M⁻¹Jᵀ and J M⁻¹Jᵀ are
made of the same columns, in :mod:`catena.algorithms.operational_space`. For unrolled kernels only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catena.algorithms.frames import Place
from catena.algorithms.innovations import FACTOR, SOLVE, riccati
from catena.functions.function import Function
from catena.functions.recipes import columns
from catena.scalars import Scalar, is_zero
from catena.spatial import Dofs, Force
from catena.sweeps import Field

Matrix = list[list[Scalar]]

Column = dict[int, Scalar]
"""The innovations L⁻¹ (I − HΨL) x that torques x leave, by the number of the degree of freedom; D = L diag Lᵀ."""


def inverse_mass_matrix(links: Any, q: Field) -> Matrix:
    """M(q)⁻¹, nv rows. O(n²), or O(n d²) where branches part early."""
    whitener = Whitener(links, q)
    columns = whitener.torques()
    return whitener.products(columns, columns)


class Whitener:
    """The factors of M, and the way of torques and wrenches to the base."""

    def __init__(self, links: Any, q: Field) -> None:
        self.links = links
        self.phi, self.H = links.fields("phi H")
        for k in links.base_to_tip():
            self.phi[k], self.H[k] = k.joint(q[k])
        _, self.D, self.G = riccati(links, q)
        self.weight = [r for k in links.base_to_tip() for r in self.D[k].inv.reciprocals]

    def torques(self) -> list[Column]:
        """The columns of unit torques, one for each degree of freedom."""
        return [
            self.torque(k, Dofs([int(i == j) for j in range(k.joint_type.nv)]))
            for k in self.links
            for i in range(k.joint_type.nv)
        ]

    def wrenches(self, q: Field, places: Sequence[Place], points: Sequence[list[Scalar] | None]) -> list[Column]:
        """The columns of unit wrenches on frames, six for each."""
        columns = []
        for place, point in zip(places, points or [None] * len(places), strict=True):
            k, units = place.unit_wrenches(self.links, q, point)
            columns += [self.wrench(k, f) for f in units]
        return columns

    def wrench(self, k: Any, f: Force) -> Column:
        """The column of a wrench on link k, in its internal frame."""
        return self._column(k, self.H[k] @ f, -f)

    def torque(self, k: Any, tau: Dofs) -> Column:
        """The column of torques at joint k."""
        return self._column(k, tau, Force.zero())

    def numbers(self, k: Any) -> range:
        """The numbers of the degrees of freedom of joint k."""
        return range(k.v_start, k.v_start + k.joint_type.nv)

    def own(self, k: Any, eps: Dofs) -> Column:
        """The part of a column at joint k that innovations eps there make."""
        return dict(zip(self.numbers(k), _forward(self.D[k].inv.L, list(eps)), strict=True))

    def _column(self, k: Any, eps: Dofs, z: Force) -> Column:
        """What innovations eps at joint k, and z = −f for a wrench f on link k, leave from there to the base."""
        column: Column = {}
        while True:
            column.update(self.own(k, eps))
            if k.parent is self.links.base:
                return column
            z = self.phi[k] @ (z + self.G[k] @ eps)  # ψ z + L x
            k = k.parent
            eps = -(self.H[k] @ z)  # (4.15)

    def products(self, left: list[Column], right: list[Column]) -> Matrix:
        """leftᵀ D⁻¹ right, each entry of a symmetric result made once."""
        symmetric = left is right
        matrix: Matrix = [[0] * len(right) for _ in left]
        for j, column in enumerate(right):
            weighted = {row: self.weight[row] * x for row, x in column.items() if not is_zero(x)}
            for i in range(j if symmetric else 0, len(left)):
                terms = [x * weighted[row] for row, x in left[i].items() if row in weighted and not is_zero(x)]
                matrix[i][j] = sum(terms[1:], start=terms[0]) if terms else 0
                if symmetric:
                    matrix[j][i] = matrix[i][j]
        return matrix


def _forward(L: list[list[Scalar]], x: list[Scalar]) -> list[Scalar]:
    """L⁻¹ x for unit lower triangular L."""
    for i in range(len(x)):
        for j in range(i):
            x[i] = x[i] - L[i][j] * x[j]
    return x


INVERSE_MASS_MATRIX = Function(
    "inverse_mass_matrix/whitened",
    inverse_mass_matrix,
    {"q": "q"},
    {"inverse": "dense:nv,nv"},
    recipe=lambda ask, q: columns(ask, SOLVE, ask.tree.nv, q, *ask(FACTOR, q)),
)
