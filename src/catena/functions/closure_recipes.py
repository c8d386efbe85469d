"""The same questions about constraints for many links: from what loops give for all links, with NumPy.

The formulas are those of :mod:`catena.algorithms.closures`, run on scalars that are arrays over the samples and
over all constraints of a kind at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import LEAST_PIVOT, NOTHING
from catena.algorithms.closures import Closed, Coupled
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.innovations import FACTOR, SOLVE, WHITENED
from catena.algorithms.kinematics import WRENCH_TORQUES
from catena.functions.frame_recipes import Carried
from catena.functions.grasp_recipe import Grasps
from catena.functions.recipes import Ask, parts, products, stacked, times
from catena.functions.sparse_recipe import ManyLoops, SparseContact
from catena.model.constraints import Constraint, Distance
from catena.model.tree import Frame
from catena.spatial import Force, Mat3, Motion, Transform, Turn, Vec3
from catena.spatial.pose import Pose

Array = npt.NDArray[Any]

Pair = tuple[Constraint, tuple[Frame, Frame]]
"""A constraint and the frames on its two sides."""

MANY = 48
"""With more directions than this, and no arms on one object, contact systems are solved by sparse elimination."""

Terms = tuple[dict[int, tuple[float, ...]], float]
"""The polynomials of a coupling, by the number of the joint, and its offset."""


class Kind:
    """Constraints of one kind, c of them: what they hold, where their rows are, and their frames.

    `rule` stands for all of them. Their rows, (c, holds), are numbered through all constraints of the system, as are
    the constraints themselves. `ends` are the two frames of each, numbered through all frames.
    """

    def __init__(self, rule: Constraint, members: Sequence[tuple[int, int, int, Pair]]) -> None:
        self.rule = rule
        self.numbers = np.array([number for number, _, _, _ in members])
        self.rows = np.array([start for _, start, _, _ in members])[:, None] + np.arange(rule.holds)
        self.ends = np.array([first for _, _, first, _ in members])[:, None] + np.arange(2)
        sides = [pair[0].sides[1] for _, _, _, pair in members]
        turn, shift = np.array([side.rotation for side in sides]), np.array([side.position for side in sides])
        self.held = transform(turn, shift)


class ClosureRecipes:
    """Constraints of a system, each a :data:`Pair` or :data:`Terms`. The methods are recipes."""

    def __init__(self, constraints: Sequence[Pair | Terms], sparse: SparseContact | None = None) -> None:
        self._sparse = sparse
        holds = [1 if isinstance(each[0], dict) else each[0].holds for each in constraints]
        starts = [0, *accumulate(holds)]
        self.count, self.size = len(constraints), starts[-1]
        self.couplings: list[tuple[int, int, Terms]] = []
        self.frames: list[Frame] = []
        kinds: dict[Any, list[tuple[int, int, int, Pair]]] = {}
        for number, (each, start) in enumerate(zip(constraints, starts, strict=False)):
            if isinstance(each[0], dict):
                self.couplings.append((number, start, each))
                continue
            key = type(each[0]), each[0].distance if isinstance(each[0], Distance) else None
            kinds.setdefault(key, []).append((number, start, len(self.frames), each))
            self.frames += each[1]
        self.kinds = [Kind(members[0][3][0], members) for members in kinds.values()]
        self._carried = Carried(self.frames, "link")

    def residual(self, ask: Ask, q: Array) -> Array:
        """(..., k)."""
        return self._gathered(q, [each.residual for each in self.closed(ask, q)], self._coupled(ask, q, "residual"))

    def rates(self, ask: Ask, q: Array, v: Array) -> Array:
        """(..., k)."""
        V = self._carried.jacobian_times(ask, q, v)
        closed = self.closed(ask, q, V=V)
        return self._gathered(q + 0 * v[..., :1], [e.rates(None) for e in closed], self._coupled(ask, q, "rates", v))  # type: ignore[arg-type]

    def bias(self, ask: Ask, q: Array, v: Array) -> Array:
        """(..., k)."""
        V, A = self._carried.jacobian_times(ask, q, v), self._carried.jacobian_dot_times(ask, q, v)
        closed = self.closed(ask, q, V=V, A=A)
        return self._gathered(q + 0 * v[..., :1], [e.bias(None) for e in closed], self._coupled(ask, q, "bias", v))  # type: ignore[arg-type]

    def jacobian(self, ask: Ask, q: Array) -> Array:
        """(..., k, nv)."""
        each = self._carried.jacobian(ask, q)
        each = each.reshape(*each.shape[:-2], -1, 6, ask.tree.nv)
        J = np.zeros((*q.shape[:-1], self.size, ask.tree.nv))
        for kind, closed in zip(self.kinds, self.closed(ask, q, J=each), strict=True):
            for i, (row,) in enumerate(closed.rows()):
                J[..., kind.rows[:, i], :] = row
        for (_, start, _), coupled in zip(self.couplings, self._joined(ask, q), strict=True):
            for k, slope, _ in coupled.slopes:
                J[..., start, k.v_start] = slope
        return J

    def forces(self, ask: Ask, q: Array, lam: Array) -> Array:
        """(..., constraints, 6)."""
        found = np.zeros((*np.broadcast_shapes(q.shape[:-1], lam.shape[:-1]), self.count, 6))
        for kind, closed in zip(self.kinds, self.closed(ask, q), strict=True):
            exerted = closed.exerted([lam[..., kind.rows[:, i]] for i in range(kind.rows.shape[1])])
            for i, x in enumerate(exerted):
                found[..., kind.numbers, i] = x
        for number, start, _ in self.couplings:
            found[..., number, 0] = lam[..., start]
        return found

    def pushes(self, ask: Ask, q: Array, forces: Array) -> Array:
        """(..., links, 6)."""
        batch = np.broadcast_shapes(q.shape[:-1], forces.shape[:-2])
        found = np.zeros((ask.tree.n + 1, *batch, 6))  # the last stands for the base
        links = np.array([frame.link for frame in self.frames], dtype=int)
        for kind, closed in zip(self.kinds, self.closed(ask, q), strict=True):
            ends = closed.ends(Force.of(parts(forces[..., kind.numbers, :])))
            for at, f, on in zip(self._places(kind), ends, links[kind.ends].T, strict=True):
                np.add.at(found, on, np.moveaxis(stacked((at @ f).components), -2, 0))
        return np.moveaxis(found[:-1], 0, -2)

    def torques_of_forces(self, ask: Ask, q: Array, forces: Array) -> Array:
        """(..., nv)."""
        tau = np.array(ask(WRENCH_TORQUES, q, self.pushes(ask, q, forces)))
        for (number, _, _), coupled in zip(self.couplings, self._joined(ask, q), strict=True):
            for k, slope, _ in coupled.slopes:
                tau[..., k.v_start] += slope * forces[..., number, 0]
        return tau

    def directions(self, ask: Ask, q: Array) -> Array:
        """(..., k, 12)."""
        found = np.zeros((*q.shape[:-1], self.size, 12))
        for kind, closed in zip(self.kinds, self.closed(ask, q), strict=True):
            for i, row in enumerate(closed.held_wrenches):
                for j, x in enumerate(row):
                    found[..., kind.rows[:, i], j] = x
        return found

    def white_jacobian(self, ask: Ask, q: Array) -> Array:
        """B = D^−½ U⁻¹ Jᵀ, (..., nv, k)."""
        return products(ask, WHITENED, np.swapaxes(self.jacobian(ask, q), -1, -2), q, *ask(FACTOR, q))

    def forward_dynamics(
        self, ask: Ask, q: Array, v: Array, tau: Array, f_ext: Array | None = None, **more: Array
    ) -> tuple[Array, Array, Array]:
        """Accelerations, forces, and how independent the constraints are."""
        free = ask(FD3, q, v, tau, *([] if f_ext is None else [f_ext]))
        return self.solved(ask, q, free, self.wanted(ask, q, v, **more))

    def wanted(self, ask: Ask, q: Array, v: Array, gains: Array | None = None, driven: Array | None = None) -> Array:
        """What J a has to be: see :meth:`catena.algorithms.contact_system.Contact.wanted`."""
        wanted = -self.bias(ask, q, v)
        if driven is not None:
            wanted = wanted + driven[..., 2, :]
        if gains is not None:
            places, speeds = (0.0, 0.0) if driven is None else (driven[..., 0, :], driven[..., 1, :])
            wanted = wanted - gains[..., :1] * (self.residual(ask, q) - places)
            wanted = wanted - gains[..., 1:] * (self.rates(ask, q, v) - speeds)
        return wanted

    def response(self, ask: Ask, q: Array, x: Array, wanted: Array) -> tuple[Array, Array, Array]:
        """The same for given generalised forces and rates."""
        return self.solved(ask, q, ask(SOLVE, q, *ask(FACTOR, q), x), wanted)

    def solved(self, ask: Ask, q: Array, free: Array, wanted: Array) -> tuple[Array, Array, Array]:
        """Accelerations, forces and how independent the constraints are: in the 6x6 form where that is possible."""
        shape = np.broadcast_shapes(q.shape[:-1], free.shape[:-1], wanted.shape[:-1])
        q, free, wanted = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (q, free, wanted))
        grasps = self._grasps(ask)
        if grasps is None and self._sparse is not None and self.size > MANY and not self.couplings:
            a, lam, independence = self._sparsely(ask, q, free, wanted)
        elif grasps is None:
            a, lam, independence = self._together(ask, q, free, wanted)
        else:
            a, lam, right = grasps.solved(ask, q, free, wanted, *self._on_links(ask, q, grasps.first), inverses)
            independence = np.ones((*right.shape, 1))
            if not right.all():  # where an arm is singular, the system may yet not be
                a[~right], lam[~right], independence[~right] = self._together(
                    ask, q[~right], free[~right], wanted[~right]
                )
        return a, self.forces(ask, q, lam), independence

    def _grasps(self, ask: Ask) -> Grasps | None:
        def found() -> Grasps | None:
            rows = np.zeros((self.size, 2), dtype=int)
            for kind in self.kinds:
                rows[kind.rows] = kind.ends[:, None, :]
            return None if self.couplings else Grasps.of(ask.tree, rows, self.frames)

        return ask.tree.once(("grasps", self), found)

    def _sparsely(self, ask: Ask, q: Array, free: Array, wanted: Array) -> tuple[Array, Array, Array]:
        """The contact system by sparse elimination, sample by sample."""
        links = np.zeros((self.size, 2), dtype=int)
        for kind in self.kinds:
            links[kind.rows] = np.array([frame.link for frame in self.frames])[kind.ends][:, None, :]
        wrenches = np.stack(self._on_links(ask, q, np.ones(self.size, dtype=bool)), axis=-2)
        loops = ManyLoops(ask, cast("SparseContact", self._sparse), partial(self.rates, ask), links)
        return loops.solved(q, free, wanted, wrenches)

    def _on_links(self, ask: Ask, q: Array, first: Array) -> tuple[Array, Array]:
        """The wrenches of unit multipliers on the links of both sides, (..., k, 6): the arm's, and the object's."""
        found = np.zeros((2, *q.shape[:-1], self.size, 6))
        for kind, closed in zip(self.kinds, self.closed(ask, q), strict=True):
            for i, pair in enumerate(closed.wrenches):
                for side, (at, f) in enumerate(zip(self._places(kind), pair, strict=True)):
                    for j, x in enumerate((at @ f).components):
                        found[side][..., kind.rows[:, i], j] = x
        on_first, on_second = found
        arm = first[:, None]
        return np.where(arm, on_first, on_second), np.where(arm, on_second, on_first)

    def _places(self, kind: Kind) -> list[Transform]:
        """From the links to the frames on both sides."""
        every = [[self.frames[i] for i in end] for end in kind.ends.T]
        return [transform(np.array([f.rotation for f in x]), np.array([f.position for f in x])) for x in every]

    def _together(self, ask: Ask, q: Array, free: Array, wanted: Array) -> tuple[Array, Array, Array]:
        """The contact system (J M⁻¹Jᵀ) λ = wanted − J a, twice: the second time for what rounding has left."""
        J, factors = self.jacobian(ask, q), ask(FACTOR, q)
        wide = [q[..., None, :], *[f[..., None, :, :] for f in factors]]
        Y = ask(SOLVE, *wide, J)  # rows of J M⁻¹
        inverse, independence = inverses(J @ np.swapaxes(Y, -1, -2))
        a, lam = free, np.zeros_like(wanted)
        for _ in range(2):
            more = times(inverse, wanted - times(J, a))
            lam, a = lam + more, a + times(np.swapaxes(Y, -1, -2), more)
        return a, lam, independence

    def closed(
        self, ask: Ask, q: Array, V: Array | None = None, A: Array | None = None, J: Array | None = None
    ) -> list[Closed]:
        """The constraints of each kind, with scalars (..., c)."""
        R, p = self._carried.placements(ask, q) if self.kinds else (q, q)
        V, A = (None if x is None else x.reshape(*x.shape[:-1], -1, 6) for x in (V, A))
        return [Closed(kind.rule, [_Side(R, p, V, A, J, end) for end in kind.ends.T], kind.held) for kind in self.kinds]

    def _joined(self, ask: Ask, q: Array) -> list[Coupled]:
        joints, coordinates = _Joints(ask.tree), _Numbers(q, ask.tree.q_start)
        return [Coupled(*terms, joints, coordinates) for _, _, terms in self.couplings]

    def _coupled(self, ask: Ask, q: Array, what: str, v: Array | None = None) -> list[Any]:
        """One number for each coupling."""
        found = self._joined(ask, q)
        if v is None:
            return [getattr(each, what)[0] for each in found]
        return [getattr(each, what)(_Numbers(v, ask.tree.v_start))[0] for each in found]

    def _gathered(self, like: Array, closed: Sequence[Sequence[Any]], coupled: Sequence[Any]) -> Array:
        """The rows of all constraints together, from scalars of each kind and of each coupling."""
        found = np.zeros((*like.shape[:-1], self.size))
        for kind, scalars in zip(self.kinds, closed, strict=True):
            for i, x in enumerate(scalars):
                found[..., kind.rows[:, i]] = x
        for (_, start, _), x in zip(self.couplings, coupled, strict=True):
            found[..., start] = x
        return found


class _Side:
    """The frames on one side, as :class:`~catena.algorithms.closures.Held`, from arrays over all frames."""

    def __init__(self, R: Array, p: Array, V: Array | None, A: Array | None, J: Array | None, end: Array) -> None:
        R, p = R[..., end, :, :], p[..., end, :]
        self.pose = Pose(Mat3(*[R[..., i, j] for i in range(3) for j in range(3)]), Vec3(*parts(p)))
        self._V, self._A, self._J, self._end = V, A, J, end

    def velocity(self, v: Any) -> Motion:
        return Motion.of(parts(self._V[..., self._end, :]))  # type: ignore[index]

    def bias(self, v: Any) -> Motion:
        return Motion.of(parts(self._A[..., self._end, :]))  # type: ignore[index]

    def rows(self, wrenches: Sequence[Force]) -> list[list[Any]]:
        J = self._J[..., self._end, :, :]  # type: ignore[index]
        parts_of = [[np.asarray(x)[..., None] * J[..., i, :] for i, x in enumerate(f.components)] for f in wrenches]
        return [[sum(part, np.zeros(()))] for part in parts_of]


class _Joint:
    def __init__(self, index: int, v_start: int) -> None:
        self.index, self.v_start = index, v_start


class _Joints:
    """The joints of a tree, for couplings."""

    def __init__(self, tree: Any) -> None:
        self.nv, self._tree = tree.nv, tree

    def __iter__(self) -> Any:
        return (_Joint(i, int(start)) for i, start in enumerate(self._tree.v_start[:-1]))


class _Numbers:
    """Coordinates or speeds by joint."""

    def __init__(self, numbers: Array, start: Array) -> None:
        self._numbers, self._start = numbers, start

    def __getitem__(self, k: _Joint) -> list[Array]:
        return [self._numbers[..., int(self._start[k.index])]]


def transform(turn: Array, shift: Array) -> Transform:
    """The transform to frames with rotations (c, 3, 3) and positions (c, 3), over scalars (c,)."""
    R = Mat3(*[turn[:, i, j] for i in range(3) for j in range(3)])
    return Transform.shift(Vec3(*parts(shift))).then(Transform.of(Turn(R)))


def inverses(S: Array) -> tuple[Array, Array]:
    """The inverses of symmetric matrices (..., k, k), and the least eigenvalue (..., 1) with a diagonal of ones.

    Rows that are zero but for rounding have none of both: the inverse is zero there.
    """
    squares = np.diagonal(S, axis1=-2, axis2=-1)
    counts = squares > NOTHING * squares.max(axis=-1, keepdims=True, initial=0.0)
    size = np.where(counts, 1.0 / np.sqrt(np.where(counts, squares, 1.0)), 0.0)
    scaled = S * size[..., None, :] * size[..., :, None] + np.eye(S.shape[-1]) * ~counts[..., None, :]
    good = np.isfinite(scaled).all(axis=(-1, -2), keepdims=True)
    w, E = np.linalg.eigh(np.where(good, scaled, 0.0))
    E = size[..., :, None] * E
    least = w[..., :1] if w.shape[-1] else np.ones((*S.shape[:-2], 1))
    return (E / np.maximum(w, LEAST_PIVOT)[..., None, :]) @ np.swapaxes(E, -1, -2), least
