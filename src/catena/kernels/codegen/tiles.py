"""Straight-line code for batches, in tiles of a few blocks of W samples.

Rows are transposed into blocks ``[component][lane]``, as far as they are used, each part of the code runs over the
blocks of the tile, and the results are transposed back, wherever in the block they are. Parts are short where
operations wait for each other, so that the processor works on the next block while results of the last one are still on
their way. Where enough of them are independent, parts are long: less goes from part to part in memory, and a block
stays in the first cache. Between parts, the rows of the next tile are called into the cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from catena.kernels.codegen.emit import Writer
from catena.kernels.codegen.entries import BATCH, pointers, strides
from catena.kernels.codegen.loops import Counted
from catena.kernels.codegen.straight import Straight, Task
from catena.kernels.codegen.streaming import FENCE, OFFSET, stream_from, streaming_functions
from catena.kernels.codegen.transposition import gather_some, scatter_from, transpose, transposing_functions

PART, LONG_PART = 120, 1600
"""About how many operations make a part, where they wait for each other and where they do not."""
INDEPENDENT = 8
"""Parts are long where short ones have so many operations for each one in their longest chain: two start in a cycle,
and results come after four."""
TILE_BYTES, NEAR_TILE_BYTES, WIDE_TILE_BLOCKS = 2**16, 2**15, 4
"""A tile has no more blocks than these allow, the second where parts are long, the third where results are written past
the caches, but at least two."""
LINE, NEAR, AHEAD = 64, 2**15, 2**17
"""Bytes of a cache line, and the largest pieces of an array that are called into the first cache, and into any."""
SCATTERED = 4096
"""Results of up to so many components are written by straight code."""
WIDE, STREAMED = 2**10, 2**23
"""Rows of so many bytes are written past the caches if the whole result has so many."""


def _independence(task: Task) -> float:
    """How many operations there are for each one in the longest chains of short parts."""
    chains = 0
    for order in task.stages:
        for start in range(0, len(order), PART):
            depth: dict[int, int] = {}
            for v in order[start : start + PART]:
                depth[v] = 1 + max((depth.get(a, 0) for a in task.program.args[v]), default=0)
            chains += max(depth.values())
    return sum(map(len, task.stages)) / max(1, chains)


class TileArray(NamedTuple):
    """An input or output: the pointer to its first row, its stride, its width, and where it is in a block.

    ``place`` is where its components start if they are side by side, ``components`` which of an input are used or where
    those of an output are.
    """

    rows: str
    stride: str
    width: int
    place: int
    components: Sequence[int | float]


class _Line(NamedTuple):
    """A cache line to be called for: where to count from, the offset, whether it is written, and into which cache."""

    start: str
    offset: int
    writes: int
    nearness: int


class Tiled(Straight):
    """W samples at a time."""

    name = "batch"
    most_blocks = 8

    def __init__(self, task: Task, scattered: bool = True, lasting: Collection[str] = ()) -> None:
        self.scattered = scattered and sum(task.outputs) <= SCATTERED
        self._scattering: list[str] = []
        self._long = _independence(task) >= INDEPENDENT
        part = LONG_PART if self._long else PART
        super().__init__(task, task.target.lanes(task.dtype), part, False, self.scattered, lasting)

    @property
    def blocks(self) -> int:
        """How many blocks a tile has."""
        most = WIDE_TILE_BLOCKS if any(map(self._streamed, self.task.outputs)) else self.most_blocks
        room = NEAR_TILE_BYTES if self._long else TILE_BYTES
        return max(2, min(most, room // (max(1, self.slots) * self.lanes.size)))

    @property
    def bytes(self) -> int:
        """The size of scratch."""
        return self.blocks * self.slots * self.lanes.size

    def functions(self) -> list[str]:
        """Definitions for the module."""
        texts, count = [self.numbers(), *transposing_functions(self.lanes)], 0
        for stage, parts in enumerate(self.stages):
            called = any(call.stage == stage for call in self.memory.calls)
            for part in [*parts, None] if called else parts:
                texts.append(self._over_blocks(count, stage, part))
                count += 1
        entry = self._entry(count)
        return [*texts, *self._scattering, entry]

    def _over_blocks(self, number: int, stage: int, part: Any) -> str:
        """A function that runs a part, or if there is none the calls of a stage, for each block of a tile."""
        w = Writer()
        w.label("entry")
        loop = Counted(w, "blocks", "%blocks")
        block = self._block(w, loop.i)
        if part is None:
            self.calls(w, stage, block)
        else:
            self.code.write(part, w, [block, "@batch.numbers"])
        loop.close()
        w.put("ret void")
        return w.function(f"internal void @part{number}(ptr %scratch, i64 %blocks)")

    def _block(self, w: Writer, number: str) -> str:
        return self.at(w, "%scratch", w.new(f"mul i64 {number}, {self.slots}"))

    def _entry(self, parts: int) -> str:
        w, W = Writer(), self.lanes.W
        w.label("entry")
        w.put("%stop = add i64 %first, %count")
        inputs, outputs = self._arrays(w)
        tiles = Counted(w, "tiles", "%stop", "%first", self.blocks * W)
        blocks = self._blocks_of(w, tiles.i)
        self._transpose(w, "gather", tiles.i, blocks, inputs, self._gather)
        following = w.new(f"add i64 {tiles.i}, {self.blocks * W}")
        narrow = [array for array in outputs if not self._streamed(array.width)]
        ahead = self._lines(w, following, inputs, 0) + self._lines(w, tiles.i, narrow, 1)
        for part in range(parts):
            w.put(f"call void @part{part}(ptr %scratch, i64 {blocks})")
            for line in ahead[part::parts]:
                at = w.new(f"getelementptr i8, ptr {line.start}, i64 {line.offset}")
                w.put(f"call void @llvm.prefetch.p0(ptr {at}, i32 {line.writes}, i32 {line.nearness}, i32 1)")
        self._transpose(w, "scatter", tiles.i, blocks, outputs, self._scatter)
        tiles.close()
        if any(map(self._streamed, self.task.outputs)):
            w.put(FENCE)
        w.put("ret void")
        return w.function(BATCH)

    def _blocks_of(self, w: Writer, first: str) -> str:
        """How many blocks the tile has that begins with a sample."""
        left = w.new(f"sub i64 %stop, {first}")
        blocks = w.new(f"udiv i64 {w.new(f'add i64 {left}, {self.lanes.W - 1}')}, {self.lanes.W}")
        over = w.new(f"icmp sgt i64 {blocks}, {self.blocks}")
        return w.new(f"select i1 {over}, i64 {self.blocks}, i64 {blocks}")

    def _arrays(self, w: Writer) -> tuple[list[TileArray], list[TileArray]]:
        task, count = self.task, len(self.task.inputs)
        rows_in, rows_out = pointers(w, "%inputs", count), pointers(w, "%outputs", len(task.outputs))
        steps_in, steps_out = strides(w, count), [str(width) for width in task.outputs]
        leaves = self.task.program.leaves.values()
        used = [sorted({int(x.which) for x in leaves if x.source == f":{name}"}) for name in task.names]
        places = [place.at for place in self.memory.arrays] + [0] * len(task.outputs)
        ends = list(itertools.accumulate(task.outputs, initial=0))
        where = [self.memory.places[a:b] for a, b in itertools.pairwise(ends)]
        return (
            [TileArray(*x) for x in zip(rows_in, steps_in, task.inputs, places[:count], used, strict=True)],
            [TileArray(*x) for x in zip(rows_out, steps_out, task.outputs, places[count:], where, strict=False)],
        )

    def _transpose(
        self, w: Writer, name: str, first: str, blocks: str, arrays: Sequence[TileArray], move: Callable[..., None]
    ) -> None:
        """Move rows, from a sample on, to the blocks of a tile, or back."""
        loop = Counted(w, name, blocks)
        sample = w.new(f"add i64 {first}, {w.new(f'mul i64 {loop.i}, {self.lanes.W}')}")
        base = self._block(w, loop.i)
        for array in arrays:
            move(w, array, sample, base)
        loop.close()

    def _gather(self, w: Writer, array: TileArray, sample: str, base: str) -> None:
        block = self.at(w, base, array.place)
        used = [int(i) for i in array.components]
        gather_some(w, self.lanes, array.rows, sample, "%stop", array.stride, block, array.width, used)

    def _scatter(self, w: Writer, array: TileArray, sample: str, base: str) -> None:
        if self.scattered:
            name = f"scatter{len(self._scattering)}"
            streamed = self._streamed(array.width)
            if streamed:
                self._stream_if_large(w, name, array, sample, base)
            self._scattering += scatter_from(w, name, self.lanes, array.rows, sample, "%stop", base, array.components)
            if streamed:
                w.put(f"br label %{name}.written")
                w.label(f"{name}.written")
            return
        block = self.at(w, base, array.place)
        transpose(w, "scatter", self.lanes, array.rows, sample, "%stop", array.stride, block, str(array.width))

    def _streamed(self, width: int) -> bool:
        """Whether rows of an output are so wide that they are worth writing past the caches."""
        wide = self.scattered and width * self.lanes.dtype.itemsize >= WIDE
        return wide and self.task.target.streams and self.lanes.size > OFFSET

    def _stream_if_large(self, w: Writer, name: str, array: TileArray, sample: str, base: str) -> None:
        """Write a whole block past the caches if the result is large and well placed; else go on, at ``name.plain``."""
        offset = w.new(f"mul i64 {sample}, {array.width}")
        row = w.new(f"getelementptr {self.lanes.scalar}, ptr {array.rows}, i64 {offset}")
        odd = w.new(f"and i64 {w.new(f'ptrtoint ptr {row} to i64')}, {self.lanes.size - 1}")
        end = w.new(f"add i64 {sample}, {self.lanes.W}")
        tests = [
            w.new(f"icmp eq i64 {odd}, {OFFSET}"),
            w.new(f"icmp sle i64 {end}, %stop"),
            w.new(f"icmp sge i64 %stop, {STREAMED // (array.width * self.lanes.dtype.itemsize)}"),
        ]
        both = w.new(f"and i1 {tests[0]}, {tests[1]}")
        w.put(f"br i1 {w.new(f'and i1 {both}, {tests[2]}')}, label %{name}.streamed, label %{name}.plain")
        w.label(f"{name}.streamed")
        stream_from(w, f"{name}.stream", self.lanes, row, base, array.components)
        self._scattering += streaming_functions(f"{name}.stream", self.lanes, array.components)
        w.put(f"br label %{name}.written")
        w.label(f"{name}.plain")

    def _used_lines(self, array: TileArray, size: int, whole: bool) -> list[int]:
        """Where the cache lines begin that hold what is used of a tile's rows, or all of them."""
        every = range(0, size, LINE)
        if whole or len(array.components) == array.width:
            return list(every)
        rows, item = self.blocks * self.lanes.W, self.lanes.dtype.itemsize
        used = {(row * array.width + int(i)) * item // LINE for row in range(rows) for i in array.components}
        return [at for at in every if at // LINE in used]

    def _lines(self, w: Writer, sample: str, arrays: Sequence[TileArray], writes: int) -> list[_Line]:
        """Cache lines of a tile's rows, if these follow each other."""
        self.block.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        lines: list[_Line] = []
        for array in arrays:
            size = self.blocks * self.lanes.size * array.width
            if size <= AHEAD:
                offset = w.new(f"mul i64 {sample}, {array.stride}")
                start = w.new(f"getelementptr {self.lanes.scalar}, ptr {array.rows}, i64 {offset}")
                nearness = 3 if size <= NEAR else 2
                lines += [_Line(start, at, writes, nearness) for at in self._used_lines(array, size, bool(writes))]
        return lines
