"""What a rolled kernel reads about the mechanism: the table ``context``, and how arrays are addressed.

The table has one word for each of :data:`WORDS`: addresses of the link constants (rows of scalars), parents, classes
(one byte each), starts of q and of v; then the numbers of links, of coordinates and of speeds, and of the scalars
among the constants that belong to one sample, where samples have constants of their own (:class:`Shares`).
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from catena.functions.function import Kind
from catena.model.lowering.lowered import Lowered
from catena.trace.recorder import LinkClass, classify

NUMBERS = ("links", "nq", "nv", "own")
WORDS = ("constants", "parents", "classes", "q_start", "v_start", *NUMBERS)
"""The words of the context: addresses, then numbers."""

TOTALS = {"q": "%nq", "v": "%nv", "link": "%links"}
"""How many entries an array has, by what it has them for."""

Context = Sequence[np.ndarray | int]
"""The table before it has addresses: arrays and integers, in the order of :data:`WORDS`."""


@dataclass
class Layout:
    """How the arrays of one kind of mechanism are addressed: whether every joint has one coordinate and one speed."""

    unit_q: bool
    unit_v: bool
    widest_q: int
    widest_v: int

    def per_link(self, kind: Kind) -> int:
        """At most how many numbers of an array belong to one link."""
        if kind.pieces:
            return sum(self.per_link(piece) for piece in kind.pieces.values())
        return kind.width * {"q": self.widest_q, "v": self.widest_v, "link": 1, "robot": 0}[kind.per]

    def fixed(self, kind: Kind) -> int:
        """How many numbers of an array belong to no link."""
        if kind.pieces:
            return sum(self.fixed(piece) for piece in kind.pieces.values())
        return kind.width if kind.per == "robot" else 0


def layout_of(lowered: Lowered, classes: Sequence[LinkClass]) -> Layout:
    """The layout of a mechanism's arrays."""
    n = np.arange(lowered.n + 1)
    widest = max(c.joint_type.nq for c in classes), max(c.joint_type.nv for c in classes)
    return Layout(np.array_equal(lowered.q_start, n), np.array_equal(lowered.v_start, n), *widest)


def load_words(words: Sequence[str]) -> list[str]:
    """IR that loads words of the context, each to a value of its name."""
    return [
        line
        for word in words
        for line in (
            f"  %{word}.at = getelementptr i64, ptr %context, i64 {WORDS.index(word)}",
            f"  %{word} = load {'i64' if word in NUMBERS else 'ptr'}, ptr %{word}.at",
        )
    ]


def width(kind: Kind, number: int) -> tuple[str, list[str]]:
    """The number of scalars in a row of an array, and the line that computes it."""
    lines: list[str] = []

    def new(text: str) -> str:
        lines.append(f"  %width{number}.{len(lines)} = {text}")
        return f"%width{number}.{len(lines) - 1}"

    return count(kind, new), lines


def count(kind: Kind, new: Callable[[str], str]) -> str:
    """The number of scalars in a row of an array, by instructions that `new` writes."""
    if kind.pieces:
        counts = [count(piece, new) for piece in kind.pieces.values()]
        return reduce(lambda total, count: new(f"add i64 {total}, {count}"), counts)
    if kind.per == "robot":
        return str(kind.width)
    return new(f"mul i64 {TOTALS[kind.per]}, {kind.width}")


def context_of(lowered: Lowered, which: np.ndarray, columns: Sequence[Sequence[str]], dtype: np.dtype[Any]) -> Context:
    """The table for a mechanism, of which link k is of class ``which[k]`` and reads that class's ``columns``."""
    values = _about(lowered, which, _constants(lowered, which, columns, dtype), lowered.n)
    return [values[word] for word in WORDS]


def _about(lowered: Lowered, which: np.ndarray, constants: np.ndarray, links: int) -> dict[str, np.ndarray | int]:
    """The words about the first `links` of a mechanism."""
    return {
        "constants": constants,
        "parents": _int64(lowered.parent),
        "classes": which,
        "q_start": _int64(lowered.q_start),
        "v_start": _int64(lowered.v_start),
        "links": links,
        "nq": int(lowered.q_start[links]),
        "nv": int(lowered.v_start[links]),
        "own": 0,
    }


def _constants(
    lowered: Lowered, which: np.ndarray, columns: Sequence[Sequence[str]], dtype: np.dtype[Any]
) -> np.ndarray:
    """A row of constants for each link."""
    constants = np.zeros((lowered.n, max(len(names) for names in columns)), dtype)
    for number, names in enumerate(columns):
        rows = slice(None) if len(columns) == 1 else np.flatnonzero(which == number)
        for j, name in enumerate(names):
            constants[rows, j] = lowered.constant(name, rows)
    return constants


def _in_large_pages(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Zeros that begin with a page, so that vectors lie in one line of the cache each; in large pages where possible.

    Of a table that is read once from end to end, small pages would take as long to find as the table takes to read.
    """
    memory = mmap.mmap(-1, max(1, math.prod(shape) * dtype.itemsize))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype, math.prod(shape)).reshape(shape)


def _int64(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.int64)


@dataclass(frozen=True)
class Shares:
    """The links of one chain in equal shares, each of which is a sample of kernels with constants of its own.

    `constants` are (groups of samples, links of a share, columns, lanes), so that lanes read them side by side; where a
    group has fewer samples than lanes, the last stands for others. `share` is what all shares have in common.
    """

    share: Lowered
    classes: Sequence[LinkClass]
    which: np.ndarray
    columns: list[list[str]]
    constants: np.ndarray

    @classmethod
    def of(cls, lowered: Lowered, links: range, count: int, lanes: int, dtype: np.dtype[Any]) -> Shares:
        """So many shares of some links of a chain; in all shares the same kinds of links must follow each other."""
        classes, which = classify(lowered)
        columns = [list(c.varying) for c in classes]
        length, groups = len(links) // count, -(-count // lanes)
        which = which[links.start : links.start + length]
        shares = np.minimum(np.arange(groups * lanes), count - 1)
        constants = _in_large_pages((groups, length, max(map(len, columns)), lanes), dtype)
        for number, names in enumerate(columns):
            own = np.flatnonzero(which == number)
            rows = links.start + shares[:, None] * length + own
            for j, name in enumerate(names):
                column = lowered.constant(name, rows.ravel()).reshape(groups, lanes, -1)
                constants[:, own, j] = column.swapaxes(1, 2)
        starts = {x: getattr(lowered, x)[links.start : links.start + length + 1] for x in ("q_start", "v_start")}
        starts = {name: x - x[0] for name, x in starts.items()}
        share = replace(lowered, parent=np.arange(-1, length - 1), constants={}, **starts)
        return cls(share, classes, which, columns, constants)

    def context(self, links: int) -> Context:
        """The table for the first `links` of every share."""
        _, length, row, _ = self.constants.shape
        values = _about(self.share, self.which, self.constants, links)
        return [{**values, "own": length * row}[word] for word in WORDS]
