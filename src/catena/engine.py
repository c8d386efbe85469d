"""From an algorithm to something that can be called: on any scalar, or as a kernel for arrays.

A kernel comes in two shapes from the same source: *unrolled*, straight-line code with the robot's numbers folded in, for mechanisms
of up to :data:`UNROLLED` links; and *rolled*, loops over the links, for longer ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import UnsupportedError
from catena.kinds import Function, Kind, dense_shape, is_dense, kind
from catena.model.lowered import Lowered, lower
from catena.scalars import Scalar
from catena.sweeps import RealField, RealLinks
from catena.trace.graph import Graph, Operand

if TYPE_CHECKING:
    from catena.kernels.call import Kernel
    from catena.model.tree import Tree
    from catena.robot import Robot

UNROLLED = 60
"""Up to this many links a kernel is unrolled unless asked otherwise."""

Traced = tuple[dict[str, int], dict[str, list[Operand]]]


def evaluate(tree: Tree, function: Function, values: Mapping[str, Any], scalar: Callable[[float], Scalar] = float) -> Any:
    """The readable reference: run the algorithm link by link on scalars made by ``scalar``.

    ``values`` holds the inputs by name; those left out must be optional. Returns what the algorithm returns with fields turned
    into nested lists, one entry for each output.
    """
    links = RealLinks(lower(tree, regroup=function.regroup, choose=function.choose), scalar)
    fields = {}
    for name, kind_name in function.given(tuple(values)).items():
        numbers = [scalar(x) for x in np.ravel(np.asarray(values[name], dtype=object)).tolist()]
        fields[name] = _spread(links, kind(kind_name), numbers)
    results = _outputs(function, links, function.algorithm(links, *_arguments(function, fields)))
    return {name: np.array(numbers, dtype=object).reshape(shape) for name, (numbers, shape) in results.items()}


def trace(lowered: Lowered, function: Function, present: tuple[str, ...] = ()) -> Traced:
    """Run the algorithm link by link on expressions: sizes of the inputs, expressions of the outputs."""
    graph, links = Graph(), RealLinks(lowered)
    sizes, fields = {}, {}
    for name, kind_name in function.given(present).items():
        k = kind(kind_name)
        sizes[name] = int(np.prod(k.full_shape(*_sizes(lowered)))) if k.per != "robot" else k.width
        fields[name] = _spread(links, k, [graph.input(name, i) for i in range(sizes[name])])
    results = _outputs(function, links, function.algorithm(links, *_arguments(function, fields)))
    return sizes, {name: numbers for name, (numbers, _) in results.items()}


def _sizes(lowered: Lowered) -> tuple[int, int, int]:
    return lowered.n, int(lowered.q_start[-1]), int(lowered.v_start[-1])


def _arguments(function: Function, fields: Mapping[str, Any]) -> list[Any]:
    return [fields.get(name) for name in function.inputs]


def _spread(links: RealLinks, k: Kind, numbers: Sequence[Scalar]) -> Any:
    """One long vector of numbers as a field of objects, or as one object for the whole robot."""
    if k.per == "robot":
        return k.build(list(numbers))
    field, at = RealField(), 0
    for link in links:
        count = k.count(link.kind.nq, link.kind.nv)
        field[link] = k.build(list(numbers[at : at + count]))
        at += count
    return field


def _outputs(function: Function, links: RealLinks, result: Any) -> dict[str, tuple[list[Scalar], tuple[int, ...]]]:
    """The outputs by name: their scalars in one long list, and their shapes."""
    results = result if isinstance(result, tuple) else (result,)
    outputs = {}
    for (name, kind_name), value in zip(function.outputs.items(), results, strict=True):
        if is_dense(kind_name):
            shape = dense_shape(kind_name, *_sizes(links.lowered))
            outputs[name] = list(np.array(value, dtype=object).ravel()), shape
            continue
        k = kind(kind_name)
        if k.per == "robot":
            outputs[name] = k.take(value[links.base]), k.shape
        else:
            shape = k.full_shape(*_sizes(links.lowered))
            outputs[name] = [x for link in links for x in k.take(value[link])], shape
    return outputs


def kernel(
    robot: Robot,
    function: Function,
    *,
    present: tuple[str, ...] = (),
    dtype: Any = np.float64,
    shape: str | None = None,
) -> Kernel:
    """The machine code of a function for a robot, compiled at most once: a callable on arrays with leading batch dimensions.

    ``present`` names the optional inputs that calls will give, ``shape`` forces "unrolled" or "rolled".
    """
    shape = _shape_for(robot, function, shape)
    key = (function.name, present, np.dtype(dtype).name, shape)
    known: dict[tuple[Any, ...], Kernel] = robot.__dict__.setdefault("_kernels", {})
    if key not in known:
        from catena.kernels.build import rolled_kernel, unrolled_kernel

        build = unrolled_kernel if shape == "unrolled" else rolled_kernel
        known[key] = build(robot.tree, function, present, np.dtype(dtype))
    return known[key]


def _shape_for(robot: Robot, function: Function, shape: str | None) -> str:
    if shape is None:
        return "unrolled" if function.dense or robot.tree.n <= UNROLLED else "rolled"
    if shape not in ("unrolled", "rolled"):
        raise UnsupportedError(f"there is no kernel shape {shape!r}; expected 'unrolled', 'rolled' or None")
    if shape == "rolled" and function.dense:
        raise UnsupportedError(f"{function.name} makes a whole matrix, which only unrolled kernels can")
    return shape


def lowered_for(tree: Tree, function: Function) -> Lowered:
    """The mechanism lowered as far as the function allows."""
    return lower(tree, regroup=function.regroup, choose=function.choose)
