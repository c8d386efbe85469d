"""How long do the dynamics of many states take, and how are they asked for at once?"""

from __future__ import annotations

import time

import numpy as np

import catena
from catena import robots

BATCH = 100_000


def main() -> None:
    robot = catena.load(robots.path("quadruped"), base="floating")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, shape=BATCH)
    v, tau = rng.standard_normal((2, BATCH, robot.nv))
    print(f"{robot!r}: q {q.shape}, v {v.shape}")

    a = np.empty_like(v)
    robot.forward_dynamics(q[:1], v[:1], tau[:1], out=a[:1])  # compiles, or loads what was compiled before
    for threads in (1, None):
        catena.set_threads(threads)
        start = time.perf_counter()
        robot.forward_dynamics(q, v, tau, out=a)
        each = (time.perf_counter() - start) / BATCH
        print(f"{catena.get_threads()} thread(s): {1e9 * each:.0f} ns for each state, nothing allocated")

    single = np.stack([robot.forward_dynamics(q[i], v[i], tau[i]) for i in range(100)])
    print(f"the same bits as one call for each state: {np.array_equal(single, a[:100])}")

    gravities = robot.gravity_torque(q.reshape(100, -1, robot.nq))
    print(f"any leading dimensions: gravity torques {gravities.shape}")


if __name__ == "__main__":
    main()
