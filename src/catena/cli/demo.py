"""`catena demo`: things that move, on a page and in the terminal, and how fast they are computed."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from contextlib import suppress
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.live import Live

from catena.build import cable
from catena.cli import _speeds
from catena.cli._files import busy
from catena.drawing.camera import VIEW
from catena.drawing.pictures import Stage, film
from catena.drawing.stage import samples_of, times_of
from catena.drawing.terminal import in_characters, in_shades
from catena.errors import ModelWarning, UnsupportedError, check_place
from catena.load import load
from catena.robot import Robot
from catena.simulation.run import Run
from catena.simulation.simulate import simulate
from catena.system import System

Array = npt.NDArray[Any]

SECONDS = 4.0
"""How long things move."""
STEP = 2e-3
KEPT = 5
"""Every so many steps a state is kept."""
COLUMNS, ROWS = 76, 40
"""Pixels of the picture in the terminal."""


@click.command(
    short_help="See something move, and how fast it is computed.", epilog="Example: catena demo --html demo.html"
)
@click.option("--html", metavar="FILE", help="The page to write; in the folder for temporary files if left out.")
@click.option("--quick", is_flag=True, help="Only what moves, no tables of speeds.")
def command(html: str | None, quick: bool) -> None:
    """Simulate an arm that swings, a rope that falls and two arms that hold a box.

    They are drawn in the terminal and written as a page for the browser; then tables show how long dynamics take.
    """
    if html is not None:
        check_place(html)
    console = Console(highlight=False)
    start = time.perf_counter()
    with busy("compiling, then simulating an arm, a rope and two arms with a box"):
        run, steps, spent = moving()
    console.print(f"[bold]{run.robot.name}[/]: {run.robot.nv} degrees of freedom, {SECONDS:g} s of motion")
    console.print(f"{steps:,} steps computed in {spent:.2f} s, once the machine code was there.\n")
    _play(run, console)
    path = html or os.path.join(tempfile.mkdtemp(prefix="catena-"), "demo.html")
    page = _page(run, path)
    if not quick:
        _speeds.show(console)
    console.print(f"\nAll of this took {time.perf_counter() - start:.0f} s.")
    console.print(page, soft_wrap=True, markup=False)


def moving() -> tuple[Run, int, float]:
    """All motions as one run of robots side by side, how many steps they took, and in how many seconds."""
    motions: dict[str, tuple[Robot, Any]] = {"arm": _arm(), "rope": _rope()}
    with suppress(UnsupportedError):  # MuJoCo reads their file
        motions["pair"] = _pair()
    for _, states in motions.values():
        states()  # compiles
    start = time.perf_counter()
    paths = [states() for _, states in motions.values()]
    spent = time.perf_counter() - start
    across = np.array([-np.sin(np.radians(VIEW[0])), np.cos(np.radians(VIEW[0])), 0.0])  # as the camera sees it
    turned = (0.0, 0.0, np.radians(VIEW[0]) + np.pi / 2)
    places = {"arm": -1.2 * across, "rope": np.array([0.0, 0.0, 1.1]), "pair": 1.4 * across}
    together = System(
        {name: robot for name, (robot, _) in motions.items()},
        placements={name: (places[name], turned) for name in motions},
        name=" + ".join(motions),
    ).forest
    q = np.concatenate(paths, axis=-1)
    t = np.arange(len(q)) * (STEP * KEPT)
    none = np.array(-1)
    run = Run(together, t, q, np.zeros((len(q), together.nv)), none, none)
    return run, (len(motions) + 1) * round(SECONDS / STEP), spent


def _arm() -> tuple[Robot, Any]:
    """An arm that swings, with some friction in its joints."""
    q = np.array([0.0, 0.9, 0.0, 0.8, 0.0, 0.5, 0.0])
    robot = load("seven_dof_arm")
    robot = robot.with_joints(damping=0.5 * robot.mass_matrix(q).diagonal())
    zero = np.zeros(robot.nv)
    return robot, lambda: simulate(robot, q, zero, SECONDS, STEP, every=KEPT, joint_losses=True, progress=False).q


def _rope() -> tuple[Robot, Any]:
    """A rope held at one end that falls from the horizontal."""
    robot = cable(1.0, 30, EI=2e-4, density=0.2, damping=0.05, start="pinned", name="rope")
    zero = np.zeros(robot.nv)
    options: dict[str, Any] = {"integrator": "rk4", "joint_losses": True, "progress": False}
    return robot, lambda: simulate(robot, robot.neutral(), zero, SECONDS, STEP / 2, every=2 * KEPT, **options).q


def _pair() -> tuple[Robot, Any]:
    """Two arms that hold a box and sway: a closed chain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        two = System.load("two_arms_with_box")
    q = two.neutral()
    q[two.joint("box_motion").q_slice] = [0, 0, 0.55, 0, 0, 0, 1]
    q = two.close(q)
    zero = np.zeros(two.nv)
    held = two.inverse_dynamics(q, zero, zero)[0]
    pushed = [two.joint(f"{side}_yaw").v_slice.start for side in ("left", "right")]
    drive = [k for k in range(two.nv) if k < two.nv - 6]
    return two.forest, lambda: _swaying(two, q, held, pushed, drive)


def _swaying(two: System, q: Array, held: Array, pushed: list[int], drive: list[int]) -> Array:
    """States of the pair under the torques that hold it, a push to and fro, springs and dampers."""
    start, v, rows = q, np.zeros(two.nv), [q]
    gains = np.array([400.0, 40.0])
    for step in range(round(SECONDS / STEP)):
        away = two.difference(q, start)
        tau = held.copy()
        tau[drive] += 6.0 * away[drive] - 1.5 * v[drive]
        tau[pushed] += np.array([5.0, -5.0]) * np.sin(2 * np.pi * step * STEP / 2.0)
        v = v + STEP * two.forward_dynamics(q, v, tau, gains=gains).a
        q = two.integrate(q, STEP * v)
        if (step + 1) % KEPT == 0:
            rows.append(q)
    return np.array(rows)


def _play(run: Run, console: Console) -> None:
    """Draw the run in the terminal: as a film where the terminal can, else one picture."""
    rate = 12.0
    stage = Stage(run.robot, samples_of(run.robot, run.resampled(times_of(run, rate, 1.0)).q), (COLUMNS, ROWS), VIEW)
    if not console.is_terminal:
        console.print(in_shades(stage.frame(stage.rows // 2)))
        return
    with Live(console=console, auto_refresh=False) as live:
        for row in range(stage.rows):
            began = time.perf_counter()
            live.update(in_characters(stage.frame(row)), refresh=True)
            time.sleep(max(1 / rate - (time.perf_counter() - began), 0.0))


def _page(run: Run, path: str) -> str:
    """Write the page; what to tell about it."""
    try:
        film(run, path)
    except UnsupportedError as error:
        return f"No page was written: {error}"
    return f"Open it in a browser: file://{os.path.abspath(path)}"
