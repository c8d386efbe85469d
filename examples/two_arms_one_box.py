"""How do two arms carry one box: which torques, how do they share the load, and how hard do they squeeze?"""

from __future__ import annotations

import numpy as np

import catena
from catena import robots


def main() -> None:
    two = catena.System.load(robots.path("two_arms_with_box"))
    q = two.neutral()
    q[two.joint("box_motion").q_slice] = [0, 0, 0.55, 0, 0, 0, 1]
    q = two.close(q)
    rest = np.zeros(two.nv)
    print(f"{two.nv} joint speeds, {two.redundancy(q).freedom} degrees of freedom")

    tau, forces = two.inverse_dynamics(q, rest, rest)
    print(f"least torques that hold still, left arm:  {np.round(tau[:6], 2)}")
    print(f"                              right arm:  {np.round(tau[6:12], 2)}")
    weights = np.where(np.arange(two.nv) < 6, 100.0, 1.0)
    spared, _ = two.inverse_dynamics(q, rest, rest, weights=weights)
    print(f"with the left arm spared, left arm:       {np.round(spared[:6], 2)}")

    for name, wrench in zip(two.constraint_names, forces, strict=True):
        print(f"{name}: force on the box {np.round(wrench[3:], 2)} N")
    squeeze = two.internal_forces(q, forces, "box")
    print(f"of these, squeezing: {np.round(squeeze[0, 3:], 2)} N from the left")

    a, _ = two.forward_dynamics(q, rest, rest)
    print(f"let go of the motors, and the box falls with {-a[-1]:.2f} m/s²")


if __name__ == "__main__":
    main()
