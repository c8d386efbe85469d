"""States that are exchanged: what is given, checked, and the numbers of each joint moved to their places."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError

Array = npt.NDArray[np.float64]


class State(NamedTuple):
    """Configurations, velocities, accelerations and torques; None for what was not given."""

    q: Array
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None


class Joined(NamedTuple):
    """One joint here and there: where its coordinates and speeds are, and how they are converted."""

    kind: str
    q_here: slice
    v_here: slice
    q_there: slice
    v_there: slice


def taken(question: str, nq: int, nv: int, given: State) -> State:
    """The arrays as float64, of the same leading dimensions; other shapes are an error that names the array."""
    found: dict[str, Array | None] = {}
    for name, value in given._asdict().items():
        size = nq if name == "q" else nv
        found[name] = None if value is None else _array(question, name, value, size)
    shapes = {name: x.shape[:-1] for name, x in found.items() if x is not None}
    try:
        leading = np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise ShapeError(f"{question}: the leading dimensions {shapes} do not broadcast together") from None
    return State(**{n: None if x is None else np.broadcast_to(x, (*leading, x.shape[-1])) for n, x in found.items()})  # type: ignore[arg-type]


def _array(question: str, name: str, value: Any, size: int) -> Array:
    try:
        x = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ShapeError(f"{question}: {name} must hold real numbers, got a {type(value).__name__}") from None
    if x.ndim == 0 or x.shape[-1] != size:
        raise ShapeError(f"{question}: {name} must have shape (..., {size}), got {x.shape}")
    return x


def empty(like: State, nq: int, nv: int) -> State:
    """Arrays of zeros for the results, with the same leading dimensions."""
    leading = like.q.shape[:-1]
    others = (None if x is None else np.zeros((*leading, nv)) for x in like[1:])
    return State(np.zeros((*leading, nq)), *others)
