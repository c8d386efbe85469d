"""What a second thread gains, beside what a second process gains on the same machine.

    python benchmarks/threads.py [--samples 8192] [--robots UR5,xArm7,G1,Talos]

Two cores may share one physical core or its memory, so the gain of two independent processes is the yardstick.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from timing import table

SECONDS = 0.1
"""About how long a process computes."""

WORKER = """
import sys; sys.path.insert(0, {folder!r})
import time, numpy as np, catena
from peers import Pair
catena.set_threads({threads})
pair = Pair.load({robot!r}); (q, v, tau), _ = pair.states({samples}); out = np.empty_like(v)
pair.robot.forward_dynamics(q, v, tau, out=out)
print("ready", flush=True); sys.stdin.readline(); begin = time.perf_counter()
for _ in range({calls}): pair.robot.forward_dynamics(q, v, tau, out=out)
print({calls} * {samples} / (time.perf_counter() - begin))
"""


def rate(robot: str, samples: int, calls: int, threads: list[int]) -> float:
    """Samples in a second by processes that run at the same time, each with a number of threads."""
    fixed = {"folder": str(Path(__file__).parent), "robot": robot, "samples": samples, "calls": calls}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER.format(threads=n, **fixed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in threads
    ]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    return sum(float(process.communicate()[0]) for process in processes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=8192)
    parser.add_argument("--robots", default="UR5,xArm7,G1,Talos")
    arguments = parser.parse_args()
    rows: list[list[object]] = []
    for robot in arguments.robots.split(","):
        calls = max(1, int(SECONDS * rate(robot, arguments.samples, 10, [1]) / arguments.samples))
        rates = {"one thread": 0.0, "two threads": 0.0, "two processes": 0.0}
        for _ in range(7):
            for name, threads in (("one thread", [1]), ("two threads", [2]), ("two processes", [1, 1])):
                rates[name] = max(rates[name], rate(robot, arguments.samples, calls, threads))
        gains = [rates[name] / rates["one thread"] for name in ("two threads", "two processes")]
        rows.append([robot, *gains, gains[0] / gains[1]])
    title = f"Forward dynamics of {arguments.samples:,} samples in a call: gain over one thread"
    table(title, ["robot", "two threads", "two processes", "ratio"], rows)


if __name__ == "__main__":
    main()
