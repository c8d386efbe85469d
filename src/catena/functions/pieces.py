"""One long chain on all lanes and threads: forward dynamics and M⁻¹ b of a chain that is cut in pieces.

The articulated recursion goes from link to link, so one sample of one chain keeps one lane of one core busy. Cut in
pieces (:mod:`catena.algorithms.pieces`), the chain is a batch, at less than three times the arithmetic; what is left to
do one after the other is a recursion over the pieces. The lanes of a kernel share its constants, so the chain must
repeat itself: uniform chains, or chains with a pattern of a few links, with some others before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.pieces import finishing, functions
from catena.errors import ShapeError, SingularError, UnsupportedError
from catena.functions.function import Function
from catena.functions.linkwise import lowered_for
from catena.functions.store import Compiled
from catena.kernels.call.kernel import Computing
from catena.kernels.call.results import new_result
from catena.model.pattern import first_links, part_of, pattern_of
from catena.model.singular import check_invertible
from catena.model.tree import Tree
from catena.trace.recorder import classify, recorded

if TYPE_CHECKING:
    from catena.arguments.arrays import Shape, Signature
    from catena.kernels.call.kernel import Kernel

Array = npt.NDArray[Any]

SHORT = 4000
"""Chains of fewer links stay in one piece, unless the number of pieces is given."""

TOGETHER = 16
"""The number of pieces is a multiple of this: whole registers for several threads, whatever their number, so that
results do not depend on it."""

LONGEST_PIECE = 1024
"""Links of a piece, unless the number of pieces is given: what the lanes compute then stays in a core's cache."""

TRUSTED = 1e-12
"""Rounding between pieces, relative to how they accelerate, up to which their answer is taken."""

NEAR = 64
"""So many links of a piece take up what rounding has left between it and the piece before."""

_PARTS = 12
"""Kernels for parts of so many different lengths are kept."""


class InPieces(Computing):
    """Forward dynamics of a long chain: one sample in pieces, several samples by loops; called as kernels are.

    Args:
        chain: the chain.
        signature: what calls take and give.
        loops: gives the kernel for several samples, and for one where pieces by themselves are nearly singular.
    """

    def __init__(self, chain: Chain, signature: Signature, loops: Callable[[], Kernel]) -> None:
        self._chain, self._loops, self.signature = chain, loops, signature
        self.name, self.inputs, self.outputs, self.dtype = signature

    def compute(
        self, given: list[np.ndarray], wanted: list[np.ndarray | None], batch: Shape, *, keep: bool = False
    ) -> list[Any]:
        """The accelerations for checked arguments, of one sample or of several."""
        if np.prod(batch, dtype=np.int64) != 1:
            return self._loops().compute(given, wanted, batch, keep=keep)
        shapes = [port.shape for port in self.inputs]
        q, v, tau, *wrenches = [
            np.ascontiguousarray(a, self.dtype).reshape(s) for a, s in zip(given, shapes, strict=True)
        ]
        with np.errstate(all="ignore"):
            found, slip = self._chain.forward(q, v, tau, wrenches[0] if wrenches else None)
        if not slip < TRUSTED:
            return self._loops().compute(given, wanted, batch, keep=keep)
        if wanted[0] is None:
            return [found.reshape(*batch, -1)]
        wanted[0][...] = found
        return wanted


