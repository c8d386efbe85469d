"""Saha (1997): what do U, D and forward dynamics of an arm look like, in numbers and in symbols, as recursions?

Not here: Table I, which is lost (the counts of 1995 are in saha_1995.py); Figs. 1 and 2 are drawings of links.
"""

from __future__ import annotations

import numpy as np

import catena


def main() -> None:
    arm = catena.rod_chain(3, radius=0.05, axes="zyy")
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-1, 1, (3, arm.nv))
    noc, M, n = arm.natural_orthogonal_complement(q), arm.mass_matrix(q).dense(), arm.nv
    steps, (U, D) = noc.eliminate(steps=True), noc.udu()

    def show(number: str, what: str, found: object, expected: object) -> None:
        error = np.abs(np.asarray(found) - expected).max() / np.abs(expected).max()
        print(f"{number:>18}  {what:62}{error:9.0e}")

    print("an arm of three rods, relative differences")
    show("(3), (5)-(8)", "I = T_dᵀ M̃ T_d, the elements from composite bodies", noc.mass_matrix(), M)
    left = M
    for k in reversed(range(1, n)):
        left = steps.E[k] @ left
    show("(9), (20)-(23)", "E I = L_2, reverse Gaussian elimination", left, steps.L[1])
    inverse = [np.eye(n) + (np.eye(n) - steps.E[k]) for k in range(1, n)]
    show("(10)", "E_k⁻¹ = 1 + α_k λ_kᵀ", [steps.E[k] @ x for k, x in enumerate(inverse, 1)], [np.eye(n)] * (n - 1))
    show("(11)", "I = U L_2", U @ steps.L[1], M)
    show("(12)", "L_2 = D L with L = Uᵀ", D @ U.T, steps.L[1])
    show("(13)", "I = U D Uᵀ", U @ D @ U.T, M)
    show(
        "(25)",
        "m̂_i, moments of inertia of articulated bodies",
        np.concatenate([p.ravel() for p in noc.pivots]),
        np.diag(D),
    )
    hat = np.linalg.solve(U, tau - arm.bias(q, v))
    show("(14)-(19)", "U τ̂ = τ, D τ̃ = τ̂, Uᵀ θ̈ = τ̃", np.linalg.solve(D @ U.T, hat), arm.forward_dynamics(q, v, tau))
    show(
        "(14)-(19)", "the same in O(n)", arm.forward_dynamics(q, v, tau, method="udu"), arm.forward_dynamics(q, v, tau)
    )

    factors = catena.symbolic(arm, "udu")
    print(f"(13), (24)-(27)  U and D in symbols: {len(factors.definitions)} definitions, the last ones:")
    for symbol, meaning in list(factors.definitions.items())[-6:]:
        print(f"      {symbol} = {meaning}")
    names: dict[str, object] = {}
    exec(factors.code("python"), names)
    upper, diagonal = (np.array(x) for x in names["udu"](q))  # type: ignore[operator]
    show("(13)", "their code in Python, U D Uᵀ", upper @ diagonal @ upper.T, M)
    print("(16)-(19)  forward dynamics, in C:")
    source = catena.symbolic(arm, "forward_dynamics").code("c").splitlines()
    for line in [*source[2:6], "    ...", *source[-5:]]:
        print(f"      {line[:100]}")
    for size in (4, 8, 16):
        long = catena.symbolic(catena.planar_chain(np.ones(size), 1.0), "forward_dynamics")
        print(f"      a planar chain of {size} links: {len(long.definitions)} definitions")


if __name__ == "__main__":
    main()
