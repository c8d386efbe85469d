"""Wang & Chirikjian (2006): what do rotations in parameters and the blocks of rigid bodies give?

The paper has no numbers of its own. Its (19) leaves the soft and hard parts open; the errata fill the gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import catena
from catena import rotations
from catena.fixman import rigid_blocks


def zxz(q: Any) -> Any:
    """The rotation of ZXZ angles, as a function of one's own."""
    (a, b, c), (x, y, z) = np.cos(q), np.sin(q)
    first = np.array([[a, -x, 0], [x, a, 0], [0, 0, 1]])
    tilt = np.array([[1, 0, 0], [0, b, -y], [0, y, b]])
    return first @ tilt @ np.array([[c, -z, 0], [z, c, 0], [0, 0, 1]])


def wave(R: Any) -> Any:
    """A complex function of a rotation."""
    return np.exp(1j * R[2, 2]) * (R[0, 2] + 1j * R[1, 2]) ** 2


def chained(angles: Any, J: Any, expected: Any, h: float = 1e-6) -> float:
    """How far J⁻ᵀ times slopes along Euler angles is from the operators (12)."""
    ends = [[wave(rotations.euler_rotation("ZXZ", angles + s * h * e)) for s in (1, -1)] for e in np.eye(3)]
    slopes = np.array([(x - y) / (2 * h) for x, y in ends])
    return float(np.abs(np.linalg.solve(J.T, slopes) - expected).max())


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
    own = rotations.parameter_jacobian(zxz, angles)
    print(f"(10)        J of a parametrisation A(q) of one's own  {np.abs(own - J).max():.0e}")
    slopes = rotations.rotation_derivatives(wave, R)
    turned = [wave(R @ rotations.exp(sign * h * e)) for e in np.eye(3) for sign in (1, -1)]
    by_differences = np.subtract(turned[::2], turned[1::2]) / (2 * h)
    print(f"(12)        ∂f/∂ξ along the body's axes, f complex    {np.abs(slopes - by_differences).max():.0e}")
    print(f"(13)        from slopes along angles, J⁻ᵀ ∂f/∂q       {chained(angles, J, slopes):.0e}")
    twist = rng.standard_normal(6)
    back = rotations.log(rotations.exp(twist))
    print(f"(14)        exp and log of a twist                    {np.abs(back - twist).max():.0e}")
    motion = rotations.motion_jacobian(J, R)
    body = np.concatenate([J @ rates, R.T @ rates])
    error = np.abs(motion @ np.tile(rates, 2) - body).max()
    print(f"(15)        𝒥 = J ⊕ Rᵀ with v = Rᵀḃ                   {error:.0e}")
    b, steps = rng.standard_normal(3), rotations.exp(h * np.eye(6))
    along = rotations.motion_derivatives(lambda R, b: wave(R) * b[0], R, b)
    ends = [wave(R @ g[:3, :3]) * (b + R @ g[:3, 3])[0] for g in steps]
    print(
        f"(16), (17)  ∂f/∂ξ̃ along turns and shifts              {np.abs((ends - wave(R) * b[0]) / h - along).max():.0e}"
    )
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
