"""One constraint at a configuration: what it sees, what it holds, and the forces that it exerts, over any scalar.

What constraints of each kind hold is in :mod:`catena.model.constraints`; here it meets the links.
:mod:`catena.algorithms.closed_chains` puts all constraints of a system together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from catena.algorithms.frames import Place
from catena.algorithms.inverse_matrix import Column, Matrix, Whitener
from catena.model.constraints import Constraint
from catena.scalars import Scalar, horner, is_zero
from catena.spatial import Dofs, Force, Mat3, Motion, Transform, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field

Polynomials = Mapping[int, Sequence[Scalar]]


class Held:
    """The frame on one side of a constraint at a configuration: where it is and how it moves, in its own axes."""

    def __init__(self, place: Place, links: Any, q: Field) -> None:
        self.place, self._links, self._q = place, links, q

    @cached_property
    def pose(self) -> Pose:
        """The frame in the base's."""
        return self.place.pose(self._links, self._q)

    def velocity(self, v: Field) -> Motion:
        """Its velocity."""
        return self.place.velocity(self._links, self._q, v)

    def bias(self, v: Field) -> Motion:
        """Its acceleration where joints do not accelerate."""
        return self.place.bias_acceleration(self._links, self._q, v)

    def column(self, whitener: Whitener, f: Force) -> Column:
        """U⁻¹ Jᵀ f of a wrench f on it."""
        path = self.place.path(self._links)
        return whitener.wrench(path[-1], self.place.target(path) @ f) if path else {}

    def rows(self, wrenches: Sequence[Force]) -> Matrix:
        """fᵀ J of wrenches on it."""
        columns = self.place.columns(self._links, self._q)
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

    @property
    def held_wrenches(self) -> Matrix:
        """The same as twelve numbers for each direction."""
        return [[*f.components, *g.components] for f, g in self.wrenches]

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

    def ends(self, f: Force) -> tuple[Force, Force]:
        """The wrenches on the two frames, each in its own, of one that is given as `exerted` gives it."""
        second: Force = self.held.inv @ f
        return -self.pose.force_out(second), second


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
        return [sum((horner(x, [0, *c]) for _, x, c in self.terms), start=-self.offset)]

    @property
    def held_wrenches(self) -> Matrix:
        """No wrenches: it acts on joints."""
        return [[0] * 12]

    @cached_property
    def slopes(self) -> list[tuple[Any, Scalar, Scalar]]:
        """Of each joint the first and the second derivative of its polynomial."""
        found = []
        for k, x, c in self.terms:
            first = [(i + 1) * a for i, a in enumerate(c)]
            second = [(i + 1) * a for i, a in enumerate(first[1:])] or [0]
            found.append((k, horner(x, first), horner(x, second)))
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

    def changes(self, v: Any, a: Any, lam: Scalar) -> list[tuple[int, Scalar, Scalar, Scalar]]:
        """Of each joint its degree of freedom, and what changes with it: J a + J̇v by q and by v, and Jᵀλ by q."""
        found = []
        for (k, x, c), (_, _, bend) in zip(self.terms, self.slopes, strict=True):
            third = horner(x, [i * (i - 1) * (i - 2) * b for i, b in enumerate(c, 1)][2:] or [0])
            speed = v[k][0]
            found.append((k.v_start, bend * a[k][0] + third * (speed * speed), 2 * bend * speed, bend * lam))
        return found

    def exerted(self, lam: Sequence[Scalar]) -> list[Scalar]:
        """The multiplier, which is the torque on a joint with ratio 1; five zeros."""
        return [lam[0], 0, 0, 0, 0, 0]


def plus(left: Column, right: Column, factor: Scalar = 1) -> Column:
    """The sum of a column and a multiple of another."""
    total = dict(left)
    for i, x in right.items():
        if not is_zero(x):
            total[i] = total[i] + x * factor if i in total else x * factor
    return total
