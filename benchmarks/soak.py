"""Many evaluations in one process: resident memory must not grow, threads must scale, bits must not change.

    python benchmarks/soak.py [--evaluations 100000000]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from peers import Pair

import catena


def resident() -> int:
    """Resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def soak(pair: Pair, evaluations: int) -> None:
    """Batches of all sizes and single calls, until there were enough samples."""
    (q, v, tau), _ = pair.states(8192)
    rng, done, reports = np.random.default_rng(0), 0, 0
    pair.robot.forward_dynamics(q, v, tau)
    start = resident()
    while done < evaluations:
        size = int(rng.choice([1, 1, 3, 64, 1000, 8192]))
        if size == 1:
            for _ in range(1000):
                pair.robot.forward_dynamics(q[0], v[0], tau[0])
            done += 1000
        else:
            for _ in range(max(1, 200_000 // size)):
                pair.robot.forward_dynamics(q[:size], v[:size], tau[:size])
                done += size
        if done * 10 // evaluations > reports:
            reports = done * 10 // evaluations
            print(f"{done:>12,} evaluations, resident memory {(resident() - start) / 2**20:+.1f} MiB", flush=True)


TWO = """
import sys; sys.path.insert(0, {folder!r})
import time, numpy as np, catena
from peers import Pair
catena.set_threads({threads})
pair = Pair.load("G1"); (q, v, tau), _ = pair.states(65536); out = np.empty_like(v)
pair.robot.forward_dynamics(q, v, tau, out=out)
input(); begin = time.perf_counter()
for _ in range(8): pair.robot.forward_dynamics(q, v, tau, out=out)
print(time.perf_counter() - begin)
"""


def together(threads: list[int]) -> float:
    """Samples in a second by processes that run at the same time, each with a number of threads."""
    folder = str(Path(__file__).parent)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TWO.format(folder=folder, threads=n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in threads
    ]
    time.sleep(6)
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    return sum(8 * 65536 / float(process.communicate()[0]) for process in processes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=100_000_000)
    arguments = parser.parse_args()
    one, two_threads, two_processes = 0.0, 0.0, 0.0
    for _ in range(3):
        one, two_threads, two_processes = (
            max(best, together(threads))
            for best, threads in ((one, [1]), (two_threads, [2]), (two_processes, [1, 1]))
        )
    gains = two_threads / one, two_processes / one
    print(f"two threads {gains[0]:.2f}x, two processes {gains[1]:.2f}x, ratio {gains[0] / gains[1]:.2f}")
    soak(Pair.load("UR5"), arguments.evaluations)


if __name__ == "__main__":
    main()
