"""Rolled kernels: the loops of a :class:`~catena.trace.recorder.Recording` as LLVM IR, for any number of links.

Memory is ``fields[link + 1][slot][lane]``, the base first, after what only the base or the last link has. What differs
between mechanisms is read from ``context`` (:mod:`catena.kernels.codegen.context`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from catena.functions.function import Kind
from catena.kernels.codegen.context import NUMBERS, TOTALS, WORDS, Layout, count, load_words, width
from catena.kernels.codegen.elementary import HELPERS_IR, elementary_ir
from catena.kernels.codegen.emit import Block, Lanes, Writer
from catena.kernels.codegen.entries import batch_function, single_function
from catena.kernels.codegen.repeated import Places, repeated_function
from catena.kernels.codegen.tiles import LINE
from catena.kernels.machine.target import Target
from catena.trace.graph import LEAF, Expr, Operand, live
from catena.trace.recorder import BASE, CARRY, CONST, PARENT, SELF, TIP, Body, Loop, Recording, Slot, constants_of

CARRIED_TWICE = 8
"""So many numbers may go from link to link for two samples in turn; of more, there are not enough registers."""

NARROW, AHEAD = 128, 8
"""The most bytes of a link that processors fetch in time by themselves; how many links ahead others are called for."""

_NO_LINK = dict.fromkeys(TOTALS, "0")


def rolled_ir(
    recording: Recording,
    inputs: Mapping[str, Kind],
    outputs: Mapping[str, Kind],
    layout: Layout,
    target: Target,
    dtype: Any,
    shared: Sequence[str] = (),
    places: Places | None = None,
    apart: bool = False,
) -> str:
    """The module: entry points ``batch`` and ``single`` as :mod:`catena.kernels.call.runtime` knows them.

    Inputs that are ``shared`` have one row for all samples of a batch, and are not spread over lanes in memory. With
    ``places`` all is repeated, turn by turn. Samples that are ``apart`` have constants of their own, in lanes.
    """
    few = max([len(loop.start) for loop in recording.loops], default=0) <= CARRIED_TWICE
    twice = shared and few and not apart  # two registers at a time: a chain is bound by latency
    lanes = target.lanes(dtype) * (2 if twice else 1)
    own = lanes if apart else 0
    sweeps = {W: _Sweeps(recording, inputs, outputs, layout, target, dtype, W, shared, own) for W in sorted({1, lanes})}
    arrays = [*inputs.values(), *outputs.values()]
    spread = [k for name, k in inputs.items() if name not in shared] + list(outputs.values())
    blocks = sum(layout.per_link(k) for k in spread), sum(layout.fixed(k) for k in spread)
    fields, base = (dtype.itemsize * x for x in (recording.size, recording.size + recording.apart))
    sizes = [
        lanes * (base + dtype.itemsize * (blocks[1] + len(arrays) * lanes)) + 64,
        lanes * (fields + dtype.itemsize * blocks[0]),
        base + 64 + (dtype.itemsize * (blocks[1] + len(arrays)) if places else 0),
        fields + (dtype.itemsize * blocks[0] if places else 0),
    ]
    parts = [
        HELPERS_IR,
        f"@lanes = dso_local constant i64 {lanes}",
        f"@operations = dso_local constant i64 {max(1, recording.operations)}",
        f"@scratch_bytes = dso_local constant [4 x i64] [{', '.join(f'i64 {x}' for x in sizes)}]",
    ]
    declarations: set[str] = set()
    for s in sweeps.values():
        parts.append(s.function())
        texts, needed = elementary_ir(s.functions, target, dtype, s.W)
        parts += texts
        declarations |= needed | s.declarations
    widths = [width(k, i) for i, k in enumerate(arrays)]
    prologue = [*load_words(NUMBERS), *[line for _, lines in widths for line in lines]]
    sizes_in, sizes_out = [[w for w, _ in part] for part in (widths[: len(inputs)], widths[len(inputs) :])]
    if places is None:
        parts.append(single_function("sweeps", list(inputs), list(outputs), apart))
        one_row = [i for i, name in enumerate(inputs) if name in shared]
        parts.append(batch_function("sweeps", sizes_in, sizes_out, Lanes(dtype, lanes), prologue, one_row, apart))
    else:
        for W in sorted({1, lanes}):
            parts += repeated_function("sweeps", (sizes_in, sizes_out), Lanes(dtype, W), places, len(WORDS), prologue)
    return "\n".join([*sorted(declarations), *parts, ""])


def _touched(loop: Loop) -> set[Slot]:
    """The scalars of a link, or of its parent, that a loop loads or stores."""
    loaded = {node.args for body in loop.bodies for node in live(body.values) if node.op == LEAF}
    stored = {key for body in loop.bodies for key in body.stores}
    return {slot for array, slot in loaded | stored if array in (SELF, PARENT)}


class _Sweeps:
    """The function that runs all loops for W samples at once.

    Where each of so many lanes has constants of its `own`, those lie side by side.
    """

    def __init__(
        self,
        recording: Recording,
        inputs: Mapping[str, Kind],
        outputs: Mapping[str, Kind],
        layout: Layout,
        target: Target,
        dtype: Any,
        W: int,
        shared: Sequence[str],
        own: int = 0,
    ) -> None:
        self.own, self.constants = own, "%constants"
        self._busiest = max(recording.loops, key=lambda x: sum(len(live(y.values)) for y in x.bodies)) if own else None
        self.recording, self.inputs, self.outputs, self.layout = recording, inputs, outputs, layout
        self.shared = {f"in:{name}" for name in shared}
        self.target, self.dtype, self.W = target, dtype, W
        self.T, self.scalar = Lanes(dtype, W).type, Lanes(dtype, W).scalar
        self.align = dtype.itemsize * W
        self.slots, self.row = recording.size, max([len(c) for c in recording.columns], default=0)
        self.declarations: set[str] = set()
        self.functions: set[str] = set()
        self.w, self._before = Writer(), self._block()

    def function(self) -> str:
        """The whole function."""
        w = self.w
        arguments = [f"%in.{name}" for name in self.inputs] + [f"%out.{name}" for name in self.outputs]
        pointers = ", ".join(f"ptr noalias {name}" for name in arguments)
        w.label("entry")
        w.lines += load_words(WORDS)
        w.put("%last = sub i64 %links, 1")
        w.put(f"%fields = getelementptr inbounds {self.T}, ptr %memory, i64 {self.recording.apart}")
        if self.own:
            self.constants = self._at("%constants", w.new("mul i64 %sample, %own"), self.scalar)
        self._prologue()
        for slot, x in self.recording.base.items():
            self._store(self._at("%fields", str(self.recording.slots[slot])), self._number(x))
        w.put("br label %loop0.start")
        for number, loop in enumerate(self.recording.loops):
            if loop.direction:
                self._loop(number, loop)
            else:
                self._turn_at_base(number, loop.bodies[0])
        w.label(f"loop{len(self.recording.loops)}.start")
        self._epilogue()
        w.put("ret void")
        first = "i64 %sample, " if self.own else ""
        head = f"internal void @sweeps{self.W}(ptr noalias %context, {first}{pointers}, ptr noalias %memory)"
        return w.function(head, self.align)

    def _at(self, base: str, index: str, element: str | None = None) -> str:
        return self.w.new(f"getelementptr inbounds {element or self.T}, ptr {base}, i64 {index}")

    def _load(self, at: str) -> str:
        return self.w.new(f"load {self.T}, ptr {at}, align {self.align}")

    def _store(self, at: str, value: str) -> None:
        self.w.put(f"store {self.T} {value}, ptr {at}, align {self.align}")

    def _block(self) -> Block:
        return Block(self.target, self.dtype, self.W)

    def _number(self, x: Operand) -> str:
        """A number that is known before the loops start, or what the prologue has made."""
        return self._before.operand(x)

    def _prologue(self) -> None:
        """Before all loops, what the base's values are made of where they are not numbers."""
        starts = [x for loop in self.recording.loops for x in loop.start.values()]
        if nodes := live([*self.recording.base.values(), *starts]):
            self._computed(self._before, nodes, "base", self._arrays(_NO_LINK), (), ())

    def _loop(self, number: int, loop: Loop) -> None:
        w, name, up = self.w, f"loop{number}", loop.direction > 0
        w.label(f"{name}.start")
        w.put(f"%{name}.any = icmp sgt i64 %links, 0")
        w.put(f"br i1 %{name}.any, label %{name}.turn, label %loop{number + 1}.start")
        w.label(f"{name}.turn")
        w.put(f"%{name}.k = phi i64 [{'0' if up else '%last'}, %{name}.start], [%{name}.next, %{name}.end]")
        carried = sorted(loop.start)
        for i, slot in enumerate(carried):
            start = self._number(loop.start[slot])
            w.put(f"%{name}.c{i} = phi {self.T} [{start}, %{name}.start], [%{name}.d{i}, %{name}.end]")
        here = self._places(name, loop, number)
        ends = self._bodies(name, loop, here, carried)
        w.label(f"{name}.end")
        for i, slot in enumerate(carried):
            w.put(f"%{name}.d{i} = phi {self.T} " + ", ".join(f"[{values[slot]}, %{label}]" for label, values in ends))
        w.put(f"%{name}.next = add i64 %{name}.k, {loop.direction}")
        w.put(f"%{name}.more = icmp {'slt' if up else 'sge'} i64 %{name}.next, {'%links' if up else '0'}")
        w.put(f"br i1 %{name}.more, label %{name}.turn, label %{name}.done")
        w.label(f"{name}.done")
        if up:
            self._left(name, carried)
        else:
            self._arrived(name, carried)
        w.put(f"br label %loop{number + 1}.start")

    def _epilogue(self) -> None:
        """After all loops, what is made of the values of the base and of the last link."""
        here = {BASE: "%fields", **self._arrays(_NO_LINK)}
        self._body("base", self.recording.epilogue, here, (), ())

    def _turn_at_base(self, number: int, body: Body) -> None:
        """Between two loops, what is made of the base's values and stored there."""
        self.w.label(f"loop{number}.start")
        here = {BASE: "%fields", SELF: "%fields", **self._arrays(_NO_LINK)}
        self._body(f"loop{number}", body, here, (), ())
        self.w.put(f"br label %loop{number + 1}.start")

    def _arrived(self, name: str, carried: Sequence[Slot]) -> None:
        """What was carried to the base is added to what the base holds, where somebody asks for it."""
        for i, slot in enumerate(carried):
            if slot in self.recording.arriving:
                at = self._at("%fields", str(self.recording.slots[slot]))
                self._store(at, self.w.new(f"fadd {self.T} {self._load(at)}, %{name}.d{i}"))

    def _left(self, name: str, carried: Sequence[Slot]) -> None:
        """What was carried to the last link is stored there, where somebody asks for it."""
        for i, slot in enumerate(carried):
            if slot in self.recording.leaving:
                self._store(self._at_tip(slot), f"%{name}.d{i}")

    def _at_tip(self, slot: Slot) -> str:
        """Where the last link has a scalar."""
        place, row = str(self.recording.slots[slot]), self.w.new(f"mul i64 %links, {self.slots}")
        return self._at("%fields" if place.startswith("-") else self._at("%fields", row), place)

    def _places(self, name: str, loop: Loop, number: int) -> dict[str, str]:
        """Where this turn finds constants, fields, inputs and outputs."""
        w, k = self.w, f"%{name}.k"
        row = self.row * (self.own or 1)
        here = {CONST: self._at(self.constants, w.new(f"mul i64 {k}, {row}"), self.scalar)}
        own = w.new(f"add i64 {k}, 1")
        here[SELF] = self._at("%fields", w.new(f"mul i64 {own}, {self.slots}"))
        self._call_ahead(here[SELF], loop)
        if self.recording.chain:
            above = k
        else:
            parent = w.new(f"load i64, ptr {self._at('%parents', k, 'i64')}")
            above = w.new(f"add i64 {parent}, 1")
        here[PARENT] = self._at("%fields", w.new(f"mul i64 {above}, {self.slots}"))
        starts = {"link": k}
        for space, unit in (("q", self.layout.unit_q), ("v", self.layout.unit_v)):
            starts[space] = k if unit else w.new(f"load i64, ptr {self._at(f'%{space}_start', k, 'i64')}")
        return {BASE: "%fields", **here, **self._arrays(starts)}

    def _call_ahead(self, own: str, loop: Loop) -> None:
        """Call what a link a few turns ahead has in memory into the first cache, where links have much of it."""
        size = self.align
        if self.slots * size <= NARROW or self.W > 1:
            return
        self.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        called, touched = -LINE, {self.recording.slots[slot] for slot in _touched(loop)}
        for place in sorted(touched):
            if place * size >= called + LINE or place + 1 not in touched:  # runs may end in a line of their own
                called = place * size
                far = loop.direction * AHEAD * self.slots * size + called
                at = self.w.new(f"getelementptr i8, ptr {own}, i64 {far}")
                self.w.put(f"call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 3, i32 1)")

    def _arrays(self, starts: Mapping[str, str]) -> dict[str, str]:
        """Where a link finds its numbers in inputs and outputs; `starts` tells its place among q, v and links."""
        here = {}
        for prefix, arrays in (("in", self.inputs), ("out", self.outputs)):
            for array, kind in arrays.items():
                row = f"%{prefix}.{array}"
                element = self.scalar if f"{prefix}:{array}" in self.shared else None
                if kind.per != "packed":
                    here[f"{prefix}:{array}"] = self._at(row, self._start(kind, starts), element)
                for name, piece in kind.pieces.items():
                    here[f"{prefix}:{array}:{name}"] = self._at(row, self._start(piece, starts), element)
                    row = self._at(row, count(piece, self.w.new), element)
        return here

    def _start(self, kind: Kind, starts: Mapping[str, str]) -> str:
        """The place of a link's first number in an array."""
        if kind.per == "robot" or starts[kind.per] == "0":
            return "0"
        return starts[kind.per] if kind.width == 1 else self.w.new(f"mul i64 {starts[kind.per]}, {kind.width}")

    def _bodies(
        self, name: str, loop: Loop, here: Mapping[str, str], carried: Sequence[Slot]
    ) -> list[tuple[str, dict[Slot, str]]]:
        """The bodies of a loop, one for each class; returns the label that each ends with and what it carries on."""
        w = self.w
        labels = [f"{name}.body{i}" for i in range(len(loop.bodies))]
        if len(labels) > 1:
            code = w.new(f"load i8, ptr {self._at('%classes', f'%{name}.k', 'i8')}")
            cases = " ".join(f"i8 {i}, label %{label}" for i, label in enumerate(labels[1:], 1))
            w.put(f"switch i8 {code}, label %{labels[0]} [ {cases} ]")
        else:
            w.put(f"br label %{labels[0]}")
        ends = []
        for number, (label, body) in enumerate(zip(labels, loop.bodies, strict=True)):
            w.label(label)
            if self.own and loop is self._busiest:
                self._call_next(here[CONST], number)
            ends.append((label, self._body(name, body, here, carried, self.recording.columns[number])))
            w.put(f"br label %{name}.end")
        return ends

    def _body(
        self, name: str, body: Body, here: Mapping[str, str], carried: Sequence[Slot], columns: Sequence[str]
    ) -> dict[Slot, str]:
        values = body.values
        block = self._block()
        self._computed(block, live(values), name, here, carried, columns)
        texts = [block.operand(x) for x in values]
        for (array, index), text in zip(body.stores, texts, strict=False):
            place = here[array]
            at = self.recording.slots[index] if array in (SELF, PARENT) else index
            self._store(self._at(place, str(at)), text)
        return dict(zip(body.carried, texts[len(body.stores) :], strict=True))

    def _computed(
        self,
        block: Block,
        nodes: Sequence[Expr],
        name: str,
        here: Mapping[str, str],
        carried: Sequence[Slot],
        columns: Sequence[str],
    ) -> None:
        """Load leaves and compute with them."""
        for node in nodes:
            if node.op == LEAF:
                block.values[node.id] = self._leaf(name, node.args[0], node.args[1], here, carried, columns)
        block.run([node for node in nodes if node.op != LEAF], self.w)
        self.declarations |= block.declarations
        self.functions |= block.functions

    def _leaf(
        self,
        name: str,
        array: str,
        index: Any,
        here: Mapping[str, str],
        carried: Sequence[Slot],
        columns: Sequence[str],
    ) -> str:
        if array == CARRY:
            return f"%{name}.c{carried.index(index)}"
        if array == CONST:
            column = columns.index(index)
            return self._own(here[CONST], column) if self.own else self._everywhere(here[CONST], column)
        if array == TIP:
            return self._load(self._at_tip(index))
        if array in (SELF, PARENT, BASE):
            return self._load(self._at(here[array], str(self.recording.slots[index])))
        place = f"in:{array}"
        if place in self.shared:
            return self._everywhere(here[place], index)
        return self._load(self._at(here[place], str(index)))

    def _own(self, row: str, column: int) -> str:
        """A constant of which each lane has its own."""
        at = self._at(row, str(column * self.own), self.scalar)
        return self.w.new(f"load {self.T}, ptr {at}, align {self.dtype.itemsize}")

    def _call_next(self, row: str, number: int) -> None:
        """While these samples are computed, call the constants of the same link of the next ones into the cache."""
        self.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        row = self.w.new(f"getelementptr {self.scalar}, ptr {row}, i64 {self.w.new(f'mul i64 %own, {self.own}')}")
        for name in constants_of(self.recording.loops, number):
            place = self.recording.columns[number].index(name) * self.own
            at = self.w.new(f"getelementptr {self.scalar}, ptr {row}, i64 {place}")
            self.w.put(f"call void @llvm.prefetch.p0(ptr {at}, i32 0, i32 2, i32 1)")

    def _everywhere(self, row: str, index: int) -> str:
        """A number of a row of scalars, the same in all lanes."""
        value = self.w.new(f"load {self.scalar}, ptr {self._at(row, str(index), self.scalar)}")
        if self.W == 1:
            return value
        first = self.w.new(f"insertelement {self.T} poison, {self.scalar} {value}, i64 0")
        return self.w.new(f"shufflevector {self.T} {first}, {self.T} poison, <{self.W} x i32> zeroinitializer")
