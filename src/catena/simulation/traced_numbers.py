"""Numbers and truth values as functions of users see them while they are traced.

What is not written here is refused by a TypeError, never guessed: then the function is called from Python instead. So
a branch on a value, a conversion, a dictionary, or a comparison that a list makes cannot slip through.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from catena import scalars
from catena.errors import kind_of
from catena.trace.graph import COMPARISONS, Expr

MOST_POWER = 64
"""The largest power that is written out as products."""


def refused(what: str) -> NoReturn:
    """The error of what cannot be traced."""
    raise TypeError(f"{what} is not known of traced numbers")


class Number:
    """A traced number. `python` says whether it is a float of Python's where the function is called, as t is."""

    __slots__ = ("expr", "python")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expr: Expr, python: bool = False) -> None:
        self.expr, self.python = expr, python

    def __bool__(self) -> bool:
        raise TypeError("the truth of a traced number is not known while tracing: choose by np.where")

    def __repr__(self) -> str:  # what is printed once while tracing would be printed at each step
        return refused("printing")

    def __pos__(self) -> Any:
        return self

    def __neg__(self) -> Any:
        return _number(-self.expr, self.python)

    def __abs__(self) -> Any:
        return _number(abs(self.expr), self.python)

    def __pow__(self, n: Any) -> Any:
        return power(self, n)


class Truth:
    """A traced truth value: whether a number, one or zero, is one. With `python`, a bool of Python's, not NumPy's."""

    __slots__ = ("expr", "python")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expr: Expr, python: bool = False) -> None:
        self.expr, self.python = expr, python

    def __bool__(self) -> bool:
        raise TypeError("the outcome of a comparison is not known while tracing: choose by np.where")

    def __repr__(self) -> str:  # what is printed once while tracing would be printed at each step
        return refused("printing")

    def __invert__(self) -> Any:
        return negated(self)


TRACED = (Number, Truth)
_BOOLS = (Truth, bool, np.bool_)


def heard() -> list[Any]:
    """What arithmetic raises or tells besides its results: how NumPy's errors are treated, and warnings as errors."""
    loud = [how for how in np.geterr().values() if how not in ("ignore", "warn")]
    return loud + (list(warnings.filters) if any(action == "error" for action, *_ in warnings.filters) else [])


UNHEARD: ContextVar[list[Any]] = ContextVar("UNHEARD")
"""Of what is heard, what a function that is traced does not catch: it was so before."""

FAILING: ContextVar[list[int]] = ContextVar("FAILING")
"""In how many quotients of Python's floats one divides by zero, counted down; below zero if none does."""


def _number(value: Any, python: bool = False) -> Any:
    if (loud := heard()) and loud != UNHEARD.get(None):
        refused("errors of arithmetic, to be raised or called,")
    return Number(value, python) if isinstance(value, Expr) else value


def _truth(value: Any, python: bool = False) -> Any:
    """A number that is one or zero as a truth value."""
    return Truth(value, python) if isinstance(value, Expr) else bool(value)


def value_of(x: Any) -> Any:
    """The expression or float behind what a function computes with, truth values as one or zero."""
    if isinstance(x, np.ndarray) and not x.shape:
        x = x.item()
    if isinstance(x, TRACED):
        return x.expr
    if isinstance(x, Expr):
        return x
    if isinstance(x, bool | np.bool_ | int | np.integer | float | np.floating):
        return float(x)
    return refused(kind_of(x))


def _python(*given: Any) -> bool:
    return all(x.python if isinstance(x, TRACED) else isinstance(x, bool | int | float) for x in given)


def _known(x: Any) -> bool:
    return isinstance(x, (*TRACED, bool, int, float, np.generic))


