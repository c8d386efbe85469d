"""The spatial operators of a mechanism at one configuration or several: Rodriguez & Kreutz (1988), sections 3 to 5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sparse

from catena.algorithms.spatial_sweeps import INWARD, OUTWARD
from catena.arguments.scalars import a_robot
from catena.errors import ShapeError
from catena.model.tree import Frame
from catena.operators import geometry
from catena.operators.elementary import Matrix, Named, Solve, Sweep
from catena.operators.expression import SUM, Identity, Operator
from catena.operators.geometry import Geometry
from catena.operators.structure import CAUSAL, STRICTLY_CAUSAL, Space

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


class States(NamedTuple):
    """The states of filter and smoother: vectors of links (..., 6 n) and of joints (..., nv).

    ζ = φᵀ(a + Eg) (5.8); z, the bias forces filtered; ε = T − Hz, the innovations (5.9); ν = D⁻¹ε; λ = ψᵀHᵀν (4.22);
    the joint accelerations θ̈ (5.10); and the links' accelerations α = λ + ζ (5.6), in which gravity counts as an
    acceleration of the base.
    """

    zeta: Array
    z: Array
    eps: Array
    nu: Array
    lam: Array
    acceleration: Array
    alpha: Array


class Operators:
    """Lazy operators on trees with joints of all types: compose them with `@`, apply them to vectors in O(n).

    Vectors of the links hold six numbers for each link, base to tip, in the link's own frame: (6 n,). Vectors of the
    joints are (nv,), those of the tips six numbers for each tip, those of the base six numbers. For a batch of
    configurations q (*batch, nq) they are (*batch, 6 n) and so on. Causal operators go from the tips to the base. S
    moves what a link has to its parent, without a change of frame: Δ_φ and L have turned it into the parent's frame
    already, so SΔ_φ carries forces from links to parents.

    With joint velocities v, `V`, `a` and `b` are the vectors of the report: accelerations are (ω̇, v̇) of the links'
    origins. Gravity is an acceleration of the base, `g`, so that a becomes a + E g (3.21).

    D includes the rotors' inertias, so the factorizations are those of the whole mass matrix; of the paper's identities
    (a.1) and (a.47) hold only without rotors. `rotor_torque` is what rotors need at constant speeds.
    """

    def __init__(self, robot: Robot, q: Array, tips: Sequence[Frame], v: Array | None = None) -> None:
        self.tree, self.q, self.v, self.tips = a_robot("Operators", robot).tree, q, v, tuple(tips)
        self._robot = robot
        batch = q.shape[:-1]
        self.geometry = Geometry(robot, q.reshape(math.prod(batch), robot.nq))
        self._links, self._joints = Space("links", 6 * robot.tree.n, batch), Space("joints", robot.nv, batch)
        self._tips, self._base = Space("tips", 6 * len(self.tips), batch), Space("base", 6, batch)

    def __reduce__(self) -> tuple[Any, ...]:
        """What is copied and pickled: what made the operators; they are computed again."""
        return type(self), (self._robot, self.q, self.tips, self.v)

    I = Identity()
    """The identity, of whatever space it is used in."""

    @cached_property
    def S(self) -> Operator:
        """(5.2): from links to their parents."""
        return self._on_links("S", self._shift, STRICTLY_CAUSAL)

    @cached_property
    def H(self) -> Operator:
        """(3.5): the axes of the joints, from forces on links to torques."""
        return Matrix("H", self._joints, self._links, lambda: self._rows(self.geometry.H))

    @cached_property
    def M(self) -> Operator:
        """(3.6): the inertias of the links, each at its own frame. See `mass` for the mass matrix."""
        return self._on_links("M", lambda: _blocks(self.geometry.M))

    @cached_property
    def delta_phi(self) -> Operator:
        """(a.4): Δ_φ, forces on each link in the frame of its parent."""
        return self._on_links("Δ_φ", lambda: _blocks(self.geometry.phi))

    @cached_property
    def delta_psi(self) -> Operator:
        """(a.5): Δ_ψ, what a parent feels through the free joint."""
        return self._on_links("Δ_ψ", lambda: _blocks(self.geometry.psi))

    @cached_property
    def phi(self) -> Operator:
        """(3.4): φ = (I − SΔ_φ)⁻¹, forces on links summed up from the tips."""
        return self._sweep("φ", self._step("I - S Δ_φ", "phi"), "phi")

    @cached_property
    def psi(self) -> Operator:
        """(5.1): ψ = (I − SΔ_ψ)⁻¹, the same through free joints."""
        return self._sweep("ψ", self._step("I - S Δ_ψ", "psi"), "psi")

    @cached_property
    def Phi(self) -> Operator:
        """(4.9): Φ = φS (a.6)."""
        return Named("Φ", self.phi @ self.S)

    @cached_property
    def Psi(self) -> Operator:
        """(4.10): Ψ = ψS (a.7)."""
        return Named("Ψ", self.psi @ self.S)

    @cached_property
    def phi_tilde(self) -> Operator:
        """(a.3): φ̃ = φ − I."""
        return Named("φ̃", self.phi - self.I, STRICTLY_CAUSAL)

    @cached_property
    def psi_tilde(self) -> Operator:
        """(5.11): ψ̃ = ψ − I."""
        return Named("ψ̃", self.psi - self.I, STRICTLY_CAUSAL)

    @cached_property
    def P(self) -> Operator:
        """(4.5): the articulated inertias."""
        return self._on_links("P", lambda: _blocks(self.geometry.P))

    @cached_property
    def D(self) -> Operator:
        """(4.6): the innovations' covariance, H P Hᵀ."""
        return Matrix("D", self._joints, self._joints, self._small_blocks)

    @cached_property
    def G(self) -> Operator:
        """(5.12): the gain P Hᵀ D⁻¹, from torques to forces on links."""
        return Matrix("G", self._links, self._joints, lambda: self._rows(self.geometry.G).T)

    @cached_property
    def L(self) -> Operator:
        """(4.6): L = Δ_φ G (a.12)."""
        return Matrix("L", self._links, self._joints, lambda: self._rows(self.geometry.L).T)

    @cached_property
    def B(self) -> Operator:
        """(3.7): from wrenches on the tips to wrenches on the links that carry them."""
        return Matrix("B", self._links, self._tips, self._tip_blocks)

    @cached_property
    def E(self) -> Operator:
        """(3.8), see errata: from an acceleration of the base to those of the links that stand on it."""
        return Matrix("E", self._links, self._base, self._base_blocks)

    @cached_property
    def J(self) -> Operator:
        """(3.13): the Jacobian Bᵀφᵀ Hᵀ of the tips."""
        return Named("J", self.B.T @ self.phi.T @ self.H.T)

    @cached_property
    def mass(self) -> Operator:
        """(3.20): the mass matrix H φ M φᵀ Hᵀ, and the inertias of rotors."""
        bodies = self.H @ self.phi @ self.M @ self.phi.T @ self.H.T
        if not self.tree.armature.any():
            return Named("𝓜", bodies)
        armature = np.tile(self.tree.armature, self.geometry.samples)
        return Named("𝓜", bodies + Matrix("rotors", self._joints, self._joints, lambda: sparse.diags(armature)))

    @property
    def V(self) -> Array:
        """(3.12): the velocities of the links, φᵀHᵀθ̇, (..., 6 n)."""
        return self._of_links(self._rates[0])

    @property
    def a(self) -> Array:
        """(2.19), (2.32) with errata: the bias accelerations of the links, (..., 6 n), without gravity."""
        return self._of_links(self._rates[1])

    @property
    def b(self) -> Array:
        """(2.23): the bias forces of the links, (..., 6 n)."""
        return self._of_links(self._rates[2])

    @property
    def rotor_torque(self) -> Array:
        """What rotors (armature) need at constant speeds, (..., nv): zero but on planar, spherical and free joints."""
        return self._rates[3].reshape(*self._joints.batch, self._joints.size)

    @property
    def g(self) -> Array:
        """(3.21): the acceleration of the base that stands for gravity, (6,)."""
        return np.concatenate([np.zeros(3), -self.tree.gravity])

    def filter(self, T: npt.ArrayLike, f0: npt.ArrayLike | None = None) -> States:
        """The states of the filter and the smoother of FD3 (5.8)-(5.10), for joint torques T (..., nv).

            o = robot.operators(q, v=v)
            o.filter(T).acceleration  # forward dynamics

        `f0` (..., 6 tips) are the wrenches that the tips exert on the environment. Gravity is included. O(n).
        """
        T = np.asarray(T, dtype=float) - self.rotor_torque
        outside = 0.0 if f0 is None else self.B @ np.asarray(f0, dtype=float)
        zeta = self.phi.T @ (self.a + self.E @ self.g)  # (5.8)
        z = self.psi @ (self.S @ self.L @ T + self.M @ zeta + self.b + outside)
        eps = T - self.H @ z  # (5.9)
        nu = self.D.inv @ eps
        lam = self.psi.T @ self.H.T @ nu
        return States(zeta, z, eps, nu, lam, nu - self.L.T @ self.S.T @ lam, lam + zeta)  # (5.10), (5.6)

    @cached_property
    def _rates(self) -> tuple[Array, Array, Array, Array]:
        if self.v is None:
            raise ShapeError("V, a and b need joint velocities: ask for robot.operators(q, v=v)")
        return self.geometry.rates(self.v.reshape(self.geometry.samples, self.tree.nv))

    def _of_links(self, six: Array) -> Array:
        return six.reshape(*self._links.batch, self._links.size)

    def __repr__(self) -> str:
        names = "I, H, phi, Phi, psi, Psi, M, P, D, G, L, B, E, S, delta_phi, delta_psi, J, mass, V, a, b, g"
        return f"<Operators of {self.tree.name!r}, {self.tree.n} links: {names}>"

    def _on_links(self, name: str, make: Any, *kind: Any) -> Matrix:
        return Matrix(name, self._links, self._links, make, *kind)

    def _shift(self) -> Any:
        moving = np.flatnonzero(self.geometry.parent >= 0)
        rows = (6 * self.geometry.parent[moving][:, None] + np.arange(6)).ravel()
        columns = (6 * moving[:, None] + np.arange(6)).ravel()
        return sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(6 * self.geometry.n,) * 2)

    def _sweep(self, name: str, matrix: Matrix, which: str) -> Operator:
        """(I − SΔ)⁻¹: sparse substitutions, or machine code where there are many links."""
        if self.geometry.n <= geometry.LONG:
            return Solve(name, matrix)
        robot, shape = self.geometry.robot, (self.geometry.samples, self.tree.n)

        def run(x: Array, transposed: bool) -> Array:
            kernel = robot._compiled.kernel(OUTWARD if transposed else INWARD, kernel_shape="rolled")
            steps = getattr(self.geometry, which).reshape(*shape, 6, 6)
            return np.asarray(kernel(steps, x.reshape(-1, *shape, 6))).reshape(x.shape)

        return Sweep(name, matrix, run)

    def _step(self, name: str, which: str) -> Matrix:
        """I − SΔ, upper triangular because links come after their parents."""

        def make() -> Any:
            parent = self.geometry.parent
            moving = np.flatnonzero(parent >= 0)
            steps = getattr(self.geometry, which)[moving]
            down = _sparse(steps, parent[moving], moving, self.geometry.n)
            return sparse.identity(6 * self.geometry.n, format="csr") - down.tocsr()

        return self._on_links(name, make, CAUSAL, SUM)

    def _rows(self, six: Array) -> Any:
        """A sparse matrix with the six numbers of each degree of freedom at its link."""
        columns = 6 * self.geometry.owner[:, None] + np.arange(6)
        starts, shape = 6 * np.arange(self.geometry.nv + 1), (self.geometry.nv, 6 * self.geometry.n)
        return sparse.csr_matrix((six.ravel(), columns.ravel(), starts), shape=shape)

    def _small_blocks(self) -> Any:
        """D from the lower triangles of its blocks."""
        first, nv = self.geometry.first, self.geometry.nv
        row, column = np.nonzero(np.arange(6) <= (np.arange(nv) - first)[:, None])
        place = first[row] + column
        lower = sparse.csr_matrix((self.geometry.D[row, column], (row, place)), shape=(nv, nv))
        return lower + sparse.tril(lower, -1).T

    def _tip_blocks(self) -> Any:
        blocks = np.array([_wrench_map(tip) for tip in self.tips]).reshape(-1, 6, 6)
        links = np.array([tip.link for tip in self.tips], dtype=np.int64)
        sample = np.arange(self.geometry.samples)[:, None]
        moving = np.flatnonzero(links >= 0)
        rows = (links[moving] + self.tree.n * sample).ravel()
        columns = (moving + len(self.tips) * sample).ravel()
        size = self.geometry.samples * len(self.tips)
        return _sparse(np.tile(blocks[moving], (len(sample), 1, 1)), rows, columns, self.geometry.n, size)

    def _base_blocks(self) -> Any:
        standing = np.flatnonzero(self.geometry.parent < 0)
        blocks = np.swapaxes(self.geometry.phi[standing], 1, 2)
        sample = standing // max(self.tree.n, 1)
        return _sparse(blocks, standing, sample, self.geometry.n, self.geometry.samples)


def _blocks(blocks: Array) -> Any:
    """The block-diagonal matrix of (n, 6, 6)."""
    own = np.arange(len(blocks))
    return _sparse(blocks, own, own, len(blocks))


def _sparse(blocks: Array, rows: Array, columns: Array, n: int, m: int | None = None) -> Any:
    """The sparse matrix of 6 x 6 blocks at the given block rows and columns, (6 n, 6 m)."""
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    shape = (6 * n, 6 * (n if m is None else m))
    return sparse.bsr_matrix((np.ascontiguousarray(blocks[order]), columns[order], starts), shape=shape).tocsr()


def _wrench_map(frame: Frame) -> Array:
    """φ(1, 0): a wrench given in a frame of a link, in the link's own frame."""
    x, y, z = frame.position
    R = frame.rotation
    lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) @ R
    return np.block([[R, lever], [np.zeros((3, 3)), R]])
