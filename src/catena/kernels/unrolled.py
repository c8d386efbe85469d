"""Unrolled kernels: one mechanism's straight-line code, for W samples at a time and for one.

Sines and cosines come first: the few operations that make their arguments, then one loop over all arguments. The rest is one basic
block on blocks ``[component][lane]``, between loops that transpose rows in and out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.kernels.elementary import HELPERS_IR, elementary_ir
from catena.kernels.emit import Block, Lanes, Writer
from catena.kernels.loops import Counted, batch_function, single_function
from catena.kernels.target import Target
from catena.trace.fuse import fuse
from catena.trace.graph import LEAF, Expr, Operand, live


def unrolled_ir(
    inputs: Mapping[str, int], outputs: Mapping[str, Sequence[Operand]], *, dtype: Any, target: Target
) -> str:
    """The module: entry points ``batch`` and ``single`` as :mod:`catena.kernels.runtime` knows them."""
    dtype = np.dtype(dtype)
    W, flat = target.lanes(dtype), [x for values in outputs.values() for x in values]
    flat = fuse(flat) if target.has_fma else flat
    angles = list(dict.fromkeys(node.args[0] for node in live(flat) if node.op in ("sin", "cos")))
    codes = [_Straight(inputs, outputs, flat, angles, target, dtype, lanes) for lanes in sorted({1, W})]
    widths = {**inputs, **{f"out.{name}": len(values) for name, values in outputs.items()}}
    scratch = dtype.itemsize * 2 * len(angles)
    batch = W * (dtype.itemsize * sum(widths.values()) + scratch) + 64
    parts = [
        HELPERS_IR,
        f"@lanes = dso_local constant i64 {W}",
        f"@operations = dso_local constant i64 {max(1, len(live(flat)))}",
        f"@scratch_bytes = dso_local constant [4 x i64] [i64 {batch}, i64 0, i64 {scratch + 64}, i64 0]",
    ]
    declarations: set[str] = set()
    for code in codes:
        parts.append(code.function())
        texts, needed = elementary_ir(code.functions, target, dtype, code.W)
        parts += texts
        declarations |= needed | code.declarations
    parts.append(single_function("straight", list(inputs), list(outputs)))
    sizes = [str(n) for n in widths.values()]
    parts.append(batch_function("straight", sizes[: len(inputs)], sizes[len(inputs) :], Lanes(dtype, W)))
    return "\n".join([*sorted(declarations), *parts, ""])


class _Straight:
    """The function that computes all outputs for W samples at once."""

    def __init__(
        self,
        inputs: Mapping[str, int],
        outputs: Mapping[str, Sequence[Operand]],
        flat: Sequence[Operand],
        angles: Sequence[Expr],
        target: Target,
        dtype: np.dtype[Any],
        W: int,
    ) -> None:
        self.inputs, self.outputs, self.flat, self.angles = inputs, outputs, flat, angles
        self.target, self.dtype, self.W, self.lanes = target, dtype, W, Lanes(dtype, W)
        self.align = dtype.itemsize * W
        self.w = Writer()
        self.declarations: set[str] = set()
        self.functions: set[str] = set()

    def function(self) -> str:
        """The whole function."""
        arrays = [f"%in.{name}" for name in self.inputs] + [f"%out.{name}" for name in self.outputs]
        self.w.label("entry")
        if self.angles:
            self._sines_and_cosines()
        self._rest()
        self.w.put("ret void")
        pointers = ", ".join(f"ptr noalias {name}" for name in arrays)
        return self.w.function(f"internal void @straight{self.W}(ptr %context, {pointers}, ptr noalias %scratch)")

    def _at(self, base: str, index: int | str) -> str:
        return self.w.new(f"getelementptr inbounds {self.lanes.type}, ptr {base}, i64 {index}")

    def _load(self, base: str, index: int | str) -> str:
        return self.w.new(f"load {self.lanes.type}, ptr {self._at(base, index)}, align {self.align}")

    def _store(self, value: str, base: str, index: int | str) -> None:
        self.w.put(f"store {self.lanes.type} {value}, ptr {self._at(base, index)}, align {self.align}")

    def _run(self, block: Block, nodes: Sequence[Expr]) -> None:
        for node in nodes:
            if node.op == LEAF:
                array, index = node.args
                block.values[node.id] = self._load(f"%in.{array}", index)
            elif node.id not in block.values:
                block.run([node], self.w)
        self.declarations |= block.declarations
        self.functions |= block.functions

    def _sines_and_cosines(self) -> None:
        """Scratch holds the arguments, and then 2 i: the sine, 2 i + 1: the cosine of argument i."""
        count, block, T = len(self.angles), Block(self.target, self.dtype, self.W), self.lanes.type
        self._run(block, live(self.angles))
        for i, angle in enumerate(self.angles):
            self._store(block.operand(angle), "%scratch", 2 * i)
        self.functions.add("sincos")
        loop = Counted(self.w, "angles", str(count))
        at = self.w.new(f"mul i64 {loop.i}, 2")
        both = self.w.new(f"call {{{T}, {T}}} @sincos{self.W}({T} {self._load('%scratch', at)})")
        for part, place in ((0, at), (1, self.w.new(f"add i64 {at}, 1"))):
            self._store(self.w.new(f"extractvalue {{{T}, {T}}} {both}, {part}"), "%scratch", place)
        loop.close()

    def _rest(self) -> None:
        block, number = Block(self.target, self.dtype, self.W), {angle.id: i for i, angle in enumerate(self.angles)}
        nodes = [node for node in live(self.flat)]
        for node in nodes:
            if node.op in ("sin", "cos"):
                block.values[node.id] = self._load("%scratch", 2 * number[node.args[0].id] + (node.op == "cos"))
        self._run(block, nodes)
        at = 0
        for name, values in self.outputs.items():
            for i in range(len(values)):
                self._store(block.operand(self.flat[at + i]), f"%out.{name}", i)
            at += len(values)
