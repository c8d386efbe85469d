"""Many small loops: the contact system by sparse elimination, so that its cost follows the pattern of the constraints.

(Ω + ρ) λ = r is solved again and again for what is left of r, which sweeps say. With ρ above zero this works for
redundant constraints too; λ comes from the range of Ω, so that it is the one of least norm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import IMPROVEMENTS, NEARLY, SETTLED
from catena.algorithms.innovations import FACTOR, SOLVE
from catena.algorithms.kinematics import WRENCH_TORQUES
from catena.functions.recipes import Ask

Array = npt.NDArray[Any]

SparseContact = Callable[[Array, Array, Array], Callable[[Array], Array]]
"""For a configuration (nq,), the links on both sides of each direction (k, 2) and its wrenches on them (k, 2, 6): what
solves (Ω + ρ) λ = r for vectors r (k,), with a small ρ."""


class ManyLoops:
    """Constraints between links: `links` (k, 2) are those on both sides of each direction, -1 for the base.

    `sparse` solves nearly the contact system, `rates` gives J x from q and x.
    """

    def __init__(self, ask: Ask, sparse: SparseContact, rates: Callable[[Array, Array], Array], links: Array) -> None:
        self._ask, self._sparse, self._rates, self._links = ask, sparse, rates, links

    def solved(self, q: Array, free: Array, wanted: Array, wrenches: Array) -> tuple[Array, Array, Array]:
        """Accelerations (..., nv), multipliers (..., k), and (..., 1): 1 where these meet the constraints, otherwise 0.

        `wrenches` (..., k, 2, 6) are those of unit multipliers on both links, in their frames.
        """
        a, lam, settled = np.array(free), np.zeros_like(wanted), np.zeros((*wanted.shape[:-1], 1))
        for sample in np.ndindex(wanted.shape[:-1]):
            if all(np.isfinite(x[sample]).all() for x in (wrenches, free, wanted)):
                one = self._one(q[sample], free[sample], wanted[sample], wrenches[sample])
            else:
                one = np.full_like(free[sample], np.nan), np.full_like(wanted[sample], np.nan), 1.0
            a[sample], lam[sample], settled[sample] = one
        return a, lam, settled

    def _one(self, q: Array, a: Array, wanted: Array, wrenches: Array) -> tuple[Array, Array, float]:
        """One sample."""
        ask, factors, solve = self._ask, self._ask(FACTOR, q), self._sparse(q, self._links, wrenches)
        lam, moved = np.zeros_like(wanted), self._rates(q, a)
        size = np.abs(wanted).max() + np.abs(moved).max()
        for _ in range(IMPROVEMENTS):
            r = wanted - moved
            if np.abs(r).max() <= SETTLED * size:
                return a, lam, 1.0
            more = solve(r)
            f = np.zeros((ask.tree.n + 1, 6))  # the last stands for the base
            for side in (0, 1):
                np.add.at(f, self._links[:, side], wrenches[:, side] * more[:, None])
            lam, a = lam + more, a + ask(SOLVE, q, *factors, ask(WRENCH_TORQUES, q, f[:-1]))
            moved = self._rates(q, a)
        return a, lam, float(np.abs(wanted - moved).max() <= NEARLY * size)
