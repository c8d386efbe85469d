"""What does a push on the tool do, given in the tool's own frame, in the world's axes, or at some point of a link?"""

from __future__ import annotations

import numpy as np

import catena
from catena import robots


def main() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    q, v = robot.random_configuration(rng=2), np.zeros(robot.nv)
    tau = robot.gravity_torque(q)  # the arm is at rest, so all motion comes from the push

    push = np.array([0, 0, 0, 0, 0, 10.0])  # moment, then force: 10 N along z of the frame it acts on
    a = robot.forward_dynamics(q, v, tau, f_ext={"tool": push})
    print(f"10 N along the tool's z:    {np.round(a, 3)}")

    torque = robot.jacobian_transpose_times(q, "tool", push)
    print(f"as joint torques:           {np.round(robot.forward_dynamics(q, v, tau + torque), 3)}")

    R, _ = robot.placement(q, "tool")
    down = np.concatenate([np.zeros(3), R.T @ [0, 0, -10.0]])  # in the axes of the tool
    print(f"10 N down, in the tool's axes:  {np.round(robot.forward_dynamics(q, v, tau, {'tool': down}), 3)}")
    torque = robot.jacobian_transpose_times(q, "tool", [0, 0, 0, 0, 0, -10.0], frame="mixed")
    print(f"10 N down, in the world's axes: {np.round(robot.forward_dynamics(q, v, tau + torque), 3)}")

    held = robot.inverse_dynamics(q, v, 0 * v, f_ext={"tool": down})
    print(f"\ntorques that keep the arm at rest under 10 N more: {np.round(held - tau, 3)}")


if __name__ == "__main__":
    main()
