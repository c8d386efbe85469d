"""How heavy is an arm when its tool is pushed, and how does a task keep out of the way of another?"""

from __future__ import annotations

import numpy as np

import catena
from catena import robots


def main() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    q = np.array([0.3, 0.6, -0.2, 1.1, 0.4, -0.7, 0.1])

    inertia, mobility = robot.operational_inertia(q, "tool", frame="mixed")
    for axis, i in zip("xyz", range(3, 6), strict=True):
        free, held = 1 / mobility[i, i], inertia[i, i]
        print(f"pushed along {axis}: {free:6.2f} kg where the tool may turn, {held:7.2f} kg where it may not")

    wanted = np.array([0, 0, 0, 1.0, 0, 0])  # accelerate the tool along x, and do not turn it
    J = robot.jacobian(q, "tool", frame="mixed")
    force = inertia @ wanted
    tau = robot.gravity_torque(q) + J.T @ force
    a = robot.forward_dynamics(q, np.zeros(robot.nv), tau)
    print(f"\nacceleration of the tool: {np.round(J @ a, 12) + 0.0}")

    J_bar = robot.dynamically_consistent_inverse(q, "tool", frame="mixed")
    posture = (np.eye(robot.nv) - J.T @ J_bar.T) @ np.ones(robot.nv)  # torques that the tool does not feel
    a = robot.forward_dynamics(q, np.zeros(robot.nv), tau + posture)
    print(f"with other torques besides: {np.round(J @ a, 12) + 0.0}, while joints move at {np.abs(a).max():.1f} rad/s²")


if __name__ == "__main__":
    main()
