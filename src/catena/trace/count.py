"""Operations of an expression graph, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from catena.trace.fuse import fuse
from catena.trace.graph import COMPARISONS, LEAF, Expr, Operand, live

CONSTANT = "constant"
"""The input array whose leaves stand for numbers known beforehand: what depends on them alone costs nothing."""


@dataclass(frozen=True)
class Count:
    """How many operations of each kind; additions include subtractions.

    Changes of sign are listed but belong to no total: an addition or a multiply-add takes them in. Each sine and each
    cosine counts as one, and so does a choice with its comparison.
    """

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    fused_multiply_adds: int = 0
    square_roots: int = 0
    sines_and_cosines: int = 0
    logarithms: int = 0
    exponentials: int = 0
    arctangents: int = 0
    absolute_values: int = 0
    roundings: int = 0
    choices: int = 0
    sign_changes: int = 0

    @property
    def total(self) -> int:
        """All operations but changes of sign."""
        arithmetic = self.multiplications + self.additions + self.divisions + self.fused_multiply_adds
        functions = self.square_roots + self.sines_and_cosines + self.logarithms + self.exponentials + self.arctangents
        return arithmetic + functions + self.absolute_values + self.roundings + self.choices


_NAMES = {
    "mul": "multiplications",
    "add": "additions",
    "sub": "additions",
    "div": "divisions",
    "fma": "fused_multiply_adds",
    "sqrt": "square_roots",
    "sin": "sines_and_cosines",
    "cos": "sines_and_cosines",
    "log": "logarithms",
    "exp": "exponentials",
    "arctan2": "arctangents",
    "abs": "absolute_values",
    "round": "roundings",
    **dict.fromkeys(COMPARISONS, "choices"),
    "neg": "sign_changes",
}


def count_operations(outputs: Iterable[Operand]) -> Count:
    """The operations that the outputs need, each shared one counted once."""
    known: set[int] = set()
    found: Counter[str] = Counter()
    for node in live(outputs):
        if node.op == LEAF:
            free = node.args[0] == CONSTANT
        else:
            free = all(not isinstance(x, Expr) or x.id in known for x in node.args)
        if free:
            known.add(node.id)
        elif node.op != LEAF:
            found[_NAMES[node.op]] += 1
    return Count(**found)


def count_fused(outputs: Iterable[Operand]) -> Count:
    """The same after products and sums have been fused into multiply-adds, as the kernels run them."""
    return count_operations(fuse(list(outputs)))
