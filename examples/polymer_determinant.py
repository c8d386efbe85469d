"""Does a chain of rigid bonds prefer some torsion angles although nothing pushes it? It does: det M depends on them."""

from __future__ import annotations

import numpy as np

import catena

BOND, MASS, KT = 1.53e-10, 2.33e-26, 4.11e-21  # metres, kilograms; joules at 298 K


def main() -> None:
    # four atoms: the first three move as one body, the fourth turns about the bond between the second and the third
    molecule = catena.point_mass_chain([BOND] * 3, MASS, base="floating")
    torsions = np.linspace(0.0, np.pi, 7)
    q = np.tile(molecule.neutral(), (len(torsions), 1))
    q[:, -1] = torsions

    logdet = molecule.mass_matrix(q).logdet()
    weight = np.exp(0.5 * (logdet - logdet.max()))  # probability of rigid bonds: √det M
    found = catena.fixman_potential(molecule, q, kT=KT)
    print("from trans, °   weight √det M   Fixman's potential, kT   its torque, kT/rad")
    rows = zip(np.degrees(torsions), weight, found.potential / KT, found.torque[:, -1] / KT, strict=True)
    for angle, w, potential, torque in rows:
        print(f"{angle:13.0f}{w:16.4f}{potential - found.potential.min() / KT:25.4f}{torque:22.4f}")

    step = np.zeros(molecule.nv)
    step[-1] = 1e-5
    above, below = (catena.fixman_potential(molecule, molecule.integrate(q, dq), KT) for dq in (step, -step))
    slope = (above.potential - below.potential) / (2e-5 * KT)
    worst = np.abs(slope + found.torque[:, -1] / KT).max()
    print(f"\nthe torque is minus the potential's slope, to {worst:.0e} kT/rad")

    long = catena.point_mass_chain([BOND] * 10_000, MASS)
    rng = np.random.default_rng(0)
    spread = long.mass_matrix(long.random_configuration(rng, 8)).logdet()
    print(f"a chain of 10,000 bonds: log det M of 8 random shapes has a spread of {np.std(spread):.1f}")


if __name__ == "__main__":
    main()
