"""What is shown: states and times, the scene of them, and where everything is in it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_floats
from catena.arguments.scalars import real
from catena.drawing.marks import Marks, marked, side_by_side
from catena.drawing.scene import FAR, Drawable, Places, scene_of
from catena.errors import ModelWarning, ShapeError, warn

if TYPE_CHECKING:
    from catena.simulation.run import Run

Array = npt.NDArray[Any]

NOTHING = Marks()
MOST_SAMPLES = 64
"""Samples that are drawn side by side at most."""
SLOWEST = 0.01
"""Pictures a second; GIF cannot show one for longer than eleven minutes."""
MOST_PICTURES = 1_000_000
"""Pictures of a film at most: eleven hours."""
ENOUGH = 300_000
"""Places of links that are looked at to see how far a run goes; of longer ones, some rows."""


class Staged:
    """The scene of a robot, or of samples of it side by side, and where everything is in it at each row.

    `scene` is what is drawn; `some` places that tell how far it goes, (samples, some rows, ...); `floor` the height of
    what is lowest in them, along the scene's vertical, in m; `offsets` where samples stand, (samples, 3).

    Args:
        robot: a Robot or a System.
        q: configurations, (samples, rows, nq).
        marks: what is drawn besides the links, its arrows at the same rows.
    """

    def __init__(self, robot: Drawable, q: Array, marks: Marks = NOTHING) -> None:
        self._robot, self._q, self._marks = robot, q, marks
        rows = q.shape[1]
        apart = int(np.ceil(len(q) * rows * robot.tree.n / ENOUGH)) or 1
        chosen = np.unique(np.append(np.arange(0, rows, apart), rows - 1))
        self.scene = scene_of(robot.tree, _size(robot.placements(q[:, chosen])[1]))
        _tell(self.scene.notes)
        if marks:
            lower, upper = self.scene.extent(self._places(chosen))
            self.scene = marked(self.scene, robot.tree, marks, float(np.linalg.norm(upper - lower)))
        places = self._places(chosen)
        self.offsets = side_by_side(self.scene, places)
        self.some = places.moved(self.offsets[:, None])
        lower, upper = self.scene.extent(self.some)
        self.floor = float(np.minimum(lower * self.scene.up, upper * self.scene.up).sum())

    def _places(self, rows: Any) -> Places:
        """Before samples are moved apart."""
        arrows = self.scene.arrows
        return self.scene.places(self._robot, self._q[:, rows], None if arrows is None else arrows.acting[:, rows])

    def at(self, row: int) -> Places:
        """Where everything is at one row, (samples, ...)."""
        return self._places(row).moved(self.offsets)


def _size(position: Array) -> float:
    """How far links are apart, those of all states, (..., links, 3), in m; 0 if none can be seen."""
    good = position[(np.abs(position) < FAR).all(axis=-1)]
    return float(np.linalg.norm(np.ptp(good, axis=0))) if len(good) else 0.0


def _tell(notes: tuple[str, ...]) -> None:
    if notes:
        more = f" (and {len(notes) - 1} more like this)" if len(notes) > 1 else ""
        warn(notes[0] + more, ModelWarning)


def batched(robot: Any, q: npt.ArrayLike | None) -> Array:
    """Configurations as they are given, (..., nq); the neutral one for None."""
    given = as_floats(robot.neutral() if q is None else q, "q")
    if given.ndim < 1 or given.shape[-1] != robot.nq:
        raise ShapeError(f"q must have shape (..., {robot.nq}), got {given.shape}")
    return given


def configurations(robot: Any, q: npt.ArrayLike | None) -> Array:
    """Configurations as rows, (samples, nq); the neutral one for None."""
    given = batched(robot, q)
    rows = given.reshape(prod(given.shape[:-1]), robot.nq)
    if not 1 <= len(rows) <= MOST_SAMPLES:
        raise ShapeError(f"q: from 1 to {MOST_SAMPLES} samples can be drawn side by side, got {len(rows)}; choose some")
    return rows


def times_of(run: Run, rate: float, speed: float) -> Array:
    """The times of the pictures of a film, (rows,)."""
    rate, speed = real("render: rate", rate, above=0), real("render: speed", speed, above=0)
    if not SLOWEST <= rate <= 120:
        raise ShapeError(f"render: expected a rate of {SLOWEST} up to 120 pictures a second, got {rate!r}")
    wanted = float(run.t[-1] - run.t[0]) / speed * rate
    if not wanted <= MOST_PICTURES:
        raise ShapeError(
            f"render: expected a film of at most {MOST_PICTURES:,} pictures, got {wanted:.4g}; show it faster"
        )
    count = max(int(wanted), 1)
    times = np.clip(run.t[0] + np.arange(count + 1) * (speed / rate), run.t[0], run.t[-1])
    return np.unique(times)


def frames_of(run: Run, marks: Marks, t: Array) -> tuple[Run, Marks]:
    """A run and its arrows at other times."""
    arrows = marks.arrows and marks.arrows.resampled(run.t, t)
    return run.resampled(t), marks._replace(arrows=arrows)


def samples_of(robot: Any, q: Array) -> Array:
    """(samples, rows, nq); refused where they are too many to draw."""
    rows = q.reshape(prod(q.shape[:-2]), *q.shape[-2:])
    configurations(robot, rows[:, 0])
    return rows
