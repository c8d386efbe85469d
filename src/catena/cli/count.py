"""`catena count`: operations that an evaluation takes, for a model or as formulas for general chains."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from catena.cli import printable
from catena.cli._files import AS_JSON, BASE, MODEL, put, read_robot
from catena.functions.catalogue import FUNCTIONS
from catena.functions.count import START, Cost, count, crossover, table
from catena.load import Base
from catena.robot import Robot

_USUAL = ("forward_dynamics", "inverse_dynamics", "bias", "mass_matrix_times", "udu/factors")
_INCLUDED = (
    "Counted by tracing, each shared operation once. M: multiplications and divisions, A: additions and subtractions; "
    "sines, cosines and changes of sign are left out."
)


@click.command(
    short_help="Count the operations of one evaluation.",
    epilog="Example: catena count seven_dof_arm --function forward_dynamics/udu",
)
@click.argument("file", type=MODEL, required=False)
@click.option("--table", "general", is_flag=True, help="Formulas in n for general revolute DH chains.")
@BASE
@click.option("--function", "functions", multiple=True, metavar="NAME", help="What to count; repeat for more.")
@AS_JSON
def command(file: str | None, general: bool, base: Base, functions: tuple[str, ...], as_json: bool) -> None:
    """Count the operations of one evaluation for the robot in FILE.

    FILE is a URDF or MJCF file, "-" for standard input, or the name of a model that comes along.
    """
    if general == (file is not None):
        raise click.UsageError("give either a FILE or --table")
    console = Console(highlight=False)
    if general:
        costs = table()
        if as_json:
            click.echo(json.dumps([_formulas(cost) for cost in costs], indent=2))
        else:
            show_table(costs, console)
        return
    robot = read_robot(str(file), base)
    counts = {name: (count(robot, name), count(robot, name, fused=True)) for name in functions or _USUAL}
    if as_json:
        found = {name: {**asdict(plain), "fused": asdict(fused)} for name, (plain, fused) in counts.items()}
        click.echo(json.dumps({"name": robot.name, "functions": found}, indent=2))
    else:
        show_counts(robot, counts, console)


def show_counts(robot: Robot, counts: dict[str, Any], console: Console) -> None:
    """Prints one row for each function."""
    console.print(f"{printable(robot.name)}: nq = {robot.nq}, nv = {robot.nv}", markup=False)
    columns = ("multiplications", "additions", "divisions", "sines_and_cosines")
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    rows.add_column("function", no_wrap=True)
    for heading in ("mul", "add", "div", "sin, cos", "total", "fused total"):
        rows.add_column(heading, justify="right", no_wrap=True)
    for name, (plain, fused) in counts.items():
        numbers = [getattr(plain, column) for column in columns]
        rows.add_row(name, *[f"{x:,}" for x in (*numbers, plain.total, fused.total)])
    put(rows, console)
    console.print(
        "One evaluation, the robot's numbers folded in; forward dynamics with bias torques and gravity, without "
        f"external wrenches. Other functions: {', '.join(name for name in FUNCTIONS if name not in counts)}",
        markup=False,
    )


def show_table(costs: list[Cost], console: Console) -> None:
    """Prints the formulas, and from where on O(n) pays."""
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title="General revolute DH chains of n links")
    rows.add_column("method", no_wrap=True)
    for heading in ("M", "A", "includes"):
        rows.add_column(heading)
    for cost in costs:
        rows.add_row(cost.name, str(cost.multiplications), str(cost.additions), cost.includes)
    put(rows, console)
    console.print(
        f"Exact for n ≥ {START} and links that get lighter towards the tip: one that is light beside what it carries "
        f"is not regrouped and costs more. {_INCLUDED} Operations on link constants alone are done beforehand."
    )
    by_name = {cost.name: cost for cost in costs}
    for linear, cubic in (("forward_dynamics/udu", "forward_dynamics/dense"), ("udu/solve", "dense/solve")):
        n = crossover(by_name[linear], by_name[cubic])
        console.print(f"{linear} takes fewer operations than {cubic} from n = {n} on.")


def _formulas(cost: Cost) -> dict[str, Any]:
    def listed(formula: Any) -> list[str]:
        return [str(c) for c in formula.coefficients]

    return {
        "method": cost.name,
        "includes": cost.includes,
        "from": cost.start,
        "multiplications": listed(cost.multiplications),
        "additions": listed(cost.additions),
    }
