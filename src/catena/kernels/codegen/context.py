"""What a rolled kernel reads about the mechanism: the table ``context``, and how arrays are addressed.

The table has one word for each of :data:`WORDS`: addresses of the link constants (rows of scalars), parents, classes
(one byte each), starts of q and of v; then the numbers of links, of coordinates and of speeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.functions.function import Kind
from catena.model.lowering.lowered import Lowered
from catena.trace.recorder import LinkClass

NUMBERS = ("links", "nq", "nv")
WORDS = ("constants", "parents", "classes", "q_start", "v_start", *NUMBERS)
"""The words of the context: addresses, then numbers."""

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


def context_of(lowered: Lowered, which: np.ndarray, columns: Sequence[Sequence[str]], dtype: np.dtype[Any]) -> Context:
    """The table for a mechanism, of which link k is of class ``which[k]`` and reads that class's ``columns``."""
    values: dict[str, np.ndarray | int] = {
        "constants": _constants(lowered, which, columns, dtype),
        "parents": _int64(lowered.parent),
        "classes": which,
        "q_start": _int64(lowered.q_start),
        "v_start": _int64(lowered.v_start),
        "links": lowered.n,
        "nq": int(lowered.q_start[-1]),
        "nv": int(lowered.v_start[-1]),
    }
    return [values[word] for word in WORDS]


def _constants(
    lowered: Lowered, which: np.ndarray, columns: Sequence[Sequence[str]], dtype: np.dtype[Any]
) -> np.ndarray:
    """A row of constants for each link."""
    constants = np.zeros((lowered.n, max(len(names) for names in columns)), dtype)
    for number, names in enumerate(columns):
        rows = slice(None) if len(columns) == 1 else np.flatnonzero(which == number)
        for j, name in enumerate(names):
            column = lowered.constants[name] if name in lowered.constants else lowered.of_joint(name)
            constants[rows, j] = column[rows]
    return constants


def _int64(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.int64)
