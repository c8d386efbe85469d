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

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from itertools import accumulate
from typing import Any

from catena.algorithms.frames import Place
from catena.algorithms.inverse_matrix import Column, Matrix, Whitener
from catena.algorithms.newton_euler import at_rest
from catena.algorithms.steps import filtered, smoothed
from catena.model.constraints import Constraint
from catena.scalars import Scalar, is_zero, maximum, minimum, sqrt, where
from catena.spatial import Dofs, Force, Mat3, Motion, Transform, Vec3
from catena.spatial.pose import Pose
from catena.spatial.small import back
from catena.sweeps import Field

Polynomials = Mapping[int, Sequence[Scalar]]


class Held:
    """The frame on one side of a constraint at a configuration: where it is and how it moves, in its own axes."""

    def __init__(self, place: Place, links: Any, q: Field) -> None:
        self._place, self._links, self._q = place, links, q

    @cached_property
    def pose(self) -> Pose:
        """The frame in the base's."""
        return self._place.pose(self._links, self._q)

    def velocity(self, v: Field) -> Motion:
        """Its velocity."""
        return self._place.velocity(self._links, self._q, v)

    def bias(self, v: Field) -> Motion:
        """Its acceleration where joints do not accelerate."""
        return self._place.bias_acceleration(self._links, self._q, v)

    def column(self, whitener: Whitener, f: Force) -> Column:
        """U⁻¹ Jᵀ f of a wrench f on it."""
        path = self._place.path(self._links)
        return whitener.wrench(path[-1], self._place.target(path) @ f) if path else {}

    def rows(self, wrenches: Sequence[Force]) -> Matrix:
        """fᵀ J of wrenches on it."""
        columns = self._place.columns(self._links, self._q)
        return [[column.dot(f) for column in columns] for f in wrenches]


class Closed:
    """One constraint at a configuration: how its second frame is seen from its first.

    `sides` are the frames on both sides, each a :class:`Held` or what else has its methods; `held` places the second of
    them in the frame that the user knows.
    """

    def __init__(self, rule: Constraint, sides: Sequence[Any], held: Transform) -> None:
        self.rule, self.sides, self.held, self.holds = rule, sides, held, rule.holds

    @cached_property
    def pose(self) -> Pose:
        """The second frame, seen from the first."""
        first, second = (side.pose for side in self.sides)
        return Pose(first.R.T.times(second.R), first.R.T @ (second.p - first.p))

    @cached_property
    def directions(self) -> list[Force]:
        """Q: the wrenches along which it holds, in the first frame's axes about the second's origin."""
        return self.rule.directions(self.pose.R, self.pose.p)

    @property
    def residual(self) -> list[Scalar]:
        """How far it is from being met."""
        return self.rule.residual(self.pose.R, self.pose.p)

    @cached_property
    def wrenches(self) -> list[tuple[Force, Force]]:
        """For each direction the wrenches on the two frames, each in its own frame: equal and opposite."""
        return [
            (Force(-(f.angular + self.pose.p.cross(f.linear)), -f.linear), self._to_second(f)) for f in self.directions
        ]

    def _to_second(self, f: Force) -> Force:
        return Force(self.pose.R.T @ f.angular, self.pose.R.T @ f.linear)

    def columns(self, whitener: Whitener) -> list[Column]:
        """U⁻¹ Jᵀ, a column for each direction."""
        first, second = self.sides
        return [plus(first.column(whitener, f), second.column(whitener, g)) for f, g in self.wrenches]

    def rows(self) -> Any:
        """J, a row for each direction."""
        on_first, on_second = ([pair[i] for pair in self.wrenches] for i in (0, 1))
        return sums(self.sides[0].rows(on_first), self.sides[1].rows(on_second))

    def _relative(self, v: Field) -> tuple[Motion, Motion]:
        """The second frame's velocity in the first, in its axes about its origin, and the first frame's own."""
        V, W = (side.velocity(v) for side in self.sides)
        return self.pose.motion_out(W) - V, V

    def rates(self, v: Field) -> list[Scalar]:
        """J v."""
        return self._along(self.directions, self._relative(v)[0])

    def bias(self, v: Field) -> list[Scalar]:
        """J̇ v, rates of the directions included."""
        A, B = (side.bias(v) for side in self.sides)
        V, own = self._relative(v)
        acceleration = self.pose.motion_out(B) - A + V.cross(own)
        pdot = V.linear + V.angular.cross(self.pose.p)
        Rdot = Mat3.skew(V.angular).times(self.pose.R)
        moving, still = self.rule.directions(Rdot, pdot), self.rule.directions(_NOTHING, Vec3.zero())
        rates = [f - g for f, g in zip(moving, still, strict=True)]
        found = self._along(self.directions, acceleration + Motion(Vec3.zero(), V.angular.cross(pdot)))
        return [x + y for x, y in zip(found, self._along(rates, V), strict=True)]

    def _along(self, directions: Sequence[Force], V: Motion) -> list[Scalar]:
        """The power of directions on a motion that is given about the first frame's origin."""
        at_second = Motion(V.angular, V.linear + V.angular.cross(self.pose.p))
        return [at_second.dot(f) for f in directions]

    def exerted(self, lam: Sequence[Scalar]) -> list[Scalar]:
        """The wrench on the second side's frame as the user knows it."""
        total = Force.zero()
        for x, (_, f) in zip(lam, self.wrenches, strict=True):
            total = total + f * x
        return (self.held @ total).components


