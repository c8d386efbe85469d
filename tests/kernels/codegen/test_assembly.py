"""The instructions of unrolled kernels, followed one by one: what processors would do that the tests do not run on."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.kernels.codegen.test_unrolled import OPERATIONS, random_program

from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.kernels.codegen.program import read
from catena.kernels.codegen.straight import Single, Straight, Task
from catena.kernels.codegen.tiles import Tiled
from catena.kernels.machine.target import Target
from catena.model.random_tree import random_tree
from catena.trace.fuse import fuse
from catena.trace.graph import Operand
from catena.trace.interpret import values

AVX2 = "+avx,+avx2,+fma"
AVX512 = AVX2 + ",+avx512f,+avx512dq,+avx512vl"
FUSED = re.compile(r"vf(n?)m(add|sub)(132|213|231)")
PLAIN = {"vadd": np.add, "vsub": np.subtract, "vmul": np.multiply, "vdiv": np.divide}
PLAIN |= {"vmin": lambda x, y: np.where(x < y, x, y), "vmax": lambda x, y: np.where(x > y, x, y)}
HOLDS = {"$$17": np.less, "$$18": np.less_equal, "$$0": np.equal}
FUNCTIONS = {"sincos": (np.sin, np.cos), "arctan2": (np.arctan2,), "exp": (np.exp,), "log": (np.log,)}
ONES = -np.nan
"""What stands for a mask where a comparison holds; zero stands for where it does not."""


class Processor:
    """Registers and memory, in units of numbers, and the instructions that the kernels use."""

    def __init__(self, lanes: int, size: int, registers: int, memory: list[np.ndarray]) -> None:
        self.lanes, self.size, self.memory, self.masks = lanes, size, memory, registers == 32
        self.registers = np.full((registers, lanes), np.nan)

    def run(self, line: str) -> None:
        """One line, in AT&T's order: the result last."""
        name, _, rest = line.partition(" ")
        operands = rest.split(", ")
        kind = ("s" if self.lanes == 1 else "p") + ("d" if self.size == 8 else "s")
        if name.startswith(("vpmov", "vblend", "vcmp", "vandn", "vround", "vrndscale")):
            self.choose(name, operands, kind)
            return
        between_registers = name[:-2] == "vmova" and "(" not in line  # of whole registers, for scalars as well
        assert name[-2:] == kind or (name[-1] == kind[-1] and (between_registers or name.startswith("vbroadcast")))
        *sources, target = operands
        spread = "{1to" + str(self.lanes) + "}" if name.startswith("vbroadcast") else ""
        given = [self.value(text + spread) for text in reversed(sources)]
        self.put(target, self.result(name[:-2], given, target))

    def choose(self, name: str, operands: list[str], kind: str) -> None:
        """Comparisons, blends, absolute values and rounding."""
        *sources, target = operands
        word, packed = ("q", "pd") if self.size == 8 else ("d", "ps")
        whole = name.startswith(("vpmov", "vblend", "vandn"))
        assert not (whole and self.lanes == 1 and "(" in "".join(operands)), "reads more than there is"
        if name.startswith("vcmp"):
            self.mask = HOLDS[sources[0]](self.value(sources[2]), self.value(sources[1]))
            assert name[4:] == kind
            assert (target == "%k1") == self.masks
            if not self.masks:
                self.put(target, np.where(self.mask, ONES, 0.0))
        elif name == f"vpmovm2{word}":
            self.put(target, np.where(self.mask, ONES, 0.0))
        elif name == f"vpmov{word}2m":
            self.mask = np.isnan(self.value(sources[0]))
        elif name == f"vblendm{packed}":
            register = re.fullmatch(r"(%\w+)\{%k1\}", target).group(1)
            self.put(register, np.where(self.mask, self.value(sources[0]), self.value(sources[1])))
        elif name == f"vblendv{packed}":
            self.put(target, np.where(np.isnan(self.value(sources[0])), self.value(sources[1]), self.value(sources[2])))
        elif name == f"vandn{packed}":
            assert np.all(np.signbit(self.value(sources[1])))
            assert not self.value(sources[1]).any()
            self.put(target, np.abs(self.value(sources[0])))
        else:
            assert name == ("vrndscale" if self.masks else "vround") + kind
            assert sources[0] == "$$8"
            self.put(target, np.rint(self.value(sources[1])))

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
                given = [scratch[at * W : (at + call.count) * W] for at in call.arguments]
                for at, function in zip(call.results, FUNCTIONS[call.function], strict=True):
                    scratch[at * W : (at + call.count) * W] = function(*given)
    if memory.in_place:
        return np.concatenate(arrays[2 + len(inputs) :])[None]
    columns = [np.full(W, p) if isinstance(p, float) else scratch[p * W : (p + 1) * W] for p in memory.places]
    return np.stack(columns, axis=-1)


def dynamics() -> tuple[dict[str, int], dict[str, list[Operand]]]:
    tree = random_tree(3, 9)
    function = FORWARD_DYNAMICS["innovations"]
    return engine.trace(engine.lowered_for(tree, function), function)


def choices() -> tuple[dict[str, int], dict[str, list[Operand]]]:
    outputs = random_program(5, 900, 9)
    return {"x": 9}, {"y": [*outputs, *[f(outputs[0].graph, *outputs[:2]) for f in OPERATIONS.values()]]}


@pytest.mark.parametrize("program", [dynamics, choices])
@pytest.mark.parametrize("kind", [Tiled, Single])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("features", [AVX2, AVX512], ids=["AVX2", "AVX-512"])
def test_instructions_do_what_the_graph_says(features, dtype, kind, program):
    sizes, outputs = program()
    flat = [x for output in outputs.values() for x in output]
    target = Target("x86_64-unknown-linux-gnu", "any", features)
    code = read(fuse(flat))
    widths = [len(output) for output in outputs.values()]
    task = Task(code, code.stages(), list(sizes), list(sizes.values()), widths, np.dtype(dtype), target)
    kernel = kind(task)
    rng = np.random.default_rng(0)
    given = {name: rng.standard_normal((kernel.lanes.W, size)) for name, size in sizes.items()}
    with np.errstate(all="ignore"):
        expected = values(flat, given)
        found = follow(kernel, given)
    assert kernel.code.machine.registers == (32 if "512" in features else 16)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.nanmax(np.abs(expected)))
