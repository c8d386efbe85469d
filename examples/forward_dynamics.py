"""How does an arm accelerate under given torques, and which torques give a wanted acceleration?"""

from __future__ import annotations

import numpy as np

import catena
from catena import robots


def main() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    q = robot.random_configuration(rng=1)
    v = np.linspace(-1.0, 1.0, robot.nv)
    tau = robot.gravity_torque(q)  # what holds the arm at rest

    a = robot.forward_dynamics(q, v, tau)
    print(f"{'joint':<16}{'torque, N m':>12}{'acceleration, rad/s²':>22}")
    for joint in robot.joints:
        print(f"{joint.name:<16}{tau[joint.v_slice][0]:12.3f}{a[joint.v_slice][0]:22.3f}")

    back = robot.inverse_dynamics(q, v, a)
    print(f"\ninverse dynamics gives the torques back to {np.abs(back - tau).max():.0e} N m")
    coriolis = robot.bias(q, v) - tau
    print(f"Coriolis and centrifugal torques are up to {np.abs(coriolis).max():.2f} N m; without them, at rest,")
    print(f"the largest acceleration is {np.abs(robot.forward_dynamics(q, 0 * v, tau)).max():.0e} rad/s²")


if __name__ == "__main__":
    main()
