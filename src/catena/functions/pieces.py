"""Long chains on all lanes and threads: forward dynamics and M⁻¹ b of a tree whose long runs of links are cut.

The articulated recursion goes from link to link, so one sample of one chain keeps one lane of one core busy. Cut in
pieces (:mod:`catena.algorithms.pieces`), the chain is a batch, at less than three times the arithmetic; what is left to
do one after the other is a recursion over the pieces, which may branch. Pieces share the lanes of a kernel, so the same
types of joints must follow each other in all of them; their numbers may differ (:mod:`catena.functions.piece_kernels`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.algorithms.pieces import functions, turning
from catena.arguments.scalars import whole
from catena.errors import ShapeError, UnsupportedError
from catena.functions.piece_kernels import Alike, Apart, Group, Part, State, ports_of
from catena.functions.store import Compiled
from catena.kernels.build import shares_of
from catena.kernels.call.kernel import Computing
from catena.kernels.call.results import new_result
from catena.model.pattern import (
    Cut,
    Pattern,
    Run,
    cuts_of,
    linked,
    links_of,
    mixed,
    part_of,
    pattern_of,
    runs_of,
    stretches_of,
)
from catena.model.tree import Tree

if TYPE_CHECKING:
    from catena.arguments.arrays import Shape, Signature
    from catena.kernels.call.kernel import Kernel

Array = npt.NDArray[Any]

SHORT = 4000
"""Runs of fewer links stay in one piece, unless the number of pieces is given."""

MOST_RUNS = 64
"""Trees with more runs of links between branchings are not cut."""

TOGETHER = 16
"""The number of pieces is a multiple of this: whole registers for several threads, whatever their number, so that
results do not depend on it."""

LONGEST_PIECE = 512
"""Links of a piece, unless the number of pieces is given: what the lanes compute then stays in a core's cache."""

TRUSTED = 3e-13
"""Rounding between pieces, relative to how they accelerate, up to which their answer is taken."""

NEAR = 64
"""So many links of a piece take up what rounding has left between it and the piece before."""

_LAYOUTS = 4
"""Kernels for so many different numbers of pieces are kept."""


class InPieces(Computing):
    """Forward dynamics of a tree with long runs: one sample in pieces, several samples by loops; called as kernels are.

    Args:
        pieces: the tree that is cut.
        signature: what calls take and give.
        loops: gives the kernel for several samples, and for one where pieces by themselves are nearly singular.
    """

    def __init__(self, pieces: Pieces, signature: Signature, loops: Callable[[], Kernel]) -> None:
        self._pieces, self._loops, self.signature = pieces, loops, signature
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
            found, slip = self._pieces.forward(q, v, tau, wrenches[0] if wrenches else None)
        if not slip < TRUSTED:
            return self._loops().compute(given, wanted, batch, keep=keep)
        if wanted[0] is None:
            return [found.reshape(*batch, -1)]
        wanted[0][...] = found
        return wanted


class Layout(NamedTuple):
    """How a tree is cut: into which pieces, and on which piece each hangs."""

    cuts: list[Cut]
    parts: list[Part]
    near: list[Part]
    """The links of pieces that take up what rounding has left between them and what they hang on."""
    parents: Array
    turns: Array
    """Cosine and sine of the angle by which the base of each piece stands turned on what carries it."""
    turning: Array
    """What brings accelerations of what carries a piece to its base."""
    whole: Part
    """A tree in which a piece is a link."""

    def split(self, of_pieces: Array) -> list[Array]:
        """Rows of all pieces, cut by cut."""
        return np.split(of_pieces, np.cumsum([cut.pieces for cut in self.cuts])[:-1])


