"""Numbers that rollouts are asked with, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.arguments.arrays import Port, as_array
from catena.errors import ShapeError


def positive(what: str, value: Any) -> float:
    """One number above zero."""
    array = as_array(value, Port(what, (), positive=True), "rollout")
    if array.ndim:
        raise ShapeError(f"rollout: {what} must be one number, got an array of shape {array.shape}")
    return float(array)


def whole_steps(t0: Any, dt: float) -> int:
    """How many steps lead to a time."""
    array = as_array(t0, Port("t0", ()), "rollout")
    count = float(array) / dt if array.ndim == 0 else float("nan")
    if not 0 <= count < 2**53 or abs(count - round(count)) > 1e-6 * max(1.0, count):
        raise ShapeError(f"rollout: t0 must be a multiple of dt, {dt:g} s, of zero or more, got {t0!r}")
    return round(count)


def kept_rows(steps: int, every: Any) -> int:
    """How many states are kept after the start."""
    if not isinstance(every, int | np.integer) or isinstance(every, bool) or every < 1:
        raise ShapeError(f"rollout: every must be a whole number above zero, got {every!r}")
    if steps % every:
        raise ShapeError(f"rollout: every must divide the number of steps, {steps}, got {every}")
    return steps // int(every)


def pair(out: Any) -> tuple[Any, Any]:
    """The two arrays of `out`."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise ShapeError(f"rollout: out must be a tuple of two arrays, (q, v), got a {type(out).__name__}")
    return out
