"""The same questions about constraints for many links: from what loops give for all links, with NumPy.

The formulas are those of :mod:`catena.algorithms.closed_chains`, run on scalars that are arrays over the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.closed_chains import NOTHING, Closed, Coupled, exerted
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.innovations import FACTOR, INVERSE_ROOT, SOLVE
from catena.functions.frame_recipes import Carried
from catena.functions.recipes import Ask, columns, parts
from catena.model.constraints import Constraint
from catena.model.tree import Frame
from catena.spatial import Force, Mat3, Motion, Transform, Vec3
from catena.spatial.pose import Pose

Array = npt.NDArray[Any]

Pair = tuple[Constraint, tuple[Frame, Frame], Transform]
"""A constraint, the frames on its two sides, and where the second of them is in the frame that the user knows."""

Terms = tuple[dict[int, tuple[float, ...]], float]
"""The polynomials of a coupling, by the number of the joint, and its offset."""


class ClosureRecipes:
    """Constraints of a system, each a :data:`Pair` or :data:`Terms`. The methods are recipes."""

    def __init__(self, constraints: Sequence[Pair | Terms]) -> None:
        self._constraints = constraints
        frames = [frame for each in constraints if len(each) == 3 for frame in each[1]]
        self._carried = Carried(frames, "link")

    def residual(self, ask: Ask, q: Array) -> Array:
        """(..., k)."""
        return self._flat(ask, q, [each.residual for each in self._closed(ask, q)])

    def jacobian(self, ask: Ask, q: Array) -> Array:
        """(..., k, nv)."""
        J = self._carried.jacobian(ask, q)
        J = J.reshape(*J.shape[:-2], -1, 6, ask.tree.nv)
        rows: list[Array] = []
        for each in self._closed(ask, q, J=J):
            found = each.rows()
            rows += [_stacked(row, q) if isinstance(each, Coupled) else row[0] for row in found]
        return np.stack(np.broadcast_arrays(*rows), axis=-2) if rows else np.zeros((*q.shape[:-1], 0, ask.tree.nv))

    def rates(self, ask: Ask, q: Array, v: Array) -> Array:
        """(..., k)."""
        V = self._carried.jacobian_times(ask, q, v)
        return self._flat(ask, q, [each.rates(_Speeds(v)) for each in self._closed(ask, q, V=V)])

    def bias(self, ask: Ask, q: Array, v: Array) -> Array:
        """(..., k)."""
        V, A = self._carried.jacobian_times(ask, q, v), self._carried.jacobian_dot_times(ask, q, v)
        return self._flat(ask, q, [each.bias(_Speeds(v)) for each in self._closed(ask, q, V=V, A=A)])

    def forces(self, ask: Ask, q: Array, lam: Array) -> Array:
        """(..., constraints, 6)."""
        found = exerted(self._closed(ask, q), parts(lam))
        if not found:
            return np.zeros((*q.shape[:-1], 0, 6))
        batch = np.broadcast_shapes(q.shape[:-1], lam.shape[:-1])
        return np.stack([_stacked(row, np.zeros((*batch, 1))) for row in found], axis=-2)

    def white_jacobian(self, ask: Ask, q: Array) -> Array:
        """B = D^−½ U⁻¹ Jᵀ, (..., nv, k), by the whole of U⁻ᵀ D^−½."""
        root = columns(ask, INVERSE_ROOT, ask.tree.nv, q, *ask(FACTOR, q))
        return np.swapaxes(self.jacobian(ask, q) @ root, -1, -2)

    def forward_dynamics(
        self, ask: Ask, q: Array, v: Array, tau: Array, f_ext: Array | None = None, gains: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Accelerations, forces, and how independent the constraints are."""
        free = ask(FD3, q, v, tau, *([] if f_ext is None else [f_ext]))
        wanted = -self.bias(ask, q, v)
        if gains is not None:
            wanted = wanted - gains[..., :1] * self.residual(ask, q) - gains[..., 1:] * self.rates(ask, q, v)
        return self._solved(ask, q, free, wanted)

    def response(self, ask: Ask, q: Array, x: Array, wanted: Array) -> tuple[Array, Array, Array]:
        """The same for given generalised forces and rates."""
        return self._solved(ask, q, ask(SOLVE, q, *ask(FACTOR, q), x), wanted)

    def _solved(self, ask: Ask, q: Array, free: Array, wanted: Array) -> tuple[Array, Array, Array]:
        """The contact system (J M⁻¹Jᵀ) λ = wanted − J a, twice: the second time for what rounding has left."""
        J, factors = self.jacobian(ask, q), ask(FACTOR, q)
        wide = [q[..., None, :], *[f[..., None, :, :] for f in factors]]
        Y = ask(SOLVE, *wide, J)  # rows of J M⁻¹
        Omega = J @ np.swapaxes(Y, -1, -2)
        squares = np.diagonal(Omega, axis1=-2, axis2=-1)
        counts = squares > NOTHING * squares.max(axis=-1, keepdims=True, initial=0.0)
        size = np.where(counts, 1.0 / np.sqrt(np.where(counts, squares, 1.0)), 0.0)
        scaled = Omega * size[..., None, :] * size[..., :, None] + np.eye(size.shape[-1]) * ~counts[..., None, :]
        good = np.isfinite(scaled).all(axis=(-1, -2), keepdims=True)
        w, E = np.linalg.eigh(np.where(good, scaled, 0.0))
        inverse = 1.0 / np.maximum(w, 1e-300)
        a, lam = free, np.zeros_like(wanted)
        for _ in range(2):
            short = size * (wanted - _times(J, a))
            more = size * _times(E, inverse * _times(np.swapaxes(E, -1, -2), short))
            lam, a = lam + more, a + _times(np.swapaxes(Y, -1, -2), more)
        independence = w[..., :1] if w.shape[-1] else np.ones((*q.shape[:-1], 1))
        return a, self.forces(ask, q, lam), independence

    def _closed(
        self, ask: Ask, q: Array, V: Array | None = None, A: Array | None = None, J: Array | None = None
    ) -> list[Any]:
        R, p = self._carried.placements(ask, q)
        found: list[Any] = []
        i = 0
        for each in self._constraints:
            if len(each) == 2:
                found.append(Coupled(each[0], each[1], _Joints(ask.tree), _Coordinates(ask.tree, q)))
                continue
            sides = [_Side(R[..., j, :, :], p[..., j, :], _at(V, j), _at(A, j), J, j) for j in (i, i + 1)]
            found.append(Closed(each[0], sides, each[2]))
            i += 2
        return found

    def _flat(self, ask: Ask, q: Array, numbers: Sequence[Sequence[Any]]) -> Array:
        every = [x for each in numbers for x in each]
        return _stacked(every, q) if every else np.zeros((*q.shape[:-1], 0))


