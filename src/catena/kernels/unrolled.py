"""Unrolled kernels: one mechanism's straight-line code, for W samples at a time and for one.

A batch goes through in tiles of a few blocks of W samples: rows are transposed into blocks ``[component][lane]``, each
part of the code runs over the blocks of the tile, and results are transposed back. Parts are short, so the processor
works on the next block while results of the last one are still on their way, and a part stays in the fastest caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from catena.kernels.assembly import Allocation, Machine, Place
from catena.kernels.elementary import HELPERS_IR, elementary_ir
from catena.kernels.emit import Block, Lanes, Writer
from catena.kernels.loops import BATCH, SINGLE, Counted, copy, pointers, strides, transpose, transposing_functions
from catena.kernels.memory import Memory
from catena.kernels.portable import Portable
from catena.kernels.program import Program, read
from catena.kernels.schedule import schedule
from catena.kernels.target import Target
from catena.trace.fuse import fuse
from catena.trace.graph import Operand

PART = 200
"""About how many operations make a part."""
TILE_BYTES, TILE_BLOCKS = 2**16, 8
"""A tile has no more blocks than these allow, but at least two."""
POINTERS = 8
"""With at most so many inputs and outputs, code for one sample reads and writes them in place."""


def unrolled_ir(
    inputs: Mapping[str, int], outputs: Mapping[str, Sequence[Operand]], *, dtype: Any, target: Target
) -> str:
    """The module: entry points ``batch`` and ``single`` as :mod:`catena.kernels.runtime` knows them."""
    flat = [x for values in outputs.values() for x in values]
    program = read(fuse(flat) if target.has_fma else flat)
    orders = [schedule(stage, program.args) for stage in program.stages()]
    widths = [*inputs.values()], [len(values) for values in outputs.values()]
    lanes = Lanes(np.dtype(dtype), target.lanes(dtype))
    kernels: list[_Kernel] = [
        _Batch(program, orders, list(inputs), *widths, lanes, target),
        _Single(program, orders, list(inputs), *widths, lanes, target),
    ]
    texts = [text for kernel in kernels for text in kernel.functions()]
    called = {f"{call.function}_all" for call in program.calls}
    elementary, declarations = elementary_ir(called, target, lanes.dtype, lanes.W)
    declarations = declarations.union(*[kernel.block.declarations for kernel in kernels])
    sizes = ", ".join(f"i64 {kernel.bytes}, i64 0" for kernel in kernels)
    constants = [
        HELPERS_IR,
        f"@lanes = dso_local constant i64 {lanes.W}",
        f"@operations = dso_local constant i64 {max(1, sum(map(len, orders)))}",
        f"@scratch_bytes = dso_local constant [4 x i64] [{sizes}]",
    ]
    return "\n".join([*sorted(declarations), *constants, *elementary, *texts, ""])


class _Code(Protocol):
    """Writes a program, one stage after another, as parts."""

    slots: int

    def run(self, order: Sequence[int], copies: Sequence[int]) -> list[Any]: ...

    def write(self, part: Any, w: Writer, pointers: Sequence[str]) -> None: ...


class _Kernel:
    """What code for W samples and code for one sample have in common."""

    name: str

    def __init__(
        self,
        program: Program,
        orders: Sequence[Sequence[int]],
        names: Sequence[str],
        widths_in: Sequence[int],
        widths_out: Sequence[int],
        vector: Lanes,
        target: Target,
    ) -> None:
        self.widths_in, self.widths_out, self.vector = widths_in, widths_out, vector
        self.lanes = self._lanes()
        self.block = Block(target, vector.dtype, self.lanes.W)
        round_to = vector.W // self.lanes.W
        self.memory = memory = Memory(
            program, names, widths_in, widths_out, in_place=self._in_place(), round_to=round_to
        )
        self.code: _Code
        if target.assembles:
            machine = Machine(self.lanes.W, vector.dtype.itemsize, target.registers)
            self.code = Allocation(program, orders, machine, memory.leaves, memory.wanted, memory.slots, self._part())
            self._repeat = 1 if machine.broadcasts else self.lanes.W
        else:
            self.code = Portable(program, orders, self.block, memory.leaves, memory.wanted, memory.slots)
            self._repeat = 0
        self.stages = [self.code.run(order, copies) for order, copies in zip(orders, memory.copies, strict=True)]

    def _lanes(self) -> Lanes:
        raise NotImplementedError

    def _part(self) -> int:
        raise NotImplementedError

    def _in_place(self) -> bool:
        raise NotImplementedError

    def functions(self) -> list[str]:
        """Definitions for the module."""
        raise NotImplementedError

    @property
    def slots(self) -> int:
        """Values of scratch for a block, so that blocks start where the widest vectors may."""
        return -(-self.code.slots * self.lanes.size // 64) * 64 // self.lanes.size

    @property
    def bytes(self) -> int:
        """The size of scratch."""
        return self.slots * self.lanes.size

    def numbers(self) -> str:
        """The table of constants."""
        scalar = Lanes(self.vector.dtype, 1)
        texts = [f"{scalar.type} {scalar.number(x)}" for x in self.memory.numbers for _ in range(self._repeat)]
        return f"@{self.name}.numbers = internal constant [{len(texts)} x {scalar.type}] [{', '.join(texts)}], align 64"

    def calls(self, w: Writer, stage: int, base: str) -> None:
        """Call the functions whose arguments a stage has made in the memory at ``base``."""
        for call in self.memory.calls:
            if call.stage == stage:
                places = [self._at(w, base, index) for index in (call.arguments, *call.results)]
                arrays = ", ".join(f"ptr {place}" for place in places)
                count = call.count * self.lanes.W // self.vector.W
                w.put(f"call void @{call.function}_all{self.vector.W}({arrays}, i64 {count})")

    def _at(self, w: Writer, base: str, index: int | str) -> str:
        return w.new(f"getelementptr {self.lanes.type}, ptr {base}, i64 {index}")


class _Batch(_Kernel):
    """W samples at a time."""

    name = "batch"

    def _lanes(self) -> Lanes:
        return self.vector

    def _part(self) -> int:
        return PART

    def _in_place(self) -> bool:
        return False

    @property
    def tile(self) -> int:
        """How many blocks go through a part of the code before the next part."""
        return max(2, min(TILE_BLOCKS, TILE_BYTES // (self.slots * self.lanes.size)))

    @property
    def bytes(self) -> int:
        """The size of scratch."""
        return self.tile * self.slots * self.lanes.size

    def functions(self) -> list[str]:
        """Definitions for the module."""
        texts, count = [self.numbers(), *transposing_functions(self.lanes)], 0
        for stage, parts in enumerate(self.stages):
            calls = any(call.stage == stage for call in self.memory.calls)
            for part in [*parts, None] if calls else parts:
                texts.append(self._over_blocks(count, stage, part))
                count += 1
        return [*texts, self._entry(count)]

    def _over_blocks(self, number: int, stage: int, part: Any) -> str:
        """A function that runs a part, or if there is none the calls of a stage, for each block of a tile."""
        w = Writer()
        w.label("entry")
        loop = Counted(w, "blocks", "%blocks")
        block = self._block_at(w, loop.i)
        if part is None:
            self.calls(w, stage, block)
        else:
            self.code.write(part, w, [block, "@batch.numbers"])
        loop.close()
        w.put("ret void")
        return w.function(f"internal void @part{number}(ptr %scratch, i64 %blocks)")

    def _block_at(self, w: Writer, block: str) -> str:
        return self._at(w, "%scratch", w.new(f"mul i64 {block}, {self.slots}"))

    def _entry(self, parts: int) -> str:
        w, W = Writer(), self.lanes.W
        w.label("entry")
        w.put("%stop = add i64 %first, %count")
        rows_in, rows_out = pointers(w, "%inputs", len(self.widths_in)), pointers(w, "%outputs", len(self.widths_out))
        steps = strides(w, len(self.widths_in))
        tiles = Counted(w, "tiles", "%stop", "%first", self.tile * W)
        left = w.new(f"sub i64 %stop, {tiles.i}")
        blocks = w.new(f"udiv i64 {w.new(f'add i64 {left}, {W - 1}')}, {W}")
        over = w.new(f"icmp sgt i64 {blocks}, {self.tile}")
        blocks = w.new(f"select i1 {over}, i64 {self.tile}, i64 {blocks}")
        places = self.memory.arrays
        self._transpose(w, "gather", tiles.i, blocks, rows_in, steps, places, self.widths_in)
        for part in range(parts):
            w.put(f"call void @part{part}(ptr %scratch, i64 {blocks})")
        widths = [str(width) for width in self.widths_out]
        self._transpose(w, "scatter", tiles.i, blocks, rows_out, widths, places[len(rows_in) :], self.widths_out)
        tiles.close()
        w.put("ret void")
        return w.function(BATCH)

    def _transpose(
        self,
        w: Writer,
        direction: str,
        first: str,
        blocks: str,
        rows: Sequence[str],
        steps: Sequence[str],
        places: Sequence[Place],
        widths: Sequence[int],
    ) -> None:
        """Rows to the blocks of a tile, or back."""
        loop = Counted(w, direction, blocks)
        sample = w.new(f"add i64 {first}, {w.new(f'mul i64 {loop.i}, {self.lanes.W}')}")
        base = self._block_at(w, loop.i)
        for row, step, place, width in zip(rows, steps, places, widths, strict=False):
            block = self._at(w, base, place.at)
            transpose(w, direction, self.lanes, row, sample, "%stop", step, block, str(width))
        loop.close()


class _Single(_Kernel):
    """One sample. Arguments of calls stand side by side, so the functions for W samples take W of them at a time."""

    name = "single"

    def _lanes(self) -> Lanes:
        return Lanes(self.vector.dtype, 1)

    def _part(self) -> int:
        return 0

    def _in_place(self) -> bool:
        return len(self.widths_in) + len(self.widths_out) <= POINTERS

    def functions(self) -> list[str]:
        """Definitions for the module."""
        w = Writer()
        w.label("entry")
        rows_in, rows_out = pointers(w, "%inputs", len(self.widths_in)), pointers(w, "%outputs", len(self.widths_out))
        bases = ["%scratch", "@single.numbers"]
        places = [self._at(w, "%scratch", place.at) for place in self.memory.arrays]
        if self.memory.in_place:
            bases += [*rows_in, *rows_out]
        else:
            for i, (row, width) in enumerate(zip(rows_in, self.widths_in, strict=True)):
                copy(w, f"in{i}", self.lanes, row, places[i], width)
        for stage, parts in enumerate(self.stages):
            for part in parts:
                self.code.write(part, w, bases)
            self.calls(w, stage, "%scratch")
        if not self.memory.in_place:
            for i, (row, width) in enumerate(zip(rows_out, self.widths_out, strict=True)):
                copy(w, f"out{i}", self.lanes, places[len(rows_in) + i], row, width)
        w.put("ret void")
        return [self.numbers(), w.function(SINGLE)]
