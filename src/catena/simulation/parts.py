"""The rows of a simulation, filled in part by part: by rollouts, or by integrators that simulations alone have."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.simulation.rolling import Rollout, run_of
from catena.simulation.run import Run

Array = npt.NDArray[Any]

PACE = 0.1
"""About so many seconds are computed at a time: then Ctrl-C is heard, and the progress bar moves."""

FIRST = 16
"""Steps that are made first, or as many as lead to one row, to see how long they take."""


@dataclass(frozen=True)
class Filled:
    """States were computed up to a row; steps, counted from the start, and joints at which samples diverged.

    `tau` are the torques after the new states but the last, where a controller was called from Python. `memory` is what
    friction remembers there, `state` what the integrator needs to go on, besides q and v of that row.
    """

    rows: int
    step: Array
    joint: Array
    memory: Mapping[str, Array] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    tau: Array | None = None


def parts(
    integrator: str,
    rollout: Rollout,
    q: Array,
    v: Array,
    tolerance: float,
    row: int,
    state: Mapping[str, Any],
    memory: Mapping[str, Any],
) -> Iterator[Filled]:
    """What fills in rows after those that are there, by the name of the integrator."""
    if integrator == "adaptive":
        from catena.simulation.adaptive import adaptive_rows  # brings in SciPy

        return adaptive_rows(rollout, q, v, tolerance, row, state)
    if integrator == "variational":
        from catena.simulation.variational import variational_rows

        return variational_rows(rollout, q, v, row, state)
    return _rows_by_steps(rollout, q, v, row, memory)


def paced(row: int, rows: int, every: int) -> Iterator[tuple[int, int]]:
    """The rows from one on, of which there is one every so many steps, in parts: where each begins and how long it is.

    Parts become longer until what is done with one takes about as long as :data:`PACE` allows.
    """
    size = max(1, FIRST // every)
    while row < rows:
        count, began = min(size, rows - row), time.perf_counter()
        yield row, count
        row += count
        if time.perf_counter() - began < PACE / 2:
            size *= 2


def _rows_by_steps(rollout: Rollout, q: Array, v: Array, row: int, memory: Any) -> Iterator[Filled]:
    """Fill in rows by rollouts."""
    every = rollout.asked.every
    for start, count in paced(row, rollout.rows, every):
        part = part_of(rollout, q, v, start, count, memory)
        q[..., start : start + count + 1, :], v[..., start : start + count + 1, :] = part.q, part.v
        step = np.where(part.diverged_step >= 0, part.diverged_step + start * every, -1)
        memory = part.memory
        tau = None if callable(part.torques) else part.torques
        yield Filled(start + count, step, part.diverged_joint, memory, tau=tau)


def part_of(rollout: Rollout, q: Array, v: Array, row: int, count: int, memory: Any) -> Run:
    """So many rows from one that is filled in."""
    every, state = rollout.asked.every, (q[..., row, :].copy(), v[..., row, :].copy())
    return run_of(rollout.again(q=state[0], v=state[1], steps=count * every, first=row * every, memory=memory or None))
