"""Evaluate forward dynamics many times, in every way there is, and watch the memory of the process.

Run as ``python benchmarks/soak.py [evaluations]``; the default is 10^8, which takes some minutes. The exit code is 1 if
the resident memory grew by more than a megabyte after the first tenth.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from pathlib import Path

import numpy as np

import catena

SAMPLES = 8192
LIMIT = 2**20


def resident() -> int:
    """Bytes of memory that the process holds, after a garbage collection."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def round_of_calls(robot: catena.Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, out: np.ndarray) -> int:
    """One batch in each layout and a few hundred single calls; returns the number of evaluations."""
    robot.forward_dynamics(q, v, tau)
    robot.forward_dynamics(q, v, tau, out=out)
    robot.forward_dynamics(q[::-1], v.astype(np.float32), tau[0])
    for i in range(400):
        robot.forward_dynamics(q[i], v[i], tau[i])
        robot.forward_dynamics(q[:5], v[:5], tau[i])
    robot.forward_dynamics(q[0].tolist(), v[0], tau[0])
    return 3 * SAMPLES + 400 * 6 + 1


def main() -> int:
    """Soak, print a line now and then, and judge."""
    wanted = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8
    robot = catena.load(str(Path(catena.__file__).parent / "robots" / "seven_dof_arm.urdf"))
    rng = np.random.default_rng(1)
    q = robot.random_configuration(rng, shape=(SAMPLES,))
    v, tau = rng.normal(size=(2, SAMPLES, robot.nv))
    out = np.empty_like(v)
    done, before, start, told = 0, 0, time.perf_counter(), 0
    while done < wanted:
        done += round_of_calls(robot, q, v, tau, out)
        if before == 0 and done > wanted / 10:
            before = resident()
        if done - told > wanted / 10:
            told = done
            elapsed = time.perf_counter() - start
            print(f"{done:>12,} evaluations  {elapsed:7.1f} s  {resident() / 2**20:8.2f} MB resident", flush=True)
    grown = resident() - before
    print(f"grown by {grown / 1024:.0f} KB since the first tenth")
    return int(grown > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
