"""What Catena can do, in a minute: run by `make demo`."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import catena
from catena import robots

console = Console(highlight=False)


def main() -> None:
    show_a_file()
    show_chains()
    show_editing()
    show_errors()


def title(text: str) -> None:
    console.print(f"\n[bold cyan]{text}")


def show_a_file() -> None:
    title('catena.load("quadruped.urdf", base="floating")')
    robot = catena.load(robots.path("quadruped"), base="floating")
    console.print(str(robot), markup=False)
    q0, q1 = robot.random_configuration(rng=0, shape=(2, 1000))
    back = robot.integrate(q0, robot.difference(q0, q1))
    worst = np.abs(robot.difference(back, q1)).max()
    console.print(f"1000 random pairs of configurations: integrate(q0, difference(q0, q1)) is q1 to {worst:.0e}")


def show_chains() -> None:
    title("Chains of a million links")
    million = 1_000_000
    makers: dict[str, Callable[[], catena.Robot]] = {
        "planar_chain": lambda: catena.planar_chain(np.linspace(1, 2, million), 1.0),
        "rod_chain": lambda: catena.rod_chain(million, length=0.01, mass=0.1),
        "point_mass_chain": lambda: catena.point_mass_chain(np.full(million, 1.5e-10), 2.3e-26),
    }
    table = Table("", "degrees of freedom", "built in", "hashed in", "pickled size", "same after pickling")
    for name, make in makers.items():
        start = time.perf_counter()
        robot = make()
        built = time.perf_counter()
        hash(robot)
        hashed = time.perf_counter()
        data = pickle.dumps(robot)
        same = "yes" if pickle.loads(data) == robot else "NO"
        times = f"{built - start:.2f} s", f"{hashed - built:.2f} s"
        table.add_row(name, f"{robot.nv:,}", *times, f"{len(data) / 1e6:.0f} MB", same)
    console.print(table)


def show_editing() -> None:
    title("One robot from two: an arm on the quadruped's back, its last joints frozen")
    dog, arm = catena.load(robots.path("quadruped"), base="floating"), catena.load(robots.path("seven_dof_arm"))
    both = dog.attach(arm, dog.links[0].name, position=(0.1, 0, 0.1), prefix="arm_")
    both = both.locked({joint.name: 0.3 for joint in both.joints[-2:]})
    console.print(repr(both), markup=False)
    console.print(f"frames that stay: {', '.join(both.frames)}", markup=False)


def show_errors() -> None:
    title("A bad model says what is wrong")
    builder = catena.Builder("bad").link("upper", mass=1, com=(0, 0, 0.1)).link("flag")
    builder.revolute("hinge", "base", "upper", axis="y").revolute("spin", "upper", "flag", axis="z")
    try:
        builder.build()
    except catena.CatenaError as error:
        console.print(f"{type(error).__name__}: {error}", markup=False)
    try:
        catena.rod_chain(12).link("lnik7")
    except catena.CatenaError as error:
        console.print(f"{type(error).__name__}: {error}", markup=False)


if __name__ == "__main__":
    main()
