"""First calls of forward dynamics, compiled and from the disk cache, and the time that `import catena` takes.

python benchmarks/first_calls.py [--robots UR5,xArm7,G1,Talos]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from timing import table

from peers import urdf

FIRST = """
import sys, time
import numpy as np, catena
robot = catena.load(sys.argv[1], mimic="independent")
q = np.zeros(robot.nq); v = np.zeros(robot.nv)
start = time.perf_counter(); robot.forward_dynamics(q, v, v); print(time.perf_counter() - start)
"""


def first_call(name: str) -> list[object]:
    """Seconds for the first forward dynamics of a process: with an empty cache, and with the machine code on disk."""
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
    rows = [first_call(name) for name in parser.parse_args().robots.split(",")]
    table("First call of forward dynamics", ["robot", "compiled, s", "from the disk cache, s"], rows)
    print(f"\n`import catena` takes {import_time():.3f} s more than `import numpy`.")


if __name__ == "__main__":
    main()
