"""Unrolled kernels: one mechanism's straight-line code as a module, for batches and for single samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from catena.kernels.codegen.elementary import HELPERS_IR, elementary_ir
from catena.kernels.codegen.elementwise import elementwise_ir, is_elementwise
from catena.kernels.codegen.program import read
from catena.kernels.codegen.straight import Single, Straight, Task
from catena.kernels.codegen.streaming import METADATA
from catena.kernels.codegen.tiles import Tiled
from catena.kernels.machine.target import Target
from catena.trace.fuse import fuse
from catena.trace.graph import Operand


def unrolled_ir(
    inputs: Mapping[str, int], outputs: Mapping[str, Sequence[Operand]], *, dtype: Any, target: Target
) -> str:
    """The module: entry points ``batch`` and ``single`` as :mod:`catena.kernels.call.runtime` knows them."""
    if is_elementwise(inputs, outputs):
        return elementwise_ir(inputs, outputs, dtype=dtype, target=target)
    flat = [x for values in outputs.values() for x in values]
    program = read(fuse(flat) if target.has_fma else flat)
    stages, widths = program.stages(), [len(values) for values in outputs.values()]
    task = Task(program, stages, list(inputs), list(inputs.values()), widths, np.dtype(dtype), target)
    kernels: list[Straight] = [Tiled(task), Single(task)]
    texts = [text for kernel in kernels for text in kernel.functions()]
    lanes = target.lanes(dtype)
    called = {f"{call.function}_all" for call in program.calls}
    elementary, declarations = elementary_ir(called, target, task.dtype, lanes)
    declarations = declarations.union(*[kernel.block.declarations for kernel in kernels])
    sizes = ", ".join(f"i64 {kernel.bytes}, i64 0" for kernel in kernels)
    constants = [
        HELPERS_IR,
        f"@lanes = dso_local constant i64 {lanes}",
        f"@operations = dso_local constant i64 {max(1, sum(map(len, stages)))}",
        f"@scratch_bytes = dso_local constant [4 x i64] [{sizes}]",
    ]
    return "\n".join([*sorted(declarations), *constants, *elementary, *texts, METADATA, ""])
