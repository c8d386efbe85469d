"""Events of a simulation: when a function of the state becomes zero or more, and what ends a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError, UnsupportedError, kind_of, shown

Array = npt.NDArray[Any]
Watch = Callable[[Any, Any, Any], Any]
"""A function of (t, q, v) that is negative before an event and zero or more from it on, or false and then true."""

STOP = "stop"


class Event(NamedTuple):
    """Something that happened in a run: its name ("stop" for what ends a run), when, in s, and to which sample."""

    name: str
    t: float
    sample: tuple[int, ...] = ()


def watches(events: Any, stop: Any) -> dict[str, Watch]:
    """The functions to watch, by name."""
    given = {} if events is None else events
    if not isinstance(given, Mapping) or not all(isinstance(n, str) and callable(f) for n, f in given.items()):
        raise UnsupportedError("simulate: events must map names to functions of (t, q, v)")
    if STOP in given:
        raise UnsupportedError(f"simulate: the name {STOP!r} is that of what ends a run; give it as stop=")
    if stop is not None and not callable(stop):
        raise UnsupportedError(f"simulate: stop must be a function of (t, q, v), got {kind_of(stop)}")
    return {**given, **({} if stop is None else {STOP: stop})}


def watched(name: str, watch: Watch, t: Array, q: Array, v: Array) -> Array:
    """What a function gives for states (..., rows, nq) at times (rows,): numbers (..., rows)."""
    found = np.asarray(watch(t, q, v))
    if found.dtype.kind not in "fiub":
        raise ShapeError(
            f"simulate: {name} must give one number for each state, here {q.shape[:-1]}, got {shown(found.tolist())}"
        )
    if found.dtype == bool:
        found = np.where(found, 0.0, -1.0)  # zero at the very state at which it is true
    try:
        return np.broadcast_to(found, q.shape[:-1])
    except ValueError:
        raise ShapeError(
            f"simulate: {name} must give one number for each state, here {q.shape[:-1]}, got {found.shape}; write "
            "q[..., 0] for the first coordinate"
        ) from None


def happened(name: str, values: Array, t: Array) -> list[Event]:
    """The events between rows, at which numbers (..., rows) become zero or more, with times by linear interpolation."""
    before, after = values[..., :-1], values[..., 1:]
    found = []
    for *sample, row in np.argwhere((before < 0) & (after >= 0)).tolist():
        at = (*sample, row)
        low, high = before[at], after[at]
        found.append(Event(name, float(t[row] + (t[row + 1] - t[row]) * (low / (low - high))), tuple(sample)))
    return sorted(found, key=lambda event: event.t)


def ends(values: Array) -> int | None:
    """The first row after the start at which numbers (..., rows) have been zero or more in all samples, if any."""
    true = np.logical_or.accumulate(values[..., 1:] >= 0, axis=-1).reshape(-1, values.shape[-1] - 1).all(axis=0)
    return int(np.argmax(true)) + 1 if true.any() else None
