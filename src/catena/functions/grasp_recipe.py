"""Many arms on a few objects: the contact system of Part II in its 6x6 form, linear in the number of arms.

Arms that share nothing but the objects have a small Ω each. The accelerations of the objects then are the only unknowns
that all have in common:

    (M_c + Σ Aᵀ Ω⁻¹ A) δ = Σ Aᵀ Ω⁻¹ r,      λ = Ω⁻¹ (r − A δ)

for each arm, where r is what the rates of its constraints lack, and A takes the accelerations δ that an object gets by
them to those rates: the paper's φᵀ(c,i), or Qᵀφᵀ where contacts leave freedom. Arms move without touching each other,
so one sweep serves the unit forces of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.closure_tolerances import LEFT, SINGULAR_ARM
from catena.algorithms.innovations import FACTOR, SOLVE
from catena.algorithms.kinematics import WRENCH_TORQUES
from catena.functions.recipes import Ask, times
from catena.model.joints import BY_NAME
from catena.model.tree import Frame, Tree

Array = npt.NDArray[Any]

FEWEST_ARMS, MOST_OBJECTS = 3, 8
"""With fewer arms, or with more objects, all constraints are solved together."""


class Grasps:
    """Which rows of the constraints belong to which arm and which object.

    Of k rows, `arm` and `slot` say which row of which arm each is, `link` is the arm's link, `held` the object's number
    and `first` whether the arm is on the first side.
    """

    def __init__(self, tree: Tree, links: Array, objects: Array, roots: Array) -> None:
        first = ~np.isin(links[:, 0], objects)
        self.first = first
        self.link = np.where(first, links[:, 0], links[:, 1])
        held = np.where(first, links[:, 1], links[:, 0])
        self.objects, self.held = objects, np.searchsorted(objects, held)
        trees, self.arm = np.unique(roots[self.link], return_inverse=True)
        self.slot = np.zeros_like(self.arm)
        for arm in range(len(trees)):
            rows = self.arm == arm
            self.slot[rows] = np.arange(rows.sum())
        self.arms, self.slots = len(trees), int(self.slot.max()) + 1
        of_dof = np.repeat(roots, np.diff(tree.v_start))
        self.order = np.concatenate([np.flatnonzero(of_dof == tree_of) for tree_of in trees])
        self.owner = np.searchsorted(trees, of_dof[self.order])
        self.starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        self.dofs = tree.v_start[objects][:, None] + np.arange(6)

    @classmethod
    def of(cls, tree: Tree, rows: Array, frames: Sequence[Frame]) -> Grasps | None:
        """The grasps of constraints whose rows have these two frames each, (k, 2); None if they are something else."""
        if not len(rows):
            return None
        links = np.array([frame.link for frame in frames])[rows]
        alone = (tree.parent < 0) & (tree.joint_type == BY_NAME["free"].code)
        alone[tree.parent[tree.parent >= 0]] = False
        objects = np.intersect1d(np.flatnonzero(alone), links)
        if (links < 0).any() or (np.isin(links, objects).sum(axis=1) != 1).any():
            return None
        roots = np.arange(tree.n)
        for i, above in enumerate(tree.parent.tolist()):
            roots[i] = i if above < 0 else roots[above]
        found = cls(tree, links, objects, roots)
        return found if found.arms >= FEWEST_ARMS and len(objects) <= MOST_OBJECTS else None

    def solved(
        self, ask: Ask, q: Array, free: Array, wanted: Array, on_arm: Array, on_object: Array, inverses: Any
    ) -> tuple[Array, Array, Array]:
        """Accelerations (..., nv), multipliers (..., k), and whether they are right (...): no arm is singular.

        `on_arm` and `on_object`, (..., k, 6), are the wrenches of unit multipliers on the links, in their frames.
        """
        batch = wanted.shape[:-1]
        f = np.zeros((*batch, self.slots, ask.tree.n, 6))
        f[..., self.slot, self.link, :] = on_arm
        A = np.zeros((*batch, self.arms, self.slots, len(self.objects), 6))
        A[..., self.arm, self.slot, self.held, :] = on_object
        A = A.reshape(*A.shape[:-2], -1)
        factors, wide = ask(FACTOR, q), q[..., None, :]
        x = ask(WRENCH_TORQUES, wide, f)
        Y = ask(SOLVE, wide, *[each[..., None, :, :] for each in factors], x)
        x, Y = x[..., self.order], Y[..., self.order]
        Omega = np.moveaxis(self._sums(x[..., :, None, :] * Y[..., None, :, :]), -1, -3)
        inverse, least = inverses(Omega)
        weighted = np.swapaxes(inverse @ A, -1, -2)
        M = self._masses(factors[1])
        S = M + (weighted @ A).sum(axis=-3)  # M_c + Σ Aᵀ Ω⁻¹ A
        target = np.zeros((*batch, self.arms, self.slots))
        target[..., self.arm, self.slot] = wanted
        a, lam = np.array(free), np.zeros_like(target)
        dofs = self.dofs.ravel()
        for passes in range(4):  # more than once for what rounding has left, the last to see whether it is gone
            r = target - self._rates(x, A, a)
            if passes == 3:
                break
            delta = _solution(S, times(weighted, r).sum(axis=-2))
            more = times(inverse, r - times(A, delta[..., None, :]))
            lam = lam + more
            a[..., self.order] += (Y * np.swapaxes(more, -1, -2)[..., self.owner]).sum(axis=-2)
            push = times(np.swapaxes(A, -1, -2), more).sum(axis=-2)
            a[..., dofs] += _solution(M, push)  # not δ: so that r sees all that λ has got wrong
        added = np.abs(target) + self._rates(*map(np.abs, (x, A, a)))
        left, size = (np.abs(each).max(axis=(-1, -2)) for each in (r, added))
        return a, lam[..., self.arm, self.slot], (left <= LEFT * size) & (least[..., 0] > SINGULAR_ARM).all(axis=-1)

    def _rates(self, x: Array, A: Array, a: Array) -> Array:
        """The rates of the constraints (..., arms, slots) that accelerations give: of the arms, and of the objects."""
        of_arms = np.swapaxes(self._sums(x * a[..., None, self.order]), -1, -2)
        return of_arms + times(A, a[..., None, self.dofs.ravel()])

    def _sums(self, per_dof: Array) -> Array:
        """Sums over the degrees of freedom of each arm."""
        return np.asarray(np.add.reduceat(per_dof, self.starts, axis=-1))

    def _masses(self, D: Array) -> Array:
        """M_c of the objects along a diagonal: their blocks of D, of which the lower triangles are stored."""
        lower = np.tril(D[..., self.dofs, :])
        blocks = lower + np.swapaxes(np.tril(lower, -1), -1, -2)
        count = len(self.objects)
        M = np.zeros((*blocks.shape[:-3], count, 6, count, 6))
        for i in range(count):
            M[..., i, :, i, :] = blocks[..., i, :, :]
        return M.reshape(*blocks.shape[:-3], 6 * count, 6 * count)


def _solution(S: Array, x: Array) -> Array:
    return np.asarray(np.linalg.solve(S, x[..., None])[..., 0])
