"""The numbers behind the operators: φ, H, M, P, D and G in the links' own frames, and V, a and b.

Several configurations are a forest: as many copies of the mechanism, one after another. Joint transforms run on arrays
in place of scalars, one joint type at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms.innovations import INERTIAS
from catena.errors import SingularError
from catena.functions import engine
from catena.functions.watch import unresisted
from catena.model.joints import JOINT_TYPES
from catena.model.lowering.lowered import OF_JOINT, Lowered, lower
from catena.spatial import Dofs, Force
from catena.sweeps import Link

if TYPE_CHECKING:
    from catena.model.tree import Tree
    from catena.robot import Robot

Array = npt.NDArray[Any]

LONG = 2000
"""From this many links on it pays to compile the Riccati recursion, and the sweeps."""


class Geometry:
    """Arrays for configurations q (samples, nq): all blocks of six are in the frame of a link, angular part first.

    There are n links, those of the first sample first, with nv degrees of freedom together.
    """

    def __init__(self, robot: Robot, q: Array) -> None:
        self.robot, self.tree, self.q, self.samples = robot, robot.tree, q, len(q)
        self.n, self.nv = self.samples * self.tree.n, self.samples * self.tree.nv

    @cached_property
    def parent(self) -> Array:
        """The parent of each link, -1 for the base."""
        shift = self.tree.n * np.arange(self.samples)[:, None]
        return np.where(self.tree.parent >= 0, self.tree.parent + shift, -1).ravel()

    @cached_property
    def owner(self) -> Array:
        """The link of each degree of freedom, (nv,)."""
        return (self._own + self.tree.n * np.arange(self.samples)[:, None]).ravel()

    @cached_property
    def _own(self) -> Array:
        """The link of each degree of freedom of one sample."""
        return np.repeat(np.arange(self.tree.n), np.diff(self.tree.v_start))

    @cached_property
    def first(self) -> Array:
        """The first degree of freedom of the joint of each degree of freedom, (nv,)."""
        own = np.repeat(self.tree.v_start[:-1], np.diff(self.tree.v_start))
        return (own + self.tree.nv * np.arange(self.samples)[:, None]).ravel()

    @cached_property
    def frames(self) -> tuple[Lowered, Array]:
        """The mechanism in internal frames, and their rotations to the frames that the user knows, (links, 3, 3)."""
        return self.robot._compiled.once("frames of operators", lambda: _frames(self.tree))

    def by_type(self, *of_speed: Array) -> Any:
        """For each type of joint the links, one link that stands for them, its q and its part of other arrays."""
        lowered, tree = self.frames[0], self.tree
        for code in np.flatnonzero(np.bincount(tree.joint_type)):
            rows = np.flatnonzero(tree.joint_type == code)
            link = _links_of_one_type(lowered, tree, int(code), rows)
            q = Dofs([self.q[:, tree.q_start[rows] + i] for i in range(link.joint_type.nq)])
            places = [tree.v_start[rows] + i for i in range(link.joint_type.nv)]
            yield rows, link, q, places, *[Dofs([x[:, place] for place in places]) for x in of_speed]

    @cached_property
    def _kinematics(self) -> tuple[Array, Array]:
        shape = self.samples, self.tree.n
        R, lever, H = np.empty((*shape, 3, 3)), np.empty((*shape, 3, 3)), np.empty((self.samples, self.tree.nv, 6))
        for rows, link, q, places in self.by_type():
            transform, axes = link.joint(q)
            R[:, rows], lever[:, rows] = _turn_and_lever(transform, (self.samples, len(rows)))
            for place, axis in zip(places, axes.columns, strict=True):
                H[:, place] = _spread(axis.components, (self.samples, len(rows)))
        F = self.frames[1]
        before = np.where((self.tree.parent >= 0)[:, None, None], np.swapaxes(F, 1, 2)[self.tree.parent], np.eye(3))
        R, lever = before @ R @ F, before @ lever @ F
        phi = np.zeros((*shape, 6, 6))
        phi[..., :3, :3] = phi[..., 3:, 3:] = R
        phi[..., :3, 3:] = lever
        return phi.reshape(-1, 6, 6), _turned(H, F[self._own]).reshape(-1, 6)

    @property
    def phi(self) -> Array:
        """φ(k+1, k) of each link, (n, 6, 6): forces in the link's frame to forces in its parent's frame."""
        return self._kinematics[0]

    @property
    def H(self) -> Array:
        """The axes of each degree of freedom, (nv, 6), in the frame of the link that moves."""
        return self._kinematics[1]

    @cached_property
    def M(self) -> Array:
        """The spatial inertia of each link at its frame's origin, (n, 6, 6) (2.15)."""
        mass, com = self.tree.mass[:, None, None], skew(self.tree.com)
        M = np.empty((self.tree.n, 6, 6))
        M[:, :3, :3] = self.tree.inertia - mass * com @ com
        M[:, :3, 3:] = mass * com
        M[:, 3:, :3] = -mass * com
        M[:, 3:, 3:] = mass * np.eye(3)
        return np.tile(M, (self.samples, 1, 1))

    @cached_property
    def _riccati(self) -> tuple[Callable[[], Array], Array, Array]:
        """How to make P, and D and G."""
        return self._riccati_compiled() if self.n > LONG else self._riccati_link_by_link()

    def _riccati_compiled(self) -> tuple[Callable[[], Array], Array, Array]:
        """By a kernel, and from internal frames to those of the links."""
        D, G, *columns = engine.kernel(self.robot, INERTIAS, kernel="rolled")(self.q)
        F = self.frames[1]

        def P() -> Array:
            inward = np.zeros((self.tree.n, 6, 6))
            inward[:, :3, :3] = inward[:, 3:, 3:] = np.swapaxes(F, 1, 2)
            return np.asarray(inward @ np.stack(columns, axis=-1) @ np.swapaxes(inward, 1, 2))

        return P, D, _turned(G, F[self._own])

    def _riccati_link_by_link(self) -> tuple[Callable[[], Array], Array, Array]:
        """As the paper has it, (4.4)-(4.6)."""
        blocks = (self.samples, self.tree.n, 6, 6)
        P, H, phi = (
            self.M.reshape(blocks).copy(),
            self.H.reshape(self.samples, self.tree.nv, 6),
            self.phi.reshape(blocks),
        )
        G, D = np.empty(H.shape), np.zeros(H.shape)
        starts = self.tree.v_start.tolist()
        for k, parent in reversed(list(enumerate(self.tree.parent.tolist()))):
            own = slice(starts[k], starts[k + 1])
            U = H[:, own] @ P[:, k]
            block = U @ np.swapaxes(H[:, own], 1, 2) + np.diag(self.tree.armature[own])  # (4.6)
            try:
                G[:, own] = np.linalg.solve(block, U)  # (5.12)
            except np.linalg.LinAlgError:
                raise self._unresisted(k) from None
            D[:, own, : block.shape[-1]] = np.tril(block)
            if parent >= 0:
                P_plus = P[:, k] - np.swapaxes(U, 1, 2) @ G[:, own]
                P_plus = 0.5 * (P_plus + np.swapaxes(P_plus, 1, 2))
                carried = phi[:, k] @ P_plus @ np.swapaxes(phi[:, k], 1, 2)  # (4.5)
                P[:, parent] += 0.5 * (carried + np.swapaxes(carried, 1, 2))
        return lambda: P, D, G

    def _unresisted(self, link: int) -> SingularError:
        names = {"link": self.tree.link_names[link], "joint": self.tree.joint_names[link]}
        return SingularError(
            f"operators: the mass matrix is singular at this configuration{unresisted(self.tree, link)}; give "
            "that link mass or its joint an armature",
            **names,
        )

    @cached_property
    def P(self) -> Array:
        """The articulated inertia of each link, (n, 6, 6)."""
        return self._riccati[0]().reshape(-1, 6, 6)

    @property
    def D(self) -> Array:
        """H P Hᵀ of each joint, (nv, 6): for each degree of freedom its row of the lower triangle."""
        return self._riccati[1].reshape(-1, 6)

    @property
    def G(self) -> Array:
        """The gain P Hᵀ D⁻¹, (nv, 6): a row for each degree of freedom."""
        return self._riccati[2].reshape(-1, 6)

    @cached_property
    def L(self) -> Array:
        """φ G, (nv, 6): a row for each degree of freedom, in the frame of the parent of its link."""
        return np.asarray(np.einsum("vij,vj->vi", self.phi[self.owner], self.G))

    @cached_property
    def psi(self) -> Array:
        """ψ(k+1, k) = φ − L H of each link, (n, 6, 6) (4.7)."""
        psi: Array = self.phi.copy()
        number = np.arange(self.nv) - self.first
        for i in range(int(number.max(initial=-1)) + 1):
            rows = np.flatnonzero(number == i)
            psi[self.owner[rows]] -= self.L[rows, :, None] * self.H[rows, None, :]
        return psi

    def rates(self, v: Array) -> tuple[Array, Array, Array, Array]:
        """V (n, 6), a (n, 6), b (n, 6) and the rotors' torques (nv,) at joint velocities v (samples, nv).

        Accelerations are those of the links' origins, (ω̇, v̇), as in the report.
        """
        V = self.robot.link_velocities(self.q, v)
        drift: Array = np.empty(V.shape)
        rotors: Array = np.zeros(v.shape)
        for rows, link, q, places, speeds in self.by_type(v):
            H, size = link.joint(q)[1], (self.samples, len(rows))
            change = _spread(link.joint_type.axes_rate(q, speeds).components, size)
            own = _spread((H.T @ speeds).components, size)
            drift[:, rows] = _turned(change, self.frames[1][rows])
            drift[:, rows] += cross(V[:, rows], _turned(own, self.frames[1][rows]))
            for place, torque in zip(places, link.rotor_bias(H, speeds), strict=True):
                rotors[:, place] = torque
        swing: Array = np.zeros((self.samples, self.tree.n, 6))
        swing[..., 3:] = np.cross(V[..., :3], V[..., 3:])  # of spatial accelerations to those of points
        V, drift, swing = V.reshape(-1, 6), drift.reshape(-1, 6), swing.reshape(-1, 6)
        before = np.where((self.parent >= 0)[:, None], swing[self.parent], 0.0)
        a = drift + swing - np.einsum("nji,nj->ni", self.phi, before)  # (2.19), (2.32) with errata
        momentum = np.einsum("nij,nj->ni", self.M, V)
        b = force_cross(V, momentum) - np.einsum("nij,nj->ni", self.M, swing)  # (2.23)
        return V, a, b, rotors.ravel()