class _Side:
    """The frame on one side, as :class:`~catena.algorithms.closed_chains.Held`, from arrays."""

    def __init__(self, R: Array, p: Array, V: Array | None, A: Array | None, J: Array | None, number: int) -> None:
        self.pose = Pose(Mat3(*[R[..., i, j] for i in range(3) for j in range(3)]), Vec3(*parts(p)))
        self._V, self._A, self._J, self._number = V, A, J, number

    def velocity(self, v: Any) -> Motion:
        return Motion.of(parts(self._V))  # type: ignore[arg-type]

    def bias(self, v: Any) -> Motion:
        return Motion.of(parts(self._A))  # type: ignore[arg-type]

    def rows(self, wrenches: Sequence[Force]) -> list[list[Any]]:
        J = self._J[..., self._number, :, :]  # type: ignore[index]
        return [
            [sum((np.asarray(x)[..., None] * J[..., i, :] for i, x in enumerate(f.components)), 0.0)] for f in wrenches
        ]


class _Joints:
    """The joints of a tree, for couplings."""

    def __init__(self, tree: Any) -> None:
        self.nv, self._tree = tree.nv, tree

    def __iter__(self) -> Any:
        return (_Joint(i, int(start)) for i, start in enumerate(self._tree.v_start[:-1]))


class _Joint:
    def __init__(self, index: int, v_start: int) -> None:
        self.index, self.v_start = index, v_start


class _Coordinates:
    """Coordinates by joint."""

    def __init__(self, tree: Any, q: Array) -> None:
        self._start, self._q = tree.q_start, q

    def __getitem__(self, k: _Joint) -> list[Array]:
        return [self._q[..., int(self._start[k.index])]]


class _Speeds:
    """Speeds by joint."""

    def __init__(self, v: Array) -> None:
        self._v = v

    def __getitem__(self, k: _Joint) -> list[Array]:
        return [self._v[..., k.v_start]]


def _at(motions: Array | None, number: int) -> Array | None:
    return None if motions is None else motions[..., 6 * number : 6 * number + 6]


def _stacked(scalars: Sequence[Any], like: Array) -> Array:
    """Scalars as one array along a new last dimension, over the leading dimensions of `like` at least."""
    batch = np.zeros(like.shape[:-1], like.dtype)
    return np.stack(np.broadcast_arrays(*[x + batch for x in scalars]), axis=-1)


def _times(A: Array, x: Array) -> Array:
    found: Array = (A @ x[..., None])[..., 0]
    return found
