"""What the algorithms need of a scalar besides arithmetic, for every kind of scalar.

A scalar may be a number, an ``mpmath.mpf``, a SymPy expression, a traced :class:`~catena.trace.graph.Expr` or an array.
Structural constants are the integers 0 and 1, which every kind of scalar takes without loss.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from catena.trace.graph import Expr

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


def sqrt(x: Scalar) -> Scalar:
    """The square root of x."""
    return x.graph.sqrt(x) if isinstance(x, Expr) else _library(x).sqrt(x)


def log(x: Scalar) -> Scalar:
    """The natural logarithm of x."""
    return x.graph.log(x) if isinstance(x, Expr) else _library(x).log(x)


def arctan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), in radians; not for traced scalars."""
    library = _library(y)
    return library.arctan2(y, x) if hasattr(library, "arctan2") else library.atan2(y, x)
