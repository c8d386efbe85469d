"""Nodes of the expression graph as LLVM IR over lanes: one value holds one number for each of W samples.

No fast-math flags anywhere: every instruction rounds as IEEE 754 says, so results don't depend on the number of lanes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catena.errors import UnsupportedError
from catena.kernels.machine.target import Target
from catena.trace.graph import Expr, Operand

ATTRIBUTES = 'nounwind "no-builtins" "no-stack-arg-probe"'
"""Of every function in a kernel: it calls nothing from outside, not even behind our back."""

BINARY = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
PREDICATES = {"lt": "olt", "le": "ole", "eq": "oeq"}
MANTISSA = {8: 52, 4: 23}
"""The bits of a number after its first, by bytes of the type."""


@dataclass
class Writer:
    """Lines of one function, with names that are never used twice."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def new(self, text: str) -> str:
        """A new value, defined by the right-hand side of an assignment."""
        self.count += 1
        name = f"%r{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def put(self, line: str) -> None:
        """A line that defines nothing."""
        self.lines.append(f"  {line}")

    def label(self, name: str) -> None:
        """The start of a basic block."""
        self.lines.append(f"{name}:")

    def function(self, head: str, align: int = 0) -> str:
        """The lines as the body of a function, with the stack aligned to so many bytes if those are many.

        LLVM does not see to that itself: registers that it has to put aside would lie across two cache lines, in some
        processes but not in others, and take half as long again.
        """
        body = "\n".join(self.lines)
        aligned = f" alignstack({align})" if align > 16 else ""
        return f"define {head}{aligned} {ATTRIBUTES} {{\n{body}\n}}"


@dataclass(frozen=True)
class Lanes:
    """A type of values: W numbers of a dtype."""

    dtype: np.dtype[Any]
    W: int

    @property
    def scalar(self) -> str:
        """The type of one number."""
        return "double" if self.dtype == np.float64 else "float"

    @property
    def type(self) -> str:
        """The type of the whole value."""
        return self.scalar if self.W == 1 else f"<{self.W} x {self.scalar}>"

    @property
    def size(self) -> int:
        """Bytes of the whole value."""
        return self.dtype.itemsize * self.W

    @property
    def bits(self) -> str:
        """The integer type of the same size."""
        word = f"i{8 * self.dtype.itemsize}"
        return word if self.W == 1 else f"<{self.W} x {word}>"

    @property
    def truth(self) -> str:
        """The type of a comparison."""
        return "i1" if self.W == 1 else f"<{self.W} x i1>"

    @property
    def suffix(self) -> str:
        """What intrinsics for this type end with."""
        size = f"f{8 * self.dtype.itemsize}"
        return size if self.W == 1 else f"v{self.W}{size}"

    def number(self, x: float) -> str:
        """A constant, the same in every lane."""
        return self.numbers([x] * self.W)

    def numbers(self, values: Sequence[float]) -> str:
        """A constant for each lane."""
        words = [struct.unpack(">Q", struct.pack(">d", float(self.dtype.type(x))))[0] for x in values]
        texts = [f"0x{bits:016X}" for bits in words]
        return texts[0] if self.W == 1 else "<" + ", ".join(f"{self.scalar} {text}" for text in texts) + ">"

    def integer(self, x: int) -> str:
        """A constant of the integer type, the same in every lane."""
        return self._splat(f"i{8 * self.dtype.itemsize}", str(x))

    def _splat(self, word: str, text: str) -> str:
        return text if self.W == 1 else "<" + ", ".join([f"{word} {text}"] * self.W) + ">"

    def intrinsic(self, name: str, count: int) -> str:
        """The declaration of an intrinsic with `count` arguments."""
        return f"declare {self.type} @llvm.{name}.{self.suffix}({', '.join([self.type] * count)})"


