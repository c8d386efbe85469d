"""`catena view`: a robot or a run to look at, as a page, a picture or a film."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from catena.cli import printable
from catena.cli._files import BASE, MODEL, PACKAGES, busy, closed, numbers, outputs, read_model
from catena.drawing.arrows import BEARINGS, CONTACTS
from catena.drawing.page import PORT, view
from catena.drawing.pictures import film, render
from catena.errors import ClosureError
from catena.load import Base
from catena.robot import Robot
from catena.run_file import load_run
from catena.simulation.run import Run
from catena.system import System

SWAY, PERIOD = 0.6, 4.0
"""How far joints sway in a film of a model, rad or m, and for how long, s."""


@click.command(
    short_help="Look at a robot or a run: page, picture, film.",
    epilog="Example: catena view seven_dof_arm --q 0.3,0.6,0,1.2,0,0.8,0 --png arm.png",
)
@click.argument("file", type=MODEL)
@BASE
@PACKAGES
@click.option("--q", "configuration", metavar="NUMBERS", help="A configuration; the neutral one if left out.")
@click.option("--frames", is_flag=True, help="Draw the axes of all links.")
@click.option("--com", is_flag=True, help="Mark the centre of mass.")
@click.option("--forces", is_flag=True, help="Draw what joints (of a system: loops) carry as arrows.")
@click.option("--contacts", is_flag=True, help="Draw what the ground and pins exerted in a run as arrows.")
@click.option("--png", metavar="FILE", help="Write a picture.")
@click.option("--gif", metavar="FILE", help="Write a film.")
@click.option("--mp4", metavar="FILE", help="Write a film, by ffmpeg.")
@click.option("--html", metavar="FILE", help="Write a page that needs no server and no network.")
@click.option("--size", nargs=2, type=int, default=(640, 480), show_default=True, help="Of pictures, in pixels.")
@click.option("--speed", type=float, default=1.0, show_default=True, help="Of films: 2 for twice as fast.")
@click.option("--port", type=int, default=PORT, show_default=True, help="Where the live page is.")
def command(
    file: str, base: Base, roots: tuple[str, ...], configuration: str | None, frames: bool, com: bool, **given: Any
) -> None:
    """Look at the robot in FILE, or at a run that catena simulate wrote (.npz).

    Without a file to write, a page is served to this machine until Ctrl-C, with sliders for the joints or controls to
    play the run. A film of a model, not of a run, lets its joints sway.
    """
    files = outputs(given, ("png", "gif", "mp4", "html"))
    run = load_run(file, package_roots=roots) if file.endswith(".npz") else None
    robot = read_model(file, base, roots) if run is None else run.robot
    q = _placed(robot, numbers(configuration, "--q", robot.nq))
    carried = CONTACTS if given["contacts"] else BEARINGS if given["forces"] else None
    marks: dict[str, Any] = {"frames": frames, "center_of_mass": com, "forces": carried}
    for kind, path in files.items():
        with busy("drawing"):
            if kind == "png" and run is None:
                render(robot, q, path, size=given["size"], **marks)
            else:
                shown = run if run is not None else _swaying(robot, q)
                film(shown, path, size=given["size"], speed=given["speed"], **marks)
        click.echo(f"written    {printable(path)}")
    if not files:
        view(robot, q, run=run, port=given["port"], **marks).wait()


def _placed(robot: Robot | System, q: Any) -> Any:
    """q, or the neutral configuration; with the loops of a system closed, and if that fails said so."""
    if not isinstance(robot, System):
        return robot.neutral() if q is None else robot.normalize(q)
    try:
        return closed(robot, q)
    except ClosureError as error:
        click.echo(f"catena: drawn with open loops: {printable(str(error))}", err=True)
        return robot.neutral() if q is None else robot.normalize(q)


def _swaying(robot: Any, q: Any) -> Run:
    """The joints of a robot swaying about q, each in its own phase, within their limits; of a system, it stays."""
    t = np.linspace(0.0, PERIOD, 101)
    phase = 0.7 * np.arange(robot.nv)
    away = SWAY * (np.sin(2 * np.pi * t[:, None] / PERIOD + phase) - np.sin(phase))
    free = {k for joint in robot.joints if joint.type == "free" for k in range(*joint.v_slice.indices(robot.nv))}
    away[:, sorted(free)] = 0.0
    if isinstance(robot, System):
        away[:] = 0.0
    path = np.clip(robot.integrate(np.broadcast_to(q, (len(t), robot.nq)), away), robot.lower, robot.upper)
    none = np.array(-1)
    return Run(robot, t, path, np.zeros((len(t), robot.nv)), none, none)
