"""How many digits of a result are right? The same source runs on 50-digit numbers. Needs mpmath."""

from __future__ import annotations

import mpmath
import numpy as np

import catena

LENGTHS = (10, 50, 250)
METHODS = ("innovations", "fd1", "fd2", "fd4", "two_sweep", "udu", "fixman")


def main() -> None:
    mpmath.mp.dps = 50
    print("relative error of forward dynamics in float64, chains of random links")
    print(f"{'links':>6}" + "".join(f"{method:>14}" for method in METHODS))
    for n in LENGTHS:
        robot = catena.random_tree(seed=n, n=n, joint_types="revolute", branching=0.0)
        rng = np.random.default_rng(n)
        q, v, tau = rng.standard_normal((3, n))
        exact = catena.evaluate(robot, "forward_dynamics", q, v, tau, scalar=mpmath.mpf)
        row = f"{n:6}"
        for method in METHODS:
            found = robot.forward_dynamics(q, v, tau, method=method, kernel="rolled")
            worst = max(abs(x - y) for x, y in zip(found.tolist(), exact, strict=True)) / max(map(abs, exact))
            row += f"{float(worst):14.1e}"
        print(row)


if __name__ == "__main__":
    main()
