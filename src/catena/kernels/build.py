"""From a function and a mechanism to a kernel: trace or record, emit, compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from catena.arguments.arrays import Port, Signature
from catena.functions.function import Function, dense_shape, is_dense, kind
from catena.functions.linkwise import Traced, lowered_for, trace
from catena.kernels.call.kernel import Kernel
from catena.kernels.codegen.rolled import Layout, rolled_ir
from catena.kernels.codegen.unrolled import unrolled_ir
from catena.kernels.machine.compile import Codegen, Module, compile_cached, module_cached, object_code
from catena.kernels.machine.selfcheck import agrees
from catena.kernels.machine.target import host
from catena.model.lowering.lowered import Lowered
from catena.model.tree import Tree
from catena.trace.recorder import InputField, LinkClass, Program, RolledLinks, classify, record

ROLLED = Codegen(opt=2, passes=2)


def unrolled_kernel(tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Kernel:
    """Straight-line code with the mechanism's numbers folded in. The disk cache spares tracing as well as compiling."""
    key = ("unrolled", function.name, ",".join(present), dtype.name, tree.digest().hex())
    module = module_cached(key, lambda: _unrolled_code(trace(lowered_for(tree, function), function, present), dtype))
    return Kernel(*_described(tree, function, present, module), dtype=dtype)


def _unrolled_code(traced: Traced, dtype: np.dtype[Any]) -> bytes:
    """Machine code with instructions of our own where that is possible and they prove right, otherwise all LLVM's."""
    target = host()
    code = object_code(unrolled_ir(*traced, dtype=dtype, target=target))
    if target.assembles and not agrees(code, traced, dtype):
        code = object_code(unrolled_ir(*traced, dtype=dtype, target=replace(target, assembly=False)))
    return code


def rolled_kernel(tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Kernel:
    """Loops over the links, the same machine code for all mechanisms with the same joint types and shared constants."""
    lowered = lowered_for(tree, function)
    classes, which = classify(lowered)
    given = function.given(present)
    program = recorded(lowered, classes, function, given)
    layout = _layout(lowered, classes)
    inputs = {name: kind(k) for name, k in given.items()}
    outputs = {name: kind(k) for name, k in function.outputs.items()}
    ir = rolled_ir(program, inputs, outputs, layout, host(), dtype, function.shared)
    module = compile_cached(("rolled", ir), lambda: ir, ROLLED)
    context = _context(lowered, classes, which, program.columns, dtype)
    described = _described(tree, function, present, module)
    return Kernel(*described, dtype=dtype, links=lowered.n, context=context)


def signature(tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Signature:
    """What a kernel of a function takes and gives, without making it."""
    inputs, outputs = function.given(present), function.outputs
    return Signature(function.question, _ports(tree, inputs), _ports(tree, outputs), dtype)


def _described(tree: Tree, function: Function, present: tuple[str, ...], module: Module) -> Any:
    """The first arguments of a Kernel."""
    return function.question, module, _ports(tree, function.given(present)), _ports(tree, function.outputs)


def _ports(tree: Tree, arrays: Mapping[str, str]) -> tuple[Port, ...]:
    return tuple(Port(name, _shape(tree, k)) for name, k in arrays.items())


def recorded(lowered: Lowered, classes: Sequence[LinkClass], function: Function, given: Mapping[str, str]) -> Program:
    """The loops of a function for a mechanism with these classes of links, with the inputs that are given."""
    chain = bool(np.array_equal(lowered.parent, np.arange(-1, lowered.n - 1)))
    at_base = [name for name, k in function.outputs.items() if kind(k).per == "robot"]
    return record(lambda links: _run(links, function, given), classes, lowered.gravity.tolist(), chain, at_base)


def _shape(tree: Tree, kind_name: str) -> tuple[int, ...]:
    sizes = tree.n, tree.nq, tree.nv
    return dense_shape(kind_name, *sizes) if is_dense(kind_name) else kind(kind_name).full_shape(*sizes)


def _run(links: RolledLinks, function: Function, given: Mapping[str, str]) -> dict[str, Any]:
    """Run the algorithm on symbolic links and name its outputs."""
    fields: dict[str, Any] = {}
    for name, kind_name in given.items():
        k = kind(kind_name)
        if k.per == "robot":
            fields[name] = k.build([links.graph.input(name, i) for i in range(k.width)])
        else:
            fields[name] = InputField(links.graph, name, k)
    result = function.algorithm(links, *[fields.get(name) for name in function.inputs])
    results = result if isinstance(result, tuple) else (result,)
    takes = [kind(k).take for k in function.outputs.values()]
    return dict(zip(function.outputs, zip(results, takes, strict=True), strict=True))


def _layout(lowered: Lowered, classes: Sequence[LinkClass]) -> Layout:
    n = np.arange(lowered.n + 1)
    widest = max(c.kind.nq for c in classes), max(c.kind.nv for c in classes)
    return Layout(np.array_equal(lowered.q_start, n), np.array_equal(lowered.v_start, n), *widest)


def _context(
    lowered: Lowered,
    classes: Sequence[LinkClass],
    which: np.ndarray,
    columns: Sequence[Sequence[str]],
    dtype: np.dtype[Any],
) -> list[np.ndarray | int]:
    """The table that :mod:`catena.kernels.codegen.rolled` describes."""
    row = max(len(c) for c in columns)
    constants = np.zeros((lowered.n, row), dtype)
    for number, names in enumerate(columns):
        rows = slice(None) if len(classes) == 1 else np.flatnonzero(which == number)
        for j, name in enumerate(names):
            column = lowered.constants[name] if name in lowered.constants else lowered.of_joint(name)
            constants[rows, j] = column[rows]
    tables = [constants, _int64(lowered.parent), which, _int64(lowered.q_start), _int64(lowered.v_start)]
    return [*tables, lowered.n, int(lowered.q_start[-1]), int(lowered.v_start[-1])]


def _int64(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, dtype=np.int64)
