"""What Catena does, in about fifteen seconds: run by `make demo`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import catena
from catena import robots

console = Console(highlight=False)
METHODS = ("innovations", "fd1", "fd2", "fd3", "fd4", "udu", "dense")
MATRIX_METHODS = ("innovations", "udu", "fixman", "dense")
BATCH = 8192
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
SECONDS = 0.1  # how long a call is repeated to find its fastest time


def main() -> None:
    start = time.perf_counter()
    show_a_robot()
    show_batches()
    show_methods()
    show_long_chains()
    show_the_mass_matrix()
    show_errors()
    note(f"\nAll of this took {time.perf_counter() - start:.0f} s on {catena.get_threads()} threads.")


def title(text: str) -> None:
    console.print()
    console.rule(f"[bold cyan]{text}", align="left", style="cyan")


def note(text: str) -> None:
    console.print(f"[dim]{text}")


def table(*columns: str) -> Table:
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left", no_wrap=True)
    return made


def timed(call: Callable[..., Any], *arguments: Any, **details: Any) -> tuple[Any, float, float]:
    """The result of a call, the seconds its first run took (compiling included), and those of the fastest later one."""
    start = time.perf_counter()
    result = call(*arguments, **details)
    first, best = time.perf_counter() - start, np.inf
    end = time.perf_counter() + SECONDS
    while best == np.inf or time.perf_counter() < end:
        start = time.perf_counter()
        call(*arguments, **details)
        best = min(best, time.perf_counter() - start)
    return result, first, best


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def error(found: Any, expected: Any) -> str:
    worst = np.abs(found - expected).max() / np.abs(expected).max()
    return f"{worst:.0e}" if worst else "0"


def states(robot: catena.Robot, *shape: int) -> tuple[Any, Any, Any]:
    """Random configurations, velocities and torques."""
    rng = np.random.default_rng(0)
    v, tau = rng.standard_normal((2, *shape, robot.nv))
    return robot.random_configuration(rng, shape), v, tau


def show_a_robot() -> None:
    title('Load a robot: catena.load("quadruped.urdf", base="floating")')
    console.print(str(catena.load(robots.path("quadruped"), base="floating")), markup=False)


def show_batches() -> None:
    title(f"Dynamics of {BATCH:,} states in one call: robot.forward_dynamics(q, v, tau)")
    shown = table("", "nv", "first call", "forward", "inverse", "error")
    with console.status("compiling for each robot …"):
        for name, base in (("two_link_arm", "fixed"), ("seven_dof_arm", "fixed"), ("quadruped", "floating")):
            robot = catena.load(robots.path(name), base=base)
            q, v, tau = states(robot, BATCH)
            a, first, forward = timed(robot.forward_dynamics, q, v, tau)
            back, _, inverse = timed(robot.inverse_dynamics, q, v, a)
            each = duration(forward / BATCH), duration(inverse / BATCH)
            shown.add_row(name, str(robot.nv), duration(first), *each, error(back, tau))
    console.print(shown)
    note("Times are for one state. The first call compiles. Error: inverse dynamics of the result, against τ.")


def show_methods() -> None:
    title('The same question, several papers\' answers: method="…"')
    robot = catena.load(robots.path("seven_dof_arm"))
    q, v, tau = states(robot, BATCH)
    shown = table("seven_dof_arm", "multiplications", "additions", "one state", "differs by")
    reference = robot.forward_dynamics(q, v, tau)
    with console.status("compiling each method …"):
        for method in METHODS:
            a, _, best = timed(robot.forward_dynamics, q, v, tau, method=method)
            count = catena.count(robot, f"forward_dynamics/{method}")
            numbers = f"{count.multiplications:,}", f"{count.additions:,}"
            shown.add_row(method, *numbers, duration(best / BATCH), error(a, reference))
        logdets = np.array([robot.mass_matrix(q, method=method).logdet() for method in MATRIX_METHODS])
    console.print(shown)
    note(f"log det M of all states by {', '.join(MATRIX_METHODS)}: the same to {error(logdets, logdets[0])}.")


def show_long_chains() -> None:
    title("A million links: catena.rod_chain(1_000_000)")
    shown = table("links", "built in", "first call", "forward", "for a link", "error")
    with console.status("rods in space, end to end …"):
        for n in LENGTHS:
            start = time.perf_counter()
            robot = catena.rod_chain(n, length=0.01, mass=0.1)
            built = time.perf_counter() - start
            q, v, tau = states(robot)
            a, first, best = timed(robot.forward_dynamics, q, v, tau)
            bias = robot.bias(q, v)
            times = duration(built), duration(first), duration(best), duration(best / n)
            shown.add_row(f"{n:,}", *times, error(robot.inverse_dynamics(q, v, a) - bias, tau - bias))
    console.print(shown)


def show_the_mass_matrix() -> None:
    title("The mass matrix as an object: M = robot.mass_matrix(q)")
    n = LENGTHS[-1] // 10
    robot = catena.random_tree(seed=1, n=n, joint_types="revolute", branching=1.0)
    q, _, x = states(robot)
    M = robot.mass_matrix(q)
    console.print(repr(M), markup=False)
    shown = table("", "time", "check")
    with console.status("multiplying, solving, factoring …"):
        y, _, best = timed(M.times, x)
        shown.add_row("y = M @ x", duration(best), f"y · x = 2 · kinetic energy to {error(y @ x, M.quadratic_form(x))}")
        solved, _, best = timed(M.solve, y)
        shown.add_row("M.solve(y)", duration(best), f"x again to {error(solved, x)}")
        w, _, best = timed(M.inv_sqrt_times, x)
        shown.add_row("w = M.inv_sqrt_times(x)", duration(best), f"w · M w = x · x to {error(w @ (M @ w), x @ x)}")
        logdet, _, best = timed(M.logdet)
        shown.add_row("M.logdet()", duration(best), f"{logdet:.6g}")
    console.print(shown)
    note(f"As an array it would take {8e-9 * n * n:,.0f} GB; here nothing is larger than O(n).")


def show_errors() -> None:
    title("What is wrong is said by name")
    builder = catena.Builder("bad").link("upper", mass=1, com=(0, 0, 0.1)).link("flag")
    builder.revolute("hinge", "base", "upper", axis="y").revolute("spin", "upper", "flag", axis="z")
    show_error(builder.build)
    show_error(catena.rod_chain(12).link, "lnik7")


def show_error(call: Callable[..., Any], *arguments: Any) -> None:
    try:
        call(*arguments)
    except catena.CatenaError as problem:
        console.print(Text.assemble((type(problem).__name__, "red"), f": {problem}"))


if __name__ == "__main__":
    main()
