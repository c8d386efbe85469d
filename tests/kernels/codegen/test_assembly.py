"""The instructions of unrolled kernels, followed one by one: what processors would do that the tests do not run on."""

from __future__ import annotations

import re

import numpy as np
import pytest

from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.kernels.codegen.program import read
from catena.kernels.codegen.straight import Single, Straight, Task
from catena.kernels.codegen.tiles import Tiled
from catena.kernels.machine.target import Target
from catena.model.random_tree import random_tree
from catena.trace.fuse import fuse
from catena.trace.interpret import values

AVX2 = "+avx,+avx2,+fma"
AVX512 = AVX2 + ",+avx512f,+avx512dq,+avx512vl"
FUSED = re.compile(r"vf(n?)m(add|sub)(132|213|231)")
PLAIN = {"vadd": np.add, "vsub": np.subtract, "vmul": np.multiply, "vdiv": np.divide}


class Processor:
    """Registers and memory, in units of numbers, and the instructions that the kernels use."""

    def __init__(self, lanes: int, size: int, registers: int, memory: list[np.ndarray]) -> None:
        self.lanes, self.size, self.memory = lanes, size, memory
        self.registers = np.full((registers, lanes), np.nan)

    def run(self, line: str) -> None:
        """One line, in AT&T's order: the result last."""
        name, _, rest = line.partition(" ")
        operands = rest.split(", ")
        kind = ("s" if self.lanes == 1 else "p") + ("d" if self.size == 8 else "s")
        between_registers = name[:-2] == "vmova" and "(" not in line  # of whole registers, for scalars as well
        assert name[-2:] == kind or (name[-1] == kind[-1] and (between_registers or name.startswith("vbroadcast")))
        *sources, target = operands
        spread = "{1to" + str(self.lanes) + "}" if name.startswith("vbroadcast") else ""
        given = [self.value(text + spread) for text in reversed(sources)]
        self.put(target, self.result(name[:-2], given, target))

    def result(self, name: str, given: list[np.ndarray], target: str) -> np.ndarray:
        if name in ("vmov", "vmova", "vbroadcast"):
            return given[0]
        if name == "vsqrt":
            return np.sqrt(given[-1])
        if name in PLAIN:
            return PLAIN[name](*given)
        found = FUSED.fullmatch(name)
        assert found, name
        minus, sign, order = found.groups()
        first, second, third = self.value(target), given[0], given[1]
        x, y, z = {"132": (first, third, second), "213": (second, first, third), "231": (second, third, first)}[order]
        return (-x if minus else x) * y + (z if sign == "add" else -z)

    def value(self, text: str) -> np.ndarray:
        if text.startswith("%"):
            return self.registers[self.number(text)].copy()
        array, at = self.place(text)
        if text.endswith(f"{{1to{self.lanes}}}"):
            return np.full(self.lanes, array[at])
        assert "{" not in text
        return array[at : at + self.lanes].copy()

    def put(self, text: str, x: np.ndarray) -> None:
        if text.startswith("%"):
            self.registers[self.number(text)] = x
        else:
            array, at = self.place(text)
            array[at : at + self.lanes] = x

    def number(self, text: str) -> int:
        letter, number = re.fullmatch(r"%([xyz])mm(\d+)", text).groups()
        assert letter == {64: "z", 32: "y"}.get(self.lanes * self.size, "x")
        return int(number)

    def place(self, text: str) -> tuple[np.ndarray, int]:
        offset, pointer = map(int, re.match(r"(\d+)\(\$(\d+)\)", text).groups())
        assert offset % self.size == 0
        assert "1to" in text or offset % (self.lanes * self.size) == 0, "an unaligned access"
        return self.memory[pointer], offset // self.size


def follow(kernel: Straight, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The outputs, (lanes, outputs), of a kernel whose instructions are followed in an imitated processor."""
    W, memory, machine = kernel.lanes.W, kernel.memory, kernel.code.machine
    scratch = np.full(kernel.slots * W, np.nan)
    repeat = 1 if machine.broadcasts else W
    arrays = [scratch, np.repeat(np.array(memory.numbers, dtype=float), repeat)]
    if memory.in_place:
        arrays += [x[0].copy() for x in inputs.values()] + [np.full(w, np.nan) for w in kernel.task.outputs]
    else:
        for place, x in zip(memory.arrays, inputs.values(), strict=False):
            scratch[place.at * W : place.at * W + x.size] = x.T.ravel()
    processor = Processor(W, kernel.lanes.dtype.itemsize, machine.registers, arrays)
    for stage, parts in enumerate(kernel.stages):
        for part in parts:
            processor.registers[:] = np.nan
            for line in part:
                processor.run(line)
        for call in memory.calls:
            if call.stage == stage:
                x = scratch[call.arguments * W : (call.arguments + call.count) * W]
                for at, function in zip(call.results, (np.sin, np.cos), strict=True):
                    scratch[at * W : (at + call.count) * W] = function(x)
    if memory.in_place:
        return np.concatenate(arrays[2 + len(inputs) :])[None]
    columns = [np.full(W, p) if isinstance(p, float) else scratch[p * W : (p + 1) * W] for p in memory.places]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("kind", [Tiled, Single])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("features", [AVX2, AVX512], ids=["AVX2", "AVX-512"])
def test_instructions_do_what_the_graph_says(features, dtype, kind):
    tree = random_tree(3, 9)
    function = FORWARD_DYNAMICS["innovations"]
    sizes, outputs = engine.trace(engine.lowered_for(tree, function), function)
    flat = [x for output in outputs.values() for x in output]
    target = Target("x86_64-unknown-linux-gnu", "any", features)
    program = read(fuse(flat))
    widths = [len(output) for output in outputs.values()]
    task = Task(program, program.stages(), list(sizes), list(sizes.values()), widths, np.dtype(dtype), target)
    kernel = kind(task)
    rng = np.random.default_rng(0)
    given = {name: rng.standard_normal((kernel.lanes.W, size)) for name, size in sizes.items()}
    expected = values(flat, given)
    found = follow(kernel, given)
    assert kernel.code.machine.registers == (32 if "512" in features else 16)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
