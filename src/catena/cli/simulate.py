"""`catena simulate`: how a robot moves, to a file, a page, a film."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from catena.cli import printable
from catena.cli._files import AS_JSON, BASE, MODEL, PACKAGES, SEED, busy, closed, numbers, outputs, read_model
from catena.drawing.arrows import CONTACTS
from catena.errors import DivergenceWarning
from catena.load import Base
from catena.robot import Robot
from catena.simulation import controllers
from catena.simulation.forces.ground import Ground
from catena.simulation.run import Run
from catena.simulation.simulate import simulate
from catena.system import System

OWN_FREQUENCY = 2 * np.pi * 2.0
"""Of joints under pd and hold, in rad/s, unless gains are given."""
ABOVE = 0.05
"""How far above the ground a robot starts, in m."""
CONTROLS = ("free", "pd", "hold", "gravity")


@click.command(
    short_help="Let a robot move: free or controlled, to a file, page or film.",
    epilog="Example: catena simulate seven_dof_arm --control pd --target 0.5 --out run.npz --html run.html",
)
@click.argument("file", type=MODEL)
@BASE
@PACKAGES
@click.option("--duration", type=float, default=3.0, show_default=True, help="Seconds.")
@click.option("--dt", type=float, default=1e-3, show_default=True, help="Length of a step, s.")
@click.option("--every", type=int, default=1, show_default=True, help="Keep a state every so many steps.")
@click.option("--q", "start", metavar="NUMBERS", help="Start from here; else at random, on the ground at --target.")
@click.option("--v", "speed", metavar="NUMBERS", help="With these speeds; at rest if left out.")
@SEED
@click.option(
    "--control",
    type=click.Choice(CONTROLS),
    default="free",
    show_default=True,
    help="No torques; a spring and damper at each joint towards the target; the same with gravity compensated; only "
    "that. Nothing drives free joints, of bases that float and of objects.",
)
@click.option("--drive-free-joints", is_flag=True, help="--control drives these too, as if something held them.")
@click.option("--target", metavar="NUMBERS", help="Of pd and hold; the neutral configuration if left out.")
@click.option("--kp", metavar="NUMBERS", help="Stiffness of pd and hold; to swing at 2 Hz with what a joint carries.")
@click.option("--kd", metavar="NUMBERS", help="Damping of pd and hold; enough not to swing.")
@click.option("--losses", is_flag=True, help="The model's damping and friction act.")
@click.option("--limits", is_flag=True, help="Springs push joints back that are beyond their limits.")
@click.option("--ground", is_flag=True, help="It stands on the ground, z = 0, which its shapes touch.")
@click.option("--feet", metavar="NAMES", help="Links or frames that touch the ground instead, with commas between.")
@click.option("--integrator", help="See catena.simulate; midpoint, with --ground or --limits semi_implicit.")
@click.option("--out", metavar="FILE", help="Write the run (.npz), for catena view and catena.load_run.")
@click.option("--html", metavar="FILE", help="Write a page that plays the run in any browser.")
@click.option("--gif", metavar="FILE", help="Write a film.")
@click.option("--mp4", metavar="FILE", help="Write a film, by ffmpeg.")
@click.option("--contacts", is_flag=True, help="Draw the forces of the ground in pages and films.")
@AS_JSON
def command(file: str, base: Base, roots: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Let the robot or the closed system in FILE move from a state, and say how it went.

    FILE is a URDF, MJCF or TOML file, "-" for standard input, or the name of a model that comes along. Loops are closed
    near --q. Ctrl-C ends it early, and what was computed so far is written. The exit code of a run that diverged is 1.
    """
    files = outputs(given, ("out", "html", "gif", "mp4"))
    robot = read_model(file, base, roots)
    run = _run(robot, given)
    for kind, path in files.items():
        with busy("writing"), np.errstate(all="ignore"):  # numbers of a run that diverged
            run.save(path) if kind == "out" else run.render(path, forces=CONTACTS if given["contacts"] else None)
    found = summary(run)
    if as_json:
        click.echo(json.dumps({**found, "files": list(files.values())}, indent=2))
    else:
        _tell(robot, found, list(files.values()))
    if "interrupted at" in run.how:
        raise KeyboardInterrupt
    if found["diverged"]:
        raise click.exceptions.Exit(1)