class Pieces:
    """A tree whose long runs of links are cut, and the kernels for its pieces.

    Args:
        tree: the tree; UnsupportedError if it has too many runs, or a long one that cannot be cut.
        store: makes the store of what is compiled for another tree.
    """

    def __init__(self, tree: Tree, store: Callable[[Tree], Compiled]) -> None:
        self.tree, self._store = tree, store
        self._runs, self.patterns = _runs(tree)
        self._like: Tree | None = None
        self._chains: dict[Run, Tree] = {}
        ports = tuple(range(6))
        if len(self._runs) == 1:
            start, period, alike, _ = pattern = self.patterns[self._runs[0]]
            if alike and not start:
                self._like = part_of(tree, pattern, period)
            first = Run(0, start + 2 * period) if alike else self._runs[0]
            ports = ports_of(self._like or self._chain(first, pattern.mixed))
        self._ports, self._functions = list(ports), functions(ports)
        self._layouts: dict[int | None, Layout] = {}

    @classmethod
    def of(cls, compiled: Compiled) -> Pieces:
        """The tree that a store is about, looked at once."""
        return compiled.once("in pieces", lambda: cls(compiled.tree, type(compiled)))

    @property
    def cut_links(self) -> int:
        """How many links are in runs that are cut."""
        return sum(run.length for run in self.patterns)

    @property
    def alike(self) -> bool:
        """Whether all pieces of a run have the same numbers."""
        return all(pattern.alike for pattern in self.patterns.values())

    def solve(self, q: Array, b: Array, pieces: int | None = None) -> Array:
        """M⁻¹ b with each long run in that many pieces, or in as many as suit its length."""
        return self._answer(pieces, np.zeros(6), State(q, b))[0]

    def forward(
        self, q: Array, v: Array, tau: Array, f_ext: Array | None = None, pieces: int | None = None
    ) -> tuple[Array, float]:
        """Joint accelerations (nv,) of one sample, in a new array, and how far pieces had slipped at the cuts.

        That is relative to how they accelerate. Beyond :data:`TRUSTED`, pieces by themselves are nearly singular.
        """
        gravity = self.tree.gravity
        if self._like is not None:  # the first piece stands on a link like those before the others
            actual, like = (tree.placement_rotation[0] @ tree.joint_rotation[0] for tree in (self.tree, self._like))
            gravity = like @ actual.T @ gravity
        return self._answer(pieces, np.concatenate([np.zeros(3), -gravity]), State(q, tau, v, f_ext))

    def _answer(self, pieces: int | None, base: Array, state: State) -> tuple[Array, float]:
        """Gather in every piece, couple the pieces, finish every piece; `base` is how the tree's base accelerates.

        If the tree moves, it is first found out how fast the pieces' bases turn.
        """
        x: Array = new_result((self.tree.nv,), np.dtype(np.float64))
        layout = self._layout(pieces)
        groups = [Group(self.tree, cut, part, state, x) for cut, part in zip(layout.cuts, layout.parts, strict=True)]
        turns: Sequence[Array | None] = [None] * len(groups)
        if state.v is not None:
            found = _together([group.turn() for group in groups])
            turns = layout.split(layout.whole.kernel("turned")(*found, layout.turns))
        start = base[self._ports]
        alpha = layout.turning[:1] @ start
        t = np.zeros_like(alpha)
        if len(layout.parents) > 1:
            gathered = _together([group.gather(w) for group, w in zip(groups, turns, strict=True)])
            alpha, t = layout.whole.kernel("couple")(*gathered, layout.turns, start)
        known = zip(groups, layout.split(alpha), layout.split(t), turns, strict=True)
        tips = np.concatenate([group.finish(a, pull, w) for group, a, pull, w in known])
        before = np.einsum("nij,nj->ni", layout.turning, tips[layout.parents])
        slips = np.where(layout.parents[:, None] < 0, 0.0, before - alpha)
        for group, slip, near in zip(groups, layout.split(slips), layout.near, strict=True):
            group.follow(slip, near)
        return x, float(np.abs(slips).max() / max(np.abs(tips).max(), 1e-300))

    def _layout(self, pieces: int | None) -> Layout:
        """The cuts with so many pieces for each long run, or with as many as suit its length, made once."""
        if pieces is not None:
            pieces = whole("pieces", pieces, 1)
        found = self._layouts.get(pieces)
        if found is None:
            if len(self._layouts) >= _LAYOUTS:
                self._layouts.clear()
            found = self._layouts[pieces] = self._laid_out(pieces)
        return found

    def _laid_out(self, pieces: int | None) -> Layout:
        cuts: list[Cut] = []
        parts: list[Part] = []
        near: list[Part] = []
        parents: list[int] = []
        turns: list[tuple[float, float]] = []
        last = {-1: -1}  # the last piece of the run that ends with a link
        for run in self._runs:
            own = self._cuts(run, pieces)
            of_run = self._parts(run, own)
            period = self.patterns[run].period if run in self.patterns else run.length
            near += [part.shortened(min(max(NEAR // period, 1) * period, part.n)) for part in of_run]
            count = sum(cut.pieces for cut in own)
            parents += [last[int(self.tree.parent[run.start])], *range(len(parents), len(parents) + count - 1)]
            last[run.stop - 1] = len(parents) - 1
            for cut, part in zip(own, of_run, strict=True):
                first = cut.pieces if cut.alike else int(cut.start == cut.among.start)
                turns += [part.turn] * first + [(1.0, 0.0)] * (cut.pieces - first)
            cuts += own
            parts += of_run
        whole = linked(self.tree, np.array(parents))
        one_link = Alike(self._functions, lambda _: self._store(whole), whole.n)
        into = np.array([turning(self._ports, turn) for turn in turns], float)
        return Layout(cuts, parts, near, whole.parent, np.array(turns), into, one_link)

    def _cuts(self, run: Run, pieces: int | None) -> list[Cut]:
        """Where a run is cut: into so many equal pieces, with what comes before them and what is left."""
        if run not in self.patterns:
            return [Cut(*run, 1, False, run)]
        start, period, alike, _ = pattern = self.patterns[run]
        first = start + period if alike and self._like is None else start
        number = _number(run, (run.stop - first) // period, pieces)
        return [Cut(*run, 1, self._like is not None, run)] if number == 1 else cuts_of(run, pattern, number, first)

    def _parts(self, run: Run, cuts: Sequence[Cut]) -> list[Part]:
        """The kernels for the pieces of a run: one code for all that differ in numbers alone."""
        any_screw = run in self.patterns and self.patterns[run].mixed
        parts: list[Part] = []
        for cut in cuts:
            if cut.alike:
                parts.append(Alike(self._functions, partial(self._stored, self.patterns[run]), cut.length))
            else:
                links = range(cut.start - cut.among.start, cut.stop - cut.among.start)
                chain = self._chain(cut.among, any_screw)
                shares = shares_of(chain, self._functions["finish"], links, cut.pieces, np.dtype(float))
                parts.append(Apart(self._functions, shares, cut.length))
        return parts

    def _chain(self, run: Run, any_screw: bool) -> Tree:
        """The links of a run, made once: what is known of them is much."""
        found = self._chains.get(run)
        if found is None:
            found = links_of(self.tree, *run)
            found = self._chains[run] = mixed(found) if any_screw else found
        return found

    def _stored(self, pattern: Pattern, length: int) -> Compiled:
        """The store of what is compiled for so many links like those of a pattern."""
        return self._store(part_of(self.tree, pattern, length))


def _runs(tree: Tree) -> tuple[list[Run], dict[Run, Pattern]]:
    """The runs of a tree, and the patterns of those that are long; if one has none, runs are taken apart by joints."""
    runs = runs_of(tree)
    if not 0 < len(runs) <= MOST_RUNS:
        found = f"found {len(runs)}"
        raise UnsupportedError(f"expected at most {MOST_RUNS} runs of links without branches to cut, {found}")
    try:
        return runs, _patterns(tree, runs)
    except UnsupportedError:
        stretches = [stretch for run in runs for stretch in stretches_of(tree, run)]
        if not len(runs) < len(stretches) <= MOST_RUNS:
            raise
        return stretches, _patterns(tree, stretches)


def _patterns(tree: Tree, runs: Sequence[Run]) -> dict[Run, Pattern]:
    """The patterns of runs that are long, or of the longest."""
    longest = max(run.length for run in runs)
    return {run: pattern_of(tree, run) for run in runs if run.length >= min(SHORT, longest)}


def _number(run: Run, most: int, pieces: int | None) -> int:
    """The number of pieces as it was given, or what suits the length of the run, which alone decides."""
    n, most = run.length, max(1, most)
    if pieces is None:
        return 1 if n < SHORT else TOGETHER * -(-n // (TOGETHER * LONGEST_PIECE))
    if pieces > most:
        raise ShapeError(f"pieces: expected 1 to {most} for {n} links, found {pieces}")
    return pieces


def _together(found: Sequence[Sequence[Array]]) -> list[Array]:
    """What was found for several groups of pieces, as if they were one."""
    return list(found[0]) if len(found) == 1 else [np.concatenate(some) for some in zip(*found, strict=True)]
