"""Operation counts of the algorithms, found by tracing them: for a robot, or as formulas in n for general chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import count as numbers_from
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from catena.arguments.scalars import a_robot
from catena.functions.catalogue import function_named
from catena.functions.coupled_recipes import served
from catena.functions.function import Function
from catena.functions.on_scalars import evaluate, trace_for
from catena.model.dh import from_dh
from catena.model.tree import Tree
from catena.scalars import Scalar
from catena.trace.count import CONSTANT, Count, count_fused, count_operations
from catena.trace.graph import Expr, Graph

if TYPE_CHECKING:
    from catena.robot import Robot


def count(robot: Robot, function: str | Function = "forward_dynamics", *, fused: bool = False) -> Count:
    """Count the arithmetic operations that one evaluation of a function takes for a robot.

        catena.count(robot, "forward_dynamics/udu").total

    The numbers of the robot are folded in, as in its straight-line machine code. `function` is a name in
    `catena.functions.catalogue.FUNCTIONS`, or a Function of your own. Forward dynamics includes the bias torques,
    gravity and the sines and cosines of the joints' angles; there are no external wrenches. With `fused=True`, products
    and sums are counted as the fused multiply-adds that the machine code runs. Returns a `Count`. Cost: O(n) time and
    memory (O(n³) where a whole matrix is made).
    """
    chosen = function if isinstance(function, Function) else function_named(function)
    chosen = served(a_robot("count", robot).tree, chosen)
    outputs = trace_for(robot.tree, chosen, ())[1]
    expressions = [x for output in outputs.values() for x in output]
    return count_fused(expressions) if fused else count_operations(expressions)


def general_chain(n: int, seed: int = 0, *, upright: bool = False) -> Tree:
    """A revolute chain of n links whose DH parameters, inertias and gravity have no zero and no special value.

    If it stands `upright`, gravity acts along its first axis, which is the z axis of the base.

    Links get lighter towards the tip: none is light beside what it carries, so inertias are regrouped throughout.
    """
    rng = np.random.default_rng(seed)
    scale = 0.8 ** np.arange(n)
    roots = rng.normal(size=(n, 3, 3))
    return from_dh(
        a=rng.uniform(0.3, 0.7, n),
        alpha=rng.uniform(0.4, 1.2, n) * np.where(upright, np.arange(n) > 0, 1),
        d=rng.uniform(0.3, 0.7, n),
        convention="modified",
        masses=scale * rng.uniform(1.0, 2.0, n),
        coms=rng.uniform(0.1, 0.3, (n, 3)),
        inertias=scale[:, None, None] * (0.1 * roots @ np.swapaxes(roots, 1, 2) + np.eye(3)),
        gravity=(0, 0, -9.4) if upright else (1.7, 2.3, -9.4),
    )


def count_general(function: Function, n: int, seed: int = 0, *, upright: bool = False) -> Count:
    """The operations for a general revolute DH chain of n links.

    The chain's constants are leaves, so nothing is saved by the luck of numbers: only zeros and ones that the choice of
    frames and the regrouping of inertias bring about in every such chain. What depends on constants alone is free.
    """
    graph, fresh = Graph(), numbers_from()

    def leaf(x: Scalar) -> Scalar:
        if isinstance(x, Expr) or x in (0, 1, -1):
            return x
        return graph.input(CONSTANT, next(fresh))

    tree = general_chain(n, seed, upright=upright)
    values = {name: [graph.input(name, i) for i in range(tree.nv)] for name in function.given(())}
    outputs = evaluate(tree, function, values, leaf)
    return count_operations([x for output in outputs.values() for x in output.ravel()])


@dataclass(frozen=True)
class Formula:
    """A polynomial in n with rational coefficients, the constant one first."""

    coefficients: tuple[Fraction, ...]

    @classmethod
    def through(cls, values: Callable[[int], int], degree: int, start: int) -> Formula:
        """The polynomial that takes these values at degree + 1 numbers from `start` on."""
        points = range(start, start + degree + 1)
        table = [Fraction(values(n)) for n in points]
        coefficients = [Fraction(0)]
        for k in range(degree, -1, -1):  # Newton's divided differences, multiplied out from the highest
            shifted = [Fraction(0), *coefficients]
            coefficients = [x - points[k] * y for x, y in zip(shifted, [*coefficients, Fraction(0)], strict=True)]
            coefficients[0] += _difference(table[: k + 1])
        return cls(tuple(coefficients[: degree + 1]))

    def __call__(self, n: int) -> Fraction:
        """The value at n."""
        return sum((c * n**power for power, c in enumerate(self.coefficients)), Fraction(0))

    def __add__(self, other: Formula) -> Formula:
        size = max(len(self.coefficients), len(other.coefficients))
        padded = [(*f.coefficients, *[Fraction(0)] * (size - len(f.coefficients))) for f in (self, other)]
        return Formula(tuple(x + y for x, y in zip(*padded, strict=True)))

    def __str__(self) -> str:
        powers = {0: "", 1: " n", 2: " n²", 3: " n³"}
        text = ""
        for power, c in reversed(list(enumerate(self.coefficients))):
            if c:
                sign = (" − " if c < 0 else " + ") if text else ("−" if c < 0 else "")
                text += f"{sign}{abs(c)}{powers[power]}"
        return text or "0"


def _difference(values: list[Fraction]) -> Fraction:
    """The divided difference of values at consecutive integers."""
    order, factorial = len(values) - 1, 1
    while len(values) > 1:
        values = [b - a for a, b in pairwise(values)]
    for k in range(2, order + 1):
        factorial *= k
    return values[0] / factorial


@dataclass(frozen=True)
class Cost:
    """The operations of a method on general revolute DH chains of n >= `start` links, as exact formulas."""

    name: str
    includes: str
    multiplications: Formula
    additions: Formula
    start: int

    @property
    def total(self) -> Formula:
        """Multiplications, divisions and additions together."""
        return self.multiplications + self.additions


START = 4
"""From this many links on every formula holds."""


@cache
def cost(function: str, degree: int, includes: str) -> Cost:
    """The exact formulas of a function whose cost is a polynomial of that degree; divisions count with products."""
    counted = cache(lambda n: count_general(function_named(function), n))
    return Cost(
        function,
        includes,
        Formula.through(lambda n: counted(n).multiplications + counted(n).divisions, degree, START),
        Formula.through(lambda n: counted(n).additions, degree, START),
        START,
    )


_ALL = "bias torques and gravity"
_SOLVE = "I⁻¹ τ alone"

SAHA = Cost(
    "Saha (1995)",
    "as published; bias torques: not said",
    Formula((Fraction(-335), Fraction(201))),
    Formula((Fraction(-361), Fraction(193))),
    2,
)


def table() -> list[Cost]:
    """The methods of forward dynamics on general revolute DH chains side by side, the published count first."""
    return [
        SAHA,
        cost("forward_dynamics/udu", 1, _ALL),
        cost("forward_dynamics/fd3", 1, _ALL),
        cost("forward_dynamics/fd4", 1, _ALL),
        cost("forward_dynamics/dense", 3, _ALL),
        cost("udu/solve", 1, _SOLVE),
        cost("dense/solve", 3, _SOLVE),
        cost("bias", 1, "the same alone"),
        cost("inverse_dynamics", 1, "accelerations too"),
    ]


def crossover(linear: Cost, cubic: Cost, limit: int = 1000) -> int | None:
    """The number of links from which on the first method takes fewer operations than the second, up to `limit`."""
    cheaper = [linear.total(n) < cubic.total(n) for n in range(START, limit + 1)]
    if not cheaper[-1]:
        return None
    return START + len(cheaper) - next((i for i, x in enumerate(reversed(cheaper)) if not x), len(cheaper))
