"""From a function and a mechanism to a kernel: the passes, by name and in order.

::

    pass      unrolled: straight-line code       rolled: loops over the links
    lower     internal frames, regrouped inertias
    trace     link by link: functions.linkwise   once for each kind of link: trace.recorder
    fold      meanwhile: numbers are computed with, equal expressions are shared (trace.graph)
    fuse      multiply-adds: trace.fuse
    read      numbered values: codegen.program
    order     stages between calls of functions
    allocate  memory and registers: straight     by LLVM
    emit      codegen.unrolled, or elementwise   codegen.rolled
    compile   LLVM makes an object file, which the disk cache keeps: machine.compile
    check     against the graph: selfcheck
    load      machine.compile                    and what it reads of the mechanism: codegen.context
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.arguments.arrays import Port, Signature
from catena.functions.function import Function, Kind, dense_shape, is_dense, kind
from catena.functions.linkwise import lowered_for, trace
from catena.kernels.call.kernel import Kernel
from catena.kernels.codegen.context import Context, context_of, layout_of
from catena.kernels.codegen.elementwise import elementwise_ir, is_elementwise
from catena.kernels.codegen.program import read
from catena.kernels.codegen.rolled import rolled_ir
from catena.kernels.codegen.straight import Single, Task
from catena.kernels.codegen.tiles import Tiled
from catena.kernels.codegen.unrolled import module_ir
from catena.kernels.machine.compile import Codegen, Module, compile_cached, module_cached, object_code
from catena.kernels.machine.selfcheck import agrees
from catena.kernels.machine.target import Target, host
from catena.model.tree import Tree
from catena.trace.fuse import fuse
from catena.trace.graph import Operand
from catena.trace.recorder import classify, recorded

ROLLED = Codegen(opt=2, passes=2)


def unrolled_kernel(tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Kernel:
    """Straight-line code with the mechanism's numbers folded in. The disk cache spares all passes but the last."""
    key = ("unrolled", function.name, ",".join(present), dtype.name, tree.digest().hex())
    module = module_cached(key, lambda: _unrolled_code(tree, function, present, dtype, host()))
    return _kernel(signature(tree, function, present, dtype), module)


def _unrolled_code(
    tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any], target: Target
) -> bytes:
    """Machine code with instructions of our own where that is possible and they prove right, otherwise all LLVM's."""
    lowered = lowered_for(tree, function)
    traced = trace(lowered, function, present)
    ir = unrolled_ir(*traced, dtype=dtype, target=target)
    code = object_code(ir)
    if target.assembles and not agrees(code, traced, dtype):
        return _unrolled_code(tree, function, present, dtype, replace(target, assembly=False))
    return code


def unrolled_ir(
    inputs: Mapping[str, int], outputs: Mapping[str, Sequence[Operand]], *, dtype: Any, target: Target
) -> str:
    """The passes from expressions of the outputs, and widths of the inputs, to a module for a target."""
    if is_elementwise(inputs, outputs):
        return elementwise_ir(inputs, outputs, dtype=dtype, target=target)
    wanted = [x for values in outputs.values() for x in values]
    fused = fuse(wanted) if target.has_fma else wanted
    program = read(fused)
    stages = program.stages()
    widths = list(inputs.values()), [len(values) for values in outputs.values()]
    task = Task(program, stages, list(inputs), *widths, np.dtype(dtype), target)
    allocated = Tiled(task), Single(task)  # memory and registers
    return module_ir(task, allocated)  # emit


def rolled_kernel(tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Kernel:
    """Loops over the links, the same machine code for all mechanisms with the same joint types and shared constants.

    The disk cache, asked by the module's text, spares the passes from compiling on.
    """
    target, given = host(), function.given(present)
    lowered = lowered_for(tree, function)
    classes, which = classify(lowered)
    recording = recorded(lowered, classes, function, given)
    fused = recording.fused() if target.has_fma else recording
    layout = layout_of(lowered, classes)
    ir = rolled_ir(fused, _kinds(given), _kinds(function.outputs), layout, target, dtype, function.shared)
    module = compile_cached(("rolled", ir), lambda: ir, ROLLED)
    context = context_of(lowered, which, recording.columns, dtype)
    return _kernel(signature(tree, function, present, dtype), module, lowered.n, context)


def signature(tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Signature:
    """What a kernel of a function takes and gives, without making it."""
    inputs, outputs = function.given(present), function.outputs
    return Signature(function.question, _ports(tree, inputs), _ports(tree, outputs), dtype)


def _kernel(wanted: Signature, module: Module, links: int = 0, context: Context = ()) -> Kernel:
    question, inputs, outputs, dtype = wanted
    return Kernel(question, module, inputs, outputs, dtype=dtype, links=links, context=context)


def _kinds(arrays: Mapping[str, str]) -> dict[str, Kind]:
    return {name: kind(k) for name, k in arrays.items()}


def _ports(tree: Tree, arrays: Mapping[str, str]) -> tuple[Port, ...]:
    return tuple(Port(name, _shape(tree, k)) for name, k in arrays.items())


def _shape(tree: Tree, kind_name: str) -> tuple[int, ...]:
    sizes = tree.n, tree.nq, tree.nv
    return dense_shape(kind_name, *sizes) if is_dense(kind_name) else kind(kind_name).full_shape(*sizes)
