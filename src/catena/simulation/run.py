"""Runs: what comes out of rollouts and simulations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_floats, is_chunked
from catena.arguments.scalars import a_robot, of_systems
from catena.errors import ShapeError

if TYPE_CHECKING:
    from catena.drawing.page import Page
    from catena.robot import Robot

Array = npt.NDArray[Any]


@of_systems("held")
@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """States of one robot, or of many samples of it, over time.

    `t` (rows,), in s, are the times of the states that were kept, `q` (..., rows, nq) and `v` (..., rows, nv) the
    states. `dt` is the length of a step in s, `integrator` its name; `how` says in words how control and cost were
    computed, and whether a run was interrupted.
    """

    robot: Robot
    """Who moved."""
    t: Array
    q: Array
    v: Array
    diverged_step: Array
    """For each sample the first step after which its state was not finite, or faster than the bound that was given,
    (...); -1 for those that did not diverge, 0 for a start that is not finite."""
    diverged_joint: Array
    """The number of a joint that did so, (...); -1 where there is none."""
    cost: Array | None = None
    """The running cost, summed up over all steps times their length, (...); None if none was asked for."""
    integrator: str = ""
    dt: float = float("nan")
    how: str = ""
    events: tuple[Any, ...] = ()
    """What happened in a simulation, in the order of time."""
    torques: Array | Callable[[], Array] | None = field(default=None, repr=False)
    """What `tau` is, or how to find it."""
    memory: Mapping[str, Array] = field(default_factory=dict, repr=False)
    """What friction remembers at the end, by name, (..., count): with it, another run goes on where this one ended."""
    acting: Array | Callable[[], Array] | None = field(default=None, repr=False)
    """What `on_links` is, or how to find it."""

    def __post_init__(self) -> None:
        a_robot("Run", self.robot, closed=True)

    def __repr__(self) -> str:
        batch, rows = self.q.shape[:-2], len(self.t)
        words = [f"{rows} states of {self.robot.name!r}"]
        words += [f"{' x '.join(map(str, batch))} samples"] if batch else []
        words += [f"t = {self.t[0]:g} to {self.t[-1]:g} s"] if rows else []
        words += [f"{self.integrator} steps of {self.dt:g} s"] if self.dt == self.dt else []
        words += [f"{count} diverged"] if not is_chunked(self.q) and (count := int(self.diverged.sum())) else []
        words += [f"{len(self.events)} events"] if self.events else []
        words += ["not computed yet"] if is_chunked(self.q) else []
        return f"<Run: {', '.join(words)}>"

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: torques and wrenches that were not asked for yet are computed."""
        return {**self.__dict__, "torques": self.tau, "acting": self.on_links}

    @property
    def diverged(self) -> Array:
        """Which samples diverged, (...) of booleans."""
        return self.diverged_step >= 0

    @cached_property
    def tau(self) -> Array | None:
        """The torques of the step after each state but the last, (..., rows - 1, nv); None if there were none.

        Those of a controller are computed when they are first asked for.
        """
        found: Array | None = self.torques() if callable(self.torques) else self.torques
        return found

    @cached_property
    def on_links(self) -> Array | None:
        """`wrenches`, then points of links near which they act, (..., rows - 1, links, 9); None if nothing acted."""
        found: Array | None = self.acting() if callable(self.acting) else self.acting
        return found

    @property
    def wrenches(self) -> Array | None:
        """What the ground, pins, a medium and `f_ext` exerted on links in the step after each state but the last.

        (..., rows - 1, links, 6): moments (N m) before forces (N), in the frames of links, as inverse dynamics takes
        them for `f_ext`; None if there was nothing of that kind. Computed when it is first asked for, step by step,
        also for those that were not kept. In a `System`, so far as steps are not projected.
        """
        return None if self.on_links is None else self.on_links[..., :6]

    def contact_forces(self, in_links: bool = False) -> tuple[Array, Array]:
        """Where those forces act on links and what they are, (..., rows - 1, links, 3) each, in the base's frame.

        Points (m) are on the line along which the resultant of a link acts, near those that touch or are held: at the
        centre of pressure of a foot on level ground. Forces (N) are zero where nothing acts.

        Args:
            in_links: whether both are given in the frame of each link instead.
        """
        from catena.simulation.exerted import lines

        none = np.zeros((*self.q.shape[:-2], max(len(self.t) - 1, 0), self.robot.tree.n, 9))
        point, force = lines(none if self.on_links is None else self.on_links)
        if in_links:
            return point, force
        turn, shift = self.robot.placements(self.q[..., :-1, :])
        return (turn @ point[..., None])[..., 0] + shift, (turn @ force[..., None])[..., 0]

    def energy(self, springs: bool = True) -> Array:
        """Kinetic and potential energy together, (..., rows), in J; that of the joints' springs too, if these acted."""
        robot = self.robot
        energy: Array = robot.kinetic_energy(self.q, self.v) + robot.potential_energy(self.q)
        if springs and (robot.stiffness.any() or robot.tree.strain.any()):
            energy = energy + robot.spring_energy(self.q)
        return energy

    def momentum(self) -> Array:
        """The momentum about the base's origin, (..., rows, 6): angular (N m s), then linear (N s)."""
        return self.robot.momentum(self.q, self.v)

    def constraint_drift(self) -> Array:
        """How far the constraints of a System are from being met, at most, (..., rows) in m and rad; 0 without any."""
        residual = getattr(self.robot, "closure_residual", None)
        if residual is None:
            return np.zeros(self.q.shape[:-1])
        return np.asarray(np.abs(np.asarray(residual(self.q))).max(axis=-1, initial=0.0))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run, with its robot or system, to a file that `catena.load_run` reads: npz, nothing pickled.

        What was at the path before is replaced at once, or not at all.
        """
        from catena.simulation.files import write

        write(self, path)

    def render(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Draw the run as a film: a GIF, an MP4 (by ffmpeg) or a page for browsers (.html), by the file's ending.

            run.render("swing.gif", speed=0.5)

        A picture (.png, .jpg, .webp) shows the last state. No display is needed. Needs the extra
        `catena-dynamics[view]`.

        Args:
            path: the file to write.
            options: `size`, `view`, `frames` and `center_of_mass` as `catena.render` has them; `forces` likewise, one
                for each state, (..., rows, 3); or "bearings", what joints carry as it moves (of a System, its
                constraints); or "contacts", what the ground, pins, a medium and `f_ext` exert on links; `rate`,
                pictures a second, 25 unless given; `speed`, 2.0 for twice as fast.
        """
        from catena.drawing.pictures import film

        film(self, path, **options)

    def plot(self, path: str | os.PathLike[str] | None = None, *, sample: int | tuple[int, ...] | None = None) -> Any:
        """Plot coordinates, speeds, torques and the drift of energy; see `catena.plots.motion`.

        Args:
            path: a file to write, PNG, SVG or PDF by its ending.
            sample: which sample of a batch; the first if left out.

        Returns:
            The figure, a `matplotlib.figure.Figure`.
        """
        from catena.plots.runs import motion

        return motion(self, path, sample=sample)

    def view(self, **options: Any) -> Page:
        """Show the run as a page in the browser, with controls to play it; options are those of `catena.view`."""
        from catena.drawing.page import view

        return view(self.robot, run=self, **options)

    def resampled(self, t: npt.ArrayLike) -> Run:
        """The run at other times, within those that it covers: between two states, q moves at constant speed.

        Velocities are interpolated linearly. The states that were kept come back as they are.

        Args:
            t: times in s, rising, (rows,).
        """
        at = as_floats(t, "resampled: t")
        if at.ndim != 1 or not len(at) or not np.isfinite(at).all() or (np.diff(at) <= 0).any():
            raise ShapeError(f"resampled: t must be rising times, (rows,), got an array of shape {at.shape}")
        if at[0] < self.t[0] or at[-1] > self.t[-1]:
            raise ShapeError(
                f"resampled: t must lie within {self.t[0]:g} to {self.t[-1]:g} s, got {at[0]:g} to {at[-1]:g} s"
            )
        right = np.clip(np.searchsorted(self.t, at), min(1, len(self.t) - 1), len(self.t) - 1)
        left = np.maximum(right - 1, 0)
        share = ((at - self.t[left]) / np.maximum(self.t[right] - self.t[left], np.finfo(float).tiny))[:, None]
        ends = [(x[..., left, :], x[..., right, :]) for x in (self.q, self.v)]
        q = self.robot.integrate(ends[0][0], share * self.robot.difference(*ends[0]))
        v = (1 - share) * ends[1][0] + share * ends[1][1]
        kept = [np.where(share == 1, b, np.where(share == 0, a, x)) for (a, b), x in zip(ends, (q, v), strict=True)]
        return replace(self, t=at, q=kept[0], v=kept[1], dt=float("nan"), torques=None, memory={}, acting=None)
