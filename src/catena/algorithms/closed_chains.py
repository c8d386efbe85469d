"""Closed chains: Rodriguez & Kreutz (1988), Part II, as derived in the errata. For unrolled kernels only.

Loops are closed by constraints: each holds the rates J v of some directions between two frames, with forces λ along the
same directions, M a = τ − b + Jᵀλ. With M⁻¹ = Uᵀ⁻¹ D⁻¹ U⁻¹ (4.16) the steps of Part II become

    1.  free motion: the innovations ε = U⁻¹ (τ − b) of the open trees, one sweep to the tips, one to the base
    2.  what unit forces along the held directions leave on their way to the base: C = U⁻¹ Jᵀ; Ω = Cᵀ D⁻¹ C = J M⁻¹Jᵀ
    3.  the contact system Ω λ = −J̇ v − Cᵀ D⁻¹ ε: all constraints together
    4.  correction: a = U⁻ᵀ D⁻¹ (ε + C λ), one sweep to the tips

In step 2 every column ends at the base, so arms that share nothing have no entry in common, and neither does Ω.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

from catena.algorithms.closures import plus
from catena.algorithms.inverse_matrix import Column, Matrix, Whitener
from catena.algorithms.newton_euler import at_rest
from catena.algorithms.steps import filtered, smoothed
from catena.scalars import Scalar, is_zero, maximum, minimum, sqrt, where
from catena.spatial import Dofs, Force, Motion
from catena.spatial.small import back
from catena.sweeps import Field

Closure = Callable[[Any, Field], Any]
"""Gives a constraint at a configuration from the links and q: see :mod:`catena.algorithms.closures`."""


def residual(links: Any, q: Field, *, closures: Sequence[Closure]) -> list[Scalar]:
    """How far the constraints are from being met."""
    return [x for closure in closures for x in closure(links, q).residual]


def jacobian(links: Any, q: Field, *, closures: Sequence[Closure]) -> Matrix:
    """J: a row for each direction that is held."""
    return [row for closure in closures for row in closure(links, q).rows()]


def rates(links: Any, q: Field, v: Field, *, closures: Sequence[Closure]) -> list[Scalar]:
    """J v."""
    return [x for closure in closures for x in closure(links, q).rates(v)]


def bias(links: Any, q: Field, v: Field, *, closures: Sequence[Closure]) -> list[Scalar]:
    """J̇ v."""
    return [x for closure in closures for x in closure(links, q).bias(v)]


def forces(links: Any, q: Field, lam: Sequence[Scalar], *, closures: Sequence[Closure]) -> Matrix:
    """Of each constraint the wrench that multipliers λ amount to."""
    return exerted([closure(links, q) for closure in closures], lam)


def torques(links: Any, q: Field, lam: Sequence[Scalar], *, closures: Sequence[Closure]) -> Field:
    """Jᵀ λ: what multipliers amount to at the joints."""
    J = jacobian(links, q, closures=closures)
    tau: Field
    (tau,) = links.fields("tau")
    for k in links.base_to_tip():
        numbers = range(k.v_start, k.v_start + k.joint_type.nv)
        tau[k] = Dofs([sum(_times(row[i], x) for row, x in zip(J, lam, strict=True)) for i in numbers])
    return tau


def directions(links: Any, q: Field, *, closures: Sequence[Closure]) -> Matrix:
    """Q: for each direction that is held the wrenches on the frames of both sides, twelve numbers."""
    return [row for closure in closures for row in closure(links, q).held_wrenches]


def exerted(closed: Sequence[Any], lam: Sequence[Scalar]) -> Matrix:
    """Of each constraint the wrench that its part of λ amounts to."""
    ends = list(accumulate(each.holds for each in closed))
    return [each.exerted(lam[end - each.holds : end]) for each, end in zip(closed, ends, strict=True)]


def white_jacobian(links: Any, q: Field, *, closures: Sequence[Closure]) -> Matrix:
    """B = D^−½ U⁻¹ Jᵀ, nv rows, a column for each direction: BᵀB = J M⁻¹Jᵀ, and M⁻¹Jᵀ = U⁻ᵀ D^−½ B."""
    whitener = Whitener(links, q)
    columns = [column for closure in closures for column in closure(links, q).columns(whitener)]
    roots = [sqrt(weight) for weight in whitener.weight]
    return [[_times(column.get(i, 0), root) for column in columns] for i, root in enumerate(roots)]


def forward_dynamics(
    links: Any,
    q: Field,
    v: Field,
    tau: Field,
    f_ext: Field | None = None,
    gains: Sequence[Scalar] | None = None,
    *,
    closures: Sequence[Closure],
) -> tuple[Field, Matrix, list[Scalar]]:
    """Joint accelerations, the wrenches of the constraints, and how independent these are: 0 where one is redundant.

    Gains (k, d) add k times the residual and d times its rate to what the constraints bring to rest (Baumgarte).
    """
    whitener, closed = Whitener(links, q), [closure(links, q) for closure in closures]
    e = free_innovations(links, whitener, q, v, tau, f_ext)  # 1.
    wanted = [-x for each in closed for x in each.bias(v)]
    if gains is not None:
        off, rate = [x for each in closed for x in each.residual], [x for each in closed for x in each.rates(v)]
        wanted = [w - gains[0] * x - gains[1] * y for w, x, y in zip(wanted, off, rate, strict=True)]
    return _solved(links, whitener, closed, e, wanted)


def response(
    links: Any, q: Field, x: Field, wanted: Sequence[Scalar], *, closures: Sequence[Closure]
) -> tuple[Field, Matrix, list[Scalar]]:
    """y with M y = x + Jᵀλ and J y = `wanted`, the wrenches of λ, and how independent the constraints are."""
    whitener, closed = Whitener(links, q), [closure(links, q) for closure in closures]
    return _solved(links, whitener, closed, innovations(links, whitener, x), list(wanted))


def innovations(links: Any, whitener: Whitener, x: Field) -> Column:
    """U⁻¹ x, by (4.15)."""
    (z,) = links.fields("z")
    e: Column = {}
    for k in links.base_to_tip():
        z[k] = Force.zero()
    for k in links.tip_to_base():
        eps, z_plus = filtered(z[k], x[k], whitener.H[k], whitener.G[k])
        e.update(whitener.own(k, eps))
        z[k.parent] += whitener.phi[k] @ z_plus
    return e


def free_innovations(
    links: Any, whitener: Whitener, q: Field, v: Field, tau: Field, f_ext: Field | None = None
) -> Column:
    """U⁻¹ (τ − b) of the open trees: the first two sweeps of FD3, (5.8)-(5.9)."""
    zeta, z = links.fields("zeta z")
    phi, H = whitener.phi, whitener.H
    e: Column = {}
    zeta[links.base] = at_rest(links)
    for k in links.base_to_tip():
        zeta[k] = zeta[k.parent].through(phi[k]).joined(H[k], v[k], k.joint_type.axes_rate(q[k], v[k]))  # (5.8)
        z[k] = zeta[k].wrench(k.M)
        if f_ext is not None:
            z[k] = z[k] - k.frame @ f_ext[k]
    for k in links.tip_to_base():
        eps, z_plus = filtered(z[k], tau[k] - k.rotor_bias(H[k], v[k]), H[k], whitener.G[k])  # (5.9)
        e.update(whitener.own(k, eps))
        z[k.parent] += phi[k] @ z_plus
    return e


def _solved(
    links: Any, whitener: Whitener, closed: Sequence[Any], e: Column, wanted: list[Scalar]
) -> tuple[Field, Matrix, list[Scalar]]:
    C = [column for each in closed for column in each.columns(whitener)]  # 2.
    factors = Factors(whitener.products(C, C))
    lam = factors.solve(short_of(whitener, C, e, wanted))  # 3.
    total = combined(e, C, lam)
    more = factors.solve(short_of(whitener, C, total, wanted))  # Ω squares what C loses: once more, from C itself
    lam, total = [x + y for x, y in zip(lam, more, strict=True)], combined(total, C, more)
    return smooth(links, whitener, total), exerted(closed, lam), [factors.independence]  # 4.


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


NOTHING = 1e-20
"""Rows of Ω below this, relative to the largest, belong to directions that nothing moves along, as across a plane."""


class Factors:
    """S = L diag(pivots) Lᵀ of a symmetric matrix, without pivoting; entries that are known to be zero cost nothing.

    Rows that are zero but for rounding are left out: solutions are zero there. `independence` is the least that earlier
    rows leave of a later one, relative to its size.
    """

    def __init__(self, S: Matrix) -> None:
        n = len(S)
        self.L: Matrix = [[0] * n for _ in range(n)]
        self.reciprocals: list[Scalar] = []
        self.independence: Scalar = 1.0
        least = NOTHING * reduce(maximum, [S[i][i] for i in range(n)], 0.0)
        for i in range(n):
            scaled: list[Scalar] = []
            for j in range(i):
                scaled.append(_minus(S[i][j], [(scaled[k], self.L[j][k]) for k in range(j)]))
            self.L[i][:i] = [_times(x, r) for x, r in zip(scaled, self.reciprocals, strict=False)]
            pivot = _minus(S[i][i], list(zip(scaled, self.L[i], strict=False)))
            counts = S[i][i] > least
            self.reciprocals.append(where(counts, 1 / where(counts, pivot, 1.0), 0.0))
            kept = where(counts, pivot / where(counts, S[i][i], 1.0), 1.0)
            self.independence = minimum(self.independence, kept)

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """S⁻¹ b."""
        x, n = list(b), len(b)
        for i in range(n):
            x[i] = _minus(x[i], [(self.L[i][j], x[j]) for j in range(i)])
        x = [_times(a, r) for a, r in zip(x, self.reciprocals, strict=True)]
        for i in reversed(range(n)):
            x[i] = _minus(x[i], [(self.L[j][i], x[j]) for j in range(i + 1, n)])
        return x


def _times(x: Scalar, y: Scalar) -> Scalar:
    return 0 if is_zero(x) or is_zero(y) else x * y


def _minus(x: Scalar, products: Sequence[tuple[Scalar, Scalar]]) -> Scalar:
    for a, b in products:
        if not is_zero(a) and not is_zero(b):
            x = x - a * b
    return x
