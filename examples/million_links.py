"""Does the time for a link stay the same when the chain gets long?"""

from __future__ import annotations

import time

import numpy as np

import catena

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'links':>9} {'built, s':>9} {'forward dynamics, s':>20} {'for a link, ns':>15}")
    for n in LENGTHS:
        start = time.perf_counter()
        robot = catena.rod_chain(n, length=0.01, mass=0.1)
        built = time.perf_counter() - start
        q, v, tau = robot.random_configuration(rng), rng.standard_normal(n), np.zeros(n)
        robot.forward_dynamics(q, v, tau)  # the first call prepares the chain; only the very first one compiles
        start = time.perf_counter()
        robot.forward_dynamics(q, v, tau)
        seconds = time.perf_counter() - start
        print(f"{n:9,} {built:9.3f} {seconds:20.6f} {1e9 * seconds / n:15.0f}")

    away = np.linalg.norm(robot.placements(q).position[-1])
    print(f"\nthe last link starts {away:.2f} m from the base, at the end of {0.01 * n:,.0f} m of rods")


if __name__ == "__main__":
    main()
