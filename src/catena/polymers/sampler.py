"""Hybrid Monte Carlo of polymers: velocities in internal coordinates, trajectories by RATTLE in Cartesian ones.

M depends on q, so leapfrog in q and v is neither reversible nor does it keep volumes, and samples wrongly even where
every step is accepted. RATTLE (Andersen 1983) moves atoms, whose masses are constant, along the surface that the rods
leave, is symplectic there, and leaves √det M(q) as the density of rigid bonds. Its equations are solved by
iteration; as a solution might be another one than the way back finds, each step is also taken backwards, and what does
not lead back to its start is rejected (Zappa, Holmes-Cerfon & Goodman 2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import as_floats
from catena.arguments.scalars import real, whole
from catena.arguments.words import truth
from catena.errors import ShapeError, kind_of, shown
from catena.fixman.hard_coordinates import HardCoordinates
from catena.polymers.samples import Samples

if TYPE_CHECKING:
    from catena.polymers.polymer import Polymer

Array = npt.NDArray[Any]
Energy = Callable[[Array], tuple[Any, Array]]

_TOLERANCE = 1e-12
_WAY_BACK = 1e-8
_ITERATIONS = 60
_HOPELESS = 1e2
"""Rods as many times too long as this are given up."""
_PATIENCE, _PROGRESS = 8, 0.1
"""What has not come so much nearer within so many iterations would not be solved by all of them, and is given up."""


@dataclass
class State:
    """Positions and velocities of the atoms (chains, atoms, 3), potential energy (chains,), forces, slopes of rods."""

    x: Array
    v: Array
    energy: Array
    force: Array
    slopes: Array
    alive: Array
    """Whether all steps so far could be taken, (chains,)."""


class Rattle:
    """One time step on the surface that the rods leave."""

    def __init__(self, polymer: Polymer, energy: Energy | None, kT: float, fixman: bool, step: float, x: Array) -> None:
        self._polymer, self._energy, self._kT, self._fixman, self.h = polymer, energy, np.asarray(kT), fixman, step
        self._rods: HardCoordinates = polymer.partition.hard_coordinates
        self._weights = 1 / polymer.masses[:, None]
        self._lengths = self._rods.evaluate(polymer.points(x))
        self._size = float(np.sqrt(2 * np.max(self._lengths)))

    def start(self, x: Array, v: Array) -> State:
        """The state at positions x with velocities v, which are made to leave the rods their lengths."""
        slopes = self._rods.slopes(self._polymer.points(x))
        energy, force = self._potential(x)
        return State(x, self._along(slopes, v), energy, force, slopes, np.ones(len(x), dtype=bool))

    def advanced(self, s: State) -> State:
        """The state one step later."""
        half = s.v + 0.5 * self.h * self._weights * s.force
        x, solved = self._moved(s.x, s.slopes, half, s.alive)
        half = (x - s.x) / self.h
        slopes = self._rods.slopes(self._polymer.points(x))
        energy, force = self._potential(x)
        v = self._along(slopes, half + 0.5 * self.h * self._weights * force)
        back, found = self._moved(x, slopes, -v + 0.5 * self.h * self._weights * force, solved)
        returned = np.abs(back - s.x).max(axis=(-1, -2)) < _WAY_BACK * self._size
        return State(x, v, energy, force, slopes, found & returned)

    def total_energy(self, s: State) -> Array:
        """Kinetic and potential energy."""
        kinetic = 0.5 * np.einsum("a,...ai,...ai->...", self._polymer.masses, s.v, s.v)
        return np.asarray(kinetic + s.energy)

    def _moved(self, x: Array, slopes: Array, v: Array, alive: Array) -> tuple[Array, Array]:
        """Positions after a step at velocity v, brought back to the surface along the slopes at x; did it work?

        Chains that are not alive, and those for which it does not work, stay where they are.
        """
        factors = self._rods.factors(slopes)
        new, solved, open_ = x + self.h * v, np.zeros(len(x), dtype=bool), np.flatnonzero(alive)
        before = np.full(len(x), np.inf)
        for turn in range(_ITERATIONS):
            off = self._rods.evaluate(self._polymer.points(new[open_])) - self._lengths[open_]
            worst = np.max(np.abs(off) / self._lengths[open_], axis=-1, initial=0.0)
            solved[open_] = worst <= _TOLERANCE
            going = (worst > _TOLERANCE) & (worst < _HOPELESS)
            if turn % _PATIENCE == 0:
                going &= worst < _PROGRESS * before[open_]
                before[open_] = worst
            open_, off = open_[going], off[going]
            if not len(open_):
                break
            reaction = self._rods.solve(factors.of(open_), off)
            new[open_] -= self._weights * self._on_atoms(slopes[open_], reaction)
        return np.where(solved[:, None, None], new, x), solved

    def _along(self, slopes: Array, v: Array) -> Array:
        """The part of velocities that leaves the rods their lengths."""
        moving = self._polymer.points(v)
        moving[..., len(self._polymer.masses) :, :] = 0.0
        reaction = self._rods.solve(self._rods.factors(slopes), self._rods.rates(slopes, moving))
        return np.asarray(v - self._weights * self._on_atoms(slopes, reaction))

    def _on_atoms(self, slopes: Array, reaction: Array) -> Array:
        return self._rods.forces(slopes, reaction)[..., : len(self._polymer.masses), :]

    def _potential(self, x: Array) -> tuple[Array, Array]:
        """Potential energy (...) and forces, Fixman's included."""
        energy, force = np.zeros(x.shape[:-2]), np.zeros(x.shape)
        if self._energy is not None:
            value, gradient = _energy_of(self._energy, x)
            energy, force = energy + value, force - gradient
        if self._fixman:
            value, push = self._rods.potential(self._polymer.points(x), self._kT)
            energy, force = energy + value, force + push[..., : x.shape[-2], :]
        return energy, force


