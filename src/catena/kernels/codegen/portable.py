"""A straight-line program as LLVM IR, for processors whose instructions we don't write ourselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from catena.kernels.codegen.assembly import Place
from catena.kernels.codegen.emit import BINARY, Block, Writer
from catena.kernels.codegen.program import FUSED, StraightLine
from catena.trace.graph import COMPARISONS

SIGNS = {op: signs for signs, op in FUSED.items()}


class Part(NamedTuple):
    """Values to be computed, and values in memory to be copied before."""

    order: Sequence[int]
    copies: Sequence[int]


class Portable:
    """Writes one stage of a program after another; what later stages need stays in memory.

    Args:
        program: what is to be computed.
        orders: the values of each stage, in the order in which to compute them.
        block: the lanes, and what the code needs besides.
        memory: where leaves are; numbers need not be anywhere.
        wanted: places that values are to be stored in.
        slots: how many values the memory behind pointer 0 holds; those that cross from stage to stage follow.
    """

    def __init__(
        self,
        program: StraightLine,
        orders: Sequence[Sequence[int]],
        block: Block,
        memory: Mapping[int, Place],
        wanted: Mapping[int, Sequence[Place]],
        slots: int,
    ) -> None:
        self.program, self.block, self.slots = program, block, slots
        self.memory = dict(memory)
        self.wanted = {v: list(places) for v, places in wanted.items()}
        stage = {v: i for i, order in enumerate(orders) for v in order}
        for v in stage:
            for a in program.args[v]:
                if a in stage and stage[a] < stage[v] and a not in self.memory:
                    self.memory[a] = Place(0, self.slots)
                    self.wanted.setdefault(a, []).append(self.memory[a])
                    self.slots += 1

    def run(self, order: Sequence[int], copies: Iterable[int] = ()) -> list[Part]:
        """The parts of a stage: just one."""
        return [Part(order, tuple(copies))]

    def write(self, part: Part, w: Writer, pointers: Sequence[str]) -> None:
        """The instructions of a part."""
        known: dict[int, str] = {}
        T, size = self.block.lanes.type, self.block.lanes.size

        def at(place: Place) -> str:
            return w.new(f"getelementptr {T}, ptr {pointers[place.pointer]}, i64 {place.at}")

        def value(v: int) -> str:
            if v not in known:
                leaf = self.program.leaves.get(v)
                if leaf is not None and leaf.source == "number":
                    return self.block.lanes.number(leaf.which)
                known[v] = w.new(f"load {T}, ptr {at(self.memory[v])}, align {size}")
            return known[v]

        for v in (*part.copies, *part.order):
            if v not in part.copies:
                known[v] = self._operation(self.program.ops[v] or "", [value(a) for a in self.program.args[v]], w)
            for place in self.wanted.get(v, ()):
                w.put(f"store {T} {value(v)}, ptr {at(place)}, align {size}")

    def _operation(self, op: str, args: list[str], w: Writer) -> str:
        block, T, I = self.block, self.block.lanes.type, self.block.lanes.bits
        if op in BINARY:
            return w.new(f"{BINARY[op]} {T} {args[0]}, {args[1]}")
        if op in COMPARISONS:
            mask = w.new(f"sext {block.lanes.truth} {block.compare(w, op, *args)} to {I}")
            return w.new(f"bitcast {I} {mask} to {T}")
        if op == "blend":
            mask = w.new(f"bitcast {T} {args[0]} to {I}")
            return block.choose(w, w.new(f"icmp slt {I} {mask}, {block.lanes.integer(0)}"), args[2], args[1])
        if op in ("min", "max"):
            return block.choose(w, block.compare(w, "lt", *(args if op == "min" else args[::-1])), *args)
        if op in ("sqrt", "andn", "round"):
            return {"sqrt": block.sqrt, "andn": block.absolute, "round": block.nearest}[op](args[-1], w)
        for i, sign in zip((0, 2), SIGNS[op], strict=True):
            if sign < 0:
                args[i] = w.new(f"fneg {T} {args[i]}")
        return block.call("fma", args, w)