def arithmetic(name: str, operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operation of two numbers; truth values are numbers only beside numbers, as `bool + bool` is none."""

    def apply(x: Any, y: Any) -> Any:
        if isinstance(x, _BOOLS) and isinstance(y, _BOOLS):
            return refused(f"{name} of two truth values")
        return _number(operation(value_of(x), value_of(y)), _python(x, y))

    return apply


def _divided(x: Any, y: Any) -> Any:
    if x is y or (not isinstance(x, Expr) and x == 0.0):
        return refused("a number divided by itself, or zero by a number,")  # which may be 0 / 0
    return x / y


def _multiplied(x: Any, y: Any) -> Any:
    for a, b in ((x, y), (y, x)):
        if isinstance(a, Expr) and a.op == "div" and a.args[1] is b:
            return refused("a quotient times its divisor")  # which may be 0 / 0
    return x * y


ADD = arithmetic("a sum", lambda x, y: x + y)
SUBTRACT = arithmetic("a difference", lambda x, y: x - y)
MULTIPLY = arithmetic("a product", _multiplied)
_DIVIDE = arithmetic("a quotient", _divided)


def DIVIDE(x: Any, y: Any) -> Any:
    """A quotient, of which that of Python's floats raises an error where it divides by zero."""
    if isinstance(y, Number) and _python(x, y) and (left := FAILING.get(None)) is not None:
        left[0] -= 1
        if not left[0]:
            raise ZeroDivisionError
    return _DIVIDE(x, y)


def compared(holds: Callable[[Any, Any], Any], negative: bool = False) -> Callable[[Any, Any], Any]:
    """A comparison, or the negative of one, as a truth value."""

    def apply(x: Any, y: Any) -> Any:
        found = scalars.where(holds(value_of(x), value_of(y)), *((0.0, 1.0) if negative else (1.0, 0.0)))
        return _truth(found, _python(x, y))

    return apply


LESS = compared(lambda x, y: x < y)
LESS_EQUAL = compared(lambda x, y: x <= y)
GREATER = compared(lambda x, y: x > y)
GREATER_EQUAL = compared(lambda x, y: x >= y)
EQUAL = compared(scalars.equal)
NOT_EQUAL = compared(scalars.equal, negative=True)


def _both_bools(name: str, x: Any, y: Any) -> None:
    if not (isinstance(x, _BOOLS) and isinstance(y, _BOOLS)):
        refused(f"{name} of numbers")


def both(x: Any, y: Any) -> Any:
    """Whether both hold."""
    _both_bools("and", x, y)
    return _truth(value_of(x) * value_of(y), _python(x, y))


def either(x: Any, y: Any) -> Any:
    """Whether one of them holds."""
    _both_bools("or", x, y)
    return _truth(scalars.where(value_of(x) + value_of(y) > 0, 1.0, 0.0), _python(x, y))


def one_alone(x: Any, y: Any) -> Any:
    """Whether one of them holds and the other does not."""
    _both_bools("xor", x, y)
    return NOT_EQUAL(x, y)


def negated(x: Any, wherever: bool = False) -> Any:
    """Whether it does not hold; `~` of a bool of Python's is a whole number (-2 or -1) and refused."""
    if not isinstance(x, _BOOLS) or (not wherever and _python(x)):
        return refused("~ of a number or of a bool of Python's")
    return _truth(1.0 - value_of(x), _python(x))


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """X where the condition holds, otherwise y. A number holds where it is not zero."""
    if isinstance(condition, Number):
        condition = NOT_EQUAL(condition, 0.0)
    if not isinstance(condition, Truth):
        return x if condition else y
    node: Expr = condition.expr
    ends: tuple[Any, Any] = value_of(x), value_of(y)
    if node.op in COMPARISONS and node.args[2:] in ((1.0, 0.0), (0.0, 1.0)):  # the comparison itself, not its number
        a, b, first, _ = node.args
        found = node.graph.select(node.op, a, b, *(ends if first == 1.0 else ends[::-1]))
    else:
        found = scalars.where(node > 0.5, *ends)
    return _truth(found) if isinstance(x, _BOOLS) and isinstance(y, _BOOLS) else _number(found)


def power(x: Any, n: Any) -> Any:
    """Whole powers, as products."""
    if isinstance(n, np.ndarray) and not n.shape:
        n = n.item()
    if isinstance(n, bool | np.bool_) or not isinstance(n, int | float | np.integer | np.floating):
        return refused(f"a power of {kind_of(n)}")
    if isinstance(x, _BOOLS) or n != int(n) or not 0 <= n <= MOST_POWER:
        raise TypeError(f"of traced numbers, powers can be taken only to whole numbers from 0 to {MOST_POWER}")
    result, base, left = 1.0, value_of(x), int(n)
    while left:
        result = result * base if left & 1 else result
        base, left = (base * base, left >> 1) if left > 1 else (base, 0)
    return _number(result, _python(x, n))


def function(operation: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, such as a sine."""
    return lambda *given: _number(operation(*map(value_of, given)))


def of_one(name: str, operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one number; of truth values there is none, as NumPy's differ from those of numbers."""

    def apply(x: Any) -> Any:
        return refused(f"np.{name} of a truth value") if isinstance(x, _BOOLS) else _number(operation(value_of(x)))

    return apply


def extreme(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The smaller or larger of two, a truth value if both are."""

    def apply(x: Any, y: Any) -> Any:
        found = operation(value_of(x), value_of(y))
        return _truth(found) if isinstance(x, _BOOLS) and isinstance(y, _BOOLS) else _number(found)

    return apply


def sign(x: Any) -> Any:
    """The sign of a number, -1, 0 or 1."""
    return math.nan if x != x else float((x > 0) - (x < 0)) if isinstance(x, float) else scalars.sign(x)


def _operators(kind: type, table: dict[str, Callable[[Any, Any], Any]]) -> None:
    """Give a class its operators of two operands; what they do not know is left to the other operand."""
    for name, operation in table.items():
        swapped = name.startswith("r") and name != "rshift"

        def method(self: Any, other: Any, operation: Any = operation, swapped: bool = swapped) -> Any:
            if not _known(other):
                return NotImplemented
            return operation(other, self) if swapped else operation(self, other)

        setattr(kind, f"__{name}__", method)


_ARITHMETIC = {
    "add": ADD,
    "radd": ADD,
    "sub": SUBTRACT,
    "rsub": SUBTRACT,
    "mul": MULTIPLY,
    "rmul": MULTIPLY,
    "truediv": DIVIDE,
    "rtruediv": DIVIDE,
    "lt": LESS,
    "le": LESS_EQUAL,
    "gt": GREATER,
    "ge": GREATER_EQUAL,
    "eq": EQUAL,
    "ne": NOT_EQUAL,
}
_LOGIC = {"and": both, "rand": both, "or": either, "ror": either, "xor": one_alone, "rxor": one_alone}
_operators(Number, _ARITHMETIC)
_operators(Truth, {**_ARITHMETIC, **_LOGIC})
