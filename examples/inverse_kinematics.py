"""Where must the joints be for the tool to follow a circle? Inverse kinematics, each pose near the one before."""

import numpy as np

import catena
from catena import poses, robots

STEPS, TARGETS = 200, 1000
RADIUS = 0.1  # m


def main() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    q = np.array([0.3, 0.6, 0.1, -1.2, 0.2, 0.8, 0.0])
    start = poses.pose(*robot.placement(q, "tool"))
    print(f"the tool starts at {np.round(start[:3, 3], 3)} m")
    path = []
    for angle in np.linspace(0, 2 * np.pi, STEPS):
        target = start.copy()
        target[:3, 3] += RADIUS * (np.cos(angle) - 1), RADIUS * np.sin(angle), 0.0
        q, reached, error = robot.inverse_kinematics({"tool": target}, q0=q, rng=0)
        if not reached:
            print(f"cannot go on at {np.degrees(angle):.0f} degrees: {error:.2g} m or rad are missing")
            return
        path.append(q)
    largest = np.degrees(np.abs(np.diff(path, axis=0)).max())
    print(f"a circle of {RADIUS} m in {STEPS} poses: no joint moves by more than {largest:.2f} degrees a step")
    many = poses.pose(*robot.placement(robot.random_configuration(0, TARGETS), "tool"))
    reached = robot.inverse_kinematics({"tool": many}, rng=1).reached
    print(f"random poses of the tool: {reached.sum()} of {TARGETS} reached, from random starts")


if __name__ == "__main__":
    main()
