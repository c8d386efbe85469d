"""Unrolled kernels: one mechanism's straight-line code as a module, for batches and for single samples."""

from __future__ import annotations

from collections.abc import Sequence

from catena.kernels.codegen.elementary import HELPERS_IR, elementary_ir
from catena.kernels.codegen.straight import Straight, Task
from catena.kernels.codegen.streaming import METADATA


def module_ir(task: Task, kernels: Sequence[Straight]) -> str:
    """The module: entry points ``batch`` and ``single`` as :mod:`catena.kernels.call.runtime` knows them."""
    texts = [text for kernel in kernels for text in kernel.functions()]
    lanes = task.target.lanes(task.dtype)
    called = {f"{call.function}_all" for call in task.program.calls}
    elementary, declarations = elementary_ir(called, task.target, task.dtype, lanes)
    declarations = declarations.union(*[kernel.block.declarations for kernel in kernels])
    sizes = ", ".join(f"i64 {kernel.bytes}, i64 0" for kernel in kernels)
    constants = [
        HELPERS_IR,
        f"@lanes = dso_local constant i64 {lanes}",
        f"@operations = dso_local constant i64 {max(1, sum(map(len, task.stages)))}",
        f"@scratch_bytes = dso_local constant [4 x i64] [{sizes}]",
    ]
    return "\n".join([*sorted(declarations), *constants, *elementary, *texts, METADATA, ""])
