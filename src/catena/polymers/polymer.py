"""Polymer: atoms on rigid bonds, as a robot in internal coordinates and as points in Cartesian ones."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from catena.arguments.arrays import as_floats
from catena.arguments.scalars import generator
from catena.errors import ShapeError, SingularError
from catena.fixman.families import Family
from catena.fixman.internal_coordinates import half_square
from catena.fixman.point_masses import Partition, partition
from catena.fixman.potential import FixmanPotential, fixman_potential
from catena.model.polymers import TETRAHEDRAL, polymer_of
from catena.robot import Robot

if TYPE_CHECKING:
    from catena.polymers.sampler import Energy
    from catena.polymers.samples import Samples

Array = npt.NDArray[Any]

_STRAIGHT = 1e-7


class Polymer:
    """Atoms joined by bonds of fixed length: `robot` is the mechanism in internal coordinates q.

        chain = catena.polymers.Polymer(np.ones(9), np.ones(10), coordinates="torsions+angles", base="floating")
        x = chain.positions(q)  # (..., atoms, 3)
        q = chain.configuration(x)

    The arguments are those of :func:`catena.point_mass_chain`, which makes the robot alone; there is no gravity.
    `masses` (atoms,) and `parents` (atoms,) are those of the atoms, -1 standing for the base, or before the first atom.
    """

    def __init__(
        self,
        bonds: npt.ArrayLike,
        masses: npt.ArrayLike,
        angles: npt.ArrayLike = TETRAHEDRAL,
        torsions: npt.ArrayLike = np.pi,
        *,
        parents: npt.ArrayLike | None = None,
        coordinates: Literal["torsions", "torsions+angles"] = "torsions",
        base: Literal["fixed", "floating"] = "fixed",
        name: str = "polymer",
    ) -> None:
        self._shape = polymer_of(bonds, masses, angles, torsions, parents, coordinates, base)
        self.robot = Robot(self._shape.tree(name, (0.0, 0.0, 0.0)))
        self.masses, self.parents = self._shape.mass, self._shape.parent

    def __repr__(self) -> str:
        base = "floating" if self._shape.floating else "fixed"
        return f"<Polymer of {len(self.masses)} atoms, {self.robot.nv} degrees of freedom, {base} base>"

    def positions(self, q: npt.ArrayLike) -> Array:
        """Where the atoms are at configurations q (..., nq): (..., atoms, 3), in the unit of the bonds. O(n)."""
        links = self._shape.links
        R, p = self.robot.placements(q)
        return np.asarray(p[..., links, :] + np.einsum("...nij,nj->...ni", R[..., links, :, :], self._shape.ends))

    def velocities(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """How fast the atoms move, (..., atoms, 3), at configurations q (..., nq) and joint velocities v (..., nv)."""
        links = self._shape.links
        moving = self.robot.link_velocities(q, v, frame="mixed")[..., links, :]
        R = self.robot.placements(q).rotation[..., links, :, :]
        arm = np.einsum("...nij,nj->...ni", R, self._shape.ends)
        return np.asarray(moving[..., 3:] + np.cross(moving[..., :3], arm))

    @np.errstate(invalid="ignore", over="ignore")
    def configuration(self, positions: npt.ArrayLike) -> Array:
        """The internal coordinates q (..., nq) of atoms at positions (..., atoms, 3).

        Bonds are taken to have their lengths, and hard angles their values; nothing checks it. Torsions lie within π of
        those at joint zero; of the two descriptions of a bend the one with an angle from 0 to π is given, so that
        `configuration(positions(q))` may differ from q and still means the same atoms. Where atoms that are bonded lie
        on each other, or nowhere, coordinates are NaN. O(n).
        """
        x, shape = self._checked(positions), self._shape
        d, u, z, reference = self._directions(x)
        normal = np.cross(u, d)
        turning = np.arctan2(np.linalg.norm(normal, axis=-1), _dot(u, d))
        torsion = np.arctan2(_dot(np.cross(reference, z), u), _dot(reference, z)) - shape.torsion
        torsion = torsion - 2 * np.pi * np.rint(torsion / (2 * np.pi))
        jointed = slice(shape.body or int(shape.floating), None)
        if shape.bends or (shape.floating and not shape.body):
            bend = turning - shape.turning
            pairs = np.stack([torsion[..., jointed], bend[..., jointed]], axis=-1)
            own = pairs.reshape(*x.shape[:-2], 2 * pairs.shape[-2])
        else:
            own = torsion[..., jointed]
        return np.concatenate([self._root(x, d, z), own], axis=-1)

    def _directions(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Each atom's bond, the direction it turns about, the normal of the two, and where torsions count from.

        The normal is any vector across the bond where that goes straight on.
        """
        shape = self._shape
        start = np.where((shape.parent >= 0)[:, None], x[..., shape.parent, :], 0.0)
        inner = (shape.before >= 0)[:, None]
        d = x - start
        if shape.floating:
            d[..., 0, :] = 1.0  # the first atom has no bond
        d = _unit(d)
        u = np.where(inner, np.where(shape.back, -1.0, 1.0)[:, None] * d[..., shape.before, :], shape.first_axis[:, 0])
        normal = np.cross(u, d)
        straight = np.linalg.norm(normal, axis=-1, keepdims=True) <= np.finfo(float).eps
        normal = np.where(straight, _across(u), normal)
        sign = np.ones(len(shape.mass)) if shape.bends else np.where(np.sin(shape.turning) < 0, -1.0, 1.0)
        z = _unit(normal) * sign[:, None]
        if shape.body:
            z[..., 1, :] = z[..., 2, :]
        return d, u, z, np.where(inner, z[..., shape.before, :], shape.first_axis[:, 2])

    def _root(self, x: Array, d: Array, z: Array) -> Array:
        """The coordinates of the first link."""
        if not self._shape.floating:
            return np.zeros((*x.shape[:-2], 0))
        if not self._shape.body:
            return np.asarray(x[..., 0, :])
        along, normal = d[..., 1, :], z[..., 1, :]
        R = np.stack([along, np.cross(normal, along), normal], axis=-1)
        known = np.isfinite(R).all(axis=(-2, -1), keepdims=True)
        turn = Rotation.from_matrix(np.where(known, R, np.eye(3)).reshape(-1, 3, 3)).as_quat()
        turn = np.where(known[..., 0], turn.reshape(*x.shape[:-2], 4), np.nan)
        return np.concatenate([x[..., 0, :], turn], axis=-1)

    @cached_property
    def rods(self) -> Array:
        """The pairs of points at fixed distances, (rods, 2): bonds, and the next but one atom where angles are hard.

        On a fixed base, point number `atoms` is the base's origin, and the one after it lies on its x axis, at -1.
        """
        shape = self._shape
        n = len(shape.mass)
        start = np.where(shape.parent >= 0, shape.parent, n)
        own = np.arange(int(shape.floating), n)
        bonds = np.stack([start, np.arange(n)], axis=1)[own]
        if shape.bends or (shape.floating and not shape.body):
            return bonds
        far = np.where(shape.back, 1, np.where(shape.before >= 0, start[shape.before], n + 1))
        bent = np.arange(2 if shape.floating else 0, n)
        return np.concatenate([bonds, np.stack([far, np.arange(n)], axis=1)[bent]])

    @cached_property
    def partition(self) -> Partition:
        """The hard coordinates: half the squared lengths of the `rods`, between the points of :meth:`points`."""
        fixed = 0 if self._shape.floating else 2
        return partition([], [Family(half_square, self.rods)], np.concatenate([self.masses, np.full(fixed, np.inf)]))

    def points(self, positions: Array) -> Array:
        """The points of `rods`: the atoms (..., atoms, 3), and on a fixed base the two that do not move."""
        if self._shape.floating:
            return positions
        fixed = np.broadcast_to([[0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], (*positions.shape[:-2], 2, 3))
        return np.concatenate([positions, fixed], axis=-2)

    def fixman_potential(self, q: npt.ArrayLike, kT: npt.ArrayLike = 1.0) -> FixmanPotential:
        """Fixman's potential and torque at configurations q (..., nq): see :func:`catena.fixman_potential`."""
        return fixman_potential(self.robot, q, kT)

    def sample(
        self,
        samples: int,
        q: npt.ArrayLike,
        *,
        energy: Energy | None = None,
        kT: float = 1.0,
        fixman: bool = True,
        step: float = 0.1,
        steps: int = 5,
        every: int = 1,
        seed: int | np.random.Generator | None = None,
    ) -> Samples:
        """Draw shapes by hybrid Monte Carlo, one chain of samples from each row of q.

            run = trimer.sample(1000, trimer.robot.random_configuration(rng, 64), step=0.5)
            run.q, run.positions, run.acceptance, run.effective_sample_size()

        Args:
            samples: how many samples each chain gives.
            q: where the chains start, (..., nq).
            energy: takes positions (..., atoms, 3) and gives the potential energy (...) and its gradient, of the
                positions' shape; none unless given.
            kT: the temperature, in the unit of energy.
            fixman: with Fixman's potential shapes come as often as with stiff bonds (hard angles), else as with rigid
                ones.
            step: the time step; larger ones are accepted less often.
            steps: the time steps of one trajectory.
            every: trajectories from one sample to the next.
            seed: for random numbers.

        Returns:
            :class:`~catena.polymers.Samples`. Velocities are drawn by M^(-1/2); trajectories are made by RATTLE, which
            can be reversed and keeps volumes, so that the samples have the right distribution at any step. A step whose
            constraints cannot be solved, or that does not lead back, is rejected. Cost: O(n) a step.
        """
        from catena.polymers.sampler import sampled

        self._check_bent()
        return sampled(self, samples, q, energy, kT, fixman, step, steps, every, generator("sample", seed))

    def _check_bent(self) -> None:
        """SingularError where a hard angle is straight: then two rods and a third hold the same direction."""
        shape = self._shape
        if shape.bends or (shape.floating and not shape.body):
            return
        bent = slice(2 if shape.floating else 0, None)
        straight = np.abs(np.sin(shape.turning[bent])) < _STRAIGHT
        if straight.any():
            atom = int(np.argmax(straight)) + (bent.start or 0)
            raise SingularError(f"atom {atom}: expected a hard angle that is bent, found a straight one")

    def _checked(self, positions: npt.ArrayLike) -> Array:
        x = as_floats(positions, "positions")
        if x.shape[-2:] != (len(self.masses), 3):
            raise ShapeError(f"positions: expected shape (..., {len(self.masses)}, 3), found {x.shape}")
        return x


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("...i,...i->...", a, b))


def _unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


def _across(x: Array) -> Array:
    """A vector across each of x."""
    helper = np.where(np.abs(x[..., :1]) < 0.5, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    return np.cross(x, helper)
