"""Fixman's partition of trees of rigid bodies as sparse matrices: Wang & Chirikjian (2006), (19), with errata.md.

With relative coordinates, V(i) = X(i) V(parent) + S(i) q̇(i) + T(i) ḃ(i), where S holds the motions that joint i allows
and T, an orthonormal complement, those in which it is hard. K(i) = [S T] has the inverse [A; B], and

    Y = (1 − X) diag(M(i)⁻¹) (1 − X)ᵀ,    Hᵃᵃ = A Y Aᵀ,   Hᵃᵇ = A Y Bᵀ,   Hᵇᵇ = B Y Bᵀ

are the blocks of the inverse mass matrix of the bodies cut loose. Y has blocks for a link with itself, its parent and
its siblings. Several configurations stand one after the other on the diagonal.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import block_diag, bsr_matrix, csr_matrix, identity

from catena.arguments.arrays import as_floats
from catena.arguments.scalars import a_robot
from catena.errors import ShapeError, SingularError, UnsupportedError
from catena.fixman.point_masses import Solution
from catena.fixman.rounding import rounding
from catena.fixman.sparse_solve import Factored
from catena.model.configuration import coordinates
from catena.model.singular import without_inverse
from catena.operators.geometry import Geometry

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def rigid_blocks(robot: Robot, q: npt.ArrayLike) -> RigidBlocks:
    """The blocks Hᵃᵃ, Hᵃᵇ and Hᵇᵇ of (19) for a robot at configurations q (..., nq), as sparse matrices.

        blocks = catena.fixman.rigid_blocks(arm, q)
        blocks.bb, blocks.solve(tau).x
        print(blocks.picture())

    Soft coordinates are the robot's own, hard ones the other directions of each joint, 6 − nv of them, base to tip.
    Returns :class:`RigidBlocks`. Every link needs an inertia about every axis, and joints have no rotors; otherwise a
    SingularError or UnsupportedError names the first that is at fault. Cost: O(n) for each configuration.
    """
    tree = a_robot("rigid_blocks", robot).tree
    if len(bad := without_inverse(tree)):
        link = tree.link_names[int(bad[0])]
        raise SingularError(
            f"the partition needs bodies: expected a mass and an inertia about every axis on link {link!r}; "
            "method='fixman' keeps its joint whole instead",
            link=link,
        )
    if tree.armature.any():
        joint = tree.joint_names[tree.joint_of(np.flatnonzero(tree.armature)[0])]
        raise UnsupportedError(f"rigid_blocks: expected joints without armature, found some at joint {joint!r}")
    given = coordinates(q, robot.nq, "rigid_blocks: q").astype(float)
    return RigidBlocks(Geometry(robot, given.reshape(int(np.prod(given.shape[:-1])), robot.nq)), given.shape[:-1])


class RigidBlocks:
    """The blocks of H (19) for a batch of configurations; those of all of them along the diagonal of each matrix.

    `soft` and `hard` are the rows A and B, sparse; `batch` is the shape of the batch.
    """

    def __init__(self, geometry: Geometry, batch: tuple[int, ...]) -> None:
        self._geometry, self.batch = geometry, batch
        self.soft, self.hard, self._log_det_K = _rows(geometry)

    @cached_property
    def Y(self) -> csr_matrix:
        """(1 − X) M⁻¹ (1 − X)ᵀ: six rows for each link."""
        g = self._geometry
        moving = np.flatnonzero(g.parent >= 0)
        starts = np.concatenate([[0], np.cumsum(g.parent >= 0)])
        blocks = np.ascontiguousarray(np.swapaxes(g.phi[moving], 1, 2))
        X = bsr_matrix((blocks, g.parent[moving], starts), shape=(6 * g.n, 6 * g.n))
        own = np.arange(g.n + 1)
        inverse = bsr_matrix((np.linalg.inv(g.M), own[:-1], own), shape=(6 * g.n, 6 * g.n))
        E = identity(6 * g.n, format="csr") - X.tocsr()
        return csr_matrix(E @ inverse @ E.T)

    @cached_property
    def aa(self) -> csr_matrix:
        """Hᵃᵃ."""
        return csr_matrix(self.soft @ self.Y @ self.soft.T)

    @cached_property
    def ab(self) -> csr_matrix:
        """Hᵃᵇ."""
        return csr_matrix(self.soft @ self.Y @ self.hard.T)

    @cached_property
    def bb(self) -> csr_matrix:
        """Hᵇᵇ."""
        return csr_matrix(self.hard @ self.Y @ self.hard.T)

    @cached_property
    def _factored(self) -> Factored:
        return Factored(self.bb)

    def dense(self) -> tuple[Array, Array, Array]:
        """Hᵃᵃ, Hᵃᵇ and Hᵇᵇ of each configuration as whole matrices, (..., nv, nv) and so on. O(n²)."""
        return self._cut(self.aa), self._cut(self.ab), self._cut(self.bb)

    def _cut(self, matrix: csr_matrix) -> Array:
        """The diagonal blocks of a matrix, one for each sample."""
        samples = self._geometry.samples
        rows, columns = (size // max(samples, 1) for size in matrix.shape)
        whole = [matrix[i * rows : (i + 1) * rows, i * columns : (i + 1) * columns].toarray() for i in range(samples)]
        return np.array(whole).reshape(*self.batch, rows, columns)

    def solve(self, b: npt.ArrayLike) -> Solution:
        """M⁻¹ b for b (..., nv) by the pipeline (13): accelerations, reactions along the hard directions, the error.

        The reactions are (..., 6 n − nv); the relative error is the largest of the batch, estimated by one step of
        refinement.
        """
        nv = self._geometry.tree.nv
        try:
            right = np.broadcast_to(as_floats(b, "b"), (*self.batch, nv)).ravel()
        except ValueError:
            raise ShapeError(f"b: expected shape {(*self.batch, nv)}, found {np.shape(b)}") from None
        c, d = self.aa @ right, self.ab.T @ right
        e = self._factored.solve(d)
        better = self._factored.solve(d - self.bb @ e)
        f, change = self.ab @ e, self.ab @ better
        x = c - f - change
        size, changed, summed = (np.max(np.abs(y), initial=0.0) for y in (x, change, np.abs(c) + np.abs(f)))
        lost = max(2 * changed, rounding(float) * summed)
        reaction = -(e + better).reshape(*self.batch, -1) if len(e) else np.zeros((*self.batch, 0))
        return Solution(x.reshape(*self.batch, nv), reaction, float(lost / size) if size else 0.0)

    def log_determinant(self) -> Array:
        """log det M (...) by Fixman's theorem: Σ log det M(i) + 2 Σ log |det K(i)| + log det Hᵇᵇ."""
        samples = self._geometry.samples
        bodies = np.linalg.slogdet(self._geometry.M)[1] + 2 * self._log_det_K
        hard = self._factored.log_determinants(samples)
        return np.asarray(bodies.reshape(samples, -1).sum(axis=1) + hard).reshape(self.batch)

    def picture(self) -> str:
        """The pattern of H for one configuration: soft rows, then hard ones; a mark for each entry that is not zero."""
        if not self._geometry.samples:
            return ""
        n, m = (side.shape[0] // self._geometry.samples for side in (self.soft, self.hard))
        aa, ab, bb = self.aa[:n, :n], self.ab[:n, :m], self.bb[:m, :m]
        upper, lower = np.hstack([aa.toarray(), ab.toarray()]), np.hstack([ab.T.toarray(), bb.toarray()])
        marks = np.where(np.vstack([upper, lower]) != 0, "x", ".")
        lines = ["".join(row[:n]) + "|" + "".join(row[n:]) for row in marks]
        return "\n".join([*lines[:n], "-" * n + "+" + "-" * m, *lines[n:]])


def _rows(g: Geometry) -> tuple[csr_matrix, csr_matrix, Array]:
    """A and B of all links as sparse matrices, and log |det K| of each."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(g.owner, minlength=g.n))])
    soft, hard, logs = [], [], np.zeros(g.n)
    for i in range(g.n):
        S = g.H[starts[i] : starts[i + 1]].T
        T = np.linalg.qr(S, mode="complete")[0][:, S.shape[1] :]
        K = np.hstack([S, T])
        rows, logs[i] = np.linalg.inv(K), np.linalg.slogdet(K)[1]
        soft.append(rows[: S.shape[1]])
        hard.append(rows[S.shape[1] :])
    if not g.n:
        return csr_matrix((0, 0)), csr_matrix((0, 0)), logs
    return csr_matrix(block_diag(soft)), csr_matrix(block_diag(hard)), logs
