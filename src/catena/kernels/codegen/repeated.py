"""A kernel's code applied again and again: a loop over turns, in which results become inputs.

The entry points are those of any kernel; each sample, or tile of samples, goes through all of its turns before the
next. What is carried from turn to turn stays in scratch. Results that are kept have a row for the start and one for
every so many turns, results that are not have one at the end. How many rows follow the first, and how many turns lead
from one to the next, stands at the end of the table ``context``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from catena.functions.function import Repeated
from catena.kernels.codegen.emit import Lanes, Writer
from catena.kernels.codegen.entries import BATCH, SINGLE, pointers, strides
from catena.kernels.codegen.loops import Counted, copy
from catena.kernels.codegen.straight import Single, Task
from catena.kernels.codegen.tiles import LINE, TileArray, Tiled
from catena.kernels.codegen.transposition import transpose, transposing_functions

TURNS = ("rows", "between")
"""The words of ``context`` that follow all others: rows after the first one, and turns between two rows."""


@dataclass(frozen=True)
class Places:
    """How the arrays of a function, by number, take part: `carried` are (input, output) pairs."""

    carried: tuple[tuple[int, int], ...]
    each: tuple[int, ...]
    kept: tuple[int, ...]
    last: tuple[int, ...]

    @classmethod
    def of(cls, repeated: Repeated, inputs: Sequence[str], outputs: Sequence[str]) -> Places:
        """The places among the names of all inputs and outputs."""
        ins, outs = list(inputs), list(outputs)
        return cls(
            tuple((ins.index(name), i) for i, name in enumerate(outs) if name in ins),
            tuple(i for i, name in enumerate(ins) if name in repeated.each),
            tuple(i for i, name in enumerate(outs) if repeated.kept(name)),
            tuple(i for i, name in enumerate(outs) if not repeated.kept(name)),
        )

    def lasting(self, inputs: Sequence[str]) -> list[str]:
        """The inputs that are brought to their places once, for all turns."""
        renewed = {*self.each, *[i for i, _ in self.carried]}
        return [name for i, name in enumerate(inputs) if i not in renewed]

    def source(self, output: int) -> int:
        """The input that an output becomes."""
        return next(i for i, o in self.carried if o == output)


class _Turns:
    """The loops over rows and turns that all entry points share, written by :meth:`through`.

    Those who inherit say how arrays are moved: `take` an input, of a turn where each has its own; `compute` a turn;
    `carry` a result to the place of the input that it becomes; `give` what is in such a place to a row of a result.
    """

    def __init__(self, w: Writer, places: Places, words: int, scalar: str) -> None:
        self.w, self.places, self.scalar = w, places, scalar
        at = [w.new(f"getelementptr i64, ptr %context, i64 {words + i}") for i in range(len(TURNS))]
        self.rows, self.between = (w.new(f"load i64, ptr {place}") for place in at)
        self.all_rows = w.new(f"add i64 {self.rows}, 1")

    def through(self, inputs: int) -> None:
        """All turns of what is at hand."""
        w, places = self.w, self.places
        for i in range(inputs):
            if i not in places.each:
                self.take(i, None)
        for o in places.kept:
            self.give(o, "0", "start")
        rows = Counted(w, "rows", self.all_rows, "1")
        before = w.new(f"mul i64 {w.new(f'sub i64 {rows.i}, 1')}, {self.between}")
        turns = Counted(w, "turns", self.between)
        turn = w.new(f"add i64 {before}, {turns.i}")
        for i in places.each:
            self.take(i, turn)
        self.compute(turn, rows.i)
        for i, o in places.carried:
            self.carry(i, o)
        turns.close()
        for o in places.kept:
            self.give(o, rows.i, "keep")
        rows.close()
        for o in places.last:
            self.give(o, None, "last")

    def take(self, i: int, turn: str | None) -> None:
        """Bring an input to its place in scratch."""
        raise NotImplementedError

    def compute(self, turn: str, row: str) -> None:
        """One turn, which leads to a row."""
        raise NotImplementedError

    def carry(self, i: int, o: int) -> None:
        """A result to the place of an input."""
        raise NotImplementedError

    def give(self, o: int, row: str | None, when: str) -> None:
        """A result, from the place of the input that it becomes, to a row of those kept, or to its only one."""
        raise NotImplementedError

    def moved(self, place: str, row: str | None, width: int | str) -> str:
        """The place so many rows of a width further on."""
        if row is None:
            return place
        offset = self.w.new(f"mul i64 {row}, {width}")
        return self.w.new(f"getelementptr {self.scalar}, ptr {place}, i64 {offset}")

    def stride(self, row: str | None, width: int | str) -> str:
        """From one sample to the next of a result."""
        return str(width) if row is None else self.w.new(f"mul i64 {self.all_rows}, {width}")


class RepeatedTiles(Tiled):
    """W samples at a time, through all turns: tiles are small, since they should stay in the first cache meanwhile."""

    most_blocks = 4

    def __init__(self, task: Task, places: Places) -> None:
        self.places = places
        super().__init__(task, scattered=False, lasting=places.lasting(task.names))

    def functions(self) -> list[str]:
        """Definitions for the module."""
        self.block.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        read = {self.task.inputs[i] for i in self.places.each}
        written = {self.task.outputs[o] for o in self.places.kept}
        return [
            *[_ahead("read", width, self.lanes) for width in sorted(read)],
            *[_ahead("write", width, self.lanes) for width in sorted(written)],
            *super().functions(),
        ]

    def _entry(self, parts: int) -> str:
        w = Writer()
        w.label("entry")
        w.put("%stop = add i64 %first, %count")
        turns = _TileTurns(w, self, parts)
        tiles = Counted(w, "tiles", "%stop", "%first", self.blocks * self.lanes.W)
        turns.first, turns.blocks = tiles.i, self._blocks_of(w, tiles.i)
        turns.through(len(self.task.inputs))
        tiles.close()
        w.put("ret void")
        return w.function(BATCH)


class _TileTurns(_Turns):
    """The turns of a tile."""

    first: str
    blocks: str

    def __init__(self, w: Writer, tiled: RepeatedTiles, parts: int) -> None:
        super().__init__(w, tiled.places, 0, tiled.lanes.scalar)
        self.tiled, self.lanes, self.parts = tiled, tiled.lanes, parts
        self.inputs, self.outputs = tiled._arrays(w)

    def take(self, i: int, turn: str | None) -> None:
        """Gather rows."""
        array = self.inputs[i]
        self._transposed("gather", f"in{i}", array._replace(rows=self.moved(array.rows, turn, array.width)))

    def give(self, o: int, row: str | None, when: str) -> None:
        """Scatter rows."""
        self._transposed("scatter", f"{when}{o}", self._result(o, row))

    def _result(self, o: int, row: str | None) -> TileArray:
        array, place = self.outputs[o], self.inputs[self.places.source(o)].place
        rows, stride = self.moved(array.rows, row, array.width), self.stride(row, array.width)
        return array._replace(rows=rows, stride=stride, place=place)

    def _transposed(self, direction: str, name: str, array: TileArray) -> None:
        def move(w: Writer, array: TileArray, sample: str, base: str) -> None:
            block, width = self.tiled.at(w, base, array.place), str(array.width)
            transpose(w, direction, self.lanes, array.rows, sample, "%stop", array.stride, block, width)

        self.tiled._transpose(self.w, name, self.first, self.blocks, [array], move)

    def compute(self, turn: str, row: str) -> None:
        """All parts; between them, rows that are needed next are called into the cache."""
        w, following = self.w, self.w.new(f"add i64 {turn}, 1")
        read = [self.inputs[i] for i in self.places.each]
        read = [array._replace(rows=self.moved(array.rows, following, array.width)) for array in read]
        ahead = [(array, "read") for array in read] + [(self._result(o, row), "write") for o in self.places.kept]
        samples = w.new(f"mul i64 {self.blocks}, {self.lanes.W}")
        shares = [w.new(f"udiv i64 {w.new(f'mul i64 {samples}, {p}')}, {self.parts}") for p in range(self.parts + 1)]
        ends = [w.new(f"add i64 {self.first}, {share}") for share in shares]
        for part in range(self.parts):
            w.put(f"call void @part{part}(ptr %scratch, i64 {self.blocks})")
            for array, why in ahead:
                what = f"ptr {array.rows}, i64 {array.stride}, i64 {ends[part]}, i64 {ends[part + 1]}"
                w.put(f"call void @ahead.{why}{array.width}({what})")

    def carry(self, i: int, o: int) -> None:
        """In each block."""
        w, tiled, arrays = self.w, self.tiled, (self.outputs[o], self.inputs[i])
        loop = Counted(w, f"carry{o}", self.blocks)
        base = tiled._block(w, loop.i)
        for k in range(self.outputs[o].width):
            _move(w, self.lanes, *[tiled.at(w, base, array.place + k) for array in arrays])
        loop.close()


def _ahead(why: str, width: int, lanes: Lanes) -> str:
    """A function that calls rows of samples into the cache, to be read or written.

    Rows of different samples lie so far from each other that the processor does not see them coming.
    """
    w, size = Writer(), width * lanes.dtype.itemsize
    w.label("entry")
    loop = Counted(w, "samples", "%end", "%start")
    row = w.new(f"getelementptr {lanes.scalar}, ptr %rows, i64 {w.new(f'mul i64 {loop.i}, %stride')}")
    for at in [*range(LINE - 1, size - 1, LINE), size - 1]:
        place = w.new(f"getelementptr i8, ptr {row}, i64 {at}")
        w.put(f"call void @llvm.prefetch.p0(ptr {place}, i32 {int(why == 'write')}, i32 3, i32 1)")
    loop.close()
    w.put("ret void")
    return w.function(f"internal void @ahead.{why}{width}(ptr %rows, i64 %stride, i64 %start, i64 %end)")


class RepeatedSingle(Single):
    """One sample, through all turns."""

    def __init__(self, task: Task, places: Places) -> None:
        self.places = places
        super().__init__(task, in_place=False, lasting=places.lasting(task.names))

    def functions(self) -> list[str]:
        """Definitions for the module."""
        w = Writer()
        w.label("entry")
        turns = _RowTurns(w, self.places, 0, self.lanes, self.task.inputs, self.task.outputs)
        held = [self.at(w, "%scratch", place.at) for place in self.memory.arrays]
        turns.place(held, lambda: self._run(w))
        turns.through(len(self.task.inputs))
        w.put("ret void")
        return [self.numbers(), w.function(SINGLE)]


class _RowTurns(_Turns):
    """The turns of one sample, or of W samples in blocks ``[component][lane]``."""

    def __init__(
        self,
        w: Writer,
        places: Places,
        words: int,
        lanes: Lanes,
        inputs: Sequence[int | str],
        outputs: Sequence[int | str],
    ) -> None:
        super().__init__(w, places, words, lanes.scalar)
        self.lanes, self.widths_in, self.widths_out = lanes, inputs, outputs
        self.rows_in, self.rows_out = pointers(w, "%inputs", len(inputs)), pointers(w, "%outputs", len(outputs))
        self.steps = ["0"] * len(inputs) if lanes.W == 1 else strides(w, len(inputs))
        self.sample, self.stop = "0", "1"

    def place(self, blocks: Sequence[str], core: Callable[[], None]) -> None:
        """Where inputs and outputs are while `core` computes."""
        self.held, self.results = blocks[: len(self.widths_in)], blocks[len(self.widths_in) :]
        self.core = core

    def take(self, i: int, turn: str | None) -> None:
        """Copy a row, or gather rows."""
        rows = self.moved(self.rows_in[i], turn, self.widths_in[i])
        self._moved_rows("gather", f"in{i}", rows, self.steps[i], self.held[i], self.widths_in[i])

    def give(self, o: int, row: str | None, when: str) -> None:
        """Copy a row, or scatter rows."""
        width, held = self.widths_out[o], self.held[self.places.source(o)]
        rows, stride = self.moved(self.rows_out[o], row, width), self.stride(row, width)
        self._moved_rows("scatter", f"{when}{o}", rows, stride, held, width)

    def _moved_rows(self, direction: str, name: str, rows: str, stride: str, block: str, width: int | str) -> None:
        if self.lanes.W > 1:
            transpose(self.w, direction, self.lanes, rows, self.sample, self.stop, stride, block, str(width))
        else:
            copy(self.w, name, self.lanes, *((rows, block) if direction == "gather" else (block, rows)), width)

    def compute(self, turn: str, row: str) -> None:
        """What the core does."""
        self.core()

    def carry(self, i: int, o: int) -> None:
        """Component by component."""
        loop = Counted(self.w, f"carry{o}", str(self.widths_out[o]))
        at = [
            self.w.new(f"getelementptr {self.lanes.type}, ptr {x}, i64 {loop.i}")
            for x in (self.results[o], self.held[i])
        ]
        _move(self.w, self.lanes, *at)
        loop.close()


def repeated_function(
    core: str, widths: Sequence[Sequence[str]], lanes: Lanes, places: Places, words: int, prologue: Sequence[str]
) -> list[str]:
    """The entry point ``batch``, or ``single`` if there is one lane, around a function ``core`` as rolled kernels have.

    ``widths`` are those of inputs and outputs, numbers or values that the lines of the ``prologue`` define; ``words``
    is how many words of ``context`` stand before :data:`TURNS`.
    """
    w, alone = Writer(), lanes.W == 1
    w.label("entry")
    w.lines += prologue
    turns = _RowTurns(w, places, words, lanes, *widths)
    at, blocks = "%scratch", []
    for width in (*widths[0], *widths[1]):
        blocks.append(at)
        at = w.new(f"getelementptr {lanes.type}, ptr {at}, i64 {width}")
    arguments = ", ".join(f"ptr {block}" for block in blocks)
    turns.place(blocks, lambda: w.put(f"call void @{core}{lanes.W}(ptr %context, {arguments}, ptr {at})"))
    if alone:
        turns.through(len(widths[0]))
        w.put("ret void")
        return [w.function(SINGLE)]
    turns.stop = w.new("add i64 %first, %count")
    group = Counted(w, "group", turns.stop, "%first", lanes.W)
    turns.sample = group.i
    turns.through(len(widths[0]))
    group.close()
    w.put("ret void")
    return [*transposing_functions(lanes), w.function(BATCH, lanes.size)]


def _move(w: Writer, lanes: Lanes, source: str, target: str) -> None:
    """One value from one place to another."""
    value = w.new(f"load {lanes.type}, ptr {source}, align {lanes.size}")
    w.put(f"store {lanes.type} {value}, ptr {target}, align {lanes.size}")
