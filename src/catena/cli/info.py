"""`catena info FILE`: what a model is; its tree, masses, joints, limits and warnings."""

from __future__ import annotations

import json
import math
from typing import Any

import click
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from catena.cli import printable
from catena.cli._files import BASE, MODEL, put, read_model
from catena.kernels.call.layout import why_python_answers
from catena.load import Base
from catena.model import describe
from catena.model.views import JointView
from catena.robot import Robot
from catena.system import System

_COLUMNS = {
    "max. speed": "velocity_limit",
    "max. effort": "effort_limit",
    "damping": "damping",
    "friction": "friction",
    "armature": "armature",
    "stiffness": "stiffness",
}
UNITS = "in rad, rad/s and N m; of joints that slide in m, m/s and N"
_PER_COORDINATE = ("lower", "upper", *_COLUMNS.values())


@click.command(
    short_help="Show what a model is: tree, masses, joints, limits, warnings.",
    epilog="Example: catena info quadruped --base floating",
)
@click.argument("file", type=MODEL)
@BASE
@click.option("--json", "as_json", is_flag=True, help="Everything, for programs; no number is rounded.")
@click.option("--lines", type=click.IntRange(min=0), default=60, show_default=True, help="Joints shown at most.")
def command(file: str, base: Base, as_json: bool, lines: int) -> None:
    """Show the robot in FILE, or the system if the file closes loops.

    FILE is a URDF, MJCF or TOML file, "-" for standard input, or the name of a model that comes along.
    """
    robot = read_model(file, base)
    if as_json:
        click.echo(json.dumps(as_dictionary(robot), indent=2, allow_nan=False))
    else:
        show(robot, Console(highlight=False), lines)


def show(robot: Robot | System, console: Console, lines: int) -> None:
    """Prints the tree, a table of the joints with what they carry, frames and warnings."""
    title, *rows = (_printable_row(row) for row in describe.text(robot.tree, lines).split("\n"))
    console.print(Text(title, style="bold"))
    gravity = ", ".join(f"{x:g}" for x in robot.gravity)
    console.print(
        Text(f"gravity ({gravity}) m/s²; {robot.tree.base_mass:.6g} kg bolted to the base {robot.base_name!r}")
    )
    for row in rows:
        console.print(Text(row), soft_wrap=True)
    if robot.tree.n and lines:
        put(_joint_table(robot, lines), console)
        console.print(Text(UNITS))
    if robot.frames:
        console.print(Text(f"fixed frames ({len(robot.frames):,}): {_some(list(robot.frames))}"))
    if isinstance(robot, System) and robot.constraints:
        held = sum(constraint.holds for constraint in robot.constraints)
        console.print(Text(f"constraints ({len(robot.constraints):,}, which hold {held:,} directions):"))
        for name in robot.constraint_names[:lines]:
            console.print(Text(f"  {printable(name)}"), soft_wrap=True)
    if (why := why_python_answers()) is not None:
        console.print(Text(f"calls are answered by Python, not by machine code at once: {why}"), soft_wrap=True)
    for warning in robot.warnings[:lines]:
        console.print(Text(f"warning: {printable(warning)}", style="yellow"), soft_wrap=True)
    if len(robot.warnings) > lines:
        console.print(Text(f"… and {len(robot.warnings) - lines:,} more warnings", style="yellow"))


def _joint_table(robot: Robot | System, lines: int) -> Table:
    """What the tree does not show: where each joint is in q, and those of its numbers that any joint has."""
    joints = robot.joints[:lines]
    columns = {heading: [_number(getattr(joint, field)) for joint in joints] for heading, field in _COLUMNS.items()}
    columns = {heading: cells for heading, cells in columns.items() if set(cells) - {"0", "–"}}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("joint", overflow="fold")
    for heading in ("q", *columns):
        table.add_column(heading, justify="right", no_wrap=True)
    for row, joint in enumerate(joints):
        start, stop = joint.q_slice.start, joint.q_slice.stop
        where = "–" if stop == start else str(start) if stop == start + 1 else f"{start}:{stop}"
        table.add_row(Text(printable(joint.name)), where, *(cells[row] for cells in columns.values()))
    if robot.tree.n > lines:
        table.add_row(f"… {robot.tree.n - lines:,} more")
    return table


def _number(value: Any) -> str:
    """One number, or one for all coordinates if they are equal; a dash where there is no limit."""
    values = np.atleast_1d(value)
    if not values.size:  # a joint that mimics another has none
        return "–"
    if not np.all(values == values[0]):
        return "…"
    return f"{values[0]:.4g}" if np.isfinite(values[0]) else "–"


def _printable_row(row: str) -> str:
    """A row of the tree without what could steer a terminal, its margin kept."""
    body = row.lstrip(" ")
    return " " * (len(row) - len(body)) + printable(body)


def _some(names: list[str], most: int = 12) -> str:
    shown = ", ".join(printable(name) for name in names[:most])
    return f"{shown}, …" if len(names) > most else shown


def as_dictionary(robot: Robot | System) -> dict[str, Any]:
    """Everything about the robot in JSON's types; null stands for "unlimited"."""
    tree = robot.tree
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "total_mass": robot.total_mass,
        "gravity": robot.gravity.tolist(),
        "base": {
            "name": robot.base_name,
            "mass": tree.base_mass,
            "com": tree.base_com.tolist(),
            "inertia": tree.base_inertia.tolist(),
        },
        "links": [
            {
                "name": link.name,
                "parent": link.parent,
                "joint": link.joint.name,
                "mass": link.mass,
                "com": link.com.tolist(),
                "inertia": link.inertia.tolist(),
            }
            for link in robot.links
        ],
        "joints": [_joint_dictionary(joint) for joint in robot.joints],
        "frames": {
            name: {
                "link": tree.link_names[frame.link] if frame.link >= 0 else robot.base_name,
                "rotation": frame.rotation.tolist(),
                "position": frame.position.tolist(),
            }
            for name, frame in robot.frames.items()
        },
        "mimic": {name: rule._asdict() for name, rule in tree.mimic.items()},
        "constraints": [
            {"kind": type(constraint).__name__, **constraint.arguments()}
            for constraint in (robot.constraints if isinstance(robot, System) else ())
        ],
        "warnings": list(robot.warnings),
        "answered_by_python": why_python_answers(),
    }


def _joint_dictionary(joint: JointView) -> dict[str, Any]:
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": joint.parent,
        "child": joint.child,
        "axis": None if joint.axis is None else joint.axis.tolist(),
        "rotation": joint.rotation.tolist(),
        "position": joint.position.tolist(),
        "q": [joint.q_slice.start, joint.q_slice.stop],
        "v": [joint.v_slice.start, joint.v_slice.stop],
        **{field: _finite(getattr(joint, field)) for field in _PER_COORDINATE},
    }


def _finite(value: Any) -> Any:
    """A number or a list of them, null where infinite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return [_finite(float(x)) for x in value]
