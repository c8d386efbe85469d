"""What the algorithms need of a scalar besides arithmetic, for every kind of scalar.

A scalar may be a number, an ``mpmath.mpf``, a SymPy expression, a traced :class:`~catena.trace.graph.Expr` or an array.
Structural constants are the integers 0 and 1, which every kind of scalar takes without loss.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from catena.trace.graph import Comparison, Expr, Graph

Scalar = Any
"""Anything with + - * /: see the module's docstring."""


def is_zero(x: Scalar) -> bool:
    """Whether x is known to be zero whatever the state: a plain number 0, not an expression that may vanish."""
    return isinstance(x, int | float) and x == 0


def _library(x: Scalar) -> Any:
    """What has the sin, cos and sqrt that go with x: math, the type's own ``library``, or the package it comes from."""
    if isinstance(x, int | float):
        return math
    own = getattr(type(x), "library", None)
    return own if own is not None else sys.modules[type(x).__module__.partition(".")[0]]


def sincos(x: Scalar) -> tuple[Scalar, Scalar]:
    """(sin x, cos x) for an angle in radians."""
    if isinstance(x, Expr):
        return x.graph.sin(x), x.graph.cos(x)
    library = _library(x)
    return library.sin(x), library.cos(x)


def sincos_of_sum(x: Scalar, angle: Scalar, c: Scalar, s: Scalar) -> tuple[Scalar, Scalar]:
    """(sin, cos) of x + angle, where the angle's cosine c and sine s are known.

    Numbers take the angles apart: rounding their sum would cost as many digits as x has before the point. Symbols,
    which bring their own ``library``, keep the sum, which is easier to read.
    """
    if hasattr(type(x), "library"):
        return sincos(x if is_zero(angle) else x + angle)
    sine, cosine = sincos(x)
    return sine * c + cosine * s, cosine * c - sine * s


def sqrt(x: Scalar) -> Scalar:
    """The square root of x."""
    return x.graph.sqrt(x) if isinstance(x, Expr) else _library(x).sqrt(x)


def log(x: Scalar) -> Scalar:
    """The natural logarithm of x."""
    return x.graph.log(x) if isinstance(x, Expr) else _library(x).log(x)


def exp(x: Scalar) -> Scalar:
    """e to the power x; infinite where that is more than a number can hold."""
    if isinstance(x, Expr):
        return x.graph.exp(x)
    try:
        return _library(x).exp(x)
    except OverflowError:
        return math.inf


def arctan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y) in radians, from -π to π; signed zeros tell the sides of the cut apart."""
    if isinstance(y, Expr) or isinstance(x, Expr):
        graph: Graph = (y if isinstance(y, Expr) else x).graph
        return graph.arctan2(y, x)
    library = _library(y if isinstance(x, int | float) else x)
    return library.arctan2(y, x) if hasattr(library, "arctan2") else library.atan2(y, x)


def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent of x: with all digits near zero, ±1 for large x.

    Traced, it is 1 − 2 / (exp 2|x| + 1) with the sign of x, or the rational function of Cephes for |x| < 0.625.
    """
    if not isinstance(x, Expr):
        return _library(x).tanh(x)
    size = absolute(x)
    small = where(size < _TANH_SMALL, x, 0.0)  # what is not small is kept away from the squares
    z = small * small
    rational = horner(z, _TANH[0]) / horner(z, _TANH[1])
    large = 1.0 - 2.0 / (exp(2.0 * size) + 1.0)
    return where(size < _TANH_SMALL, small + small * z * rational, where(x < 0.0, -large, large))


_TANH_SMALL = 0.625
_TANH = (
    (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1),
    (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0),
)
"""Below the bound, tanh x = x + x³ P(x²) / Q(x²): the coefficients of P and Q, constant term first."""


def horner(x: Scalar, coefficients: Sequence[Scalar]) -> Scalar:
    """The polynomial in x with these coefficients, constant term first, by Horner's rule."""
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return total