def sums(left: Matrix, right: Matrix) -> Matrix:
    """The sum of two matrices."""
    return [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


_NOTHING = Mat3(*[0] * 9)


class Coupled:
    """One coupling of joints at a configuration: polynomials of coordinates, by the number of the joint."""

    holds = 1

    def __init__(self, terms: Polynomials, offset: Scalar, links: Any, q: Any) -> None:
        self.nv, self.offset = links.nv, offset
        every = list(links)
        self.terms = [(every[i], q[every[i]][0], list(c)) for i, c in terms.items()]

    @property
    def residual(self) -> list[Scalar]:
        """How far the sum is from what it is held at."""
        return [sum((_horner(x, [0, *c]) for _, x, c in self.terms), start=-self.offset)]

    @cached_property
    def slopes(self) -> list[tuple[Any, Scalar, Scalar]]:
        """Of each joint the first and the second derivative of its polynomial."""
        found = []
        for k, x, c in self.terms:
            first = [(i + 1) * a for i, a in enumerate(c)]
            second = [(i + 1) * a for i, a in enumerate(first[1:])] or [0]
            found.append((k, _horner(x, first), _horner(x, second)))
        return found

    def columns(self, whitener: Whitener) -> list[Column]:
        """U⁻¹ Jᵀ, one column."""
        column: Column = {}
        for k, slope, _ in self.slopes:
            column = plus(column, whitener.torque(k, Dofs([slope])))
        return [column]

    def rows(self) -> Matrix:
        """J, one row."""
        row: list[Scalar] = [0] * self.nv
        for k, slope, _ in self.slopes:
            row[k.v_start] = slope
        return [row]

    def rates(self, v: Field) -> list[Scalar]:
        """J v."""
        return [sum(slope * v[k][0] for k, slope, _ in self.slopes)]

    def bias(self, v: Field) -> list[Scalar]:
        """J̇ v."""
        return [sum(bend * (v[k][0] * v[k][0]) for k, _, bend in self.slopes)]

    def exerted(self, lam: Sequence[Scalar]) -> list[Scalar]:
        """The multiplier, which is the torque on a joint with ratio 1; five zeros."""
        return [lam[0], 0, 0, 0, 0, 0]


def _horner(x: Scalar, coefficients: Sequence[Scalar]) -> Scalar:
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


Closure = Callable[[Any, Field], Any]
"""Gives a constraint at a configuration, from the links and q: a :class:`Closed` or a :class:`Coupled`."""


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


def plus(left: Column, right: Column, factor: Scalar = 1) -> Column:
    """The sum of a column and a multiple of another."""
    total = dict(left)
    for i, x in right.items():
        if not is_zero(x):
            total[i] = total[i] + x * factor if i in total else x * factor
    return total


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
