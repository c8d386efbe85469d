"""Straight-line code as numbered values: what the scheduler and the register allocation work on.

Minus signs are folded into the operations that use them, which is exact: ``a - b``, ``-(a b) + c`` and so on are
instructions of their own. A choice is a comparison, whose value is a mask of the register's size, and a "blend" of
(mask, otherwise, chosen); "min" and "max" are the choices that processors make in one instruction, of the second
argument where one is NaN. Sines, cosines, logarithms and the like are *calls*: their arguments are gathered in memory
and a loop goes through them, so they split the program into stages, each of them straight-line code followed by calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from catena.errors import UnsupportedError
from catena.trace.graph import COMPARISONS, LEAF, Expr, Operand, live

FUSED = {(1, 1): "fmadd", (1, -1): "fmsub", (-1, 1): "fnmadd", (-1, -1): "fnmsub"}
"""The multiply-add of a given sign of the product and of the addend."""

FUNCTIONS = {
    "sin": ("sincos", 0),
    "cos": ("sincos", 1),
    "log": ("log", 0),
    "exp": ("exp", 0),
    "arctan2": ("arctan2", 0),
}
"""The function that is called for an operation, and which of its results is the value."""


class Leaf(NamedTuple):
    """A value that is in memory from the start, or from the end of the calls on that make it.

    ``source`` is the name of an input, "number" or "call" (names of inputs have a colon in front); ``which`` the
    component of the input, the number, or the call; ``part`` which result of the call.
    """

    source: str
    which: float
    part: int = 0


class Call(NamedTuple):
    """A function, its arguments, and the stage after which it is called."""

    function: str
    arguments: tuple[int, ...]
    stage: int


@dataclass
class StraightLine:
    """Values are numbered as they can be computed. ``ops`` is None for leaves, ``args`` are numbers of older values."""

    ops: list[str | None] = field(default_factory=list)
    args: list[tuple[int, ...]] = field(default_factory=list)
    leaves: dict[int, Leaf] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def add(self, op: str, *args: int) -> int:
        """A new value."""
        self.ops.append(op)
        self.args.append(args)
        return len(self.ops) - 1

    def add_leaf(self, leaf: Leaf) -> int:
        """A new value that is found in memory."""
        self.ops.append(None)
        self.args.append(())
        self.leaves[len(self.ops) - 1] = leaf
        return len(self.ops) - 1

    def stages(self) -> list[list[int]]:
        """The values to compute before the calls of each stage, and at last all others that the outputs need."""
        roots: list[list[int]] = [[] for _ in range(1 + max((call.stage for call in self.calls), default=-1))]
        for call in self.calls:
            roots[call.stage] += call.arguments
        done: set[int] = set()
        return [self._needed(values, done) for values in (*roots, self.outputs)]

    def _needed(self, roots: Iterable[int], done: set[int]) -> list[int]:
        """What is to be computed for the roots, in order, apart from what is done; it is done after that."""
        found, stack = set(), [v for v in roots if self.ops[v] is not None and v not in done]
        while stack:
            v = stack.pop()
            if v not in found:
                found.add(v)
                stack += [a for a in self.args[v] if self.ops[a] is not None and a not in done]
        done |= found
        return sorted(found)


class _Reader:
    """Turns nodes into values with signs."""

    def __init__(self) -> None:
        self.program = StraightLine()
        self.known: dict[int, tuple[int, int]] = {}
        self._numbers: dict[tuple[float, float], int] = {}
        self._negatives: dict[int, int] = {}
        self._masks: dict[tuple[str, int, int], int] = {}
        self._calls: dict[tuple[str, tuple[int, ...]], int] = {}
        self._results: dict[tuple[int, int], int] = {}
        self._stage: list[int] = []

    def signed(self, x: Operand) -> tuple[int, int]:
        """The value of an operand and its sign."""
        if isinstance(x, Expr):
            return self.known[x.id]
        sign = int(math.copysign(1, x))
        return self._number(abs(float(x))), sign

    def plain(self, x: Operand) -> int:
        """A value equal to the operand, its sign included."""
        if not isinstance(x, Expr):
            return self._number(float(x))
        value, sign = self.known[x.id]
        if sign > 0:
            return value
        if value not in self._negatives:
            self._negatives[value] = self._add("sub", self._number(-0.0), value)
        return self._negatives[value]

    def read(self, node: Expr) -> tuple[int, int]:
        """The value of a node whose arguments are known."""
        if node.op == LEAF:
            array, index = node.args
            return self._leaf(Leaf(f":{array}", index), 0), 1
        if node.op in FUNCTIONS:
            return self._call(*FUNCTIONS[node.op], tuple(self.plain(a) for a in node.args)), 1
        if node.op in COMPARISONS:
            return self._choice(node.op, *[self.plain(a) for a in node.args]), 1
        if node.op == "sqrt":
            return self._add("sqrt", self.plain(node.args[0])), 1
        return self._signed(node)

    def _signed(self, node: Expr) -> tuple[int, int]:
        """The value of an operation that takes the signs of its arguments in."""
        values, signs = zip(*[self.signed(a) for a in node.args], strict=True)
        if node.op == "neg":
            return values[0], -signs[0]
        if node.op == "fma":
            return self._add(FUSED[signs[0] * signs[1], signs[2]], *values), 1
        if node.op == "abs":
            return self._add("andn", self._number(-0.0), values[0]), 1
        if node.op == "round":
            return self._add("round", values[0]), signs[0]
        if node.op in ("mul", "div"):
            return self._add(node.op, *values), signs[0] * signs[1]
        if node.op not in ("add", "sub"):
            raise UnsupportedError(f"kernels cannot compute {node.op}")
        return self._sum(values[0], values[1], signs[0], signs[1] if node.op == "add" else -signs[1])

    def _sum(self, x: int, y: int, x_sign: int, y_sign: int) -> tuple[int, int]:
        """± x ± y."""
        if x_sign == y_sign:
            return self._add("add", x, y), x_sign
        return self._add("sub", *((x, y) if x_sign > 0 else (y, x))), 1

    def _choice(self, op: str, a: int, b: int, x: int, y: int) -> int:
        """X where the comparison holds, otherwise y."""
        if op == "lt" and {a, b} == {x, y}:
            return self._add("min" if x == a else "max", x, y)
        if (op, a, b) not in self._masks:
            self._masks[op, a, b] = self._add(op, a, b)
        return self._add("blend", self._masks[op, a, b], y, x)

    def _add(self, op: str, *args: int) -> int:
        self._stage.append(max(self._stage[a] for a in args))
        return self.program.add(op, *args)

    def _leaf(self, leaf: Leaf, stage: int) -> int:
        self._stage.append(stage)
        return self.program.add_leaf(leaf)

    def _number(self, x: float) -> int:
        key = x, math.copysign(1.0, x)  # to tell the zeros apart
        if key not in self._numbers:
            self._numbers[key] = self._leaf(Leaf("number", x), 0)
        return self._numbers[key]

    def _call(self, function: str, part: int, arguments: tuple[int, ...]) -> int:
        if (function, arguments) not in self._calls:
            self._calls[function, arguments] = len(self.program.calls)
            self.program.calls.append(Call(function, arguments, max(self._stage[a] for a in arguments)))
        call = self._calls[function, arguments]
        if (call, part) not in self._results:
            leaf = Leaf("call", call, part)
            self._results[call, part] = self._leaf(leaf, self.program.calls[call].stage + 1)
        return self._results[call, part]


def read(outputs: Sequence[Operand]) -> StraightLine:
    """The program that computes the outputs."""
    reader = _Reader()
    for node in live(outputs):
        reader.known[node.id] = reader.read(node)
    reader.program.outputs = [reader.plain(x) for x in outputs]
    return reader.program
