"""The kernels for pieces of a tree, of which every piece is a sample: pieces that are alike, or that differ in numbers.

Kernels for pieces that are alike share their constants, as those of any batch do. Where pieces have constants of their
own, these lie in memory as lanes read them (:class:`catena.kernels.codegen.context.Shares`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.pieces import finishing
from catena.functions.function import Function
from catena.functions.linkwise import lowered_for
from catena.functions.store import Compiled
from catena.kernels.build import share_kernel
from catena.kernels.codegen.context import Shares
from catena.model.pattern import Cut
from catena.model.tree import Tree
from catena.trace.recorder import classify, recorded

Array = npt.NDArray[Any]


def ports_of(tree: Tree) -> tuple[int, ...]:
    """The components of a wrench on a link of a chain that the joints before it feel.

    They are those that the recursion passes on from link to link; and no joint makes other components of acceleration.
    Of x and y there are both or none, since frames turn about z.
    """
    function = finishing(tuple(range(6)))
    lowered = lowered_for(tree, function)
    program = recorded(lowered, classify(lowered)[0], function, function.given(()))
    felt = {i for loop in program.loops for name, i in loop.start if name.startswith("z.")}
    pairs = {0: 1, 1: 0, 3: 4, 4: 3}
    return tuple(sorted(felt | {pairs[i] for i in felt if i in pairs}))


class Part(ABC):
    """Pieces of `n` links, and the kernels for them: functions of :mod:`catena.algorithms.pieces` by name."""

    def __init__(self, functions: Mapping[str, Function], n: int, nq: int, nv: int) -> None:
        self._functions, self.n, self.nq, self.nv = functions, n, nq, nv
        self.first, self.last = np.zeros(n), np.zeros(n)
        self.first[0] = self.last[-1] = 1.0
        self._kernels: dict[tuple[str, int], Any] = {}

    def kernel(self, name: str, given: int = 0) -> Any:
        """One of the functions; `given` says how many of v, w and f_ext are."""
        found = self._kernels.get((name, given))
        if found is None:
            found = self._kernels[name, given] = self._made(self._functions[name], ("v", "w", "f_ext")[:given])
        return found

    @property
    @abstractmethod
    def turn(self) -> tuple[float, float]:
        """Cosine and sine of the angle by which the base of the first piece stands turned on what carries it."""

    @abstractmethod
    def _made(self, function: Function, present: tuple[str, ...]) -> Any:
        """The kernel of a function, new."""

    @abstractmethod
    def shortened(self, n: int) -> Part:
        """The first `n` links of the same pieces."""


class Alike(Part):
    """Pieces with the same numbers, or one piece alone; `like` gives the store for so many of its links."""

    def __init__(self, functions: Mapping[str, Function], like: Callable[[int], Compiled], n: int) -> None:
        self._like, self._compiled = like, like(n)
        tree = self._compiled.tree
        super().__init__(functions, tree.n, tree.nq, tree.nv)

    @property
    def turn(self) -> tuple[float, float]:
        """Cosine and sine of the angle by which the base of each piece stands turned on what carries it."""
        return lowered_for(self._compiled.tree, self._functions["finish"]).turn

    def _made(self, function: Function, present: tuple[str, ...]) -> Any:
        return self._compiled.kernel(function, present, kernel_shape="rolled")

    def shortened(self, n: int) -> Alike:
        """The first `n` links of the same pieces."""
        return Alike(self._functions, self._like, n)


class Apart(Part):
    """Pieces with numbers of their own."""

    def __init__(self, functions: Mapping[str, Function], shares: Shares, n: int) -> None:
        self._shares = shares
        super().__init__(functions, n, *[int(x[n]) for x in (shares.share.q_start, shares.share.v_start)])

    @property
    def turn(self) -> tuple[float, float]:
        """Cosine and sine of the angle by which the base of a run's first piece stands turned on what carries it."""
        return self._shares.share.turn

    def _made(self, function: Function, present: tuple[str, ...]) -> Any:
        return share_kernel(self._shares, function, present, self.n)

    def shortened(self, n: int) -> Apart:
        """The first `n` links of the same pieces."""
        return Apart(self._functions, self._shares, n)


class State(NamedTuple):
    """What is given of a tree or of pieces of it: b alone, or torques b of joints that move with v."""

    q: Array
    b: Array
    v: Array | None = None
    f_ext: Array | None = None

    def cut(self, tree: Tree, cut: Cut) -> State:
        """The rows of pieces of equal length."""
        of_q, of_v = (slice(*x[[cut.start, cut.stop]].tolist()) for x in (tree.q_start, tree.v_start))
        b, v = (None if y is None else y[of_v].reshape(cut.pieces, -1) for y in (self.b, self.v))
        f_ext = None if self.f_ext is None else self.f_ext[cut.start : cut.stop].reshape(cut.pieces, -1, 6)
        return State(self.q[of_q].reshape(cut.pieces, -1), cast(Array, b), v, f_ext)


class Group:
    """Pieces of equal length, in rows: what is given of them, and the results x."""

    def __init__(self, tree: Tree, cut: Cut, part: Part, state: State, x: Array) -> None:
        self._part, self._state = part, state.cut(tree, cut)
        self._x = x[slice(*tree.v_start[[cut.start, cut.stop]].tolist())].reshape(cut.pieces, -1)

    def turn(self) -> Any:
        """R and w of every piece: how its tip lies and turns, seen from its base."""
        return self._part.kernel("turn")(self._state.q, self._state.v, self._part.last)

    def gather(self, w: Array | None) -> Any:
        """P, z, T, Φ and β of every piece, whose base turns with w."""
        return self._call("gather", w, self._part.last)

    def finish(self, alpha: Array, t: Array, w: Array | None) -> Array:
        """Fill in the results, now that it is known what happens at both ends; returns how the tips accelerate."""
        tips = np.empty_like(alpha)
        self._call("finish", w, self._part.first, self._part.last, alpha, t, out=(self._x, tips))
        return tips

    def follow(self, slip: Array, near: Part) -> None:
        """Let the first links of pieces follow the tips before them, which accelerate by `slip` more than was assumed.

        That is rounding, but M would multiply it by the mass of all that follows; the links of `near` take it up.
        """
        if slip.any():
            q, rest = self._state.q[:, : near.nq], np.zeros((1, near.nv))
            follow = near.kernel("finish")(q, rest, near.first, near.last, slip, np.zeros_like(slip[:1]))
            self._x[:, : near.nv] += follow[0]

    def _call(self, name: str, w: Array | None, *ends: Array, **options: Any) -> Any:
        q, b, v, f_ext = self._state
        moving = [y for y in (v, w, f_ext) if y is not None]
        return self._part.kernel(name, len(moving))(q, b, *ends, *moving, **options)
