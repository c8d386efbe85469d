"""Which forward dynamics is fastest: FD1 to FD4 or the two-sweep algorithm, on arms, humanoids and a long chain.

    python benchmarks/methods.py [--robots UR5,xArm7,G1] [--batch 4096] [--seconds 0.5]

Nanoseconds for a sample on one core, operations in the traced code, and the error against 40 digits on a chain.
"""

from __future__ import annotations

import argparse

import mpmath
import numpy as np
from timing import best, table

import catena
from catena.algorithms.forward_dynamics import FD3, METHODS
from catena.algorithms.two_sweep import TWO_SWEEP
from catena.functions import engine
from catena.functions.engine import lowered_for, trace
from catena.functions.function import Function
from catena.trace.graph import live
from peers import Pair

EVERY = {**METHODS, "two_sweep": TWO_SWEEP}
ARITHMETIC = {"add", "sub", "mul", "div"}


def operations(robot: catena.Robot, function: Function) -> int:
    """Additions, multiplications and divisions in the straight-line code."""
    outputs = trace(lowered_for(robot.tree, function), function)[1]
    return sum(node.op in ARITHMETIC for node in live([x for numbers in outputs.values() for x in numbers]))


def timed(robot: catena.Robot, batch: int, seconds: float) -> dict[str, float]:
    """Seconds for a batch by each method."""
    rng = np.random.default_rng(0)
    q, (v, tau) = robot.random_configuration(rng, batch), rng.standard_normal((2, batch, robot.nv))
    kernels = {name: engine.kernel(robot, function) for name, function in EVERY.items()}
    return best({name: lambda run=run: run(q, v, tau) for name, run in kernels.items()}, seconds)


def errors(n: int) -> dict[str, float]:
    """The largest relative error on a chain of n links."""
    robot, rng = catena.random_tree(1, n, ["revolute"], 0.0), np.random.default_rng(0)
    values = {"q": robot.random_configuration(rng), "v": rng.standard_normal(n), "tau": rng.standard_normal(n)}
    with mpmath.workdps(40):
        exact = engine.evaluate(robot.tree, FD3, values, mpmath.mpf)["a"].astype(float)
    found = {name: engine.evaluate(robot.tree, f, values)["a"].astype(float) for name, f in EVERY.items()}
    return {name: float(np.abs(a - exact).max() / np.abs(exact).max()) for name, a in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", default="UR5,xArm7,G1")
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=0.5)
    arguments = parser.parse_args()
    catena.set_threads(1)
    speed, counts = [], []
    for name in arguments.robots.split(","):
        robot = Pair.load(name).robot
        times = timed(robot, arguments.batch, arguments.seconds)
        speed.append([name, *[times[method] / arguments.batch * 1e9 for method in EVERY]])
        counts.append([name, *[str(operations(robot, function)) for function in EVERY.values()]])
    chain = catena.random_tree(1, 1000, ["revolute"], 0.0)
    times = timed(chain, 16, arguments.seconds)
    speed.append(["chain of 1000, a link", *[times[method] / 16 / 1000 * 1e9 for method in EVERY]])
    table("Forward dynamics by method, ns for a sample", ["robot", *EVERY], speed)
    table("Operations", ["robot", *EVERY], counts)
    found = {n: errors(n) for n in (30, 300)}
    table("Largest relative error", ["links", *EVERY], [[str(n), *row.values()] for n, row in found.items()])


if __name__ == "__main__":
    main()