def _frames(tree: Tree) -> tuple[Lowered, Array]:
    lowered = lower(tree, regroup=False, choose=False)
    names = [f"F{i}{j}" for i in "xyz" for j in "xyz"]
    columns = [lowered.constants.get(name, np.zeros(0)) for name in names]  # without links there are no constants
    return lowered, np.stack(columns, axis=-1).reshape(-1, 3, 3)


def _links_of_one_type(lowered: Lowered, tree: Tree, code: int, rows: Array) -> Link:
    """All links with one type of joint as a single link whose constants are arrays."""
    constants = {name: column[rows] for name, column in lowered.constants.items()}
    joint = JOINT_TYPES[code]
    places = [tree.v_start[rows] + i for i in range(joint.nv)]
    of_joint = [Dofs([getattr(lowered, name)[place] for place in places]) for name in OF_JOINT.values()]
    return Link(joint, constants, *of_joint)


def _turn_and_lever(transform: Any, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """R and ℓ̃ R of φ = [R ℓ̃R; 0 R]: what it makes of unit forces."""
    units = [transform @ Force.of([float(i == j + 3) for i in range(6)]) for j in range(3)]
    both = np.stack([_spread(unit.components, shape) for unit in units], axis=-1)
    return both[..., 3:, :], both[..., :3, :]


def _spread(components: list[Any], shape: tuple[int, ...]) -> Array:
    spread = np.empty((*shape, len(components)))
    for i, x in enumerate(components):
        spread[..., i] = x
    return spread


def _turned(six: Array, F: Array) -> Array:
    """Rows of six numbers (..., n, 6) in internal frames, in the frames that F (n, 3, 3) leads to."""
    parts = six.reshape(*six.shape[:-1], 2, 3)
    return np.asarray(np.einsum("...npi,nij->...npj", parts, F).reshape(six.shape))


def cross(V: Array, X: Array) -> Array:
    """V × X of motions (..., 6)."""
    w, v, x, y = V[..., :3], V[..., 3:], X[..., :3], X[..., 3:]
    return np.concatenate([np.cross(w, x), np.cross(w, y) + np.cross(v, x)], axis=-1)


def force_cross(V: Array, f: Array) -> Array:
    """V ×* f of a motion and a force (..., 6)."""
    w, v, m, n = V[..., :3], V[..., 3:], f[..., :3], f[..., 3:]
    return np.concatenate([np.cross(w, m) + np.cross(v, n), np.cross(w, n)], axis=-1)


def skew(v: Array) -> Array:
    """The matrices ṽ of vectors (n, 3)."""
    x, y, z = v[:, 0], v[:, 1], v[:, 2]
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)
