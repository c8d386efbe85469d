"""Forward and inverse dynamics and the mass matrix beside Pinocchio: batches on one core, single calls, first calls.

    python benchmarks/dynamics.py [--robots UR5,xArm7,G1,Talos] [--batch 8192] [--seconds 1.0]

Needs the extra `bench`. Pinocchio's batches go through its own C++ loops (`abaInParallel`, `rneaInParallel`, one
thread) except for `crba`, which has none and is called in a Python loop.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import pinocchio as pin
from timing import best, table

import catena
from catena.functions import engine
from catena.functions.catalogue import MASS_MATRIX
from peers import Pair


def batches(pair: Pair, count: int, seconds: float) -> list[list[object]]:
    """One row for each function: nanoseconds for a sample here and there, their ratio, the relative difference."""
    (q, v, tau), theirs = pair.states(count)
    robot, model, data = pair.robot, pair.model, pair.model.createData()
    pool, columns = pin.ModelPool(model, 1), [np.asfortranarray(x.T) for x in theirs]
    out, result = np.empty((count, robot.nv)), np.empty((model.nv, count), order="F")
    mass_matrix = engine.kernel(robot, MASS_MATRIX)
    few = min(count, 512)
    dense = np.empty((count, robot.nv, robot.nv))

    def crba() -> None:
        for i in range(few):
            pin.crba(model, data, theirs[0][i])

    functions = {
        "forward dynamics": (
            lambda: robot.forward_dynamics(q, v, tau, out=out),
            lambda: pin.abaInParallel(1, pool, *columns, result),
            count,
        ),
        "inverse dynamics": (
            lambda: robot.inverse_dynamics(q, v, tau, out=out),
            lambda: pin.rneaInParallel(1, pool, *columns, result),
            count,
        ),
        "mass matrix": (lambda: mass_matrix(q, out=dense), crba, few),
    }
    rows: list[list[object]] = []
    for name, (ours, pinocchio, samples) in functions.items():
        times = best({"ours": ours, "pinocchio": pinocchio}, seconds)
        here, there = times["ours"] / count * 1e9, times["pinocchio"] / samples * 1e9
        if name == "mass matrix":
            reference = pin.crba(model, data, theirs[0][0])
            reference = (np.triu(reference) + np.triu(reference, 1).T)[np.ix_(pair.order, pair.order)]
            error = np.abs(dense[0] - reference).max() / np.abs(reference).max()
        else:
            error = np.abs(out - result.T[:, pair.order]).max() / np.abs(result).max()
        rows.append([pair.name, name, here, there, there / here, f"{error:.1e}"])
    return rows


def single(pair: Pair, seconds: float) -> list[object]:
    """Nanoseconds for one call of forward dynamics from Python."""
    (q, v, tau), theirs = pair.states(1)
    ours, (q1, v1, t1) = [x[0].copy() for x in (q, v, tau)], [x[0].copy() for x in theirs]
    robot, model, data = pair.robot, pair.model, pair.model.createData()
    robot.forward_dynamics(*ours)
    times = best(
        {"ours": lambda: robot.forward_dynamics(*ours), "pinocchio": lambda: pin.aba(model, data, q1, v1, t1)},
        seconds,
        repeats=1000,
    )
    return [pair.name, times["ours"] * 1e9, times["pinocchio"] * 1e9, times["pinocchio"] / times["ours"]]


FIRST = """
import sys, time
import numpy as np, catena
robot = catena.load(sys.argv[1], mimic="independent")
q = np.zeros(robot.nq); v = np.zeros(robot.nv)
start = time.perf_counter(); robot.forward_dynamics(q, v, v); print(time.perf_counter() - start)
"""


def first_call(name: str) -> list[object]:
    """Seconds for the first forward dynamics of a process: with an empty cache, and with the machine code on disk."""
    from peers import urdf

    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "CATENA_CACHE_DIR": cache}
        seconds = [
            float(subprocess.check_output([sys.executable, "-c", FIRST, str(urdf(name))], env=environment))
            for _ in range(4)
        ]
    return [name, seconds[0], min(seconds[1:])]


def import_time() -> float:
    """Seconds that `import catena` takes beyond `import numpy`."""

    def run(statement: str) -> float:
        begin = time.perf_counter()
        subprocess.check_call([sys.executable, "-c", statement])
        return time.perf_counter() - begin

    numpy, both = [min(run(s) for _ in range(7)) for s in ("import numpy", "import numpy, catena")]
    return both - numpy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", default="UR5,xArm7,G1,Talos")
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--seconds", type=float, default=1.0)
    arguments = parser.parse_args()
    pairs = [Pair.load(name) for name in arguments.robots.split(",")]
    catena.set_threads(1)
    rows = [row for pair in pairs for row in batches(pair, arguments.batch, arguments.seconds)]
    head = ["robot", "function", "Catena, ns", "Pinocchio, ns", "ratio", "difference"]
    table(f"Batch of {arguments.batch}, one core", head, rows)
    rows = [single(pair, arguments.seconds) for pair in pairs]
    table("Forward dynamics, one sample for a call", ["robot", "Catena, ns", "Pinocchio, ns", "ratio"], rows)
    rows = [first_call(pair.name) for pair in pairs]
    table("First call of forward dynamics", ["robot", "compiled, s", "from the disk cache, s"], rows)
    print(f"\n`import catena` takes {import_time():.3f} s more than `import numpy`.")


if __name__ == "__main__":
    main()
