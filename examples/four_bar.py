"""How does a four-bar linkage swing, and how well does it keep its energy and stay closed?"""

from __future__ import annotations

import numpy as np

import catena
from catena import robots

SECONDS, DT = 2.0, 1e-3


def main() -> None:
    bar = catena.System.load(robots.path("four_bar"))
    q = bar.close([-1.0, 0.3, -1.2])
    print(f"{bar.redundancy(q).freedom} degree of freedom, crank at {np.degrees(q[0]):.1f}°")

    run = catena.simulate(bar, q, np.zeros(bar.nv), duration=SECONDS, dt=DT, integrator="rk4", every=10)
    energy, kinetic = run.energy(), bar.kinetic_energy(run.q, run.v)
    drift = np.abs(energy - energy[0]).max() / kinetic.max()
    print(f"after {SECONDS} s the crank is at {np.degrees(run.q[-1, 0]):.1f}°")
    print(f"energy drifts by {drift:.1e} of the largest kinetic energy")
    print(f"the pin is open by {run.constraint_drift()[1:].max():.1e} m")


if __name__ == "__main__":
    main()
