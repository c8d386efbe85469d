"""The expression graph that an algorithm leaves behind when it runs on traced scalars.

Nodes are hash-consed: building the same expression twice gives the same node. Constants are folded and signs are
pulled outwards while the graph is built, so a robot full of zeros and ones leaves few operations. No rule here
changes the value of an expression by more than a rounding, and none reassociates a sum or a product of variables.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Union

Operand = Union["Expr", float]
"""What stands under an operation: another node, or a number."""

COMMUTATIVE = frozenset({"add", "mul"})
LEAF = "input"
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {"lt": operator.lt, "le": operator.le, "eq": operator.eq}
"""What a choice may depend on. A node of such an op has args (a, b, x, y): x if a < b (a ≤ b, a = b), otherwise y."""


class Comparison(NamedTuple):
    """The condition of a choice: an op of :data:`COMPARISONS` between a and b, as `a < b` makes it of traced scalars.

    It holds for no NaN. It has no truth of its own while tracing: give it to :func:`catena.scalars.where`.
    """

    graph: Graph
    op: str
    a: Operand
    b: Operand

    def __bool__(self) -> bool:
        raise TypeError(
            "the outcome of a comparison is not known while tracing: choose by np.where, catena.scalars.where"
        )


class Expr:
    """One node: an operation on older nodes and numbers, or a leaf ``input`` with args ``(array, index)``.

    ``id`` grows along the graph, so sorting by it is a topological order.
    """

    __slots__ = ("args", "graph", "id", "op")

    def __init__(self, graph: Graph, op: str, args: tuple[Any, ...], id: int) -> None:
        self.graph, self.op, self.args, self.id = graph, op, args, id

    def __add__(self, other: Operand) -> Operand:
        return self.graph.add(self, other)

    def __radd__(self, other: Operand) -> Operand:
        return self.graph.add(other, self)

    def __sub__(self, other: Operand) -> Operand:
        return self.graph.sub(self, other)

    def __rsub__(self, other: Operand) -> Operand:
        return self.graph.sub(other, self)

    def __mul__(self, other: Operand) -> Operand:
        return self.graph.mul(self, other)

    def __rmul__(self, other: Operand) -> Operand:
        return self.graph.mul(other, self)

    def __truediv__(self, other: Operand) -> Operand:
        return self.graph.div(self, other)

    def __rtruediv__(self, other: Operand) -> Operand:
        return self.graph.div(other, self)

    def __neg__(self) -> Operand:
        return self.graph.neg(self)

    def __pow__(self, exponent: int) -> Operand:
        if exponent != 2:
            raise TypeError(f"a traced scalar can only be squared, not raised to {exponent!r}")
        return self.graph.mul(self, self)

    def __abs__(self) -> Operand:
        return self.graph.absolute(self)

    def __lt__(self, other: Operand) -> Comparison:
        return Comparison(self.graph, "lt", self, other)

    def __le__(self, other: Operand) -> Comparison:
        return Comparison(self.graph, "le", self, other)

    def __gt__(self, other: Operand) -> Comparison:
        return Comparison(self.graph, "lt", other, self)

    def __ge__(self, other: Operand) -> Comparison:
        return Comparison(self.graph, "le", other, self)

    def __bool__(self) -> bool:
        raise TypeError(
            "the truth of a traced scalar is not known while tracing: an algorithm may not branch on values"
        )

    def __repr__(self) -> str:
        inside = ", ".join(f"#{a.id}" if isinstance(a, Expr) else repr(a) for a in self.args)
        return f"#{self.id} {self.op}({inside})"


class Graph:
    """A family of nodes that share subexpressions. Make leaves with :meth:`input`, then compute with them."""

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self._known: dict[tuple[Any, ...], Expr] = {}

    def input(self, array: str, index: int) -> Expr:
        """The leaf that stands for component ``index`` of the input ``array``."""
        return self._leaf(LEAF, (array, index))

    def _leaf(self, op: str, args: tuple[Any, ...]) -> Expr:
        key = (op, *args)
        node = self._known.get(key)
        if node is None:
            node = Expr(self, op, args, len(self.nodes))
            self.nodes.append(node)
            self._known[key] = node
        return node

    def _node(self, op: str, *args: Operand) -> Expr:
        key = (op, *[a.id if isinstance(a, Expr) else (float(a),) for a in args])
        node = self._known.get(key)
        if node is None:
            node = Expr(self, op, args, len(self.nodes))
            self.nodes.append(node)
            self._known[key] = node
            if op in COMMUTATIVE:
                self._known[op, key[2], key[1]] = node
        return node

    def add(self, x: Operand, y: Operand) -> Operand:
        """x + y."""
        if not isinstance(y, Expr):
            x, y = y, x
        if not isinstance(y, Expr):
            return x + y
        if not isinstance(x, Expr):
            if x == 0.0:
                return y
        elif x.op == "neg":
            return self.sub(y, x.args[0])
        if y.op == "neg":
            return self.sub(x, y.args[0])
        return self._node("add", x, y)

    def sub(self, x: Operand, y: Operand) -> Operand:
        """x - y, or minus a difference the other way round that is already known."""
        if not isinstance(y, Expr):
            return self.add(x, -y)
        if y.op == "neg":
            return self.add(x, y.args[0])
        if not isinstance(x, Expr):
            return self.neg(y) if x == 0.0 else self._node("sub", x, y)
        if x is y:
            return 0.0
        if x.op == "neg":
            return self.neg(self.add(x.args[0], y))
        known = self._known.get(("sub", y.id, x.id))
        return self.neg(known) if known is not None else self._node("sub", x, y)

    def neg(self, x: Operand) -> Operand:
        """-x."""
        if not isinstance(x, Expr):
            return -x
        if x.op == "neg":
            inner: Operand = x.args[0]
            return inner
        if x.op == "mul" and not isinstance(x.args[0], Expr):
            return self.mul(-x.args[0], x.args[1])
        return self._node("neg", x)

    def mul(self, x: Operand, y: Operand) -> Operand:
        """x y."""
        if not isinstance(y, Expr):
            x, y = y, x
        if not isinstance(y, Expr):
            return x * y
        if not isinstance(x, Expr):
            return self._scaled(x, y)
        if x.op == "neg":
            return self.neg(self.mul(x.args[0], y))
        if y.op == "neg":
            return self.neg(self.mul(x, y.args[0]))
        for quotient, other in ((x, y), (y, x)):
            if quotient.op == "div" and quotient.args[1] is other:
                numerator: Operand = quotient.args[0]
                return numerator
        return self._node("mul", x, y)

    def _scaled(self, factor: float, x: Expr) -> Operand:
        """A number times x. The number comes first, and takes in the number that x is a multiple of."""
        if factor == 0.0:
            return 0.0
        if factor == 1.0:
            return x
        if factor == -1.0:
            return self.neg(x)
        if x.op == "neg":
            return self.mul(-factor, x.args[0])
        if x.op == "mul" and not isinstance(x.args[0], Expr):
            return self.mul(factor * x.args[0], x.args[1])
        return self._node("mul", factor, x)

    def div(self, x: Operand, y: Operand) -> Operand:
        """x / y."""
        if not isinstance(y, Expr):
            return _quotient(x, y) if not isinstance(x, Expr) else self.mul(x, _quotient(1.0, y))
        if not isinstance(x, Expr) and x == 0.0:
            return 0.0
        if x is y:
            return 1.0
        if y.op == "neg":
            return self.neg(self.div(x, y.args[0]))
        if isinstance(x, Expr) and x.op == "neg":
            return self.neg(self.div(x.args[0], y))
        return self._node("div", x, y)

    def sin(self, x: Operand) -> Operand:
        """The sine of x in radians."""
        if not isinstance(x, Expr):
            return math.sin(x)
        return self.neg(self.sin(x.args[0])) if x.op == "neg" else self._node("sin", x)

    def cos(self, x: Operand) -> Operand:
        """The cosine of x in radians."""
        if not isinstance(x, Expr):
            return math.cos(x)
        return self.cos(x.args[0]) if x.op == "neg" else self._node("cos", x)

    def sqrt(self, x: Operand) -> Operand:
        """The square root of x."""
        return self._node("sqrt", x) if isinstance(x, Expr) else math.sqrt(x)

    def log(self, x: Operand) -> Operand:
        """The natural logarithm of x."""
        return self._node("log", x) if isinstance(x, Expr) else math.log(x)

    def exp(self, x: Operand) -> Operand:
        """e to the power x."""
        return self._node("exp", x) if isinstance(x, Expr) else math.exp(x)

    def arctan2(self, y: Operand, x: Operand) -> Operand:
        """The angle of the point (x, y) in radians, from -π to π."""
        if not isinstance(y, Expr) and not isinstance(x, Expr):
            return math.atan2(y, x)
        return self._node("arctan2", y, x)

    def absolute(self, x: Operand) -> Operand:
        """|x|: x without its sign."""
        if not isinstance(x, Expr):
            return abs(x)
        if x.op == "neg":
            return self.absolute(x.args[0])
        return x if x.op in ("abs", "exp") else self._node("abs", x)

    def nearest(self, x: Operand) -> Operand:
        """The nearest integer, the even one of two."""
        if not isinstance(x, Expr):
            return float(round(x)) if math.isfinite(x) else x
        return self.neg(self.nearest(x.args[0])) if x.op == "neg" else self._node("round", x)

    def select(self, op: str, a: Operand, b: Operand, x: Operand, y: Operand) -> Operand:
        """X if the comparison `op` of a and b holds, otherwise y: then too, if a or b is NaN."""
        if not isinstance(a, Expr) and not isinstance(b, Expr):
            return x if COMPARISONS[op](a, b) else y
        if x is y or (not isinstance(x, Expr) and not isinstance(y, Expr) and repr(float(x)) == repr(float(y))):
            return x
        if a is b and op == "lt":
            return y
        return self._node(op, a, b, x, y)


def _quotient(x: float, y: float) -> float:
    """X / y as processors divide: what is folded must not fail where the machine code would go on."""
    if y != 0.0:
        return x / y
    return math.nan if x == 0.0 or x != x else math.copysign(math.inf, x) * math.copysign(1.0, y)


def live(outputs: Iterable[Operand]) -> list[Expr]:
    """Every node that the outputs need, in an order in which they can be computed."""
    seen: dict[int, Expr] = {}
    stack = [x for x in outputs if isinstance(x, Expr)]
    while stack:
        node = stack.pop()
        if node.id not in seen:
            seen[node.id] = node
            stack += [a for a in node.args if isinstance(a, Expr)]
    return [seen[i] for i in sorted(seen)]
