"""Derivatives of a traced graph: new expressions in the same graph, so that everything they share is computed once.

Forward, :func:`tangents` carries one direction through the graph at the cost of a few evaluations whatever the number
of outputs. In reverse, :func:`cotangents` gives the slopes of a weighted sum of outputs along every leaf at that cost,
:func:`gradient` those of one output. :func:`jacobian` takes the reverse way output by output and touches only what an
output depends on, so a sparse Jacobian costs what its entries cost. The same for recorded sweeps:
:mod:`catena.trace.recorder.derivatives`.

At kinks: |x| has slope 0 at 0; a choice has the slope of the branch it takes, also where the condition just changes;
rounding has slope 0 everywhere. The branch that is not taken is computed all the same, so its slope must be finite: a
NaN or an infinity there would spoil the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from catena.trace.graph import COMPARISONS, LEAF, Expr, Graph, Operand, live

Slopes = Callable[[Graph, Expr], list[Operand]]


def _quotient(g: Graph, node: Expr) -> list[Operand]:
    reciprocal = g.div(1.0, node.args[1])
    return [reciprocal, g.neg(g.mul(node, reciprocal))]


def _arctan2(g: Graph, node: Expr) -> list[Operand]:
    y, x = node.args
    squared = g.add(g.mul(x, x), g.mul(y, y))
    return [g.div(x, squared), g.neg(g.div(y, squared))]


def _sign(g: Graph, node: Expr) -> list[Operand]:
    x = node.args[0]
    return [g.select("lt", x, 0.0, -1.0, g.select("lt", 0.0, x, 1.0, 0.0))]


SLOPES: Mapping[str, Slopes] = {
    "add": lambda g, node: [1.0, 1.0],
    "sub": lambda g, node: [1.0, -1.0],
    "neg": lambda g, node: [-1.0],
    "mul": lambda g, node: [node.args[1], node.args[0]],
    "fma": lambda g, node: [node.args[1], node.args[0], 1.0],
    "div": _quotient,
    "sin": lambda g, node: [g.cos(node.args[0])],
    "cos": lambda g, node: [g.neg(g.sin(node.args[0]))],
    "sqrt": lambda g, node: [g.div(0.5, node)],
    "log": lambda g, node: [g.div(1.0, node.args[0])],
    "exp": lambda g, node: [node],
    "arctan2": _arctan2,
    "abs": _sign,
    "round": lambda g, node: [0.0],
}
"""For each operation but choices, its derivatives by its arguments, as expressions."""


def _slopes(node: Expr) -> list[tuple[Expr, Operand]]:
    """The arguments of a node that are expressions, each with the node's derivative by it."""
    if node.op not in SLOPES:
        raise TypeError(f"the derivative of the operation {node.op!r} is not known")
    pairs = zip(node.args, SLOPES[node.op](node.graph, node), strict=True)
    return [(argument, slope) for argument, slope in pairs if isinstance(argument, Expr)]


def tangents(outputs: Sequence[Operand], directions: Mapping[Expr, Operand]) -> list[Operand]:
    """How each output changes when every leaf in `directions` changes at the rate given there: forward mode."""
    rates: dict[int, Operand] = {leaf.id: value for leaf, value in directions.items()}

    def rate(x: Operand) -> Operand:
        return rates.get(x.id, 0.0) if isinstance(x, Expr) else 0.0

    for node in live(outputs):
        g = node.graph
        if node.op in COMPARISONS:
            a, b, x, y = node.args
            rates[node.id] = g.select(node.op, a, b, rate(x), rate(y))
        elif node.op != LEAF and any(rate(a) != 0.0 for a in node.args):
            rates[node.id] = _total(g, [g.mul(slope, rate(a)) for a, slope in _slopes(node)])
    return [rate(x) for x in outputs]


def cotangents(outputs: Sequence[Operand], weights: Sequence[Operand]) -> dict[Expr, Operand]:
    """The derivatives of the sum of weighted outputs by every leaf it depends on: reverse mode.

    The weights count as constants, whatever they are made of.
    """
    parts: dict[int, list[Operand]] = {}
    for output, weight in zip(outputs, weights, strict=True):
        if isinstance(output, Expr) and weight != 0.0:
            parts.setdefault(output.id, []).append(weight)
    found: dict[Expr, Operand] = {}
    for node in reversed(live(outputs)):
        g, total = node.graph, _total(node.graph, parts.pop(node.id, []))
        if total == 0.0:
            continue
        if node.op == LEAF:
            found[node] = total
        elif node.op in COMPARISONS:
            a, b, x, y = node.args
            for branch, weight in ((x, g.select(node.op, a, b, total, 0.0)), (y, g.select(node.op, a, b, 0.0, total))):
                if isinstance(branch, Expr):
                    parts.setdefault(branch.id, []).append(weight)
        else:
            for argument, slope in _slopes(node):
                parts.setdefault(argument.id, []).append(g.mul(total, slope))
    return found


def gradient(output: Operand) -> dict[Expr, Operand]:
    """The derivatives of one output by every leaf it depends on: reverse mode."""
    return cotangents([output], [1.0])


def jacobian(outputs: Sequence[Operand], leaves: Sequence[Expr]) -> dict[tuple[int, int], Operand]:
    """The entries (output, leaf) of the Jacobian that are not zero whatever the leaves are."""
    column = {leaf.id: j for j, leaf in enumerate(leaves)}
    entries: dict[tuple[int, int], Operand] = {}
    for i, output in enumerate(outputs):
        for leaf, slope in gradient(output).items():
            if leaf.id in column and (isinstance(slope, Expr) or slope != 0.0):
                entries[i, column[leaf.id]] = slope
    return entries


def _total(graph: Graph, terms: Sequence[Operand]) -> Operand:
    total: Operand = 0.0
    for term in terms:
        total = graph.add(total, term)
    return total
