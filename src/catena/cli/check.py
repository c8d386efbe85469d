"""`catena check`: every method on random states, how they agree, and what is odd about a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from catena.cli import printable
from catena.cli._agreement import DENSE, Compared, difference, of_robot, of_system
from catena.cli._files import AS_JSON, BASE, MODEL, PACKAGES, SEED, busy, closed, put, read_model
from catena.errors import CatenaError
from catena.load import Base
from catena.parameters.inertial import fault
from catena.robot import Robot
from catena.system import System

Array = npt.NDArray[Any]

DIGITS = 1e-15
"""The rounding of one operation, about; errors are judged by it times the condition number."""


@click.command(
    short_help="Try every method on random states; look for faults.",
    epilog="Example: catena check quadruped --base floating",
)
@click.argument("file", type=MODEL)
@BASE
@PACKAGES
@click.option("--samples", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Random states.")
@SEED
@AS_JSON
def command(file: str, base: Base, roots: tuple[str, ...], samples: int, seed: int, as_json: bool) -> None:
    """Try every method of dynamics on random states of the robot in FILE.

    Says how far the methods agree, how well the mass matrix can be inverted, whether the links can exist, and what is
    odd about the file. Of a system (loops in MJCF, or TOML), accelerations are compared with its equations. Each method
    is compiled first, which takes some seconds; later runs find the code on disk. Ends with exit code 1 if answers
    disagree or a link is impossible.
    """
    robot = read_model(file, base, roots)
    with busy("compiling") as sign:
        found = examined(robot, samples, seed, lambda what: sign.update(f"compiling and comparing: {what} …"))
    if as_json:
        click.echo(json.dumps(found, indent=2, allow_nan=False))
    else:
        _show(robot, found, Console(highlight=False))
    if not found["ok"]:
        raise SystemExit(1)


def examined(robot: Robot | System, samples: int, seed: int, tell: Callable[[str], Any]) -> dict[str, Any]:
    """All that is found out about a robot or a system, in JSON's types; `tell` is given what comes next."""
    rng = np.random.default_rng(seed)
    tell("mass matrix")
    loops: dict[str, Any] = {}
    if isinstance(robot, System):
        q = np.array([closed(robot, None, seed + sample) for sample in range(samples)])
        v, tau = rng.standard_normal((2, samples, robot.nv))
        compared, loops = of_system(robot, q, robot.project_velocity(q, v), tau), _loops(robot, q)
    else:
        q = robot.random_configuration(rng, samples)
        v, tau = rng.standard_normal((2, samples, robot.nv))
        compared = of_robot(robot, q, v, tau)
    condition = _condition(robot, q)
    allowed = max(DIGITS * (condition or 1e6) * loops.get("constraint_condition", 1.0) ** 2 * 100, 1e-9)
    agreement = _agreement(compared, tell) if robot.nv else {}
    numbers = {name: x for name, x in agreement.items() if isinstance(x, float)}
    links = _impossible(robot)
    wrong = [name for name, error in numbers.items() if not error <= allowed]
    return {
        "name": robot.name,
        "nv": robot.nv,
        "samples": samples,
        "agreement": {name: x if np.isfinite(x) else None for name, x in numbers.items()},
        "not_tried": {name: x for name, x in agreement.items() if isinstance(x, str)},
        "allowed": allowed,
        "disagree": wrong,
        "condition": condition,
        **loops,
        "impossible_links": links,
        "warnings": list(robot.warnings),
        "ok": not wrong and not links,
    }


def _agreement(compared: Iterator[Compared], tell: Callable[[str], Any]) -> dict[str, float | str]:
    """Relative differences by the name of what was compared; words where something could not be asked."""
    found: dict[str, float | str] = {}
    tell("forward dynamics")
    try:
        for name, first, second in compared:
            tell(name)
            found[name] = difference(first, second)
    except CatenaError as error:
        found["forward dynamics"] = str(error)
    return found


def _loops(system: System, q: Array) -> dict[str, Any]:
    """How many directions constraints hold, how many degrees of freedom they leave, and how near that is to fewer."""
    J = np.asarray(system.constraint_jacobian(q))
    sizes = np.linalg.svd(J, compute_uv=False)
    held = sizes > 1e-8 * np.maximum(sizes.max(axis=-1, initial=0.0, keepdims=True), 1e-300)
    worst = sizes.max(axis=-1, initial=0.0) / np.where(held, sizes, np.inf).min(axis=-1, initial=np.inf)
    rank = int(held.sum(axis=-1).max())
    return {"held": J.shape[-2], "left": system.nv - rank, "constraint_condition": max(float(worst.max()), 1.0)}


def _condition(robot: Robot | System, q: Array) -> float | None:
    """The largest condition number of the mass matrix, its rows scaled by what each joint carries; None if too large.

    Units of joints differ: scaling takes them out.
    """
    if not 0 < robot.nv <= DENSE:
        return None
    M = robot.mass_matrix(q).dense()
    size = np.sqrt(np.maximum(np.diagonal(M, axis1=-2, axis2=-1), 1e-300))
    moments = np.linalg.eigvalsh(M / (size[:, :, None] * size[:, None, :]))
    worst = float((moments[:, -1] / np.maximum(moments[:, 0], 1e-300)).max())
    return worst if np.isfinite(worst) else None


def _impossible(robot: Robot | System) -> list[str]:
    trees = robot.forest if isinstance(robot, System) else robot
    numbers = np.asarray(trees.parameters().inertial).reshape(-1, 10)
    return [f"{link.name}: {why}" for link, row in zip(robot.links, numbers, strict=True) if (why := fault(row))]


def _freedom(count: int) -> str:
    return f"{count} degree{'' if count == 1 else 's'} of freedom"


def _show(robot: Robot | System, found: dict[str, Any], console: Console) -> None:
    console.print(Text(f"{printable(robot.name)}: {_freedom(robot.nv)}, {found['samples']} states", "bold"))
    if "held" in found:
        console.print(f"Constraints hold {found['held']} directions and leave {_freedom(found['left'])}.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("compared")
    table.add_column("differs by", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name, error in found["agreement"].items():
        good = name not in found["disagree"]
        shown = "not finite" if error is None else f"{error:.0e}" if error else "0"
        table.add_row(name, shown, Text("ok", "green") if good else Text("DIFFERS", "red"))
    if found["agreement"]:
        put(table, console)
    reasons: dict[str, list[str]] = {}
    for name, why in found["not_tried"].items():
        reasons.setdefault(why.replace(name.rpartition(" ")[2], "…"), []).append(name)
    for why, names in reasons.items():
        console.print(Text(f"Not tried: {'; '.join(names)}: {printable(why)}", "yellow"))
    if found["condition"] is not None:
        lost = np.log10(max(found["condition"], 1.0))
        console.print(
            f"The mass matrix has the condition number {found['condition']:.1e}: about {lost:.0f} of 16 digits are "
            "lost when accelerations are computed from torques."
        )
    for link in found["impossible_links"]:
        console.print(Text(f"impossible link {printable(link)}", "red"))
    for warning in found["warnings"]:
        console.print(Text(f"warning: {printable(warning)}", "yellow"))
    console.print(Text("No faults found.", "green") if found["ok"] else Text("Faults found.", "red"))
