"""What can be done with a mass matrix that is never formed?"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh

import catena

N = 5_000


def main() -> None:
    robot = catena.random_tree(seed=3, n=N, joint_types=("revolute", "prismatic"), branching=0.5)
    rng = np.random.default_rng(0)
    M = robot.mass_matrix(robot.random_configuration(rng))
    print(f"{M!r}: as an array {8e-6 * robot.nv**2:,.0f} MB")

    X = rng.standard_normal((20, robot.nv))  # 20 vectors, one in each row
    B = M.times(X)
    print(f"M.times(X) and back, M.solve(B): X to {np.abs(M.solve(B) - X).max():.0e}")
    print(f"log det M = {M.logdet():.6f}, its gradient has {M.logdet_gradient().shape[0]:,} entries")

    U, D = M.factors()
    y = U @ (D @ (U.T @ X[0]))
    print(f"M = U D Uᵀ: to {np.abs(y - B[0]).max():.0e}")

    z = rng.standard_normal((1_000, robot.nv))
    v = M.inv_sqrt_times(z)  # velocities of the canonical ensemble at kT = 1
    energy = 0.5 * M.quadratic_form(v)
    print(f"equipartition: mean kinetic energy / (nv / 2) = {energy.mean() / (robot.nv / 2):.4f}")

    (largest,) = eigsh(M.as_linear_operator(), k=1, return_eigenvectors=False)
    (smallest,) = 1 / eigsh(M.as_linear_operator(inverse=True), k=1, return_eigenvectors=False)
    print(f"eigenvalues by SciPy's Lanczos: {smallest:.3e} to {largest:.3e}")


if __name__ == "__main__":
    main()
