"""Forward dynamics of long chains, 10^2 to 10^6 links on one core: time for a link, memory for a link.

python benchmarks/chains.py [--largest 1000000]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np
from timing import best, table

import catena

CHAINS = {
    "rod_chain": lambda n: catena.rod_chain(n, 0.1, 0.1),
    "planar_chain": lambda n: catena.planar_chain(np.full(n, 0.1), np.full(n, 0.1)),
}


def measure(kind: str, n: int) -> list[object]:
    """Times of building the chain and of forward dynamics, and the memory that all of it added to the process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    robot = CHAINS[kind](n)
    built = time.perf_counter() - begin
    q, v, tau = 0.1 * np.random.default_rng(0).standard_normal((3, n))
    begin = time.perf_counter()
    a = robot.forward_dynamics(q, v, tau)
    first = time.perf_counter() - begin
    assert np.isfinite(a).all()
    times = best({"all": lambda: robot.forward_dynamics(q, v, tau)}, 0.5)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / n
    return [kind, f"{n:,}", built, first, times["all"] / n * 1e9, memory]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help="measure one chain in this process")
    arguments = parser.parse_args()
    catena.set_threads(1)
    if arguments.one:
        print(repr(measure(arguments.one[0], int(arguments.one[1]))))
        return
    rows = []
    for kind in CHAINS:
        n = 100
        while n <= arguments.largest:
            text = subprocess.check_output([sys.executable, __file__, "--one", kind, str(n)], text=True)
            rows.append(eval(text))
            n *= 10
    head = ["chain", "links", "build, s", "first call, s", "ns for a link", "bytes for a link (whole process)"]
    table("Forward dynamics of chains, one sample, one core", head, rows)


if __name__ == "__main__":
    main()