class Block:
    """A piece of straight-line code: nodes in, values out.

    Set `values` for the leaves, `run` the nodes, then ask for an `operand`. `declarations` and `functions` tell what
    the module must also hold.
    """

    def __init__(self, target: Target, dtype: np.dtype[Any], W: int) -> None:
        self.target, self.lanes = target, Lanes(dtype, W)
        self.values: dict[int, str] = {}
        self.declarations: set[str] = set()
        self.functions: set[str] = set()
        self._sincos: dict[str, tuple[str, str]] = {}

    def operand(self, x: Operand) -> str:
        """A node's value, or a number."""
        return self.values[x.id] if isinstance(x, Expr) else self.lanes.number(x)

    def run(self, nodes: Iterable[Expr], w: Writer) -> None:
        """Compute the nodes, which stand in an order in which they can be computed."""
        for node in nodes:
            self.values[node.id] = self._node(node, [self.operand(a) for a in node.args], w)

    def _node(self, node: Expr, args: list[str], w: Writer) -> str:
        T, op = self.lanes.type, node.op
        if op in BINARY:
            return w.new(f"{BINARY[op]} {T} {args[0]}, {args[1]}")
        if op == "neg":
            return w.new(f"fneg {T} {args[0]}")
        if op == "fma":
            return self.call(op, args, w)
        if op in PREDICATES:
            return self.choose(w, self.compare(w, op, *args[:2]), *args[2:])
        if op in ("sqrt", "abs", "round"):
            return {"sqrt": self.sqrt, "abs": self.absolute, "round": self.nearest}[op](args[0], w)
        if op in ("log", "exp", "arctan2"):
            self.functions.add(op)
            return w.new(f"call {T} @{op}{self.lanes.W}({', '.join(f'{T} {x}' for x in args)})")
        if op not in ("sin", "cos"):
            raise UnsupportedError(f"kernels cannot compute {op}")
        return self._trigonometric(op, args[0], w)

    def compare(self, w: Writer, op: str, a: str, b: str) -> str:
        """Whether a comparison holds, in each lane."""
        return w.new(f"fcmp {PREDICATES[op]} {self.lanes.type} {a}, {b}")

    def choose(self, w: Writer, test: str, x: str, y: str) -> str:
        """X in the lanes where the test holds, y in the others."""
        return w.new(f"select {self.lanes.truth} {test}, {self.lanes.type} {x}, {self.lanes.type} {y}")

    def sqrt(self, x: str, w: Writer) -> str:
        """The square root."""
        return self.call("sqrt", [x], w)

    def absolute(self, x: str, w: Writer) -> str:
        """|x|."""
        return self.call("fabs", [x], w)

    def nearest(self, x: str, w: Writer) -> str:
        """The nearest integer, the even one of two: numbers from 2^52 on are integers, others are shifted to there.

        LLVM's own rounding would call a function of the C library where the processor has no instruction for it.
        """
        T, end = self.lanes.type, self.lanes.number(2.0 ** MANTISSA[self.lanes.dtype.itemsize])
        size = self.absolute(x, w)
        shifted = w.new(f"fsub {T} {w.new(f'fadd {T} {size}, {end}')}, {end}")
        return self.choose(w, self.compare(w, "lt", size, end), self.call("copysign", [shifted, x], w), x)

    def call(self, intrinsic: str, args: list[str], w: Writer) -> str:
        """The value of an intrinsic."""
        T = self.lanes.type
        self.declarations.add(self.lanes.intrinsic(intrinsic, len(args)))
        return w.new(f"call {T} @llvm.{intrinsic}.{self.lanes.suffix}({', '.join(f'{T} {x}' for x in args)})")

    def _trigonometric(self, op: str, angle: str, w: Writer) -> str:
        if angle not in self._sincos:
            T = self.lanes.type
            self.functions.add("sincos")
            both = w.new(f"call {{{T}, {T}}} @sincos{self.lanes.W}({T} {angle})")
            parts = [w.new(f"extractvalue {{{T}, {T}}} {both}, {i}") for i in (0, 1)]
            self._sincos[angle] = (parts[0], parts[1])
        return self._sincos[angle][op == "cos"]
