"""The decoupled natural orthogonal complement of a robot, to look at and to compute with: Saha (1995) and (1997).

Everything here is in the base's axes with twists about the mass centres, as in the papers; links count from 0. For
speed use `robot.mass_matrix(q, method="udu")` and `robot.forward_dynamics(..., method="udu")` instead.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.denoc import POSES_AND_AXES
from catena.arguments.arrays import as_floats
from catena.errors import ShapeError
from catena.functions.recipes import times
from catena.model.lie import skew
from catena.model.mimic import refuse_followers
from catena.questions.elimination import Elimination, eliminate

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class Denoc:
    """The natural orthogonal complement of Saha (1995, 1997) and the matrices made of it."""

    __slots__ = ()

    def natural_orthogonal_complement(self, q: npt.ArrayLike) -> NaturalOrthogonalComplement:
        """T = T_l T_d with t = T v, and what follows from it, at the configurations q (..., nq)."""
        return NaturalOrthogonalComplement(cast("Robot", self), q)


class NaturalOrthogonalComplement:
    """T of one configuration or of a batch, as the product of T_l, lower triangular, and T_d, block diagonal (8).

    t = T v are the twists (ω_i, ċ_i) of all links, c_i being the mass centre of link i. `c` is (..., n, 3); `p`,
    (..., nv, 6), is what unit speed of each degree of freedom adds to the twist of its link (4); `M`, (..., n, 6, 6),
    the extended masses (12). Making it costs O(n); matrices are made when asked for.
    """

    def __init__(self, robot: Robot, q: npt.ArrayLike) -> None:
        refuse_followers(robot.tree, "natural_orthogonal_complement")
        self.robot, tree = robot, robot.tree
        R, o, axes = robot._compiled.kernel(POSES_AND_AXES)(q)
        self.c: Array = o + np.einsum("...nij,nj->...ni", R, tree.com)
        self._link = np.repeat(np.arange(tree.n), np.diff(tree.v_start))
        turn, shift = axes[..., :3], axes[..., 3:]
        self.p: Array = np.concatenate([turn, shift + np.cross(turn, self.c[..., self._link, :])], axis=-1)
        self.M: Array = np.zeros((*o.shape[:-1], 6, 6))
        self.M[..., :3, :3] = R @ tree.inertia @ np.swapaxes(R, -1, -2)
        self.M[..., 3:, 3:] = tree.mass[:, None, None] * np.eye(3)

    def B(self, i: int, j: int) -> Array:
        """B_ij (4), (..., 6, 6): turns the twist of link j into that of link i while all joints between are at rest.

        Zero where link j does not carry link i.
        """
        ancestor: int = i
        while ancestor > j:
            ancestor = int(self.robot.tree.parent[ancestor])
        shift = self.c[..., j, :] - self.c[..., i, :]
        B = np.zeros((*shift.shape[:-1], 6, 6))
        if ancestor == j:
            B[..., range(6), range(6)] = 1.0
            B[..., 3:, :3] = skew(shift)  # the cross-product tensor (5)
        return B

    def joint(self, i: int) -> Array:
        """p_i (4) as a matrix (..., 6, d): one column for each degree of freedom of joint i."""
        return np.swapaxes(self.p[..., self._dofs(i), :], -1, -2)

    @cached_property
    def T_l(self) -> Array:
        """T_l (9a), (..., 6n, 6n). O(n²) memory."""
        n = self.robot.tree.n
        return np.concatenate([np.concatenate([self.B(i, j) for j in range(n)], axis=-1) for i in range(n)], axis=-2)

    @cached_property
    def T_d(self) -> Array:
        """T_d (9b), (..., 6n, nv)."""
        tree = self.robot.tree
        T = np.zeros((*self.p.shape[:-2], 6 * tree.n, tree.nv))
        for i in range(tree.n):
            T[..., 6 * i : 6 * i + 6, self._dofs(i)] = self.joint(i)
        return T

    def dense(self) -> Array:
        """T = T_l T_d (8), (..., 6n, nv). O(n²) memory."""
        result: Array = self.T_l @ self.T_d
        return result

    def twists(self, v: npt.ArrayLike) -> Array:
        """T v, (..., n, 6): the twists of all links (3). O(n)."""
        v = self._along_v(v)
        t: list[Array] = []
        for i, parent in enumerate(self.robot.tree.parent.tolist()):
            own = np.einsum("...ki,...k->...i", self.p[..., self._dofs(i), :], v[..., self._dofs(i)])
            t.append(own if parent < 0 else own + times(self.B(i, parent), t[parent]))
        return np.stack(np.broadcast_arrays(*t), axis=-2)

    def torques(self, w: npt.ArrayLike) -> Array:
        """Tᵀ w, (..., nv): the torques that stand for wrenches (..., n, 6) at the mass centres. O(n)."""
        given: Array = as_floats(w, "torques: w")
        tree = self.robot.tree
        if given.shape[-2:] != (tree.n, 6):
            raise ShapeError(f"torques: w must have shape (..., {tree.n}, 6), got {given.shape}")
        batch = np.broadcast_shapes(given.shape[:-2], self.p.shape[:-2])
        total, tau = np.array(np.broadcast_to(given, (*batch, tree.n, 6))), np.empty((*batch, tree.nv))
        for i in reversed(range(tree.n)):
            tau[..., self._dofs(i)] = np.einsum("...ki,...i->...k", self.p[..., self._dofs(i), :], total[..., i, :])
            parent = int(tree.parent[i])
            if parent >= 0:
                total[..., parent, :] += times(np.swapaxes(self.B(i, parent), -1, -2), total[..., i, :])
        return tau

    @cached_property
    def composite_bodies(self) -> Array:
        """M̃_i (15), (..., n, 6, 6): the extended mass about c_i of link i and all it carries, frozen into one body.

        M̃_i t_i is the momentum of that body when only the joints up to i move.
        """
        return self._accumulated(self.M, lambda i, M: M)

    @cached_property
    def articulated_bodies(self) -> Array:
        """M̂_i, i + 1 (35), (..., n, 6, 6): the same with the joints beyond link i free."""
        return self.eliminated_bodies(0)

    def eliminated_bodies(self, k: int) -> Array:
        """M̂_ik (34), (..., n, 6, 6): the bodies after joints k, k + 1, … have been eliminated; the rest are frozen."""
        return self._accumulated(self.M, lambda i, M: self._through_joint(i, M) if i >= k else M)

    @cached_property
    def pivots(self) -> list[Array]:
        """m̂_i = p_iᵀ M̂ p_i (32), one (..., d, d) for each joint: the inertia of articulated body i about its joint."""
        return [self._pivot(i, self.articulated_bodies[..., i, :, :]) for i in range(self.robot.tree.n)]

    @cached_property
    def psi(self) -> Array:
        """ψ̂_i = M̂ p_i m̂_i⁻¹ (33), (..., nv, 6)."""
        M, found = self.articulated_bodies, np.empty_like(self.p)
        for i, m in enumerate(self.pivots):
            found[..., self._dofs(i), :] = np.linalg.solve(m, np.swapaxes(M[..., i, :, :] @ self.joint(i), -1, -2))
        return found

    def element(self, i: int, j: int) -> Array:
        """i_ij = p_iᵀ M̃_i B_ij p_j (16, for i ≥ j, see errata), (..., d_i, d_j); with rotor inertia where i = j."""
        if i < j:
            return np.swapaxes(self.element(j, i), -1, -2)
        own: Array = (
            np.swapaxes(self.joint(i), -1, -2) @ self.composite_bodies[..., i, :, :] @ self.B(i, j) @ self.joint(j)
        )
        return own + np.diag(self.robot.tree.armature[self._dofs(i)]) if i == j else own

    def mass_matrix(self) -> Array:
        """The generalized inertia matrix (16), element by element, (..., nv, nv). O(n²) time and memory."""
        n = self.robot.tree.n
        return np.concatenate([np.concatenate([self.element(i, j) for j in range(n)], -1) for i in range(n)], -2)

    def N(self) -> Array:
        """N (22b), (..., 6n, 6n): M̂_i / m̂_i on the diagonal.

        For a joint with several degrees of freedom M̂_i p_i m̂_i⁻¹ p_i⁺, which does the same to p_i.
        """
        n = self.robot.tree.n
        result = np.zeros((*self.c.shape[:-2], 6 * n, 6 * n))
        for i, m in enumerate(self.pivots):
            block, M, p = slice(6 * i, 6 * i + 6), self.articulated_bodies[..., i, :, :], self.joint(i)
            result[..., block, block] = M / m if m.shape[-1] == 1 else M @ p @ np.linalg.inv(m) @ np.linalg.pinv(p)
        return result

    def udu(self) -> tuple[Array, Array]:
        """U = 1 + T_dᵀ (T_l − 1)ᵀ N T_d (22a) and D (20), (..., nv, nv) each, with mass_matrix = U D Uᵀ (21)."""
        T_d, above = self.T_d, np.swapaxes(self.T_l - np.eye(6 * self.robot.tree.n), -1, -2)
        nv = self.robot.tree.nv
        D = np.zeros((*self.c.shape[:-2], nv, nv))
        for i, m in enumerate(self.pivots):
            D[..., self._dofs(i), self._dofs(i)] = m
        return np.eye(nv) + np.swapaxes(T_d, -1, -2) @ above @ self.N() @ T_d, D

    def eliminate(self, *, steps: bool = False) -> Elimination:
        """Reverse Gaussian elimination (25)-(30) of the mass matrix; `steps` keeps every E_k and L_k. O(n³)."""
        return eliminate(self.mass_matrix(), self.robot.tree.v_start.tolist(), steps=steps)

    def _dofs(self, i: int) -> slice:
        start = self.robot.tree.v_start
        return slice(int(start[i]), int(start[i + 1]))

    def _pivot(self, i: int, M: Array) -> Array:
        p = self.joint(i)
        pivot: Array = np.swapaxes(p, -1, -2) @ M @ p + np.diag(self.robot.tree.armature[self._dofs(i)])
        return pivot

    def _through_joint(self, i: int, M: Array) -> Array:
        """M̂_ii = M̂_i,i+1 − ψ̂_i ψ_iᵀ: what is felt of articulated body i through its joint."""
        psi = M @ self.joint(i)
        felt: Array = M - psi @ np.linalg.solve(self._pivot(i, M), np.swapaxes(psi, -1, -2))
        return felt

    def _accumulated(self, own: Array, through: Any) -> Array:
        """M_i + Σ B_jiᵀ through(j, M_j) B_ji over the links j on link i: (15), (35)."""
        M: Array = own.copy()
        for i in reversed(range(self.robot.tree.n)):
            parent = int(self.robot.tree.parent[i])
            if parent >= 0:
                B = self.B(i, parent)
                M[..., parent, :, :] += np.swapaxes(B, -1, -2) @ through(i, M[..., i, :, :]) @ B
        return M

    def _along_v(self, v: npt.ArrayLike) -> Array:
        array = as_floats(v, "twists: v")
        if array.shape[-1:] != (self.robot.tree.nv,):
            raise ShapeError(f"twists: v must have shape (..., {self.robot.tree.nv}), got {array.shape}")
        return array
