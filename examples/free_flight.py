"""Does a robot in free flight keep its energy and momentum? A floating base, stepped through time by hand."""

from __future__ import annotations

import numpy as np

import catena
from catena import robots

STEPS, DT = 200, 1e-3


def main() -> None:
    robot = catena.load(robots.path("quadruped"), base="floating").with_gravity((0, 0, 0))
    rng = np.random.default_rng(0)
    q, v, tau = robot.random_configuration(rng), 2 * rng.standard_normal(robot.nv), np.zeros(robot.nv)
    energy, momentum = robot.kinetic_energy(q, v), robot.momentum(q, v)
    print(f"kinetic energy {energy:.6f} J, angular momentum {np.round(momentum[:3], 4)} kg m²/s")

    for _ in range(STEPS):  # the midpoint rule; integrate() keeps quaternions on the sphere
        middle = robot.integrate(q, 0.5 * DT * v)
        v_middle = v + 0.5 * DT * robot.forward_dynamics(q, v, tau)
        q = robot.integrate(q, DT * v_middle)
        v = v + DT * robot.forward_dynamics(middle, v_middle, tau)

    print(f"after {STEPS * DT:g} s: energy changed by {robot.kinetic_energy(q, v) / energy - 1:.1e},")
    print(f"momentum by {np.abs(robot.momentum(q, v) - momentum).max() / np.abs(momentum).max():.1e} (relative)")
    print(f"the trunk is at {np.round(q[:3], 3)} m, its quaternion has length {np.linalg.norm(q[3:7]):.15f}")


if __name__ == "__main__":
    main()