def equal(x: Scalar, y: Scalar) -> Any:
    """The condition x = y, for :func:`where`. The others are written as they are: `x < y`, `x <= y`, `x > y`, `x >= y`.

    (`==` between traced scalars asks whether they are the same node.)
    """
    if isinstance(x, Expr) or isinstance(y, Expr):
        graph: Graph = (x if isinstance(x, Expr) else y).graph
        return Comparison(graph, "eq", x, y)
    library = _library(x if not isinstance(x, int | float) else y)
    return library.Eq(x, y) if hasattr(library, "Eq") else x == y


def where(condition: Any, x: Scalar, y: Scalar) -> Scalar:
    """X where the condition holds, otherwise y: then too, where a NaN is compared. Both are computed."""
    if isinstance(condition, Comparison):
        return condition.graph.select(condition.op, condition.a, condition.b, x, y)
    if isinstance(condition, bool):
        return x if condition else y
    library = _library(condition)
    return library.where(condition, x, y) if hasattr(library, "where") else library.Piecewise((x, condition), (y, True))


def unless_lost(x: Scalar, y: Scalar) -> Scalar:
    """A positive x, or y where x has come out as zero because something overflowed. Exact scalars never do that."""
    return where(x > 0, x, y) if isinstance(x, Expr | int | float) else x


ROUNDING = 16.0
"""How many times the rounding of its largest part a short computation may be off."""


def unless_lost_in_rounding(ratios: Sequence[Scalar]) -> Scalar:
    """One, or infinite where one of these ratios of what was to what is left is so large that rounding may be all.

    They are one or more, but for rounding. Exact scalars, which are not rounded, always have one.
    """
    held: Scalar = 1.0
    for x in ratios:
        if not isinstance(x, Expr | int | float):
            return 1
        held = held * where(x + 1.0 / ROUNDING > x, where(x > 0, 1.0, 0.0), 0.0)
    return 1.0 / held if held != 0 else math.inf


def absolute(x: Scalar) -> Scalar:
    """|x|; a NaN stays one."""
    return abs(x)


def sign(x: Scalar) -> Scalar:
    """-1, 0 or 1 as x is negative, zero or positive; a NaN stays one."""
    if not isinstance(x, Expr) and hasattr(library := _library(x), "sign"):
        return library.sign(x)
    return where(x < 0, -1.0, where(x > 0, 1.0, absolute(x)))


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two; NaN if one of them is, as with NumPy."""
    return _extreme("minimum", "Min", x, y, x < y)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two; NaN if one of them is, as with NumPy."""
    return _extreme("maximum", "Max", x, y, x > y)


def _extreme(array: str, symbol: str, x: Scalar, y: Scalar, first: Any) -> Scalar:
    """X if it comes `first`, otherwise y; by the library's function of one of the names, if there is one."""
    traced = isinstance(x, Expr) or isinstance(y, Expr)
    library = None if traced else _library(x if not isinstance(x, int | float) else y)
    for name in (symbol, array):
        if hasattr(library, name):
            return getattr(library, name)(x, y)
    return where(equal(x, x), where(first, x, y), x)


def largest(numbers: Iterable[Scalar]) -> Scalar:
    """The largest |x| of one or more numbers; NaN if one of them is."""
    return reduce(maximum, map(absolute, numbers))


def nearest(x: Scalar) -> Scalar:
    """The integer nearest to x, the even one of two (with SymPy, the upper one); infinities and NaN stay."""
    if isinstance(x, int | float):
        return float(round(x)) if math.isfinite(x) else x
    if isinstance(x, Expr):
        return x.graph.nearest(x)
    library = _library(x)
    for name in ("rint", "nint"):
        if hasattr(library, name):
            return getattr(library, name)(x)
    return library.floor(x + library.Rational(1, 2))


def floor(x: Scalar) -> Scalar:
    """The largest integer that is not above x; infinities and NaN stay."""
    if not isinstance(x, Expr | int | float):
        return _library(x).floor(x)
    below = nearest(x)
    return where(x < below, below - 1.0, below)
