"""Straight-line code for one sample, and what code for one sample and for a batch have in common."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from catena.kernels.codegen.assembly import Allocation, Machine
from catena.kernels.codegen.emit import Block, Lanes, Writer
from catena.kernels.codegen.entries import SINGLE, pointers
from catena.kernels.codegen.loops import copy
from catena.kernels.codegen.memory import Memory
from catena.kernels.codegen.portable import Portable
from catena.kernels.codegen.program import StraightLine
from catena.kernels.machine.target import Target

POINTERS = 8
"""With at most so many inputs and outputs, code for one sample reads and writes them in place."""


@dataclass(frozen=True)
class Task:
    """What is to be computed, from inputs of given widths to outputs of given widths, and on what."""

    program: StraightLine
    stages: Sequence[Sequence[int]]
    names: Sequence[str]
    inputs: Sequence[int]
    outputs: Sequence[int]
    dtype: np.dtype[Any]
    target: Target


class _Code(Protocol):
    """Writes a program, one stage after another, as parts."""

    slots: int

    def run(self, order: Sequence[int], copies: Sequence[int]) -> list[Any]: ...

    def write(self, part: Any, w: Writer, pointers: Sequence[str]) -> None: ...


class Straight:
    """Code for ``lanes`` samples at a time, in parts of about ``part`` operations (0 for no parts).

    Functions of the C library's kind are called for as many numbers at once as a register holds.
    """

    name: str

    def __init__(
        self,
        task: Task,
        lanes: int,
        part: int,
        in_place: bool,
        scattered: bool = False,
        lasting: Collection[str] = (),
    ) -> None:
        self.task, self.lanes = task, Lanes(task.dtype, lanes)
        self.vector = Lanes(task.dtype, task.target.lanes(task.dtype))
        self.block = Block(task.target, task.dtype, lanes)
        self.memory = memory = Memory(
            task.program,
            task.names,
            task.inputs,
            task.outputs,
            in_place=in_place,
            scattered=scattered,
            round_to=self.vector.W // lanes,
            lasting=lasting,
        )
        where = memory.leaves, memory.wanted, memory.slots
        self.code: _Code
        if task.target.assembles:
            machine = Machine(lanes, task.dtype.itemsize, task.target.registers)
            self.code = Allocation(task.program, task.stages, machine, *where, part)
            self._repeat = 1 if machine.broadcasts else lanes
        else:
            self.code = Portable(task.program, task.stages, self.block, *where)
            self._repeat = 0
        self.stages = [self.code.run(*stage) for stage in zip(task.stages, memory.copies, strict=True)]

    def functions(self) -> list[str]:
        """Definitions for the module."""
        raise NotImplementedError

    @property
    def slots(self) -> int:
        """Values of scratch for ``lanes`` samples, so many that the next ones start where the widest vectors may."""
        return -(-self.code.slots * self.lanes.size // 64) * 64 // self.lanes.size

    @property
    def bytes(self) -> int:
        """The size of scratch."""
        return self.slots * self.lanes.size

    def numbers(self) -> str:
        """The table of constants."""
        scalar = Lanes(self.task.dtype, 1)
        texts = [f"{scalar.type} {scalar.number(x)}" for x in self.memory.numbers for _ in range(self._repeat)]
        return f"@{self.name}.numbers = internal constant [{len(texts)} x {scalar.type}] [{', '.join(texts)}], align 64"

    def calls(self, w: Writer, stage: int, base: str) -> None:
        """Call the functions whose arguments a stage has made in the memory at ``base``."""
        for call in self.memory.calls:
            if call.stage == stage:
                places = [self.at(w, base, index) for index in (*call.arguments, *call.results)]
                arrays = ", ".join(f"ptr {place}" for place in places)
                count = call.count * self.lanes.W // self.vector.W
                w.put(f"call void @{call.function}_all{self.vector.W}({arrays}, i64 {count})")

    def at(self, w: Writer, base: str, index: int | str) -> str:
        """The place of a value."""
        return w.new(f"getelementptr {self.lanes.type}, ptr {base}, i64 {index}")


class Single(Straight):
    """One sample. Arguments of calls stand side by side, so that the functions take several at a time."""

    name = "single"

    def __init__(self, task: Task, in_place: bool = True, lasting: Collection[str] = ()) -> None:
        in_place = in_place and len(task.inputs) + len(task.outputs) <= POINTERS
        super().__init__(task, 1, 0, in_place, lasting=lasting)

    def functions(self) -> list[str]:
        """Definitions for the module."""
        w, task, in_place = Writer(), self.task, self.memory.in_place
        w.label("entry")
        rows = [*pointers(w, "%inputs", len(task.inputs)), *pointers(w, "%outputs", len(task.outputs))]
        places = [self.at(w, "%scratch", place.at) for place in self.memory.arrays]
        arrays = list(zip(rows, places, (*task.inputs, *task.outputs), strict=True))
        for i, (row, place, width) in enumerate([] if in_place else arrays[: len(task.inputs)]):
            copy(w, f"in{i}", self.lanes, row, place, width)
        self._run(w, rows if in_place else ())
        for i, (row, place, width) in enumerate([] if in_place else arrays[len(task.inputs) :]):
            copy(w, f"out{i}", self.lanes, place, row, width)
        w.put("ret void")
        return [self.numbers(), w.function(SINGLE)]

    def _run(self, w: Writer, rows: Sequence[str] = ()) -> None:
        """All stages, with their calls; rows are inputs and outputs that are used in place."""
        for stage, parts in enumerate(self.stages):
            for part in parts:
                self.code.write(part, w, ["%scratch", "@single.numbers", *rows])
            self.calls(w, stage, "%scratch")
