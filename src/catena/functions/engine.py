"""From a function of a mechanism to machine code that can be called with arrays.

A kernel comes in two shapes from the same source: *unrolled*, straight-line code with the robot's numbers folded in,
for mechanisms of up to :data:`UNROLLED` links; and *rolled*, loops over the links, for longer ones. :func:`evaluate` is
the readable reference.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.errors import UnsupportedError
from catena.functions.composed import Composed
from catena.functions.function import Function
from catena.functions.linkwise import evaluate, lowered_for, trace

if TYPE_CHECKING:
    from catena.arguments.arrays import Signature
    from catena.kernels.call.kernel import Kernel
    from catena.robot import Robot

__all__ = ["UNROLLED", "evaluate", "kernel", "lowered_for", "trace"]

UNROLLED = 60
"""Up to this many links a kernel is unrolled unless asked otherwise."""

UNROLLABLE = 250
"""Straight-line code for more links than this would take too long to make."""


@functools.cache
def prepare() -> None:
    """Import what all kernels need. Robots ask for it when they are made.

    LLVM's binding takes some 40 ms to import, most of the time that a first call would take with its machine code in
    the disk cache; and `import catena` alone should not take that long.
    """
    from catena.kernels import build  # noqa: F401
    from catena.kernels.call import fastcall  # noqa: F401
    from catena.kernels.machine import target

    target.host()


def kernel(
    robot: Robot,
    function: Function,
    *,
    present: tuple[str, ...] = (),
    dtype: Any = np.float64,
    shape: str | None = None,
) -> Kernel | Composed:
    """The machine code of a function for a robot, compiled at most once: call it with arrays of any batch shape.

    ``present`` names the optional inputs that calls will give, ``shape`` forces "unrolled" or "rolled". This is the one
    place where the shape decides: a function with a recipe for long chains is then answered by that.
    """
    shape, dtype = _shape_for(robot, function, shape), checked_dtype(function.question, dtype)
    key = (function.name, present, dtype.name, shape)
    known: dict[tuple[Any, ...], Kernel | Composed] = robot.__dict__.setdefault("_kernels", {})
    if key not in known:
        known[key] = _made(robot, function, present, dtype, shape)
    return known[key]


def _made(
    robot: Robot, function: Function, present: tuple[str, ...], dtype: np.dtype[Any], shape: str
) -> Kernel | Composed:
    from catena.kernels.build import rolled_kernel, unrolled_kernel
    from catena.kernels.call.fastcall import fast_call

    if shape == "unrolled":
        return unrolled_kernel(robot.tree, function, present, dtype)
    if function.rolled is None:
        return rolled_kernel(robot.tree, function, present, dtype)

    def loops(other: Function) -> Any:
        found = kernel(robot, other, dtype=dtype, shape="rolled")
        return fast_call(found, found)

    return Composed(function.rolled, signature(robot, function, present, dtype), robot.tree, loops)


def signature(robot: Robot, function: Function, present: tuple[str, ...] = (), dtype: Any = np.float64) -> Signature:
    """What calls of a function take and give; no machine code is made."""
    key = function.name, present, dtype
    known: dict[tuple[Any, ...], Signature] = robot.__dict__.setdefault("_signatures", {})
    if key not in known:
        from catena.kernels.build import signature

        known[key] = signature(robot.tree, function, present, checked_dtype(function.question, dtype))
    return known[key]


def checked_dtype(question: str, dtype: Any) -> np.dtype[Any]:
    """The dtype to compute in; UnsupportedError, which names the question, if that cannot be."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise UnsupportedError(f"{question}: dtype must be float64 or float32, got {dtype!r}") from None
    if found not in (np.float64, np.float32):
        raise UnsupportedError(f"{question}: dtype must be float64 or float32, got {found.name}")
    return found


def check_shape(shape: str | None) -> None:
    """Refuse a word that is not a shape of kernels."""
    if shape not in ("unrolled", "rolled", None):
        raise UnsupportedError(f"shape must be a kernel shape, 'unrolled', 'rolled' or None, got {shape!r}")


def _shape_for(robot: Robot, function: Function, shape: str | None) -> str:
    check_shape(shape)
    whole = function.dense and function.rolled is None
    if shape == "rolled" and whole:
        raise UnsupportedError(f"{function.question} makes a whole matrix, which only unrolled kernels can")
    if shape is None:
        shape = "unrolled" if whole or robot.tree.n <= UNROLLED else "rolled"
    if shape == "unrolled" and robot.tree.n > UNROLLABLE:
        other = "a method without whole matrices" if whole else "shape='rolled'"
        raise UnsupportedError(
            f"{function.question} unrolled for {robot.tree.n:,} links: expected at most {UNROLLABLE} links; use {other}"
        )
    return shape
