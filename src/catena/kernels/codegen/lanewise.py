"""Arithmetic over lanes on values by name: what the formulas of elementary functions are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catena.kernels.codegen.emit import Block, Writer
from catena.kernels.machine.compile import HELPERS
from catena.kernels.machine.target import Target


class Maker:
    """Arithmetic on values by name."""

    def __init__(self, target: Target, dtype: np.dtype[Any], W: int) -> None:
        self.block, self.w = Block(target, dtype, W), Writer()
        self.lanes, self.fused, self.size, self.W = self.block.lanes, target.has_fma, dtype.itemsize, W
        self.T, self.I = self.lanes.type, self.lanes.bits
        self.integer = self.lanes.integer
        self.table = ""
        self._numbers: list[float] = []
        self._tabulates = target.assembles and self.lanes.size == 32

    def number(self, x: float) -> str:
        """A constant. LLVM would broadcast it to a register first; from a table, instructions take it directly."""
        if not (self.table and self._tabulates):
            return self.lanes.number(x)
        if x not in self._numbers:
            self._numbers.append(x)
        return self.load(self.table, str(self._numbers.index(x)))

    def numbers(self) -> str:
        """The table of constants."""
        if not self._numbers:
            return ""
        values = ", ".join(f"{self.T} {self.lanes.number(x)}" for x in self._numbers)
        return f"{self.table} = internal constant [{len(self._numbers)} x {self.T}] [{values}]\n"

    def load(self, base: str, index: str) -> str:
        """A value in an array."""
        return self.w.new(f"load {self.T}, ptr {self.w.new(f'getelementptr {self.T}, ptr {base}, i64 {index}')}")

    def store(self, values: Sequence[str], index: str) -> None:
        """The results of a function, in their arrays."""
        for i, value in enumerate(values):
            at = self.w.new(f"getelementptr {self.T}, ptr %results{i}, i64 {index}")
            self.w.put(f"store {self.T} {value}, ptr {at}")

    def op(self, name: str, x: str, y: str) -> str:
        """An operation on numbers."""
        return self.w.new(f"{name} {self.T} {x}, {y}")

    def iop(self, name: str, x: str, y: str) -> str:
        """An operation on integers."""
        return self.w.new(f"{name} {self.I} {x}, {y}")

    def minus(self, x: str) -> str:
        """-x."""
        return self.w.new(f"fneg {self.T} {x}")

    def absolute(self, x: str) -> str:
        """|x|."""
        return self.block.absolute(x, self.w)

    def fma(self, x: str, y: str, z: str) -> str:
        """x y + z, rounded once where the target can."""
        return self.block.call("fma", [x, y, z], self.w) if self.fused else self.op("fadd", self.op("fmul", x, y), z)

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Horner's rule, constant term first."""
        value = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = self.fma(value, x, self.number(c))
        return value

    def cast(self, x: str, to: str) -> str:
        """The same bits as another type."""
        source = self.T if to == self.I else self.I
        return self.w.new(f"bitcast {source} {x} to {to}")

    def select(self, test: str, x: str, y: str) -> str:
        """X in the lanes where the test holds, y in the others."""
        return self.w.new(f"select {self.lanes.truth} {test}, {self.T} {x}, {self.T} {y}")

    def compare(self, predicate: str, x: str, y: str) -> str:
        """A test, as LLVM names it."""
        return self.w.new(f"fcmp {predicate} {self.T} {x}, {y}")

    def any(self, test: str) -> str:
        """Whether the test holds in some lane."""
        if self.W == 1:
            return test
        mask = self.w.new(f"bitcast {self.lanes.truth} {test} to i{self.W}")
        return self.w.new(f"icmp ne i{self.W} {mask}, 0")

    def redone(self, test: str, values: Sequence[str], given: Sequence[str], helpers: Sequence[int]) -> list[str]:
        """The values, with the lanes in which the test holds computed by functions of the C library."""
        return [self._redone(test, value, given, helper) for value, helper in zip(values, helpers, strict=True)]

    def _redone(self, test: str, value: str, given: Sequence[str], helper: int) -> str:
        exact, scalar = value, self.lanes.scalar
        at = self.w.new(f"getelementptr [{len(HELPERS)} x ptr], ptr @helpers, i64 0, i64 {helper}")
        function = self.w.new(f"load ptr, ptr {at}")
        for lane in range(self.W):
            numbers = ", ".join(f"double {self._wide(x, lane)}" for x in given)
            y = self.w.new(f"call double {function}({numbers})")
            y = y if self.size == 8 else self.w.new(f"fptrunc double {y} to float")
            exact = y if self.W == 1 else self.w.new(f"insertelement {self.T} {exact}, {scalar} {y}, i64 {lane}")
        return self.select(test, exact, value)

    def _wide(self, x: str, lane: int) -> str:
        """One number, as the C library takes it."""
        z = x if self.W == 1 else self.w.new(f"extractelement {self.T} {x}, i64 {lane}")
        return z if self.size == 8 else self.w.new(f"fpext float {z} to double")
