"""Follow a circle with the tool of an arm: inverse kinematics of many poses, each near the one before."""

import numpy as np

import catena
from catena import poses, robots

STEPS = 200
RADIUS = 0.1  # m


def main() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    q = np.array([0.3, 0.6, 0.1, -1.2, 0.2, 0.8, 0.0])
    start = poses.pose(*robot.placement(q, "tool"))
    path = []
    for angle in np.linspace(0, 2 * np.pi, STEPS):
        target = start.copy()
        target[:3, 3] += RADIUS * (np.cos(angle) - 1), RADIUS * np.sin(angle), 0.0
        q, reached, error = robot.inverse_kinematics({"tool": target}, q0=q, rng=0)
        if not reached:
            print(f"cannot go on at {np.degrees(angle):.0f} degrees: {error:.2g} m or rad are missing")
            return
        path.append(q)
    largest = np.abs(np.diff(path, axis=0)).max()
    print(f"a circle of {RADIUS} m in {STEPS} poses: no joint moves by more than {np.degrees(largest):.2f} degrees a step")


if __name__ == "__main__":
    main()
