"""What do the bearings of an arm carry while it moves?"""

from __future__ import annotations

import numpy as np

import catena
from catena import robots


def main() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, shape=10_000)
    v = rng.uniform(-2, 2, (10_000, robot.nv))
    a = rng.uniform(-5, 5, (10_000, robot.nv))

    wrench = robot.interlink_forces(q, v, a)  # (10000, links, 6): what each link's parent exerts on it
    moment, force = wrench[..., :3], wrench[..., 3:]
    print("largest loads over 10,000 random states")
    print(f"{'joint':<16}{'drive, N m':>12}{'bending, N m':>14}{'force, N':>10}")
    for i, joint in enumerate(robot.joints):
        drive = moment[:, i] @ joint.axis
        bending = np.linalg.norm(moment[:, i] - drive[:, None] * joint.axis, axis=-1)
        loads = np.abs(drive).max(), bending.max(), np.linalg.norm(force[:, i], axis=-1).max()
        print(f"{joint.name:<16}{loads[0]:12.2f}{loads[1]:14.2f}{loads[2]:10.2f}")

    tau = robot.inverse_dynamics(q, v, a)
    last = moment[:, -1] @ robot.joints[-1].axis
    print(f"\nalong its axis a joint carries its torque, to {np.abs(last - tau[:, -1]).max():.0e} N m")


if __name__ == "__main__":
    main()
