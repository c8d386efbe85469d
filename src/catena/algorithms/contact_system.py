"""The contact system of closed chains, Ω λ = wanted − J a: put together from whitened columns, factored and solved.

See :mod:`catena.algorithms.closed_chains`, whose steps 2 to 4 these are. For unrolled kernels only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from catena.algorithms.closure_tolerances import NOTHING
from catena.algorithms.closures import plus
from catena.algorithms.inverse_matrix import Column, Matrix, Whitener
from catena.algorithms.steps import smoothed
from catena.scalars import Scalar, is_zero, maximum, minimum, where
from catena.spatial import Motion
from catena.spatial.small import back
from catena.sweeps import Field

Closure = Callable[[Any, Field], Any]
"""Gives a constraint at a configuration from the links and q: see :mod:`catena.algorithms.closures`."""


class Contact:
    """The constraints at a configuration, and their contact system with Ω = CᵀD⁻¹C, factored, perhaps damped."""

    def __init__(self, links: Any, q: Field, closures: Sequence[Closure], damping: float = 0.0) -> None:
        self.whitener, self.closed = Whitener(links, q), [closure(links, q) for closure in closures]
        self.C = [column for each in self.closed for column in each.columns(self.whitener)]  # 2.
        self.factors = Factors(self.whitener.products(self.C, self.C), damping)

    def wanted(
        self, v: Field, gains: Sequence[Scalar] | None = None, driven: Sequence[Scalar] | None = None
    ) -> list[Scalar]:
        """What J a has to be: the accelerations that rows are driven at less J̇v, and what gains make of errors."""
        wanted = [-x for each in self.closed for x in each.bias(v)]
        places, speeds, accelerations = rows_of(driven, len(wanted))
        if driven is not None:
            wanted = [w + x for w, x in zip(wanted, accelerations, strict=True)]
        if gains is None:
            return wanted
        off = less([x for each in self.closed for x in each.residual], places)
        rates = less([x for each in self.closed for x in each.rates(v)], speeds)
        return [w - gains[0] * x - gains[1] * y for w, x, y in zip(wanted, off, rates, strict=True)]

    def met(self, e: Column, wanted: Sequence[Scalar], rounds: int = 2) -> tuple[list[Scalar], Column]:
        """λ and the innovations e + C λ that have the rates `wanted`.

        Ω squares what C loses, and damping leaves something: what is short is found from C itself, and met again.
        """
        lam: list[Scalar] = [0] * len(wanted)
        for _ in range(rounds):
            more = self.factors.solve(short_of(self.whitener, self.C, e, wanted))  # 3.
            lam, e = [x + y for x, y in zip(lam, more, strict=True)], combined(e, self.C, more)
        return lam, e


def rows_of(driven: Sequence[Scalar] | None, rows: int) -> list[Sequence[Scalar]]:
    """Where constraints are driven to, how fast, and at which accelerations: nothing of those that stand still."""
    return [driven[i * rows : (i + 1) * rows] if driven is not None else [0] * rows for i in range(3)]


def less(x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
    """x − y, and x itself where y is known to be zero."""
    return [a if is_zero(b) else a - b for a, b in zip(x, y, strict=True)]


def short_of(whitener: Whitener, C: Sequence[Column], e: Column, wanted: Sequence[Scalar]) -> list[Scalar]:
    """What the rates along the held directions lack: wanted − Cᵀ D⁻¹ e."""
    (found,) = zip(*whitener.products(list(C), [e]), strict=True) if C else [()]
    return [w - x for w, x in zip(wanted, found, strict=True)]


def combined(e: Column, C: Sequence[Column], lam: Sequence[Scalar]) -> Column:
    """The innovations e + C λ."""
    for column, x in zip(C, lam, strict=True):
        e = plus(e, column, x)
    return e


def smooth(links: Any, whitener: Whitener, e: Column) -> Field:
    """U⁻ᵀ D⁻¹ e, by (5.10)."""
    lam: Field
    a: Field
    lam, a = links.fields("lam a")
    lam[links.base] = Motion.zero()
    for k in links.base_to_tip():
        nu = back([whitener.weight[i] * e[i] for i in whitener.numbers(k)], whitener.D[k].inv)
        a[k], lam[k] = smoothed(whitener.phi[k].T @ lam[k.parent], nu, whitener.H[k], whitener.G[k])
    return a


class Factors:
    """S = L diag(pivots) Lᵀ of a symmetric matrix, without pivoting; entries that are known to be zero cost nothing.

    Rows that are zero but for rounding are left out: solutions are zero there. `independence` is the least that earlier
    rows leave of a later one, relative to its size. `damping` adds such a share of itself to the diagonal.
    """

    def __init__(self, S: Matrix, damping: float = 0.0) -> None:
        n = len(S)
        self.L: Matrix = [[0] * n for _ in range(n)]
        self.reciprocals: list[Scalar] = []
        self.independence: Scalar = 1.0
        least = NOTHING * reduce(maximum, [S[i][i] for i in range(n)], 0.0)
        for i in range(n):
            scaled: list[Scalar] = []
            for j in range(i):
                scaled.append(_minus(S[i][j], [(scaled[k], self.L[j][k]) for k in range(j)]))
            self.L[i][:i] = [times(x, r) for x, r in zip(scaled, self.reciprocals, strict=False)]
            pivot = _minus(S[i][i] * (1.0 + damping), list(zip(scaled, self.L[i], strict=False)))
            counts = S[i][i] > least
            self.reciprocals.append(where(counts, 1 / where(counts, pivot, 1.0), 0.0))
            kept = where(counts, pivot / where(counts, S[i][i], 1.0), 1.0)
            self.independence = minimum(self.independence, kept)

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """S⁻¹ b."""
        x, n = list(b), len(b)
        for i in range(n):
            x[i] = _minus(x[i], [(self.L[i][j], x[j]) for j in range(i)])
        x = [times(a, r) for a, r in zip(x, self.reciprocals, strict=True)]
        for i in reversed(range(n)):
            x[i] = _minus(x[i], [(self.L[j][i], x[j]) for j in range(i + 1, n)])
        return x


def times(x: Scalar, y: Scalar) -> Scalar:
    """x y, and nothing where one of them is known to be zero."""
    return 0 if is_zero(x) or is_zero(y) else x * y


def _minus(x: Scalar, products: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
    for a, b in products:
        if not is_zero(a) and not is_zero(b):
            x = x - a * b
    return x
