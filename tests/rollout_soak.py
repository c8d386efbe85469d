"""Very many steps: memory that stays flat, the same bits on one and two threads and after kill -9 in mid-run.

    python -m tests.rollout_soak --steps 1e9

So many steps of all samples together are made three times, in processes of their own: on one thread, on two, and on two
by a simulation with a checkpoint that is killed twice on its way. A difference of one bit, or a process that grows,
ends the run with a message and a status that is not zero.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import catena

SAMPLES, DT, PARTS, KILLS = 512, 1e-3, 100, 2
GROWTH = 2**21
"""Bytes by which a process may grow after the first tenth."""


def asked() -> tuple[catena.Robot, np.ndarray, np.ndarray, dict[str, Any]]:
    """Who moves, from where, and how."""
    robot, rng = catena.load("seven_dof_arm"), np.random.default_rng(0)
    q, inertia = rng.uniform(-1, 1, (SAMPLES, robot.nq)), robot.mass_matrix(robot.neutral()).diagonal()

    def swing(t: Any, q: Any, v: Any, p: Any) -> Any:
        return inertia * (p * np.sin(3 * t) - 2.0 * v - 5.0 * q)

    return robot, q, np.zeros_like(q), {"control": swing, "parameters": rng.uniform(1, 5, q.shape)}


def digest(q: np.ndarray, v: np.ndarray) -> str:
    """What tells final states apart, which must be finite."""
    assert np.isfinite(q).all()
    assert np.isfinite(v).all()
    return hashlib.blake2b(q.tobytes() + v.tobytes(), digest_size=16).hexdigest()


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def rolled(steps: int) -> tuple[str, int]:
    """The end of rollouts that go on from each other, and how much memory grew after the first tenth of them."""
    robot, q, v, how = asked()
    out, before = tuple(np.empty((SAMPLES, 2, robot.nq)) for _ in "qv"), 0
    for part in range(PARTS):
        robot.rollout(q, v, None, DT, steps=steps, t0=part * steps * DT, every=steps, out=out, **how)
        q, v = (x[:, -1].copy() for x in out)
        before = resident() if part == PARTS // 10 else before
    return digest(q, v), resident() - before


def simulated(steps: int, checkpoint: str) -> str:
    """The end of one simulation of all that."""
    robot, q, v, how = asked()
    time_of_all = steps * PARTS * DT
    run = catena.simulate(robot, q, v, time_of_all, DT, every=steps, checkpoint=checkpoint, progress=False, **how)
    return digest(run.q[:, -1], run.v[:, -1])


def in_a_process(threads: int, steps: int, *more: str) -> subprocess.Popen[str]:
    """This module again, as a process of its own."""
    words = [sys.executable, "-m", "tests.rollout_soak", "--threads", str(threads), "--part", str(steps), *more]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def killed_and_resumed(steps: int, file: Path) -> str:
    """What a simulation prints that was killed each time its checkpoint had grown, and at last was left alone."""
    for _ in range(KILLS):
        written = file.stat().st_mtime_ns if file.exists() else 0
        process = in_a_process(2, steps, "--checkpoint", str(file))
        while process.poll() is None and not (file.exists() and file.stat().st_mtime_ns > written):
            time.sleep(0.05)
        if process.poll() is None:
            process.kill()
            print(f"  killed with {file.stat().st_size:,} bytes written", flush=True)
        process.communicate()
    return in_a_process(2, steps, "--checkpoint", str(file)).communicate()[0].strip()


def main(words: list[str] | None = None) -> int:
    """Run all three and compare, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=float, default=1e9, help="of all samples together")
    for name, kind in (("--threads", int), ("--part", int), ("--checkpoint", str)):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.threads:
        catena.set_threads(given.threads)
        print(*([simulated(given.part, given.checkpoint)] if given.checkpoint else rolled(given.part)))
        return 0
    steps, found = max(1, round(given.steps / SAMPLES / PARTS)), []
    print(f"{SAMPLES} samples, {steps * PARTS:,} steps of each: {SAMPLES * steps * PARTS:.2e}", flush=True)
    for threads in (1, 2):
        began = time.perf_counter()
        bits, grown = in_a_process(threads, steps).communicate()[0].split()
        took = time.perf_counter() - began
        print(f"{threads} threads: {bits}, {took:.0f} s, grown by {int(grown) / 1024:.0f} KB", flush=True)
        found.append(bits)
        if int(grown) > GROWTH:
            return 1
    with tempfile.TemporaryDirectory() as folder:
        found.append(killed_and_resumed(steps, Path(folder, "run.npz")))
    print(f"killed and resumed: {found[-1]}")
    return int(len(set(found)) > 1)


if __name__ == "__main__":
    sys.exit(main())
