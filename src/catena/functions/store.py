"""What was made for one mechanism, each thing once: kernels, answers to questions, tables of the emitted call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from catena.algorithms.forward_dynamics import FD3
from catena.arguments.dtypes import checked_dtype
from catena.errors import UnsupportedError, shown
from catena.functions.composed import Composed
from catena.functions.function import Function, Repeated, by_recipe
from catena.functions.ownership import is_own
from catena.kernels.call.books import Books
from catena.model.mimic import Followers, followers, refuse_followers

if TYPE_CHECKING:
    from catena.kernels.call.kernel import Kernel
    from catena.model.tree import Tree

Value = TypeVar("Value")

UNROLLED = 60
"""Up to this many links a kernel is unrolled unless asked otherwise."""

STEEP, STEEPEST = 16_000, 160_000
"""Above these, `steepness` times dofs times their depth squared, kernels are not unrolled unless asked for, or refused:
the first stands for about ten seconds of compiling."""

UNROLLABLE = 250
"""Straight-line code for more links than this would take too long to make."""


LONG, LONG_APART = 30_000, 100_000
"""From so many links in long runs on, one sample is cut in pieces: of links that repeat themselves, or of any."""


_numbers = itertools.count()


class Compiled(Books):
    """Everything that was compiled for a tree. A robot owns one; it knows the tree, not the robot."""

    __slots__ = ("__weakref__", "_things", "parts", "tree")

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self.tree = tree
        self.parts: dict[Hashable, Any] = {}
        """What mass matrices have in common, by their options as they were given."""
        self._things: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """What `make` makes, made when it is first asked for under this key."""
        found = self._things.get(key, self)
        if found is self:
            found = self._things[key] = make()
        made: Value = found
        return made

    def known(self, key: Hashable) -> Any:
        """What was made under this key, None if nothing was."""
        return self._things.get(key)

    def kernel(
        self,
        function: Function,
        present: tuple[str, ...] = (),
        dtype: Any = np.float64,
        kernel_shape: str | None = None,
    ) -> Any:
        """The machine code of a function, compiled at most once: arrays in, arrays out, any leading dimensions.

        `kernel_shape` forces "unrolled" or "rolled" ones. This is the one place where the shape decides: a function
        with a recipe for long chains is then answered by that, and one sample of a long chain in pieces.
        """
        if self.tree.mimic:
            function = self._served(function)
        shape, dtype = chosen_shape(self.tree, function, kernel_shape), checked_dtype(function.question, dtype)
        if kernel_shape is None and shape == "rolled" and self._worth_cutting(function, dtype):
            shape = "in pieces"
        asked = kernel_shape if function.composed else shape
        known = self._known(function, present, dtype, shape)
        if known is None:
            return self._built(function, present, dtype, shape, asked)
        key = "kernel", function.name, known, present, dtype.name, shape
        return self.once(key, lambda: self._built(function, present, dtype, shape, asked, known))

    def repeated(
        self,
        repeated: Repeated,
        present: tuple[str, ...] = (),
        dtype: Any = np.float64,
        kernel_shape: str | None = None,
    ) -> Callable[[int, int], Kernel]:
        """The machine code of a function applied again and again: `kernel(rows, between)`, with that many rows kept."""
        from catena.kernels.build import repeated_kernel

        function = repeated.function
        if self.tree.mimic:
            function = self._served(function)
            if chosen_shape(self.tree, function, kernel_shape) == "rolled":
                refuse_followers(self.tree, f"{function.question} by loops over many links")
        shape, dtype = chosen_shape(self.tree, function, kernel_shape), checked_dtype(function.question, dtype)
        known = self._known(function, present, dtype, shape, repeated) or ""
        key = "repeated", repeated.name, known, present, dtype.name, shape
        return self.once(key, lambda: repeated_kernel(self.tree, repeated, present, dtype, shape, known))

    def name_of(self, function: Function, present: tuple[str, ...], kernel_shape: str | None) -> str:
        """What tells a function from all others, in this process and in the next."""
        known = self._known(function, present, np.dtype(float), chosen_shape(self.tree, function, kernel_shape))
        return f"{function.name}#{next(_numbers) if known is None else known}" if known != "" else function.name

    def _known(
        self,
        function: Function,
        present: tuple[str, ...],
        dtype: np.dtype[Any],
        shape: str,
        repeated: Repeated | None = None,
    ) -> str | None:
        """What is to be known of a function besides its name: of one that is a user's, what was traced.

        None of one that NumPy answers with what a user wrote: nobody can tell whether it is still the same.
        """
        if is_own(function, self.tree):
            return ""
        whole = shape == "rolled" and followers(self.tree) is not None and function.sweeps
        if whole or _by_numpy(function, shape):
            return None
        from catena.kernels.build import traced_as

        return traced_as(self.tree, function, present, dtype, shape, repeated)

    def _served(self, function: Function) -> Function:
        """What answers where joints follow others; refused, by joint, if nothing does."""
        if followers(self.tree) is None:
            return function
        from catena.functions.coupled_recipes import served

        return served(self.tree, function)

    def _built(
        self,
        function: Function,
        present: tuple[str, ...],
        dtype: np.dtype[Any],
        shape: str,
        asked: str | None,
        known: str = "",
    ) -> Any:
        """Make what answers; a recipe with NumPy gets the functions that it asks for in the shape `asked`."""
        from catena.kernels.build import rolled_kernel, signature, unrolled_kernel

        if shape == "in pieces":
            from catena.functions.pieces import InPieces, Pieces

            described = signature(self.tree, function, present, dtype)
            return InPieces(Pieces.of(self), described, lambda: self.kernel(function, present, dtype, "rolled"))
        found = followers(self.tree)
        if found is not None and shape == "rolled" and function.sweeps:
            function = self._by_whole_tree(found, function, present, dtype)
        if function.recipe is not None and _by_numpy(function, shape):
            described = signature(self.tree, function, present, dtype)
            in_dtype = np.dtype(np.float64) if function.double else dtype
            return Composed(
                function.recipe, described, self.tree, lambda f, given: self.kernel(f, given, in_dtype, asked)
            )
        if shape == "rolled":
            return rolled_kernel(self.tree, function, present, dtype)
        return unrolled_kernel(self.tree, function, present, dtype, known)

    def _by_whole_tree(
        self, found: Followers, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]
    ) -> Function:
        """The function of a tree in which joints follow others, by loops over all joints of the whole tree."""
        from catena.functions.coupled import WORD, by_whole_tree

        if WORD in function.name.split("/") and function.recipe is None:
            refuse_followers(self.tree, f"{function.question} by loops over many links")
        whole = found.whole.once("compiled", lambda: Compiled(found.whole))
        kernel = whole.kernel(function, present, dtype, "rolled")
        return replace(function, algorithm=by_recipe, recipe=by_whole_tree(found, function, present, kernel))

    def _worth_cutting(self, function: Function, dtype: np.dtype[Any]) -> bool:
        """Whether one sample is answered faster by a chain in pieces."""
        known = function.name == FD3.name and function.algorithm is FD3.algorithm  # and nothing that is made of it
        if not known or self.tree.n < LONG or self.tree.mimic or dtype != np.float64:
            return False
        from catena.functions.pieces import Pieces

        try:
            cut = Pieces.of(self)
        except UnsupportedError:
            return False
        return cut.cut_links >= max(LONG if cut.alike else LONG_APART, self.tree.n / 2)


def _by_numpy(function: Function, shape: str) -> bool:
    """Whether a recipe answers, with what other functions give."""
    return function.recipe is not None and (function.algorithm is by_recipe or shape == "rolled")


def check_kernel_shape(shape: str | None) -> None:
    """Refuse a word that is not a shape of kernels."""
    word = str.__str__(shape) if isinstance(shape, str) else ""
    if shape is not None and word not in ("unrolled", "rolled"):
        raise UnsupportedError(f"kernel must be 'unrolled', 'rolled' or None, got {shown(shape)}")


def _steepness(tree: Tree, function: Function) -> int:
    """How much straight-line code a function makes of a mechanism, if that grows with the cube of its length."""
    depth: list[int] = []
    if function.steepness:
        for parent, nv in zip(tree.parent.tolist(), np.diff(tree.v_start).tolist(), strict=True):
            depth.append(nv + (depth[parent] if parent >= 0 else 0))
    return function.steepness * tree.nv * max(depth, default=0) ** 2


def has_fast(tree: Tree, function: Function, shape: str | None, dtype: np.dtype[Any]) -> bool:
    """Whether one kernel, asked for in this shape, gives most samples: what tells the others apart needs float64."""
    unrolled = shape != "rolled" and tree.n <= UNROLLED
    return function.fast is not None and dtype == np.float64 and (function.fast.loops or unrolled)


def chosen_shape(tree: Tree, function: Function, shape: str | None) -> str:
    """The shape of a function's kernels: "unrolled" or "rolled", as asked for or as suits the tree."""
    check_kernel_shape(shape)
    whole = (function.dense or not function.loops) and function.recipe is None
    if shape == "rolled" and whole:
        what = "makes a whole matrix" if function.dense else "does more with links than to sweep over them"
        raise UnsupportedError(f"{function.question} {what}, which only unrolled kernels can")
    if shape is None or not tree.n:  # where there is no link, there is no loop either
        small = tree.n <= UNROLLED and _steepness(tree, function) <= STEEP
        shape = "unrolled" if whole or small else "rolled"
    if shape == "unrolled" and tree.n > UNROLLABLE and function.sweeps:
        other = "a method without whole matrices" if whole else "kernel='rolled'"
        raise UnsupportedError(
            f"{function.question} unrolled for {tree.n:,} links: expected at most {UNROLLABLE} links; use {other}"
        )
    if shape == "unrolled" and _steepness(tree, function) > STEEPEST:
        raise UnsupportedError(
            f"{function.question} unrolled for {tree.n:,} links in such long branches would take minutes to compile; "
            "use kernel='rolled'"
        )
    return shape
