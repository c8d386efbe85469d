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

A function that is repeated, as the steps of a rollout are, takes the same way: `emit` puts the loops of
codegen.repeated around its code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from catena.arguments.arrays import Port, Signature
from catena.errors import UnsupportedError
from catena.functions.function import Function, Kind, Repeated, array_shape, kind
from catena.functions.linkwise import lowered_for
from catena.functions.on_scalars import trace_for
from catena.kernels.call.kernel import Kernel, repeated_ports
from catena.kernels.codegen.context import Context, Shares, context_of, layout_of
from catena.kernels.codegen.elementwise import elementwise_ir, is_elementwise
from catena.kernels.codegen.program import read
from catena.kernels.codegen.repeated import Places, RepeatedSingle, RepeatedTiles
from catena.kernels.codegen.rolled import rolled_ir
from catena.kernels.codegen.straight import Single, Task
from catena.kernels.codegen.tiles import Tiled
from catena.kernels.codegen.unrolled import module_ir
from catena.kernels.machine.compile import Codegen, Module, compile_cached, module_cached, object_code
from catena.kernels.machine.selfcheck import agrees
from catena.kernels.machine.target import Target, host
from catena.model.tree import Tree
from catena.trace.digest import digest
from catena.trace.fuse import fuse
from catena.trace.graph import Operand
from catena.trace.recorder import RolledLinks, classify, recorded
from catena.trace.recorder.links import AnyLink
from catena.trace.recorder.recording import Recording

ROLLED = Codegen(opt=2, passes=1)  # more passes take half as long again and gain nothing

Sizes = tuple[int, int, int]
"""The numbers of links, of coordinates and of speeds."""


def unrolled_kernel(
    tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any], known: str = ""
) -> Kernel:
    """Straight-line code with the mechanism's numbers folded in. The disk cache spares all passes but the last.

    It asks by the name of the function and by what else is `known` of it: see :func:`traced_as`.
    """
    return _kernel(signature(tree, function, present, dtype), _unrolled(tree, function, present, dtype, known))


def traced_as(
    tree: Tree,
    function: Function,
    present: tuple[str, ...],
    dtype: np.dtype[Any],
    shape: str,
    repeated: Repeated | None = None,
) -> str:
    """A digest of what a function does with a mechanism, in machine code of either shape."""
    if shape == "unrolled":
        _, outputs = trace_for(tree, function, present)
        return digest([x for values in outputs.values() for x in values])
    return blake2b(_rolled_ir(tree, function, present, dtype, repeated)[0].encode(), digest_size=16).hexdigest()


