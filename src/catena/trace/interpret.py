"""The values of a traced graph, node by node with NumPy: for graphs that are evaluated too seldom to be compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.trace.graph import COMPARISONS, LEAF, Expr, Operand, live

Array = npt.NDArray[Any]


def _choice(holds: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda a, b, x, y: np.where(holds(a, b), x, y)


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "neg": np.negative,
    "mul": np.multiply,
    "div": np.divide,
    "fma": lambda x, y, z: x * y + z,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "arctan2": np.arctan2,
    "abs": np.abs,
    "round": np.rint,
    **{op: _choice(holds) for op, holds in COMPARISONS.items()},
}


def values(outputs: Sequence[Operand], inputs: Mapping[str, Array]) -> Array:
    """The outputs, stacked along a new last axis; `inputs[name][..., i]` is the leaf (name, i). Any float dtype."""
    known: dict[int, Any] = {}

    def get(x: Operand) -> Any:
        return known[x.id] if isinstance(x, Expr) else x

    for node in live(outputs):
        if node.op == LEAF:
            name, index = node.args
            known[node.id] = inputs[name][..., index]
        else:
            known[node.id] = _OPERATIONS[node.op](*[get(a) for a in node.args])
    shape = np.broadcast_shapes(*[np.shape(array)[:-1] for array in inputs.values()])
    dtype = np.result_type(*inputs.values())
    result = np.empty((*shape, len(outputs)), dtype)
    for i, x in enumerate(outputs):
        result[..., i] = get(x)
    return result