def _energy_of(energy: Energy, x: Array) -> tuple[Array, Array]:
    """A user's potential energy (...) and its gradient; ShapeError for anything else."""
    found = energy(x)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise ShapeError(f"energy: expected the energy and its gradient, found {kind_of(found)}")
    value, gradient = as_floats(found[0], "energy"), as_floats(found[1], "energy's gradient")
    if gradient.shape != x.shape or value.shape not in ((), x.shape[:-2]):
        shapes = f"expected shapes {x.shape[:-2]} and {x.shape}, found {value.shape} and {gradient.shape}"
        raise ShapeError(f"energy and its gradient: {shapes}")
    return value, gradient


def sampled(
    polymer: Polymer,
    samples: int,
    q: npt.ArrayLike,
    energy: Energy | None,
    kT: float,
    fixman: bool,
    step: float,
    steps: int,
    every: int,
    rng: np.random.Generator,
) -> Samples:
    """What :meth:`catena.polymers.Polymer.sample` gives."""
    kT, step = real("sample: kT", kT, above=0.0), real("sample: step", step, above=0.0)
    samples, steps = whole("sample: samples", samples, 1), whole("sample: steps", steps, 1)
    every, fixman = whole("sample: every", every, 1), truth("sample: fixman", fixman)
    if energy is not None and not callable(energy):
        raise ShapeError(f"sample: energy must be a function of positions, got {shown(energy)}")
    robot = polymer.robot
    start = robot.normalize(as_floats(q, "q"))
    batch = start.shape[:-1]
    x = polymer.positions(start.reshape(-1, robot.nq))
    if not len(x):
        return Samples(polymer, np.empty((samples, *batch, *x.shape[1:])), 0.0, 0.0)
    mover = Rattle(polymer, energy, kT, fixman, step, x)
    kept, accepted, lost = np.empty((samples, *x.shape)), 0.0, 0.0
    for number in range(samples):
        for _ in range(every):
            x, taken, dead = _trajectory(mover, polymer, x, kT, steps, rng)
            accepted, lost = accepted + taken, lost + dead
        kept[number] = x
    total = samples * every
    return Samples(polymer, kept.reshape(samples, *batch, *x.shape[1:]), accepted / total, lost / total)


def _trajectory(
    mover: Rattle, polymer: Polymer, x: Array, kT: float, steps: int, rng: np.random.Generator
) -> tuple[Array, float, float]:
    """Where each chain is after one trajectory that is accepted or not; shares accepted, and lost on the way."""
    q = polymer.configuration(x)
    v = polymer.robot.mass_matrix(q).inv_sqrt_times(np.sqrt(kT) * rng.standard_normal((len(x), polymer.robot.nv)))
    with np.errstate(all="ignore"):  # what cannot be solved becomes NaN, and is rejected
        first = state = mover.start(x, polymer.velocities(q, v))
        for _ in range(steps):
            state = mover.advanced(state)
        gain = mover.total_energy(first) - mover.total_energy(state)
        accept = state.alive & (np.log(rng.random(len(x))) < gain / kT)
    return np.where(accept[:, None, None], state.x, x), float(accept.mean()), float(1 - state.alive.mean())