def rolled_kernel(tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Kernel:
    """Loops over the links, the same machine code for all mechanisms with the same joint types and shared constants.

    The disk cache, asked by the module's text, spares the passes from compiling on.
    """
    module, context = _rolled(tree, function, present, dtype)
    return _kernel(signature(tree, function, present, dtype), module, tree.n, context)


def repeated_kernel(
    tree: Tree, repeated: Repeated, present: tuple[str, ...], dtype: np.dtype[Any], shape: str, known: str = ""
) -> Callable[[int, int], Kernel]:
    """A function applied again and again, in machine code of either shape: gives `kernel(rows, between)`.

    The kernel keeps the start and so many rows more, with so many turns between two of them. Machine code is made once
    for all lengths.
    """
    module, context = (
        (_unrolled(tree, repeated.function, present, dtype, known, repeated), ())
        if shape == "unrolled"
        else _rolled(tree, repeated.function, present, dtype, repeated)
    )
    once = signature(tree, repeated.function, present, dtype)

    @functools.lru_cache(maxsize=16)
    def kernel(rows: int, between: int) -> Kernel:
        ins, outs = repeated_ports(repeated, once.inputs, once.outputs, rows, between)
        links = tree.n if shape == "rolled" else 0
        table = (*context, rows, between)
        return Kernel(
            once.question, module, ins, outs, dtype=dtype, links=links, context=table, turns=max(1, rows * between)
        )

    return kernel


def _unrolled(
    tree: Tree,
    function: Function,
    present: tuple[str, ...],
    dtype: np.dtype[Any],
    known: str,
    repeated: Repeated | None = None,
) -> Module:
    name = function.name if repeated is None else f"repeated {repeated.name}"
    key = ("unrolled", name, known, ",".join(present), dtype.name, tree.code_digest().hex())
    return module_cached(key, lambda: _unrolled_code(tree, function, present, dtype, host(), repeated))


def _unrolled_code(
    tree: Tree,
    function: Function,
    present: tuple[str, ...],
    dtype: np.dtype[Any],
    target: Target,
    repeated: Repeated | None = None,
) -> bytes:
    """Machine code with instructions of our own where that is possible and they prove right, otherwise all LLVM's."""
    traced = trace_for(tree, function, present)
    ir = unrolled_ir(*traced, dtype=dtype, target=target, repeated=repeated)
    code = object_code(ir)
    if target.assembles and not agrees(code, traced, dtype, function.positive, repeated):
        return _unrolled_code(tree, function, present, dtype, replace(target, assembly=False), repeated)
    return code


def unrolled_ir(
    inputs: Mapping[str, int],
    outputs: Mapping[str, Sequence[Operand]],
    *,
    dtype: Any,
    target: Target,
    repeated: Repeated | None = None,
) -> str:
    """The passes from expressions of the outputs, and widths of the inputs, to a module for a target."""
    if repeated is None and is_elementwise(inputs, outputs):
        return elementwise_ir(inputs, outputs, dtype=dtype, target=target)
    wanted = [x for values in outputs.values() for x in values]
    fused = fuse(wanted) if target.has_fma else wanted
    program = read(fused)
    stages = program.stages()
    widths = list(inputs.values()), [len(values) for values in outputs.values()]
    task = Task(program, stages, list(inputs), *widths, np.dtype(dtype), target)
    if repeated is None:
        return module_ir(task, (Tiled(task), Single(task)))  # memory and registers; emit
    places = Places.of(repeated, list(inputs), list(outputs))
    return module_ir(task, (RepeatedTiles(task, places), RepeatedSingle(task, places)))


def _rolled(
    tree: Tree,
    function: Function,
    present: tuple[str, ...],
    dtype: np.dtype[Any],
    repeated: Repeated | None = None,
) -> tuple[Module, Context]:
    ir, context = _rolled_ir(tree, function, present, dtype, repeated)
    return compile_cached(("rolled", ir), lambda: ir, ROLLED), context()


def _rolled_ir(
    tree: Tree,
    function: Function,
    present: tuple[str, ...],
    dtype: np.dtype[Any],
    repeated: Repeated | None,
) -> tuple[str, Callable[[], Context]]:
    """The passes before compiling, and what makes the table of the mechanism that the code reads."""
    target, given = host(), function.given(present)
    lowered = lowered_for(tree, function)
    classes, which = classify(lowered)
    recording = _recorded(lowered, classes, function, given)
    fused = recording.fused() if target.has_fma else recording
    layout = layout_of(lowered, classes)
    places = None if repeated is None else Places.of(repeated, list(given), list(function.outputs))
    ir = rolled_ir(fused, _kinds(given), _kinds(function.outputs), layout, target, dtype, function.shared, places)
    return ir, lambda: context_of(lowered, which, recording.columns, dtype)


def _recorded(lowered: Any, classes: Any, function: Function, given: Mapping[str, str]) -> Recording:
    """The loops of a function; one that asks links for what loops have not is refused by name."""
    try:
        return recorded(lowered, classes, function, given)
    except (AttributeError, TypeError) as error:
        if not any(f"'{kind.__name__}'" in str(error) for kind in (RolledLinks, AnyLink)):
            raise
        raise UnsupportedError(
            f"{function.question}: its algorithm does more with links than to sweep over them, which loops cannot "
            f"({error}); use kernel='unrolled', or declare the Function with loops=False"
        ) from error


def shares_of(tree: Tree, function: Function, links: range, count: int, dtype: np.dtype[Any]) -> Shares:
    """Some links of a chain in so many equal shares, for functions that are lowered as this one."""
    return Shares.of(lowered_for(tree, function), links, count, host().lanes(dtype), dtype)


def share_kernel(shares: Shares, function: Function, present: tuple[str, ...], links: int) -> Kernel:
    """Loops over the first `links` of every share, which are the samples of a call: its sample i is share i."""
    target, given, dtype = host(), function.given(present), shares.constants.dtype
    recording = replace(recorded(shares.share, shares.classes, function, given), columns=shares.columns)
    fused = recording.fused() if target.has_fma else recording
    layout = layout_of(shares.share, shares.classes)
    kinds = _kinds(given), _kinds(function.outputs)
    ir = rolled_ir(fused, *kinds, layout, target, dtype, function.shared, apart=True)
    module, context = compile_cached(("rolled", ir), lambda: ir, ROLLED), shares.context(links)
    sizes = links, int(shares.share.q_start[links]), int(shares.share.v_start[links])
    return _kernel(_signature(sizes, function, present, dtype), module, links, context)


def signature(tree: Tree, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Signature:
    """What a kernel of a function takes and gives, without making it."""
    return _signature((tree.n, tree.nq, tree.nv), function, present, dtype)


def _signature(sizes: Sizes, function: Function, present: tuple[str, ...], dtype: np.dtype[Any]) -> Signature:
    inputs, outputs = function.given(present), function.outputs
    return Signature(function.question, _ports(sizes, inputs, function.positive), _ports(sizes, outputs), dtype)


def _kernel(wanted: Signature, module: Module, links: int = 0, context: Context = ()) -> Kernel:
    question, inputs, outputs, dtype = wanted
    return Kernel(question, module, inputs, outputs, dtype=dtype, links=links, context=context)


def _kinds(arrays: Mapping[str, str]) -> dict[str, Kind]:
    return {name: kind(k) for name, k in arrays.items()}


def _ports(sizes: Sizes, arrays: Mapping[str, str], positive: Sequence[str] = ()) -> tuple[Port, ...]:
    return tuple(Port(name, array_shape(k, *sizes), name in positive) for name, k in arrays.items())
