"""`run.plot`: states, torques and energy over time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import having
from catena.drawing.colors import PALETTE, between
from catena.errors import ShapeError, shown
from catena.plots.style import NAMES, figure, kept

if TYPE_CHECKING:
    from catena.simulation.run import Run

Array = npt.NDArray[Any]

MOST = 40
"""Coordinates that are drawn at most, evenly chosen."""
WILD = 1e5
"""Speeds in rad/s or m/s from which on states are not drawn: those of a run that diverges."""


def motion(run: Run, path: str | os.PathLike[str] | None = None, *, sample: int | tuple[int, ...] | None = None) -> Any:
    """Plot a run: coordinates, speeds, torques if there are any, and how far the energy drifts from that at the start.

        catena.plots.motion(run, "swing.png")  # the same as run.plot("swing.png")

    Args:
        run: the run.
        path: a file to write, PNG, SVG or PDF by its ending.
        sample: which sample of a batch; the first if left out.

    Returns:
        The figure, a `matplotlib.figure.Figure`.
    """
    robot = having("plot", "a Run", run, "robot", "t", "q", "v", "tau").robot
    q, v, tau, energy = _of_sample(run, sample)
    angle, speed = ("rad", "rad/s") if _turns(robot) else ("rad, m", "rad/s, m/s")
    effort = "N m" if _turns(robot) else "N m, N"
    panels = [(f"q ({angle})", q, names_of(robot, "q")), (f"v ({speed})", v, names_of(robot, "v"))]
    if tau is not None:
        panels.append((f"τ ({effort})", tau, names_of(robot, "v")))
    with figure(len(panels) + 1, 1, 7.0, 1.7 * (len(panels) + 1), sharex=True) as (made, axes):
        for axis, (label, values, names) in zip(axes[:, 0], panels, strict=False):
            _lines(axis, run.t[: len(values)], values, names)
            axis.set_ylabel(label)
        last = axes[-1, 0]
        last.plot(run.t, energy - energy[0], color="black", marker="o" if len(run.t) == 1 else None)
        last.set_ylabel("E − E(0) (J)")
        last.set_xlabel("time (s)")
        ended = ", diverged" if np.isnan(v).any() else ""
        title = f"{robot.name}, {run.integrator or 'run'}, {run.t[-1] - run.t[0]:g} s{ended}"
        axes[0, 0].set_title(title, loc="left")
    return kept(made, path)


def _of_sample(run: Run, sample: Any) -> tuple[Array, Array, Array | None, Array]:
    """Coordinates, speeds, torques and energy of one sample, (rows, ...)."""
    batch = run.q.shape[:-2]
    chosen = (0,) * len(batch) if sample is None else tuple(np.atleast_1d(sample).tolist())
    try:
        found = run.q[chosen]
    except IndexError:
        found = run.q
    if found.ndim != 2:
        raise ShapeError(f"plot: sample must choose one of the samples {batch}, got {shown(sample)}")
    tau = None if run.tau is None else np.broadcast_to(run.tau, (*batch, *run.tau.shape[-2:]))[chosen]  # may be shared
    v, energy = np.array(run.v[chosen], float), np.array(run.energy()[chosen], float)
    wild = ~(np.abs(v).max(axis=-1, initial=0.0) < WILD)  # would make all else a straight line
    for values in (found := np.array(found, float)), v, energy:
        values[wild] = np.nan
    return found, v, None if tau is None else np.where(wild[: len(tau), None], np.nan, tau), energy


def _turns(robot: Any) -> bool:
    return all(joint.type in ("revolute", "continuous", "spherical", "universal") for joint in robot.joints[:1000])


def names_of(robot: Any, which: str) -> list[str]:
    """The name of each coordinate: that of its joint, with a number where a joint has several."""
    found = []
    for joint in robot.joints:
        place = joint.q_slice if which == "q" else joint.v_slice
        count = place.stop - place.start
        found += [joint.name] if count == 1 else [f"{joint.name}[{k}]" for k in range(count)]
    return found


def _lines(axis: Any, t: Array, values: Array, names: list[str]) -> None:
    """A line for each coordinate: named where they are few, else in colours that run from base to tip."""
    count = values.shape[1]
    chosen = np.unique(np.linspace(0, max(count - 1, 0), min(count, MOST)).astype(int))
    if count > NAMES:
        axis.set_prop_cycle(color=between(PALETTE[0], PALETTE[1], len(chosen)))
        some = f"{MOST} of {count:,}" if count > MOST else f"{count}"
        axis.set_title(f"{some}, from base (blue) to tip (orange)", fontsize=8, fontweight="normal", loc="right")
    for k in chosen:
        axis.plot(t, values[:, k], label=names[k], marker="o" if len(t) == 1 else None)
    if 0 < count <= NAMES:
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
