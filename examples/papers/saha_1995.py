"""Saha (1995): what do the complement, the elimination and the UDUᵀ recursion give, and from which n do they pay?

Not here: where the paper's own counts come from, which it does not break down; its figures are drawings of links.
"""

from __future__ import annotations

import numpy as np

import catena
from catena.functions.catalogue import function_named
from catena.functions.count import count_general, crossover, table


def main() -> None:
    arm = catena.random_tree(1, 6, ["revolute"], 0.0)
    rng = np.random.default_rng(0)
    q, (v, tau) = arm.random_configuration(rng), rng.standard_normal((2, arm.nv))
    noc = arm.natural_orthogonal_complement(q)
    M, (U, D) = arm.mass_matrix(q).dense(), noc.udu()
    steps, n = noc.eliminate(steps=True), arm.nv

    def show(number: str, what: str, found: object, expected: object) -> None:
        error = np.abs(np.asarray(found) - expected).max() / np.abs(expected).max()
        print(f"{number:>12}  {what:55}{error:9.0e}")

    print("relative differences, an arm of six revolute joints")
    show("(8), (9)", "T = T_l T_d", noc.T_l @ noc.T_d, noc.dense())
    show("(3)", "twists t = T θ̇", noc.twists(v).ravel(), noc.dense() @ v)
    show("(16)", "I from composite bodies M̃", noc.mass_matrix(), M)
    left = M
    for k in reversed(range(1, n)):
        left = steps.E[k] @ left
    show("(26)-(30)", "elementary matrices leave a lower triangular one", left, steps.L[1])
    show("(21)", "I = U D Uᵀ", U @ D @ U.T, M)
    one = np.eye(6 * n)
    show("(22)", "U = 1 + T_dᵀ (T_l − 1)ᵀ N T_d", np.eye(n) + noc.T_d.T @ (noc.T_l - one).T @ noc.N() @ noc.T_d, U)
    show("(32), (35)", "m̂ from the recursion of M̂", np.concatenate([p.ravel() for p in noc.pivots]), np.diag(D))
    expected = arm.forward_dynamics(q, v, tau)
    show("(36)-(39)", "forward dynamics", arm.forward_dynamics(q, v, tau, method="udu"), expected)
    print("\nsection 6: operations on a general chain of n revolute joints, multiplications | additions")
    costs = {cost.name: cost for cost in table()}
    for cost in costs.values():
        at = [f"n = {size}: {cost.multiplications(size)} | {cost.additions(size)}" for size in (6, 12)]
        print(f"      {cost.name:24}{cost.multiplications!s:>36} | {cost.additions!s:36}{';  '.join(at)}")
    found = crossover(costs["forward_dynamics/udu"], costs["forward_dynamics/dense"])
    print(f"      O(n) pays from n = {found}; the paper says 12, beside the O(n³) algorithm of its time")
    upright = count_general(function_named("forward_dynamics/udu"), 6, upright=True)
    print(f"      n = 6 with gravity along the first axis: {upright.multiplications + upright.divisions} | ", end="")
    print(f"{upright.additions}; the paper's 871 | 797 (docs/theory/saha.md says where the rest is)")


if __name__ == "__main__":
    main()
