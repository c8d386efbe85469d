"""Kernels for this computer and for lesser ones that it can stand in for."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catena.arguments.arrays import Port
from catena.kernels.build import unrolled_ir
from catena.kernels.call.kernel import Kernel
from catena.kernels.machine.compile import load, object_code
from catena.kernels.machine.target import AVX512, Target, host
from catena.trace.graph import Expr, Graph, Operand


@dataclass(frozen=True)
class Narrow(Target):
    """A processor with few registers: nearly every value is spilt."""

    @property
    def registers(self) -> int:
        return 4


@dataclass(frozen=True)
class Wide(Target):
    """A value in two registers, by LLVM."""

    def lanes(self, dtype: Any) -> int:
        return 2 * super().lanes(dtype)


def _without(target: Target, *features: str) -> Target:
    kept = [f for f in target.features.split(",") if f[1:] not in features]
    return replace(target, features=",".join([*kept, *[f"-{f}" for f in features]]))


@functools.cache
def targets() -> dict[str, Target]:
    """By name. Those without fused multiply-adds round differently from the others."""
    here = host()
    words = here.triple, here.cpu, here.features
    found = {
        "host": here,
        "128 bits": replace(here, vector_bits=128),
        "LLVM": replace(here, assembly=False),
        "LLVM, 128 bits": replace(here, assembly=False, vector_bits=128),
        "LLVM, two registers": Wide(*words, assembly=False),
    }
    if here.assembles:
        found["four registers"] = Narrow(*words)
    if here.assembles and here.registers == 32:
        found["without AVX-512"] = _without(here, *AVX512)
    return found


@functools.cache
def unfused() -> dict[str, Target]:
    """Targets without fused multiply-adds."""
    plain = _without(host(), "fma", "fma4", "avx512f")
    return {"no FMA": plain, "no FMA, 128 bits": replace(plain, vector_bits=128)}


def kernel(
    inputs: Mapping[str, int], outputs: Mapping[str, Sequence[Operand]], target: Target, dtype: Any = np.float64
) -> Kernel:
    """The outputs compiled for a target, which must be able to run here."""
    code = object_code(unrolled_ir(inputs, outputs, dtype=dtype, target=target), target=target)
    ports = [[Port(name, (width,)) for name, width in inputs.items()]]
    ports.append([Port(name, (len(values),)) for name, values in outputs.items()])
    return Kernel("test", load(code), *ports, dtype=dtype)


def leaves(graph: Graph, name: str, count: int) -> list[Expr]:
    return [graph.input(name, i) for i in range(count)]
