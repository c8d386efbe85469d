"""How one constraint between two frames changes as these, and their motions, do, for derivatives of closed chains.

What it makes of the motions of its frames is differentiated as a small graph of its own, whatever the constraint is.
Joints reach it by what each of them changes beyond it: :mod:`catena.algorithms.changes`. Gravity is among the
accelerations, of the base too: constraints see differences only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from catena.algorithms.changes import State, moved_axes
from catena.algorithms.closures import Closed
from catena.algorithms.inverse_matrix import Matrix
from catena.algorithms.newton_euler import at_rest
from catena.scalars import Scalar, is_zero
from catena.spatial import Force, Mat3, Motion, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field
from catena.trace.derivatives import jacobian
from catena.trace.graph import LEAF, Expr, Graph
from catena.trace.substitute import substituted


class Seen:
    """A constraint between two frames: how its rows and wrenches change as these, or their motions, do.

    Its inputs are, for each frame, a small displacement x, a change u of its velocity, and w, of which accelerations
    change by w + u × V; all in the frame's own axes.
    """

    def __init__(self, links: Any, state: State, closed: Closed, lam: Sequence[Scalar]) -> None:
        self.links, self.state, self.closed = links, state, closed
        self.paths = [side.place.path(links) for side in closed.sides]
        self.targets = [side.place.target(p) for side, p in zip(closed.sides, self.paths, strict=True)]
        motions = [_motion(links, state, p, at) for p, at in zip(self.paths, self.targets, strict=True)]
        entries = _slopes(closed, motions, lam, [bool(path) for path in self.paths])
        self.slopes: dict[tuple[int, int], dict[int, Scalar]] = {}  # of a result, by each triple of numbers of a side
        for (row, leaf), x in entries.items():
            self.slopes.setdefault((row, leaf // 6), {})[leaf % 6] = x

    def _dual(self, row: int, part: int) -> Force:
        found = self.slopes.get((row, part), {})
        return Force.of([found.get(i, 0) for i in range(6)])

    def add_row(self, changes: Field, row: int, by_q: list[Scalar], by_v: list[Scalar]) -> None:
        """Add the derivatives of one row of c by q and by v."""
        for side, (path, at) in enumerate(zip(self.paths, self.targets, strict=True)):
            X, U, W = (at @ self._dual(row, 3 * side + i) for i in range(3))
            for k in reversed(path):
                for i, h in enumerate(self.state.H[k].columns):
                    j, (of_q, of_v) = k.v_start + i, changes[k][i]
                    by_q[j] = by_q[j] + h.dot(X) + self._faster(k, i).dot(U) + of_q.w.dot(W)
                    by_v[j] = by_v[j] + h.dot(U) + of_v.w.dot(W)
                X, U, W = (self.state.phi[k] @ dual for dual in (X, U, W))

    def _faster(self, k: Any, i: int) -> Motion:
        """How velocities beyond joint k change by its coordinate i."""
        u: Motion = self.state.arriving[k].cross(self.state.H[k].columns[i])
        return u + moved_axes(k, self.state.q[k], i).T @ self.state.v[k] if k.joint_type.moving_axes else u

    def add_forces(self, torques: Matrix, exerted: Matrix) -> None:
        """Add what wrenches with given λ change by q in their own frames: in torques, and in what is exerted."""
        columns = [
            {i: c for i, c in enumerate(side.place.columns(self.links, self.state.q)) if not _nothing(c)}
            for side in self.closed.sides
        ]
        first = self.closed.holds
        for side, moved in enumerate(columns):
            for j, h in moved.items():
                found = [self._dual(first + row, 3 * side) for row in range(18)]
                numbers = [h.dot(dual) for dual in found]
                for other in (0, 1):
                    f = Force.of(numbers[6 * other : 6 * other + 6])
                    for i, g in columns[other].items():
                        torques[i][j] = torques[i][j] + g.dot(f)
                for row, x in enumerate(numbers[12:]):
                    exerted[row][j] = exerted[row][j] + x


def _motion(links: Any, state: State, path: Sequence[Any], at: Any) -> tuple[Motion, Motion]:
    """The velocity and the acceleration, with gravity, of a frame at the end of a path, in its axes."""
    if not path:
        return Motion.zero(), at.T @ Motion(Vec3.zero(), at_rest(links).a)
    k = path[-1]
    driven = k.joint_type.axes_rate(state.q[k], state.v[k]) + state.H[k].T @ state.vdot[k]  # type: ignore[index]
    rates, V = state.before[k].joined(state.H[k], state.v[k], driven), state.V[k]
    return at.T @ V, at.T @ Motion(rates.wdot, rates.a - rates.w.cross(V.linear))


class _Moved:
    """A frame on one side whose motion has changed: see :class:`Seen`."""

    def __init__(self, V: Motion, A: Motion, u: Motion, w: Motion) -> None:
        self._V, self._A = V + u, A + w + u.cross(V)

    def velocity(self, v: Any) -> Motion:
        return self._V

    def bias(self, v: Any) -> Motion:
        return self._A


def _slopes(
    closed: Closed, motions: Sequence[tuple[Motion, Motion]], lam: Sequence[Scalar], moving: Sequence[bool]
) -> Mapping[tuple[int, int], Scalar]:
    """Slopes of the rows of c, the wrenches on both frames and what is exerted, by 36 numbers: x, u, w of each side.

    The constraint is traced by itself: on leaves for all that it is made of, in whose place the actual ones are put.
    """
    graph, pose = Graph(), closed.pose
    actual = [*_rows(pose.R), *pose.p, *[x for pair in motions for m in pair for x in m.components], *lam]
    known = [graph.input("known", i) for i in range(len(actual))]
    leaves = [graph.input("change", i) for i in range(36)]
    x = [
        Motion.of([leaf if m else 0 for leaf in leaves[18 * s + 6 * p : 18 * s + 6 * p + 6]])
        for s, m in enumerate(moving)
        for p in range(3)
    ]
    R, p = Mat3(*known[:9]), Vec3(*known[9:12])
    V = [Motion.of(known[12 + 6 * i : 18 + 6 * i]) for i in range(4)]
    sides = [_Moved(*V[2 * s : 2 * s + 2], *x[3 * s + 1 : 3 * s + 3]) for s in (0, 1)]
    near = Closed(closed.rule, sides, closed.held)
    near.pose = _displaced(Pose(R, p), x[0], x[3])
    multipliers = known[36:]
    on_first, on_second = zip(*near.wrenches, strict=True)
    wrenches = [y for side in (on_first, on_second) for y in total(side, multipliers).components]
    outputs = [*near.bias(None), *wrenches, *near.exerted(multipliers)]  # type: ignore[arg-type]
    entries = jacobian(outputs, leaves)
    into = next((y.graph for y in actual if isinstance(y, Expr)), graph)

    def instead(node: Expr) -> Any:
        if node.op != LEAF:
            return None
        name, i = node.args
        return 0.0 if name == "change" else actual[i] if isinstance(actual[i], Expr) else float(actual[i])

    found = substituted(list(entries.values()), instead, into)
    return {at: y for at, y in zip(entries, found, strict=True) if not is_zero(y)}


def _displaced(pose: Pose, first: Motion, second: Motion) -> Pose:
    """The second frame seen from the first, as both are displaced a little, each along its own axes."""
    R = pose.R.times(_plus_one(Mat3.skew(second.angular)))
    p = pose.p + pose.R @ second.linear - first.linear
    back = _plus_one(Mat3.skew(-first.angular))
    return Pose(back.times(R), back @ p)


def _plus_one(S: Mat3) -> Mat3:
    return Mat3(*[x + int(i in (0, 4, 8)) for i, x in enumerate(_rows(S))])


def _rows(R: Mat3) -> list[Scalar]:
    return [x for row in R.rows for x in row]


def total(wrenches: Sequence[Force], lam: Sequence[Scalar]) -> Force:
    """The sum of wrenches times multipliers."""
    return sum((f * x for f, x in zip(wrenches, lam, strict=True)), start=Force.zero())


def _nothing(c: Motion) -> bool:
    return all(is_zero(x) for x in c.components)