class Chain:
    """A chain that repeats a pattern of links, and the shorter chains that its pieces are.

    Args:
        tree: the chain; UnsupportedError if it has no pattern, or if a piece of it by itself is singular.
        store: makes the store of what is compiled for another tree.
    """

    def __init__(self, tree: Tree, store: Callable[[Tree], Compiled]) -> None:
        self.tree, self.pattern, self._store = tree, pattern_of(tree), store
        start, period = self.pattern
        self._head = start + period if start else 0
        self._like = part_of(tree, self.pattern, period)
        try:
            check_invertible(self._like)
        except SingularError as error:
            raise UnsupportedError(f"this chain cannot be cut into equal pieces: {error}") from None
        self._ports = ports_of(first_links(tree, self._head + period) if start else self._like)
        self._parts: dict[tuple[int, bool], _Part] = {}

    @classmethod
    def of(cls, compiled: Compiled) -> Chain:
        """The chain that a store is about, looked at once."""
        return compiled.once("chain in pieces", lambda: cls(compiled.tree, type(compiled)))

    def solve(self, q: Array, b: Array, pieces: int | None = None) -> Array:
        """M⁻¹ b in that many pieces, or in as many as suit the length."""
        return self._answer(pieces, np.zeros(6), _State(q, b))[0]

    def forward(
        self, q: Array, v: Array, tau: Array, f_ext: Array | None = None, pieces: int | None = None
    ) -> tuple[Array, float]:
        """Joint accelerations (nv,) of one sample, in a new array, and how far pieces had slipped at the cuts.

        That is relative to how they accelerate. Beyond :data:`TRUSTED`, pieces by themselves are nearly singular.
        """
        gravity = self.tree.gravity
        if not self._head:  # the first piece stands on a link like those before the others
            actual, like = (tree.placement_rotation[0] @ tree.joint_rotation[0] for tree in (self.tree, self._like))
            gravity = like @ actual.T @ gravity
        return self._answer(pieces, np.concatenate([np.zeros(3), -gravity]), _State(q, tau, v, f_ext))

    def _answer(self, pieces: int | None, base: Array, state: _State) -> tuple[Array, float]:
        """Gather in every piece, couple the pieces, finish every piece; `base` is how the chain's base accelerates.

        If the chain moves, it is first found out how fast the pieces' bases turn.
        """
        x: Array = new_result((self.tree.nv,), np.dtype(np.float64))
        groups = self._groups(self._number(pieces), state, x)
        ends = np.cumsum([len(group.x) for group in groups])
        whole = self._part(int(ends[-1]))
        turns: Sequence[Array | None] = [None] * len(groups)
        if state.v is not None:
            w = whole.kernel("turned")(*_together([group.turn() for group in groups]))
            turns = np.split(w, ends[:-1])
        alpha = base[None, list(self._ports)]
        t = np.zeros_like(alpha)
        if ends[-1] > 1:
            gathered = _together([group.gather(w) for group, w in zip(groups, turns, strict=True)])
            alpha, t = whole.kernel("couple")(*gathered, alpha[0])
        known = [*[np.split(y, ends[:-1]) for y in (alpha, t)], turns]
        tips = np.concatenate([group.finish(*of_group) for group, *of_group in zip(groups, *known, strict=True)])
        slips = np.concatenate([np.zeros_like(tips[:1]), tips[:-1] - alpha[1:]])
        for group, slip in zip(groups, np.split(slips, ends[:-1]), strict=True):
            self._yield_to(slip, group)
        return x, float(np.abs(slips).max() / max(np.abs(tips).max(), 1e-300))

    def _yield_to(self, slip: Array, group: _Group) -> None:
        """Let the first links of pieces follow the tips before them, which accelerate by `slip` more than was assumed.

        That is rounding, but M would multiply it by the mass of all that follows.
        """
        if not slip.any():
            return
        near = min(NEAR // self.pattern.period * self.pattern.period, group.part.n)
        part = self._part(near)
        rest = np.zeros((1, part.nv))
        follow = part.kernel("finish")(
            group.state.q[:, : part.nq], rest, part.first, part.last, slip, np.zeros_like(slip[:1])
        )
        group.x[:, : part.nv] += follow[0]

    def _groups(self, pieces: int, state: _State, x: Array) -> list[_Group]:
        """The links before the pattern, as many equal pieces of it as asked for, and what is left."""
        head, n, period = self._head, self.tree.n, self.pattern.period
        if pieces == 1:
            return [_Group(self._part(n, first=head > 0), state.cut(self.tree, 0, n, 1), x[None])]
        end = head + (n - head) // pieces // period * period * pieces
        cuts = [(0, head, 1), (head, end, pieces), (end, n, 1)]
        groups = []
        for start, stop, count in cuts:
            if stop > start:
                part = self._part((stop - start) // count, first=start == 0 and head > 0)
                rows = slice(*self.tree.v_start[[start, stop]].tolist())
                groups.append(_Group(part, state.cut(self.tree, start, stop, count), x[rows].reshape(count, -1)))
        return groups

    def _number(self, pieces: int | None) -> int:
        """The number of pieces as it was given, or what suits the length of the chain, which alone decides."""
        n = self.tree.n
        if pieces is None:
            return 1 if n < SHORT else TOGETHER * -(-n // (TOGETHER * LONGEST_PIECE))
        most = max(1, (n - self._head) // self.pattern.period)
        if not isinstance(pieces, int | np.integer) or not 0 < pieces <= most:
            raise ShapeError(f"pieces: expected 1 to {most} for {n} links, found {pieces!r}")
        return int(pieces)

    def _part(self, length: int, *, first: bool = False) -> _Part:
        """The kernels for `length` links like those of the pattern, or for the `first` of the chain."""
        part = self._parts.get((length, first))
        if part is None:
            if len(self._parts) >= _PARTS:
                self._parts.clear()
            tree = first_links(self.tree, length) if first else part_of(self.tree, self.pattern, length)
            part = self._parts[length, first] = _Part(self._store(tree), functions(self._ports))
        return part


def _together(found: Sequence[Sequence[Array]]) -> list[Array]:
    """What was found for several groups of pieces, as if they were one."""
    return list(found[0]) if len(found) == 1 else [np.concatenate(some) for some in zip(*found, strict=True)]


def ports_of(tree: Tree) -> tuple[int, ...]:
    """The components of a wrench on a link of a chain that the joints before it feel.

    They are those that the recursion passes on from link to link; and no joint makes other components of acceleration.
    """
    function = finishing(tuple(range(6)))
    lowered = lowered_for(tree, function)
    program = recorded(lowered, classify(lowered)[0], function, function.given(()))
    return tuple(sorted(i for loop in program.loops for name, i in loop.start if name.startswith("z.")))


class _State(NamedTuple):
    """What is given of a chain or of pieces of it: b alone, or torques b of joints that move with v."""

    q: Array
    b: Array
    v: Array | None = None
    f_ext: Array | None = None

    def cut(self, tree: Tree, start: int, stop: int, pieces: int) -> _State:
        """The rows of some links, so many pieces of equal length."""
        of_q, of_v = (slice(*x[[start, stop]].tolist()) for x in (tree.q_start, tree.v_start))
        b, v = (None if y is None else y[of_v].reshape(pieces, -1) for y in (self.b, self.v))
        f_ext = None if self.f_ext is None else self.f_ext[start:stop].reshape(pieces, -1, 6)
        return _State(self.q[of_q].reshape(pieces, -1), cast(Array, b), v, f_ext)


class _Part:
    """A chain of some links, with the kernels for which it is a piece and those for which its links are pieces."""

    def __init__(self, compiled: Compiled, functions: Mapping[str, Function]) -> None:
        self._compiled, self._functions = compiled, functions
        self.first, self.last = np.zeros(compiled.tree.n), np.zeros(compiled.tree.n)
        self.first[0] = self.last[-1] = 1.0
        self.n, self.nq, self.nv = compiled.tree.n, compiled.tree.nq, compiled.tree.nv
        self._kernels: dict[tuple[str, int], Any] = {}

    def kernel(self, name: str, given: int = 0) -> Any:
        """One of the functions of :mod:`catena.algorithms.pieces`; `given` says how many of v, w and f_ext are."""
        found = self._kernels.get((name, given))
        if found is None:
            present = ("v", "w", "f_ext")[:given]
            found = self._compiled.kernel(self._functions[name], present, kernel_shape="rolled")
            self._kernels[name, given] = found
        return found


class _Group:
    """Pieces of equal length, in rows: what is given, and the results x."""

    def __init__(self, part: _Part, state: _State, x: Array) -> None:
        self.part, self.state, self.x = part, state, x

    def turn(self) -> Any:
        """R and w of every piece: how its tip lies and turns, seen from its base."""
        return self.part.kernel("turn")(self.state.q, self.state.v, self.part.last)

    def gather(self, w: Array | None) -> Any:
        """P, z, T, Φ and β of every piece, whose base turns with w."""
        return self._call("gather", w, self.part.last)

    def finish(self, alpha: Array, t: Array, w: Array | None) -> Array:
        """Fill in the results, now that it is known what happens at both ends; returns how the tips accelerate."""
        tips = np.empty_like(alpha)
        self._call("finish", w, self.part.first, self.part.last, alpha, t, out=(self.x, tips))
        return tips

    def _call(self, name: str, w: Array | None, *ends: Array, **options: Any) -> Any:
        q, b, v, f_ext = self.state
        moving = [y for y in (v, w, f_ext) if y is not None]
        return self.part.kernel(name, len(moving))(q, b, *ends, *moving, **options)
