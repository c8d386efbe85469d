"""Is an identity between spatial operators true? State it, and have it tried on a robot of your choice."""

from __future__ import annotations

import numpy as np

import catena
from catena.operators import verify


def main() -> None:
    robot = catena.random_tree(seed=5, n=12, joint_types=("revolute", "prismatic", "spherical"))
    print(robot)
    print()
    print(verify(lambda o: (o.H @ o.phi @ o.M @ o.phi.T @ o.H.T, o.mass), robot))
    print(verify(lambda o: ((o.I + o.H @ o.Phi @ o.L) @ (o.I - o.H @ o.Psi @ o.L), o.I), robot))
    print(verify(lambda o: (o.phi @ o.psi, o.psi @ o.phi), robot))  # not true: they do not commute

    o = robot.operators(robot.random_configuration(rng=0))
    whiten = o.I - o.H @ o.Psi @ o.L
    inverse = whiten.T @ o.D.inv @ whiten
    print(f"\n{inverse!r}")
    x = np.ones(robot.nv)
    print(f"applied to M x it gives x to {np.abs(inverse @ (o.mass @ x) - x).max():.0e}")


if __name__ == "__main__":
    main()
