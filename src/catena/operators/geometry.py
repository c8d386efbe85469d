"""The numbers behind the operators at one configuration: φ, H, M, P, D and G in the links' own frames.

Joint transforms run on arrays in place of scalars, one joint type at a time.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.innovations import INERTIAS
from catena.functions import engine
from catena.model.joints import JOINT_TYPES
from catena.model.lowering.lowered import OF_JOINT, Lowered, lower
from catena.spatial import Dofs, Force
from catena.sweeps import Link

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]

LONG = 2000
"""From this many links on it pays to compile the Riccati recursion."""


class Geometry:
    """Arrays for one configuration q (nq,): all blocks of six are in the frame of a link, angular part first."""

    def __init__(self, robot: Robot, q: Array) -> None:
        self.robot, self.tree, self.q = robot, robot.tree, q

    @cached_property
    def _kinematics(self) -> tuple[Array, Array, Array]:
        lowered = lower(self.tree, regroup=False, choose=False)
        phi, H = np.empty((self.tree.n, 6, 6)), np.empty((self.tree.nv, 6))
        frame = np.empty((self.tree.n, 6, 6))
        for code in np.unique(self.tree.joint_type):
            rows = np.flatnonzero(self.tree.joint_type == code)
            link = _links_of_one_type(lowered, int(code), rows)
            q = Dofs([self.q[self.tree.q_start[rows] + i] for i in range(link.joint_type.nq)])
            transform, axes = link.joint(q)
            phi[rows] = _six_columns(transform, len(rows))
            frame[rows] = _six_columns(link.frame, len(rows))
            for i, axis in enumerate(axes.columns):
                H[self.tree.v_start[rows] + i] = _spread(axis.components, len(rows))
        inward = np.swapaxes(frame, 1, 2)  # internal frames that were not moved differ by a rotation only
        moving = self.tree.parent >= 0
        phi[moving] = inward[self.tree.parent[moving]] @ phi[moving]
        return phi @ frame, np.einsum("vi,vij->vj", H, frame[self.owner]), inward

    @property
    def phi(self) -> Array:
        """φ(k+1, k) of each link, (n, 6, 6): forces in the link's frame to forces in its parent's frame."""
        return self._kinematics[0]

    @property
    def H(self) -> Array:
        """The axes of each degree of freedom, (nv, 6), in the frame of the link that moves."""
        return self._kinematics[1]

    @cached_property
    def owner(self) -> Array:
        """The link of each degree of freedom, (nv,)."""
        return np.repeat(np.arange(self.tree.n), np.diff(self.tree.v_start))

    @cached_property
    def M(self) -> Array:
        """The spatial inertia of each link at its frame's origin, (n, 6, 6) (2.15)."""
        mass, com = self.tree.mass[:, None, None], _skew(self.tree.com)
        M = np.empty((self.tree.n, 6, 6))
        M[:, :3, :3] = self.tree.inertia - mass * com @ com
        M[:, :3, 3:] = mass * com
        M[:, 3:, :3] = -mass * com
        M[:, 3:, 3:] = mass * np.eye(3)
        return M

    @cached_property
    def _riccati(self) -> tuple[Array, Array, Array]:
        """P, D and G."""
        return self._riccati_compiled() if self.tree.n > LONG else self._riccati_link_by_link()

    def _riccati_compiled(self) -> tuple[Array, Array, Array]:
        """By a kernel, and from internal frames to those of the links."""
        D, G, *columns = engine.kernel(self.robot, INERTIAS, kernel="rolled")(self.q)
        inward = self._kinematics[2]
        P = inward @ np.stack(columns, axis=-1) @ np.swapaxes(inward, 1, 2)
        return P, D, np.einsum("vij,vj->vi", inward[self.owner], G)

    def _riccati_link_by_link(self) -> tuple[Array, Array, Array]:
        """As the paper has it, (4.4)-(4.6)."""
        P, starts = self.M.copy(), self.tree.v_start.tolist()
        G, D = np.empty((self.tree.nv, 6)), np.zeros((self.tree.nv, 6))
        for k, parent in reversed(list(enumerate(self.tree.parent.tolist()))):
            own = slice(starts[k], starts[k + 1])
            U = self.H[own] @ P[k]
            block = U @ self.H[own].T + np.diag(self.tree.armature[own])  # (4.6)
            G[own] = np.linalg.solve(block, U)  # (5.12)
            D[own, : len(block)] = np.tril(block)
            if parent >= 0:
                P_plus = P[k] - U.T @ G[own]
                carried = self.phi[k] @ (0.5 * (P_plus + P_plus.T)) @ self.phi[k].T  # (4.5)
                P[parent] += 0.5 * (carried + carried.T)
        return P, D, G

    @property
    def P(self) -> Array:
        """The articulated inertia of each link, (n, 6, 6)."""
        return self._riccati[0]

    @property
    def D(self) -> Array:
        """H P Hᵀ of each joint, (nv, 6): for each degree of freedom its row of the lower triangle."""
        return self._riccati[1]

    @property
    def G(self) -> Array:
        """The gain P Hᵀ D⁻¹, (nv, 6): a row for each degree of freedom."""
        return self._riccati[2]

    @cached_property
    def L(self) -> Array:
        """φ G, (nv, 6): a row for each degree of freedom, in the frame of the parent of its link."""
        return np.asarray(np.einsum("vij,vj->vi", self.phi[self.owner], self.G))

    @cached_property
    def psi(self) -> Array:
        """ψ(k+1, k) = φ − L H of each link, (n, 6, 6) (4.7)."""
        psi: Array = self.phi.copy()
        np.subtract.at(psi, self.owner, self.L[:, :, None] * self.H[:, None, :])
        return psi


def _links_of_one_type(lowered: Lowered, code: int, rows: Array) -> Link:
    """All links with one type of joint as a single link whose constants are arrays."""
    constants = {name: column[rows] for name, column in lowered.constants.items()}
    return Link(JOINT_TYPES[code], constants, *[Dofs([]) for _ in OF_JOINT])


def _six_columns(transform: Any, n: int) -> Array:
    """The 6 x 6 matrices of a transform whose numbers are arrays of length n."""
    units = [Force.of([float(i == j) for i in range(6)]) for j in range(6)]
    return np.stack([_spread((transform @ unit).components, n) for unit in units], axis=-1)


def _spread(components: list[Any], n: int) -> Array:
    return np.stack([np.broadcast_to(np.asarray(x, dtype=float), n) for x in components], axis=-1)


def _skew(v: Array) -> Array:
    x, y, z = v[:, 0], v[:, 1], v[:, 2]
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)
