"""Numbers that rollouts and their forces are asked with, checked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, as_array, as_floats
from catena.arguments.scalars import whole
from catena.errors import ShapeError, UnsupportedError, kind_of, shown

if TYPE_CHECKING:
    from catena.model.tree import Frame
    from catena.robot import Robot

Array = npt.NDArray[Any]


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
        raise ShapeError(f"rollout: t0 must be a multiple of dt, {dt:g} s, of zero or more, got {shown(t0)}")
    return round(count)


def kept_rows(steps: int, every: Any) -> int:
    """How many states are kept after the start."""
    between = whole("rollout: every", every, 1)
    if steps % between:
        raise ShapeError(f"rollout: every must divide the number of steps, {steps}, got {between}")
    return steps // between


def pair(out: Any) -> tuple[Any, Any]:
    """The two arrays of `out`."""
    if not isinstance(out, tuple) or len(out) != 2 or any(x is None for x in out):
        raise ShapeError(f"rollout: out must be a tuple of two arrays, (q, v), got {kind_of(out)}")
    return out


def finite(what: str, given: Any, *shapes: tuple[int, ...], least: float = -math.inf) -> Array:
    """Finite numbers of at least so much, in an array of one of these shapes, () for one number; of any if none."""
    array = as_floats(given, what)
    if (not shapes or array.shape in shapes) and np.isfinite(array).all() and (array >= least).all():
        return array
    bounds = "finite" if least == -math.inf else f"finite and not below {least:g}"
    words = [" or ".join(str(shape) if shape else "one number" for shape in shapes), bounds]
    raise ShapeError(f"{what} must be {', '.join(filter(None, words))}, got {shown(given)}")


def each(what: str, given: Any, n: int) -> Array:
    """Numbers of zero or more, (n,), from one for all or one each."""
    return np.broadcast_to(finite(what, given, (), (n,), least=0.0), n)


def as_points(what: str, given: Any) -> Array:
    """One or more points, (m, 3) in m, from (3,) or (m, 3)."""
    array = finite(what, given)
    if array.shape[-1:] != (3,) or array.ndim > 2 or not array.size:
        raise ShapeError(f"{what} must have shape (3,) or (m, 3), in m, got {array.shape}")
    return array.reshape(-1, 3)


def moving_frame(what: str, robot: Robot, name: str) -> Frame:
    """A link or frame that forces can act on: not one that is fixed to the base."""
    frame = robot.frame(name)
    if frame.link < 0:
        raise UnsupportedError(f"{what}: {name!r} is fixed to the base, which does not move; give points of links")
    return frame
