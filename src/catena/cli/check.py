"""`catena check`: every method on random states, how they agree, and what is odd about a model."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from catena.cli import printable
from catena.cli._files import AS_JSON, BASE, MODEL, PACKAGES, busy, read_robot
from catena.errors import CatenaError
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.load import Base
from catena.parameters.inertial import fault
from catena.robot import Robot

Array = npt.NDArray[Any]

DENSE = 200
"""Degrees of freedom up to which methods with n x n matrices are tried, and conditions computed."""
DIGITS = 1e-15
"""The rounding of one operation, about; errors are judged by it times the condition number."""
MATRIX = ("innovations", "udu", "dense")


@click.command(
    short_help="Try every method on random states; look for faults.",
    epilog="Example: catena check quadruped --base floating",
)
@click.argument("file", type=MODEL)
@BASE
@PACKAGES
@click.option("--samples", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Random states.")
@click.option("--seed", type=int, default=0, show_default=True, help="For the random states.")
@AS_JSON
def command(file: str, base: Base, roots: tuple[str, ...], samples: int, seed: int, as_json: bool) -> None:
    """Try every method of dynamics on random states of the robot in FILE.

    Says how far the methods agree, how well the mass matrix can be inverted, whether the links can exist, and what is
    odd about the file. Ends with exit code 1 if methods disagree or a link is impossible.
    """
    robot = read_robot(file, base, roots)
    with busy("compiling each method"):
        found = examined(robot, samples, seed)
    if as_json:
        click.echo(json.dumps(found, indent=2, allow_nan=False))
    else:
        _show(robot, found, Console(highlight=False))
    if not found["ok"]:
        raise SystemExit(1)


def examined(robot: Robot, samples: int, seed: int) -> dict[str, Any]:
    """All that is found out about a robot, in JSON's types."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, samples)
    v, tau = rng.standard_normal((2, samples, robot.nv))
    condition = _condition(robot, q)
    allowed = max(DIGITS * (condition or 1e6) * 100, 1e-9)
    agreement = _agreement(robot, q, v, tau) if robot.nv else {}
    links = _impossible(robot)
    wrong = [name for name, error in agreement.items() if isinstance(error, float) and not error <= allowed]
    return {
        "name": robot.name,
        "nv": robot.nv,
        "samples": samples,
        "agreement": {k: x if not isinstance(x, float) or np.isfinite(x) else None for k, x in agreement.items()},
        "allowed": allowed,
        "disagree": wrong,
        "condition": condition,
        "impossible_links": links,
        "warnings": list(robot.warnings),
        "ok": not wrong and not links,
    }


def _agreement(robot: Robot, q: Array, v: Array, tau: Array) -> dict[str, float | str]:
    """Relative differences by the name of what was compared; words where something could not be asked."""
    try:
        reference = robot.forward_dynamics(q, v, tau)
    except CatenaError as error:
        return {"forward dynamics": str(error)}
    found: dict[str, float | str] = {}
    for method in FORWARD_DYNAMICS:
        if method == "innovations" or (method == "dense" and robot.nv > DENSE):
            continue
        found[f"forward dynamics, {method}"] = _tried(
            lambda method=method: robot.forward_dynamics(q, v, tau, method=method), reference
        )
    found["inverse of forward dynamics"] = _tried(lambda: robot.inverse_dynamics(q, v, reference), tau)
    drawn = tau - robot.bias(q, v)
    found["mass matrix times accelerations"] = _tried(lambda: robot.mass_matrix(q).times(reference), drawn)
    logdet = robot.mass_matrix(q).logdet()
    for method in MATRIX[1:]:
        if method != "dense" or robot.nv <= DENSE:
            found[f"log determinant, {method}"] = _tried(
                lambda method=method: robot.mass_matrix(q, method=method).logdet(), logdet
            )
    return found


def _tried(ask: Any, expected: Array) -> float | str:
    try:
        answer = np.asarray(ask())
    except CatenaError as error:
        return str(error)
    return float(np.abs(answer - expected).max() / max(float(np.abs(expected).max()), 1e-300))


def _condition(robot: Robot, q: Array) -> float | None:
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


def _impossible(robot: Robot) -> list[str]:
    numbers = np.asarray(robot.parameters().inertial).reshape(-1, 10)
    return [f"{link.name}: {why}" for link, row in zip(robot.links, numbers, strict=True) if (why := fault(row))]


def _show(robot: Robot, found: dict[str, Any], console: Console) -> None:
    console.print(Text(f"{printable(robot.name)}: {robot.nv} degrees of freedom, {found['samples']} states", "bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("compared", no_wrap=True)
    table.add_column("differs by", justify="right")
    table.add_column("")
    for name, error in found["agreement"].items():
        good = name not in found["disagree"]
        shown = error if isinstance(error, str) else "not finite" if error is None else f"{error:.0e}"
        table.add_row(name, Text(printable(shown)), Text("ok", "green") if good else Text("DIFFERS", "red"))
    console.print(table)
    if found["condition"] is not None:
        lost = np.log10(max(found["condition"], 1.0))
        console.print(
            f"The mass matrix has the condition number {found['condition']:.1e}: about {lost:.0f} of 16 digits"
        )
        console.print("are lost when accelerations are computed from torques.")
    for link in found["impossible_links"]:
        console.print(Text(f"impossible link {printable(link)}", "red"))
    for warning in found["warnings"]:
        console.print(Text(f"warning: {printable(warning)}", "yellow"))
    console.print(Text("No faults found.", "green") if found["ok"] else Text("Faults found.", "red"))
