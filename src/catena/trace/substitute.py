"""Expressions with some of their nodes replaced by others: everything above those is built anew, and folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catena.trace.graph import COMPARISONS, LEAF, Expr, Graph, Operand

_METHODS: Mapping[str, Callable[..., Operand]] = {
    "add": Graph.add,
    "sub": Graph.sub,
    "neg": Graph.neg,
    "mul": Graph.mul,
    "div": Graph.div,
    "sin": Graph.sin,
    "cos": Graph.cos,
    "sqrt": Graph.sqrt,
    "log": Graph.log,
    "exp": Graph.exp,
    "arctan2": Graph.arctan2,
    "abs": Graph.absolute,
    "round": Graph.nearest,
}


def substituted(
    outputs: Sequence[Operand], instead: Callable[[Expr], Operand | None], graph: Graph | None = None
) -> list[Operand]:
    """The outputs with each node replaced by what `instead` says, which is asked from the outputs down.

    Where it says None the node stays, made of what takes the place of its arguments; it is not asked about nodes that
    are only needed below a replaced one. What is built anew belongs to the graph that is given, or else to that of the
    outputs.
    """
    new: dict[int, Operand] = {}
    kept: dict[int, Expr] = {}
    stack = [x for x in outputs if isinstance(x, Expr)]
    while stack:
        node = stack.pop()
        if node.id in new or node.id in kept:
            continue
        if (other := instead(node)) is not None:
            new[node.id] = other
        else:
            kept[node.id] = node
            stack += [a for a in node.args if isinstance(a, Expr)] if node.op != LEAF else []

    def get(x: Any) -> Any:
        return new[x.id] if isinstance(x, Expr) else x

    for i in sorted(kept):
        node = kept[i]
        args = [get(a) for a in node.args] if node.op != LEAF else []
        if node.op == LEAF or all(x is y for x, y in zip(args, node.args, strict=True)):
            new[i] = node
        elif node.op in COMPARISONS:
            new[i] = (graph or node.graph).select(node.op, *args)
        else:
            new[i] = _METHODS[node.op](graph or node.graph, *args)
    return [get(x) for x in outputs]
