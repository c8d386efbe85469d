"""What do the equations of a two-link arm look like, and how does the outer link's mass enter them? Needs SymPy."""

from __future__ import annotations

import numpy as np

import catena
from catena import robots


def main() -> None:
    robot = catena.load(robots.path("two_link_arm"))
    M = catena.symbolic(robot, "mass_matrix")
    print(M)
    print("\nThe letters:")
    for name, parameter in M.parameters.items():
        print(f"  {name:8} = {parameter.value:<8g} {parameter.meaning}")

    print(f"\nmass of link 2 in M[0, 1]: m_2 times {M.effect('m_2', 0, 1)}")
    print("\nTorques of gravity:")
    print(catena.symbolic(robot, "gravity"))

    q = robot.random_configuration(rng=0)
    difference = M.function("q")(q) - robot.mass_matrix(q).dense()
    print(f"\nthe formulas agree with the numbers to {np.abs(difference).max():.0e}")


if __name__ == "__main__":
    main()
