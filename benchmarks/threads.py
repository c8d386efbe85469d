"""What a second thread gains, beside what a second process gains on the same machine.

    python benchmarks/threads.py

Two cores may share one physical core or its memory, so the gain of two independent processes is the yardstick.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from timing import table

CALLS, SAMPLES = 8, 65536

WORKER = """
import sys; sys.path.insert(0, {folder!r})
import time, numpy as np, catena
from peers import Pair
catena.set_threads({threads})
pair = Pair.load({robot!r}); (q, v, tau), _ = pair.states({samples}); out = np.empty_like(v)
pair.robot.forward_dynamics(q, v, tau, out=out)
print("ready", flush=True); sys.stdin.readline(); begin = time.perf_counter()
for _ in range({calls}): pair.robot.forward_dynamics(q, v, tau, out=out)
print(time.perf_counter() - begin)
"""


def rate(robot: str, threads: list[int]) -> float:
    """Samples in a second by processes that run at the same time, each with a number of threads."""
    folder, fixed = str(Path(__file__).parent), {"robot": robot, "samples": SAMPLES, "calls": CALLS}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER.format(folder=folder, threads=n, **fixed)],
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
    return sum(CALLS * SAMPLES / float(process.communicate()[0]) for process in processes)


def main() -> None:
    rows: list[list[object]] = []
    for robot in ("UR5", "G1"):
        rates = {"one thread": 0.0, "two threads": 0.0, "two processes": 0.0}
        for _ in range(5):
            for name, threads in (("one thread", [1]), ("two threads", [2]), ("two processes", [1, 1])):
                rates[name] = max(rates[name], rate(robot, threads))
        gains = [rates[name] / rates["one thread"] for name in ("two threads", "two processes")]
        rows.append([robot, *gains, gains[0] / gains[1]])
    table("Gain over one thread", ["robot", "two threads", "two processes", "ratio"], rows)


if __name__ == "__main__":
    main()
