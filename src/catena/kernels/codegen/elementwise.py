"""Elementwise kernels: each component of a result is the same short expression of the same component of the inputs.

Nothing needs to be transposed then: where rows follow each other, a batch is one long array; otherwise it goes row by
row. Integrating a robot whose joints all turn or slide takes as long as an addition of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.kernels.codegen.elementary import HELPERS_IR
from catena.kernels.codegen.emit import Block, Lanes, Writer
from catena.kernels.codegen.entries import BATCH, SINGLE, pointers, strides
from catena.kernels.codegen.loops import Counted
from catena.kernels.codegen.program import FUNCTIONS
from catena.kernels.machine.target import Target
from catena.trace.fuse import fuse
from catena.trace.graph import LEAF, Expr, Operand, live

MOST = 12
"""Expressions of more operations are left to the transposing kernels: then it is not memory that they wait for."""

AT_ONCE = 4
"""How many registers of each input a turn of the long loop takes."""


def is_elementwise(inputs: Mapping[str, int], outputs: Mapping[str, Sequence[Operand]]) -> bool:
    """Whether outputs, from inputs of the given widths, can be computed like this."""
    widths = {*inputs.values(), *map(len, outputs.values())}
    if len(widths) != 1 or not (width := widths.pop()):
        return False
    first = _form([values[0] for values in outputs.values()], 0)
    operations = [op for op, *_ in first or () if op != LEAF]
    if first is None or len(operations) > MOST or not FUNCTIONS.keys().isdisjoint(operations):
        return False
    return all(_form([values[i] for values in outputs.values()], i) == first for i in range(1, width))


def _form(values: Sequence[Operand], index: int) -> list[Any] | None:
    """Expressions of component number ``index`` of inputs, without that number; None if there are other components."""
    number: dict[int, int] = {}
    form: list[Any] = []

    def name(x: Operand) -> Any:
        return number[x.id] if isinstance(x, Expr) else repr(float(x))

    for node in live(values):
        if node.op == LEAF and node.args[1] != index:
            return None
        form.append((node.op, node.args[0]) if node.op == LEAF else (node.op, *map(name, node.args)))
        number[node.id] = len(number)
        if len(form) > 2 * MOST:
            return None
    return [*form, ("results", *map(name, values))] if form else None


def elementwise_ir(
    inputs: Mapping[str, int], outputs: Mapping[str, Sequence[Operand]], *, dtype: Any, target: Target
) -> str:
    """The module: entry points ``batch`` and ``single`` as :mod:`catena.kernels.call.runtime` knows them."""
    width = next(iter(inputs.values()))
    first = [values[0] for values in outputs.values()]
    rows = _Rows(list(inputs), fuse(first) if target.has_fma else first, np.dtype(dtype), target)
    texts = [rows.function(), _batch(len(inputs), len(outputs), width, rows.scalar), _single(inputs, outputs, width)]
    constants = [
        HELPERS_IR,
        f"@lanes = dso_local constant i64 {target.lanes(dtype)}",
        f"@operations = dso_local constant i64 {width}",
        "@scratch_bytes = dso_local constant [4 x i64] zeroinitializer",
    ]
    return "\n".join([*sorted(rows.declarations), *constants, *texts, ""])


class _Rows:
    """The function ``along(inputs …, outputs …, count)``: so many components, which follow each other."""

    def __init__(self, names: Sequence[str], values: Sequence[Operand], dtype: np.dtype[Any], target: Target) -> None:
        self.names, self.values, self.dtype, self.target = names, values, dtype, target
        self.scalar = Lanes(dtype, 1).scalar
        self.declarations: set[str] = set()

    def function(self) -> str:
        """Several registers at a time as long as there are so many, then one, then single numbers."""
        w, lanes, at = Writer(), self.target.lanes(self.dtype), "0"
        w.label("entry")
        for name, W, count in (("many", lanes, AT_ONCE), ("one", lanes, 1), ("rest", 1, 1)):
            stop = w.new(f"sub i64 %count, {W * count - 1}")
            loop = Counted(w, name, stop, at, W * count)
            self._turn(w, loop.i, W, count)
            loop.close()
            at = loop.i
        w.put("ret void")
        return w.function(f"internal void @along({_pointers(len(self.names), len(self.values))}, i64 %count)")

    def _turn(self, w: Writer, at: str, W: int, count: int) -> None:
        """All is loaded before anything is stored: a result may take the place of an input."""
        results = [self._loaded(w, w.new(f"add i64 {at}, {i * W}"), W) for i in range(count)]
        for index, values in results:
            for i, value in enumerate(values):
                place = self._place(w, f"%out{i}", index)
                w.put(f"store {Lanes(self.dtype, W).type} {value}, ptr {place}, align {self.dtype.itemsize}")

    def _loaded(self, w: Writer, index: str, W: int) -> tuple[str, list[str]]:
        """The results for W components from a number on."""
        block = Block(self.target, self.dtype, W)
        nodes = live(self.values)
        for node in nodes:
            if node.op == LEAF:
                place = self._place(w, f"%in{self.names.index(node.args[0])}", index)
                block.values[node.id] = w.new(f"load {block.lanes.type}, ptr {place}, align {self.dtype.itemsize}")
        block.run([node for node in nodes if node.op != LEAF], w)
        self.declarations |= block.declarations
        return index, [block.operand(x) for x in self.values]

    def _place(self, w: Writer, base: str, index: str) -> str:
        return w.new(f"getelementptr {self.scalar}, ptr {base}, i64 {index}")


def _pointers(inputs: int, outputs: int) -> str:
    return ", ".join([f"ptr %in{i}" for i in range(inputs)] + [f"ptr %out{i}" for i in range(outputs)])


def _single(inputs: Mapping[str, int], outputs: Mapping[str, Any], width: int) -> str:
    w = Writer()
    w.label("entry")
    rows = [*pointers(w, "%inputs", len(inputs)), *pointers(w, "%outputs", len(outputs))]
    w.put(f"call void @along({', '.join(f'ptr {row}' for row in rows)}, i64 {width})")
    w.put("ret void")
    return w.function(SINGLE)


def _batch(inputs: int, outputs: int, width: int, scalar: str) -> str:
    """All rows at once if those of every input follow each other, as those of outputs do; otherwise one by one."""
    w = Writer()
    w.label("entry")
    rows = [*pointers(w, "%inputs", inputs), *pointers(w, "%outputs", outputs)]
    steps = [*strides(w, inputs), *[str(width)] * outputs]

    def call(sample: str, count: str) -> None:
        offsets = [w.new(f"mul i64 {sample}, {step}") for step in steps]
        places = [w.new(f"getelementptr {scalar}, ptr {row}, i64 {at}") for row, at in zip(rows, offsets, strict=True)]
        w.put(f"call void @along({', '.join(f'ptr {place}' for place in places)}, i64 {count})")

    dense = "true"
    for step in steps[:inputs]:
        dense = w.new(f"and i1 {dense}, {w.new(f'icmp eq i64 {step}, {width}')}")
    w.put(f"br i1 {dense}, label %whole, label %apart")
    w.label("whole")
    call("%first", w.new(f"mul i64 %count, {width}"))
    w.put("ret void")
    w.label("apart")
    w.put("%stop = add i64 %first, %count")
    loop = Counted(w, "rows", "%stop", "%first")
    call(loop.i, str(width))
    loop.close()
    w.put("ret void")
    return w.function(BATCH)
