"""How does a gripper move whose second finger mimics the first: as one degree of freedom, or as two coupled ones?"""

from __future__ import annotations

import numpy as np

import catena
from catena import robots


def main() -> None:
    gripper = catena.load(robots.path("gripper"))  # the right finger has no coordinate of its own
    both = catena.load(robots.path("gripper"), mimic="independent")
    print(gripper)

    q, v, push = np.array([0.02]), np.array([0.1]), np.array([1.0])
    a = gripper.forward_dynamics(q, v, push)
    print(f"\n1 N at the leading finger moves both by {a[0]:.3f} m/s²")

    G = np.ones((2, 1))  # both fingers move alike
    M = G.T @ both.mass_matrix(G @ q).dense() @ G
    print(f"the mass matrix is {gripper.mass_matrix(q).dense()[0, 0]:.3f} kg, and GᵀMG is {M[0, 0]:.3f} kg")

    system = catena.System([both])  # the same by a constraint, with its force
    move = system.forward_dynamics(G @ q, G @ v, [1.0, 0.0])
    print(f"as a coupling of two coordinates: {np.round(move.a, 3)} m/s²")

    here = gripper.placements(q).position
    print(f"the fingers are at y = {here[0, 1]:.3f} m and {here[1, 1]:.3f} m")


if __name__ == "__main__":
    main()
