"""M⁻¹ b for one long chain, parallel in n: the chain is cut in pieces, and lanes and threads work on all at once.

The articulated recursion goes from link to link, so one sample of one chain keeps one lane of one core busy. Cut in
pieces (:mod:`catena.algorithms.pieces`), the chain is a batch, at less than three times the arithmetic; what is left to
do one after the other is a recursion over the pieces. The lanes of a kernel share its constants, so the chain must
repeat itself: uniform chains, or chains with a pattern of a few links.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.pieces import finishing, functions
from catena.arguments.arrays import as_floats
from catena.errors import ShapeError
from catena.fixman.pattern import part_of, pattern_of
from catena.functions import engine
from catena.model.tree import Tree
from catena.trace.recorder import classify, recorded

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

SHORT = 4000
"""Chains of fewer links stay in one piece, unless the number of pieces is given."""

TOGETHER = 16
"""The number of pieces is a multiple of this: whole registers for several threads, whatever their number, so that
results do not depend on it."""

LONGEST_PIECE = 1024
"""Links of a piece, unless the number of pieces is given: what the lanes compute then stays in a core's cache."""

_PARTS = 12
"""Kernels for parts of so many different lengths are kept."""


def solve_in_pieces(robot: Robot, q: npt.ArrayLike, b: npt.ArrayLike, pieces: int | None = None) -> Array:
    """Solve M(q) x = b for one long serial chain, cut into pieces that share lanes and threads.

        chain = catena.rod_chain(100_000, radius=0.1)
        x = catena.fixman.solve_in_pieces(chain, q, b)

    `q` is one configuration (nq,), `b` is (nv,) in N m or N. The chain must repeat a pattern of at most twelve links,
    as uniform chains do; others raise UnsupportedError. `pieces` is their number; unless given, it is chosen by the
    length of the chain, and is 1 for chains too short to gain by more. Returns x (nv,). Cost: O(n) operations, of which
    O(n / pieces) are one after the other.
    """
    chain = _Chain.of(robot)
    configuration, right = as_floats(q, "q"), as_floats(b, "b")
    if configuration.shape != (robot.nq,) or right.shape != (robot.nv,):
        expected = f"shapes ({robot.nq},) and ({robot.nv},)"
        raise ShapeError(f"q, b: expected {expected}, found {configuration.shape} and {right.shape}")
    return chain.solve(configuration, right, pieces)


class _Chain:
    """A chain that repeats a pattern of links, and the shorter chains that its pieces are."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.pattern = robot, pattern_of(robot.tree)
        self._ports = ports_of(part_of(robot.tree, self.pattern, self.pattern))
        self._parts: dict[int, _Part] = {}

    @classmethod
    def of(cls, robot: Robot) -> _Chain:
        """The chain of a robot, looked at once."""
        return robot._compiled.once("chain in pieces", lambda: cls(robot))

    def solve(self, q: Array, b: Array, pieces: int | None) -> Array:
        """M⁻¹ b: gather in every piece, couple the pieces, finish every piece."""
        tree, x = self.robot.tree, np.empty(self.robot.nv)
        pieces = self._pieces() if pieces is None else pieces
        if pieces == 1:
            part, rest = self._part(tree.n), np.zeros(len(self._ports))
            part.finish(q, b, part.first, part.last, rest, rest, out=x)
            return x
        whole = isinstance(pieces, int | np.integer)
        length = tree.n // pieces // self.pattern * self.pattern if whole and pieces > 0 else 0
        if length == 0:
            most = tree.n // self.pattern
            raise ShapeError(f"pieces: expected 1 to {most} for {tree.n} links, found {pieces!r}")
        end = length * pieces
        groups = [_Group(self._part(length), *_cut(tree, 0, end, pieces, q, b, x))]
        if tree.n > end:
            groups.append(_Group(self._part(tree.n - end), *_cut(tree, end, tree.n, 1, q, b, x)))
        found = [group.gather() for group in groups]
        gathered = found[0] if len(found) == 1 else [np.concatenate(some) for some in zip(*found, strict=True)]
        alpha, t = self._part(len(gathered[0])).couple(*gathered)
        for group, first in zip(groups, (0, pieces), strict=False):
            group.finish(alpha[first : first + pieces], t[first : first + pieces])
        return x

    def _pieces(self) -> int:
        n = self.robot.tree.n
        return 1 if n < SHORT else TOGETHER * -(-n // (TOGETHER * LONGEST_PIECE))

    def _part(self, length: int) -> _Part:
        """The kernels for `length` links after the first pattern; where their base stands does not matter."""
        part = self._parts.get(length)
        if part is None:
            if len(self._parts) >= _PARTS:
                self._parts.clear()
            tree = part_of(self.robot.tree, self.pattern, length)
            part = self._parts[length] = _Part(type(self.robot)(tree), self._ports)
        return part


def _cut(tree: Tree, start: int, end: int, pieces: int, q: Array, b: Array, x: Array) -> list[Array]:
    """What q, b and x hold for some links, a row for each piece."""
    bounds = [slice(int(starts[start]), int(starts[end])) for starts in (tree.q_start, tree.v_start)]
    return [y[bounds[i]].reshape(pieces, -1) for y, i in ((q, 0), (b, 1), (x, 1))]


def ports_of(tree: Tree) -> tuple[int, ...]:
    """The components of a wrench on a link of a chain that the joints before it feel.

    They are those that the recursion passes on from link to link; and no joint makes other components of acceleration.
    """
    function = finishing(tuple(range(6)))
    lowered = engine.lowered_for(tree, function)
    program = recorded(lowered, classify(lowered)[0], function, function.inputs)
    return tuple(sorted(i for loop in program.loops for name, i in loop.start if name.startswith("z.")))


class _Part:
    """A chain of some links, with the kernels for which it is a piece and the one for which its links are pieces."""

    def __init__(self, robot: Robot, ports: tuple[int, ...]) -> None:
        self._robot, self._functions = robot, functions(ports)
        self.first, self.last = np.zeros(robot.tree.n), np.zeros(robot.tree.n)
        self.first[0] = self.last[-1] = 1.0

    def _call(self, name: str) -> Any:
        return engine.kernel(self._robot, self._functions[name], kernel="rolled")

    @cached_property
    def gather(self) -> Any:
        """:func:`catena.algorithms.pieces.gather`."""
        return self._call("gather")

    @cached_property
    def couple(self) -> Any:
        """:func:`catena.algorithms.pieces.couple`."""
        return self._call("couple")

    @cached_property
    def finish(self) -> Any:
        """:func:`catena.algorithms.pieces.finish`."""
        return self._call("finish")


class _Group:
    """Pieces of equal length: configurations (pieces, nq), right-hand sides and results (pieces, nv)."""

    def __init__(self, part: _Part, q: Array, b: Array, x: Array) -> None:
        self.part, self.q, self.b, self.x = part, q, b, x

    def gather(self) -> Any:
        """P, z, T, Φ and β of every piece."""
        return self.part.gather(self.q, self.b, self.part.last)

    def finish(self, alpha: Array, t: Array) -> None:
        """Fill in the results, now that it is known what happens at both ends of every piece."""
        self.part.finish(self.q, self.b, self.part.first, self.part.last, alpha, t, out=self.x)
