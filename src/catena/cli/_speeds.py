"""How long dynamics take on this machine, as tables: for `catena demo`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console
from rich.table import Table

from catena.build import rod_chain
from catena.cli._files import put
from catena.functions.count import count
from catena.load import load
from catena.robot import Robot

Array = npt.NDArray[Any]

METHODS = {
    "innovations": "Rodriguez & Kreutz; default",
    "udu": "Saha: M = U D Uᵀ",
    "two_sweep": "Featherstone",
    "dense": "M as a matrix: O(n³)",
}
BATCH = 8192
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
SECONDS = 0.1
"""How long a call is repeated to find its fastest time."""


def show(console: Console) -> None:
    """Print the tables."""
    for title, made in (
        (f"Accelerations from torques, {BATCH:,} states in one call", _batches),
        ("The same question by four methods, for the arm with seven joints", _methods),
        ("Chains of rods, from a thousand links to a million", _chains),
    ):
        with console.status("compiling, then measuring …"):
            table = made()
        console.print()
        console.rule(f"[bold cyan]{title}", align="left", style="cyan")
        put(table, console)
    console.print("[dim]A call compiles machine code for the robot once; then it is kept on disk.")


def _batches() -> Table:
    shown = _table("robot", "degrees of freedom", "first call", "then, one state", "states a second")
    for name in ("two_link_arm", "seven_dof_arm", "quadruped"):
        robot = load(name, base="floating" if name == "quadruped" else "fixed")
        first, best = timed(robot.forward_dynamics, *states(robot, BATCH))
        rate = f"{BATCH / best / 1e6:.3g} million"
        shown.add_row(name, str(robot.nv), duration(first), duration(best / BATCH), rate)
    return shown


def _methods() -> Table:
    robot = load("seven_dof_arm")
    given = states(robot, BATCH)
    reference = robot.forward_dynamics(*given)
    shown = _table("method", "", "operations", "one state", "differs by")
    for method, words in METHODS.items():
        _, best = timed(robot.forward_dynamics, *given, method=method)
        found = robot.forward_dynamics(*given, method=method)
        away = float(np.abs(found - reference).max() / np.abs(reference).max())
        operations = f"{count(robot, f'forward_dynamics/{method}').total:,}"
        shown.add_row(method, words, operations, duration(best / BATCH), f"{away:.0e}" if away else "0")
    shown.columns[1].justify = "left"
    return shown


def _chains() -> Table:
    shown = _table("links", "built in", "first call", "then", "for a link")
    for n in LENGTHS:
        start = time.perf_counter()
        robot = rod_chain(n, length=0.01, mass=0.1)
        built = time.perf_counter() - start
        first, best = timed(robot.forward_dynamics, *states(robot))
        shown.add_row(f"{n:,}", duration(built), duration(first), duration(best), duration(best / n))
    return shown


def _table(*columns: str) -> Table:
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left")
    return made


def states(robot: Robot, *shape: int) -> tuple[Array, Array, Array]:
    """Random configurations, velocities and torques."""
    rng = np.random.default_rng(0)
    v, tau = rng.standard_normal((2, *shape, robot.nv))
    return robot.random_configuration(rng, shape), v, tau


def timed(call: Callable[..., Any], *arguments: Any, **details: Any) -> tuple[float, float]:
    """The seconds that the first run of a call took, compiling included, and those of the fastest later one."""
    start = time.perf_counter()
    call(*arguments, **details)
    first, best = time.perf_counter() - start, np.inf
    end = time.perf_counter() + SECONDS
    while best == np.inf or time.perf_counter() < end:
        start = time.perf_counter()
        call(*arguments, **details)
        best = min(best, time.perf_counter() - start)
    return first, best


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
