"""Multiply-adds, fused in the graph rather than by the compiler, so that every lane count gives the same bits."""

from __future__ import annotations

from collections import Counter

from catena.trace.graph import LEAF, Expr, Graph, Operand, live


def fuse(outputs: list[Operand]) -> list[Operand]:
    """The same outputs in a new graph where x y ± z, with a product used only there, is one ``fma`` node.

    ``fma`` has args (x, y, z) and means x y + z rounded once; a minus sign stands as a ``neg`` node in front of x
    or of z, which instruction sets take for free.
    """
    nodes = live(outputs)
    uses = Counter(a.id for node in nodes for a in node.args if isinstance(a, Expr))
    uses.update(x.id for x in outputs if isinstance(x, Expr))
    graph = Graph()
    new: dict[int, Operand] = {}

    def get(x: Operand) -> Operand:
        return new[x.id] if isinstance(x, Expr) else x

    def product(x: Operand) -> tuple[Operand, Operand] | None:
        """The factors of x when x is a product that nobody else needs."""
        if isinstance(x, Expr) and x.op == "mul" and uses[x.id] == 1:
            return get(x.args[0]), get(x.args[1])
        return None

    def fma(x: Operand, y: Operand, z: Operand) -> Expr:
        return graph._node("fma", x, y, z)

    for node in nodes:
        args = node.args
        if node.op == LEAF:
            new[node.id] = graph.input(*args)
            continue
        if node.op in ("add", "sub"):
            left, right = product(args[0]), product(args[1])
            if right is not None:
                x = graph.neg(right[0]) if node.op == "sub" else right[0]
                new[node.id] = fma(x, right[1], get(args[0]))
                continue
            if left is not None:
                z = graph.neg(get(args[1])) if node.op == "sub" else get(args[1])
                new[node.id] = fma(left[0], left[1], z)
                continue
        new[node.id] = graph._node(node.op, *[get(a) for a in args])
    return [get(x) for x in outputs]
