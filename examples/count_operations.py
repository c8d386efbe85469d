"""How many operations does each method take, for a robot and for a chain of n general links?"""

from __future__ import annotations

import catena
from catena import robots
from catena.functions.catalogue import FUNCTIONS


def main() -> None:
    robot = catena.load(robots.path("seven_dof_arm"))
    print(f"{robot.name}: its zeros and ones folded away")
    print(f"{'':30}{'multiplications':>16}{'additions':>11}{'fused':>8}")
    for name in sorted(FUNCTIONS):
        if name.startswith(("forward_dynamics", "inverse_dynamics", "mass_matrix")):
            count, fused = catena.count(robot, name), catena.count(robot, name, fused=True)
            print(f"{name:30}{count.multiplications:16,}{count.additions:11,}{fused.total:8,}")

    print("\nthe same arm on a floating base and a chain of rods, forward dynamics:")
    floating = catena.load(robots.path("seven_dof_arm"), base="floating")
    for other in (floating, catena.rod_chain(7, radius=0.05), catena.planar_chain([1.0] * 7, 1.0)):
        print(f"{other.name:30}{catena.count(other).total:16,}")


if __name__ == "__main__":
    main()
