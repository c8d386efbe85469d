"""Rodriguez & Kreutz (1988): what does each numbered result give for an arm, and to how many digits?

Not here: Part II (closed chains), of which only the table of contents exists (`catena.System` is what came of it); the
figures, which are drawings; Euler parameters of ball joints, for which Catena has quaternions.
"""

from __future__ import annotations

import numpy as np

import catena
from catena.algorithms.newton_euler import RECURSIVE_SPATIAL_DYNAMICS
from catena.functions.engine import kernel
from catena.operators import verify

IDENTITIES = {
    "(a.1), (a.2)": lambda o: (o.G @ o.D, o.P @ o.H.T),
    "(a.6)": lambda o: (o.Phi, o.phi @ o.S),
    "(a.9)": lambda o: (o.Phi @ o.delta_phi, o.phi_tilde),
    "(a.12)": lambda o: (o.L, o.delta_phi @ o.G),
    "(a.14)": lambda o: (o.phi, o.psi @ (o.I + o.S @ o.L @ o.H @ o.phi)),
    "(a.17)": lambda o: (o.Psi, (o.I - o.Psi @ o.L @ o.H) @ o.Phi),
    "(a.26)": lambda o: (o.Phi @ o.L @ o.H @ o.psi, o.Psi @ o.L @ o.H @ o.phi),
    "(a.35)": lambda o: (o.H @ o.psi, (o.I - o.H @ o.Psi @ o.L) @ o.H @ o.phi),
    "(a.41)": lambda o: (o.Psi @ o.L, o.Phi @ o.L @ (o.I - o.H @ o.Psi @ o.L)),
}


def show(number: str, what: str, found: object, expected: object) -> None:
    """Print how far apart two arrays are."""
    a, b = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    print(f"{number:>15}  {what:58}{np.abs(a - b).max() / np.abs(b).max():9.0e}")


def main() -> None:
    arm = catena.random_tree(2, 7, ["revolute", "prismatic"], 0.0)
    rng = np.random.default_rng(0)
    q, (v, T, a) = arm.random_configuration(rng, 3), rng.standard_normal((3, 3, arm.nv))
    o = arm.operators(q, v=v)
    f0 = rng.standard_normal((3, 6))  # what the tip exerts on the environment
    f_ext = -(o.B @ f0).reshape(3, -1, 6)
    print("relative differences, the largest of three states")
    A = o.a + o.E @ o.g  # (3.21)
    spatial = kernel(arm, RECURSIVE_SPATIAL_DYNAMICS, present=("f_ext",))(q, v, a, f_ext)[0]
    show("(2.1)-(2.30)", "Newton-Euler and its spatial form", spatial, arm.inverse_dynamics(q, v, a, f_ext))
    show("(3.12)", "V = φᵀHᵀθ̇", o.phi.T @ o.H.T @ v, o.V)
    show("(3.13)", "J = BᵀφᵀHᵀ", o.J.dense(), arm.jacobian(q, arm.links[-1].name))
    torque = o.H @ o.phi @ (o.M @ o.phi.T @ (o.H.T @ a + A) + o.b + o.B @ f0)
    show("(3.19)", "inverse dynamics", torque, arm.inverse_dynamics(q, v, a, f_ext))
    show("(3.20)", "𝓜 = H φ M φᵀ Hᵀ", o.mass.dense(), arm.mass_matrix(q).dense())
    K, L = o.I - o.H @ o.Psi @ o.L, o.I + o.H @ o.Phi @ o.L
    show("(4.11)", "𝓜 = (I + HΦL) D (I + HΦL)ᵀ", (L @ o.D @ L.T).dense(), o.mass.dense())
    show("(4.14)", "(I + HΦL)⁻¹ = I − HΨL", (K @ L).dense(), np.broadcast_to(np.eye(arm.nv), (3, arm.nv, arm.nv)))
    show("(4.16)", "𝓜⁻¹ = (I − HΨL)ᵀ D⁻¹ (I − HΨL)", (K.T @ o.D.inv @ K).dense(), arm.inverse_mass_matrix(q))
    expected = arm.forward_dynamics(q, v, T, f_ext)
    free = T - o.H @ o.phi @ (o.M @ o.phi.T @ A + o.b + o.B @ f0)
    show("(4.17)-(4.18)", "FD1", K.T @ o.D.inv @ K @ free, expected)
    alpha = o.psi.T @ o.H.T @ o.D.inv @ K @ free + o.phi.T @ A
    show("(5.5)-(5.6)", "FD2: accelerations of the links", alpha, o.phi.T @ (o.H.T @ expected + A))
    eps = T - o.H @ o.psi @ (o.S @ o.L @ T + o.M @ o.phi.T @ A + o.b + o.B @ f0)
    show("(5.8)-(5.10)", "FD3", K.T @ o.D.inv @ eps, expected)
    nu = o.D.inv @ (K @ T - o.H @ (o.psi_tilde @ o.P @ A + o.psi @ (o.b + o.B @ f0)))
    fd4 = K.T @ nu - o.L.T @ o.Psi.T @ (o.I - o.G @ o.H).T @ A - o.G.T @ A
    show("(5.13)-(5.15)", "FD4", fd4, expected)
    Omega = arm.operational_mobility(q, arm.links[-1].name)
    show("claimed", "J 𝓜⁻¹ Jᵀ in O(n)", (o.J @ K.T @ o.D.inv @ K @ o.J.T).dense(), Omega)
    print("appendix A, identities on random configurations:")
    for number, identity in IDENTITIES.items():
        print(f"{number:>15}  {verify(identity, arm)}")
    base = catena.random_tree(2, 7, ["revolute", "prismatic"], 0.0, base="floating")
    q, (v, T) = base.random_configuration(rng), rng.standard_normal((2, base.nv))
    found, expected = (base.forward_dynamics(q, v, T, method=method) for method in ("fd1", "dense"))
    show("(b.1)-(b.10)", "mobile base: FD1 against a whole matrix", found, expected)


if __name__ == "__main__":
    main()
