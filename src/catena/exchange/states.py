"""States that are exchanged: what is given, checked, and the numbers of each joint moved to their places."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_samples

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
    present = {name: value for name, value in given._asdict().items() if value is not None}
    shapes = {name: (nq if name == "q" else nv,) for name in present}
    arrays, _ = as_samples(question, shapes, list(present.values()))
    return State(**dict(zip(present, arrays, strict=True)))


def empty(like: State, nq: int, nv: int) -> State:
    """Arrays of zeros for the results, with the same leading dimensions."""
    leading = like.q.shape[:-1]
    others = (None if x is None else np.zeros((*leading, nv)) for x in like[1:])
    return State(np.zeros((*leading, nq)), *others)
