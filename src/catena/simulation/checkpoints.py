"""Checkpoints: a simulation that was killed goes on from its file, bit by bit as if it had never stopped."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.errors import LoadError, check_place
from catena.simulation.files import read, write

if TYPE_CHECKING:
    from catena.simulation.asked import Prepared
    from catena.simulation.run import Run

Array = npt.NDArray[Any]

PAUSE = 5.0
"""Seconds between two checkpoints, at least."""

SHARE = 0.05
"""The share of time that writing them may take."""


@dataclass
class Checkpoint:
    """The file of a simulation: a run so far, and what its integrator needs to go on."""

    path: str | os.PathLike[str]
    fingerprint: str
    _next: float = field(default_factory=lambda: time.perf_counter() + PAUSE)

    def due(self) -> bool:
        """Whether it is time to write."""
        return time.perf_counter() >= self._next

    def write(self, run: Run, state: Mapping[str, Any], over: bool) -> None:
        """Write the run so far; the file is replaced at once, or not at all."""
        began = time.perf_counter()
        arrays = {name: np.asarray(x) for name, x in state.items()}
        write(run, self.path, arrays, {"fingerprint": self.fingerprint, "over": over})
        now = time.perf_counter()
        self._next = now + max(PAUSE, (now - began) / SHARE)

    def read(self) -> tuple[dict[str, Any], dict[str, Array], bool] | None:
        """The run so far, the state of the integrator and whether all is done; None if there is no file yet."""
        check_place(self.path)
        if not os.path.exists(self.path):
            return None
        found, shown = read(self.path), os.fspath(self.path)
        if not found.notes:
            raise LoadError(f"{shown}: expected a checkpoint, found a run that was saved; give another path")
        if found.notes.get("fingerprint") != self.fingerprint:
            raise LoadError(
                f"{shown}: expected a checkpoint of this simulation, found one of another (robot, start, dt, control "
                "or options differ); give another path, or remove the file"
            )
        return found.run, found.state, bool(found.notes.get("over"))


def fingerprint(rollout: Prepared, integrator: str, tolerance: float) -> str:
    """What tells simulations apart: all that their numbers depend on, but for how long they last.

    Of functions that are called from Python nothing is known but that they are.
    """
    asked = rollout.asked
    laws = [(law.what, law.law and law.law.name) for law in rollout.laws]
    words = [integrator, tolerance, rollout.dt, rollout.first, asked.every, rollout.bound, laws, rollout.step.name]
    words += [rollout.steps] if integrator == "adaptive" else []  # its last steps depend on where it ends
    found = hashlib.blake2b(rollout.robot.tree.digest() + repr(words).encode(), digest_size=16)
    values = [asked.q, asked.v, rollout.parameters, rollout.f_ext, *rollout.forces.values.values()]
    values += [] if rollout.actuators is None else [*rollout.actuators.columns().values()]
    values += [value for law in rollout.laws for value in law.values.values()]
    values += [value for law in rollout.laws if law.along is not None for value in law.along(rollout.times(8)).values()]
    for value in values:
        array = np.asarray(np.nan if value is None else value, float)
        found.update(repr(array.shape).encode() + array.tobytes())
    return found.hexdigest()
