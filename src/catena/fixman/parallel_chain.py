"""M⁻¹ b for one long chain, parallel in n: the chain is cut in pieces, and lanes and threads work on all at once.

The articulated recursion goes from link to link, so one sample of one chain keeps one lane of one core busy. Cut in
pieces (:mod:`catena.algorithms.pieces`), the chain is a batch, at about twice the arithmetic; what is left to do one
after the other is a recursion over the pieces. The lanes of a kernel share its constants, so the chain must repeat
itself: uniform chains, or chains with a pattern of a few links.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena import engine
from catena.algorithms.pieces import GATHER, SPREAD
from catena.errors import ShapeError, UnsupportedError
from catena.kernels.threads import get_threads, run_shared
from catena.model.tree import Tree

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

LONGEST_PATTERN = 12
"""Patterns of at most this many links are looked for."""

_PLACEMENT = ("placement_rotation", "placement_position")
_PER_LINK = ("kind", *_PLACEMENT, "joint_rotation", "pitch", "mass", "com", "inertia")


def solve_in_pieces(robot: Robot, q: npt.ArrayLike, b: npt.ArrayLike, pieces: int | None = None) -> Array:
    """M⁻¹ b (nv,) for one configuration q (nq,) of a serial chain that repeats itself. O(n) work, O(n / pieces) steps.

    `pieces` is a multiple of lanes times threads unless given.
    """
    chain = _Chain.of(robot)
    configuration, right = np.asarray(q, dtype=float), np.asarray(b, dtype=float)
    if configuration.shape != (robot.nq,) or right.shape != (robot.nv,):
        expected = f"shapes ({robot.nq},) and ({robot.nv},)"
        raise ShapeError(f"q, b: expected {expected}, found {configuration.shape} and {right.shape}")
    return chain.solve(configuration, right, pieces)


class _Piece(NamedTuple):
    """What :func:`catena.algorithms.pieces.gather` finds of some pieces, (pieces, 6, 6) and (pieces, 6)."""

    P: Array
    z: Array
    T: Array
    Phi: Array
    beta: Array


class _Chain:
    """A chain that repeats a pattern of links, and the shorter chains that its pieces are."""

    def __init__(self, robot: Robot, pattern: int) -> None:
        self.robot, self.pattern, self._parts = robot, pattern, dict[int, Any]()

    @classmethod
    def of(cls, robot: Robot) -> _Chain:
        """The chain of a robot, looked at once."""
        known: _Chain | None = robot.__dict__.get("_chain_in_pieces")
        if known is None:
            known = robot.__dict__["_chain_in_pieces"] = cls(robot, pattern_of(robot.tree))
        return known

    def solve(self, q: Array, b: Array, pieces: int | None) -> Array:
        """M⁻¹ b: gather in every piece, couple the pieces, spread in every piece."""
        n = self.robot.tree.n
        if pieces is None:
            lanes = engine.kernel(self._part(self.pattern), GATHER, shape="rolled").lanes
            pieces = lanes * get_threads()
        length = n // pieces // self.pattern * self.pattern
        if length == 0:
            raise ShapeError(f"pieces: expected at most {n // self.pattern} for {n} links, found {pieces}")
        tree = self.robot.tree
        cut_q, cut_v = int(tree.q_start[length * pieces]), int(tree.v_start[length * pieces])
        groups = [_Group(self._part(length), q[:cut_q].reshape(pieces, -1), b[:cut_v].reshape(pieces, -1))]
        if n > length * pieces:
            groups.append(_Group(self._part(n - length * pieces), q[None, cut_q:], b[None, cut_v:]))
        found = [group.gather() for group in groups]
        alpha, t = _coupled(_Piece(*[np.concatenate(parts) for parts in zip(*found, strict=True)]))
        x = np.empty(self.robot.nv)
        groups[0].spread(alpha[:pieces], t[:pieces], x[:cut_v].reshape(pieces, -1))
        if len(groups) > 1:
            groups[1].spread(alpha[pieces:], t[pieces:], x[None, cut_v:])
        return x

    def _part(self, length: int) -> Robot:
        """The robot that `length` links after the first pattern make; where its base stands does not matter."""
        if length not in self._parts:
            if len(self._parts) > 4:
                self._parts.clear()
            self._parts[length] = type(self.robot)(_part(self.robot.tree, self.pattern, length))
        part: Robot = self._parts[length]
        return part


def _part(tree: Tree, pattern: int, length: int) -> Tree:
    """Links like those from `pattern` on, `length` of them."""
    start = min(pattern, tree.n - pattern) if tree.n > pattern else 0
    order = start + np.arange(length) % pattern
    nq, nv = (np.diff(x)[order] for x in (tree.q_start, tree.v_start))
    q_start, v_start = (np.concatenate([[0], np.cumsum(x)]) for x in (nq, nv))
    per_q, per_v = (np.broadcast_to(np.inf, (int(x[-1]),)) for x in (q_start, v_start))
    armature = tree.armature[tree.v_start[start] : tree.v_start[start + pattern]]
    changes: dict[str, Any] = {name: _picked(getattr(tree, name), order) for name in _PER_LINK}
    changes.update(parent=np.arange(-1, length - 1), q_start=q_start, v_start=v_start, lower=-per_q, upper=per_q)
    changes.update(dict.fromkeys(("velocity_limit", "effort_limit", "damping", "friction"), per_v))
    changes.update(armature=np.resize(armature, len(per_v)), frames={}, mimic={}, meshes={})
    changes.update(link_names=tree.link_names[:length], joint_names=tree.joint_names[:length])
    return replace(tree, **changes)


def _picked(column: Array, order: Array) -> Array:
    if column.strides[0] == 0:
        return np.broadcast_to(column[0], (len(order), *column.shape[1:]))
    return column[order]


def pattern_of(tree: Tree) -> int:
    """After how many links a serial chain repeats itself, its first placement aside; UnsupportedError if never."""
    if tree.n < 2 or not np.array_equal(tree.parent, np.arange(-1, tree.n - 1)):
        raise UnsupportedError("only a serial chain of two links or more can be cut into pieces one after the other")
    for period in range(1, min(LONGEST_PATTERN, tree.n // 2) + 1):
        if _repeats(tree, period):
            return period
    raise UnsupportedError(
        f"a chain can be cut into equal pieces if it repeats a pattern of at most {LONGEST_PATTERN} links; this one "
        "does not"
    )


def _repeats(tree: Tree, period: int) -> bool:
    for name in _PER_LINK:
        column = getattr(tree, name)
        skip = int(name in _PLACEMENT)
        if column.strides[0] and not np.array_equal(column[skip + period :], column[skip:-period]):
            return False
    start = int(tree.v_start[period])
    return bool(np.array_equal(tree.armature[start:], tree.armature[: tree.nv - start]))


class _Group:
    """Pieces of equal length: configurations (pieces, nq) and right-hand sides (pieces, nv) of one robot."""

    def __init__(self, robot: Robot, q: Array, b: Array) -> None:
        self.robot, self.q, self.b = robot, q, b
        n = robot.tree.n
        self._last, self._first = np.zeros(n), np.zeros(n)
        self._last[-1] = self._first[0] = 1.0

    def gather(self) -> _Piece:
        """Run the sweep tip to base in all pieces; what the way back needs is kept."""
        n, nv, pieces = self.robot.tree.n, self.robot.nv, len(self.q)
        self._gains, self._nu, self._nu_tip = (np.empty((pieces, nv, *x)) for x in ((6,), (), (6,)))
        kept = [np.empty((pieces, size)) for size in (21, 6, 36, 21, 6)]
        kernel = engine.kernel(self.robot, GATHER, shape="rolled")
        outputs = (self._gains, self._nu, self._nu_tip, *kept)
        _in_parallel(pieces, lambda i: kernel(self.q[i], self.b[i], self._last[:n], out=tuple(x[i] for x in outputs)))
        P, z, T, Phi, beta = kept
        return _Piece(_inertia(P), z, np.swapaxes(T.reshape(-1, 6, 6), 1, 2), _mobility(Phi), beta)

    def spread(self, alpha: Array, t: Array, x: Array) -> None:
        """Run the sweep base to tip in all pieces, with the results in x (pieces, nv)."""
        kernel = engine.kernel(self.robot, SPREAD, shape="rolled")

        def work(i: slice) -> None:
            inputs = self.q[i], self._gains[i], self._nu[i], self._nu_tip[i], self._first, alpha[i], t[i]
            kernel(*inputs, out=x[i])

        _in_parallel(len(self.q), work)


def _in_parallel(pieces: int, work: Any) -> None:
    """work(slice) for shares of the pieces, one for each thread."""
    threads = min(get_threads(), pieces)
    bounds = np.linspace(0, pieces, threads + 1).astype(int).tolist()
    shares = [slice(a, b) for a, b in pairwise(bounds)]

    def take() -> None:
        while shares:
            try:
                share = shares.pop()
            except IndexError:
                return
            work(share)

    run_shared(take, threads)


def _coupled(pieces: _Piece) -> tuple[Array, Array]:
    """Accelerations of the pieces' bases and wrenches on their tips, (pieces, 6): a recursion tip to base and back.

    Seen from its base, a piece with all beyond it answers with A α + a, and its tip then moves as α(tip) = K α + k.
    """
    count, one = len(pieces.z), np.eye(6)
    A, a = np.zeros((6, 6)), np.zeros(6)
    answers: list[tuple[Array, Array, Array, Array]] = []
    for P, z, T, Phi, beta in reversed(list(zip(*pieces, strict=True))):
        both = np.linalg.solve(one + Phi @ A, np.column_stack([-T.T, beta - Phi @ a]))
        K, k = both[:, :6], both[:, 6]
        answers.append((A, a, K, k))
        A, a = P - T @ A @ K, z - T @ (A @ k + a)
        A = (A + A.T) / 2
    alpha, t = np.zeros((count, 6)), np.zeros((count, 6))
    tip = np.zeros(6)
    for i, (beyond, offset, K, k) in enumerate(reversed(answers)):
        alpha[i] = tip
        tip = K @ tip + k
        t[i] = -(beyond @ tip + offset)
    return alpha, t


_SYMMETRIC = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])


def _inertia(x: Array) -> Array:
    """(…, 21) numbers J, H, M of an articulated inertia as 6 x 6 matrices."""
    full = np.empty((len(x), 6, 6))
    full[:, :3, :3], full[:, 3:, 3:] = x[:, :6][:, _SYMMETRIC], x[:, 15:][:, _SYMMETRIC]
    full[:, :3, 3:] = x[:, 6:15].reshape(-1, 3, 3)
    full[:, 3:, :3] = np.swapaxes(full[:, :3, 3:], 1, 2)
    return full


def _mobility(x: Array) -> Array:
    """The same numbers of a mobility, whose dual has the linear part first."""
    order = [3, 4, 5, 0, 1, 2]
    return _inertia(x)[:, order][:, :, order]