def _run(robot: Robot | System, given: dict[str, Any]) -> Run:
    feet = [name.strip() for name in given["feet"].split(",")] if given["feet"] else None
    ground = Ground(feet) if given["ground"] or feet else None
    target = numbers(given["target"], "--target", robot.nq)
    q, v = _start(robot, given, ground, target)
    target = robot.neutral() if target is None else robot.normalize(target)
    drive = {"drive_free_joints": given["drive_free_joints"]}
    made: dict[str, Callable[[], Any]] = {
        "free": lambda: None,
        "pd": lambda: controllers.pd(target, *_gains(robot, target, given)),
        "hold": lambda: controllers.hold(target, *_gains(robot, target, given), **drive),
        "gravity": lambda: controllers.gravity_compensation(**drive),
    }
    control = made[given["control"]]()
    integrator = given["integrator"] or ("semi_implicit" if ground or given["limits"] else "midpoint")
    options = {"control": control, "joint_losses": given["losses"], "joint_limits": given["limits"], "ground": ground}
    options |= {"integrator": integrator, "every": given["every"]}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", DivergenceWarning)  # the summary says so
        return simulate(robot, q, v, given["duration"], given["dt"], **options)


def _start(robot: Robot | System, given: dict[str, Any], ground: Ground | None, target: Any) -> tuple[Any, Any]:
    """The configuration and the velocities to start with; those of a system keep its loops closed."""
    q, v = numbers(given["start"], "--q", robot.nq), numbers(given["speed"], "--v", robot.nv)
    if isinstance(robot, System):
        q = closed(robot, q, given["seed"])
        return q, np.zeros(robot.nv) if v is None else robot.project_velocity(q, v)
    if q is not None:
        q = robot.normalize(q)
    elif ground is not None and any(joint.type == "free" for joint in robot.joints[:1]):
        q = _above(robot, ground, robot.random_configuration(given["seed"]) if target is None else target)
    else:
        q = robot.random_configuration(given["seed"])
    return q, np.zeros(robot.nv) if v is None else v


def _above(robot: Robot, ground: Ground, q: Any) -> Any:
    """A configuration with the free base put upright above the ground."""
    q = np.concatenate([robot.neutral()[:7], q[7:]])
    turn, shift = robot.placements(q)
    lowest = min((turn[s.link] @ s.centre + shift[s.link])[2] - s.radius for s in ground.spheres(robot))
    q[2] += ABOVE - lowest
    return q


def _gains(robot: Robot | System, target: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """Stiffness and damping as given, or by the inertia that joints carry at the target; none where nothing drives."""
    carried, driven = robot.mass_matrix(target).diagonal(), np.ones(robot.nv)
    for joint in robot.joints:
        if joint.type == "free" and not given["drive_free_joints"]:
            driven[joint.v_slice] = 0.0
    kp, kd = (numbers(given[name], f"--{name}", robot.nv, least=0.0) for name in ("kp", "kd"))
    kp = driven * (OWN_FREQUENCY**2 * carried if kp is None else kp)
    return kp, driven * (2 * np.sqrt(kp * carried) if kd is None else kd)


def summary(run: Run) -> dict[str, Any]:
    """What is said about a run."""
    with np.errstate(all="ignore"):  # numbers of a run that diverged
        energy = run.energy()
    return {
        "robot": run.robot.name,
        "integrator": run.integrator,
        "duration": float(run.t[-1] - run.t[0]),
        "rows": len(run.t),
        "steps": round(float(run.t[-1] - run.t[0]) / run.dt) if run.dt > 0 else len(run.t) - 1,
        "diverged": bool(run.diverged.any()),
        "energy_first": _finite(energy[..., 0]),
        "energy_last": _finite(energy[..., -1]),
        "how": run.how,
    }


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _tell(robot: Robot | System, found: dict[str, Any], files: list[str]) -> None:
    click.echo(f"{printable(robot.name)}: {found['duration']:g} s in {found['steps']:,} steps ({found['integrator']})")
    for what, _, how in (part.partition(": ") for part in found["how"].split("; ") if part):
        click.echo(printable(f"{what:<10} {how}"))
    first, last = found["energy_first"], found["energy_last"]
    if first is not None and last is not None:
        click.echo(f"energy     {first:.6g} J at the start, {last:.6g} J at the end")
    if found["diverged"]:
        click.echo("diverged   the state is not finite any more; take a shorter --dt")
    for path in files:
        click.echo(f"written    {printable(path)}")
    if not files:
        click.echo("Add --html run.html to watch it, or --out run.npz to keep it.")
