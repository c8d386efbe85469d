"""Wang & Chirikjian (2006): what do rotations in parameters and the blocks of rigid bodies give?

The paper has no numbers of its own. Its (19) leaves the soft and hard parts open; the errata fill the gap.
"""

from __future__ import annotations

import numpy as np

import catena
from catena import rotations
from catena.fixman import rigid_blocks


def main() -> None:
    rng = np.random.default_rng(0)
    angles, rates, h = np.array([0.4, 0.9, -0.7]), rng.standard_normal(3), 1e-6
    R = rotations.euler_rotation("ZXZ", angles)
    J = rotations.euler_jacobian("ZXZ", angles)
    moved = [rotations.euler_rotation("ZXZ", angles + sign * h * rates) for sign in (1, -1)]
    omega = rotations.vee(R.T @ (moved[0] - moved[1]) / (2 * h))
    print(f"(10), (11)  ω = J q̇ in ZXZ angles, by differences     {np.abs(J @ rates - omega).max():.0e}")
    det = abs(np.linalg.det(J))
    print(f"            |det J| = sin β, singular at sin β = 0      {abs(det - np.sin(angles[1])):.0e}")
    slopes = rotations.rotation_derivatives(lambda R: R.xx * R.yz + R.zy, R)
    turned = [
        (lambda A: A[0, 0] * A[1, 2] + A[2, 1])(R @ rotations.exp(sign * h * e)) for e in np.eye(3) for sign in (1, -1)
    ]
    by_differences = np.subtract(turned[::2], turned[1::2]) / (2 * h)
    print(f"(12)        ∂f/∂ξ along the body's axes               {np.abs(slopes - by_differences).max():.0e}")
    twist = rng.standard_normal(6)
    back = rotations.log(rotations.exp(twist))
    print(f"(14)        exp and log of a twist                    {np.abs(back - twist).max():.0e}")
    motion = rotations.motion_jacobian(J, R)
    body = np.concatenate([J @ rates, R.T @ rates])
    error = np.abs(motion @ np.tile(rates, 2) - body).max()
    print(f"(15)        𝒥 = J ⊕ Rᵀ with v = Rᵀḃ                   {error:.0e}")
    arm = catena.rod_chain(4, radius=0.1)
    q, b = arm.random_configuration(rng, 3), rng.standard_normal((3, 4))
    blocks = rigid_blocks(arm, q)
    print("(19)        the pattern of [Hᵃᵃ Hᵃᵇ; Hᵇᵃ Hᵇᵇ], four soft and twenty hard coordinates:")
    print(blocks.picture())
    M = arm.mass_matrix(q)
    solution, logdet = blocks.solve(b).x / M.solve(b) - 1, blocks.log_determinant() - M.logdet()
    print(f"(6)-(9)     M⁻¹ b from the blocks                     {np.abs(solution).max():.0e}")
    print(f"(8)         log det M by Fixman's theorem             {np.abs(logdet).max():.0e}")


if __name__ == "__main__":
    main()
