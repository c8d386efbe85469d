"""Polymers as arrays from the start: point masses joined by bonds of fixed length, in a chain or branched.

Atom i turns about the bond that leads to its parent, and may bend against it: its link's frame is at the parent's atom,
its x axis along that bond before the joint moves. Where the first atoms have no such bond, :class:`Shape` says what
stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model.assemble import ROOT_JOINT
from catena.model.axes import axis_frame, two_axis_frame
from catena.model.chains import linked
from catena.model.lie import turn_about
from catena.model.merge import steiner
from catena.model.names import Names
from catena.model.numbers import BASES, chosen, require, together
from catena.model.tree import Tree

Array = npt.NDArray[Any]

TETRAHEDRAL = float(np.arccos(-1 / 3))
_UPRIGHT = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""Before the first bond of a floating chain: x is the world's z, so that the bond, across it, starts along its x."""


def point_mass_chain(
    bonds: npt.ArrayLike,
    masses: npt.ArrayLike,
    angles: npt.ArrayLike = TETRAHEDRAL,
    torsions: npt.ArrayLike = np.pi,
    *,
    parents: npt.ArrayLike | None = None,
    coordinates: Literal["torsions", "torsions+angles"] = "torsions",
    base: Literal["fixed", "floating"] = "fixed",
    gravity: npt.ArrayLike = (0.0, 0.0, 0.0),
    name: str = "point_mass_chain",
) -> Tree:
    """Make the backbone of a polymer in space: point masses (atoms) joined by bonds of fixed length.

        alkane = catena.point_mass_chain(np.full(20, 1.53), 14.0)  # torsions move, bonds and angles are rigid
        free = catena.point_mass_chain(np.ones(9), np.ones(10), coordinates="torsions+angles", base="floating")

    `bonds` are n lengths, `angles` (rad) those between successive bonds (π: straight on), `torsions` (rad) the torsions
    at joint zero (π: trans), to which the joint coordinates are added. Joint k turns all beyond a bond about it
    (`coordinates="torsions"`: revolute joints), and may also bend the next angle (`"torsions+angles"`: universal
    joints, two coordinates each, torsion and bend; the bend makes the angle smaller).

    With `base="fixed"` there are n `masses`, one at the end of each bond, and n angles and torsions, the first ones
    measured from the base's x axis, as if a bond came in along it. With `base="floating"` there are n + 1 masses, n - 1
    angles and n - 2 torsions. If angles move, the first atom slides along x, y and z (on two links without mass), the
    first bond turns about the world's z axis and against it, the second about the first: 2n + 3 degrees of freedom. If
    torsions alone move, the first three atoms are one free body; two atoms alone have 5 degrees of freedom.

    `parents` makes it branched: for each atom the number of the one that it is bonded to, which must come before it,
    counted from 0; -1 is the base, or marks the first atom of a floating polymer, which the second is bonded to. A
    chain unless given. A bond of atom 0 of a floating polymer, other than the first, turns about that first bond.

    A single number serves all bonds, masses, angles or torsions (`bonds` must say how many there are). Units
    of length and mass are SI or any others that go together. No gravity unless given (3 numbers, base's frame).
    Returns the robot. Cost: O(n) time, a few arrays of memory.
    """
    return polymer_of(bonds, masses, angles, torsions, parents, coordinates, base).tree(name, gravity)


@dataclass(frozen=True)
class Shape:
    """A polymer's geometry at joint zero, atom by atom; the first `body` atoms (0, 2 or 3) move as one, or slide.

    `parent` (atoms,) is each atom's parent, -1 the base or nobody. Atom i's joint turns about the bond of atom
    `before[i]` (-1: an axis of the base), against its direction where `back[i]`. `bond`, `turning` (π minus the angle)
    and `torsion` belong to the bond that leads to atom i; those of atom 0 of a floating polymer mean nothing.
    """

    parent: Array
    before: Array
    back: Array
    mass: Array
    bond: Array
    turning: Array
    torsion: Array
    floating: bool
    bends: bool

    @property
    def body(self) -> int:
        """How many atoms the first, free link holds: three, or none where the first atom slides."""
        return 3 if self.floating and not self.bends and len(self.mass) > 2 else 0

    @property
    def first_axis(self) -> Array:
        """The frame (3, 3) whose x axis the first bonds turn about and whose z axis torsions count from."""
        return _UPRIGHT if self.floating else np.eye(3)

    @property
    def ends(self) -> Array:
        """Where each atom is in its link's frame, (atoms, 3)."""
        ends = self.bond[:, None] * turn_about("z", self.turning)[:, :, 0]
        if self.body:
            ends[2] = ends[1] + ends[2]
        if self.floating:
            ends[0] = 0.0
        return np.asarray(ends)

    @property
    def links(self) -> Array:
        """The number of the link that holds each atom."""
        shift = 1 - self.body if self.body else (2 if self.floating else 0)
        return np.maximum(np.arange(len(self.mass)) + shift, 0)

    def tree(self, name: str, gravity: npt.ArrayLike) -> Tree:
        """The mechanism."""
        joint_type = "universal" if self.bends or (self.floating and not self.body) else "revolute"
        x, z = np.eye(3)[0], np.eye(3)[2]
        frame = axis_frame(x) if joint_type == "revolute" else two_axis_frame(x, z)
        jointed = np.arange(self.body or int(self.floating), len(self.mass))
        place, start, parent = self._placed(jointed)
        mass, ends = self.mass[jointed], self.ends[jointed]
        if not self.floating:
            names = Names("atom{}", len(mass), 1), Names("torsion{}", len(mass), 1)
            arrays = place, start, frame, mass, ends, np.zeros((3, 3))
            return linked(name, joint_type, len(mass), *arrays, gravity, names, parent=parent)
        root = _Root.body(self) if self.body else _Root.sliding(self.mass[0])
        n = len(root.mass) + len(mass)
        return linked(
            name,
            joint_type,
            n,
            np.concatenate([np.broadcast_to(np.eye(3), (len(root.mass), 3, 3)), place]),
            np.concatenate([np.zeros((len(root.mass), 3)), start]),
            np.concatenate([root.axes, np.broadcast_to(frame, (len(mass), 3, 3))]),
            np.concatenate([root.mass, mass]),
            np.concatenate([root.com, ends]),
            np.concatenate([root.inertia, np.zeros((len(mass), 3, 3))]),
            gravity,
            (root.names(len(mass)), (*root.joint_names, *Names("torsion{}", len(mass), 1))),
            root.joints,
            np.concatenate([np.arange(len(root.mass)) - 1, parent]),
        )

    def _placed(self, jointed: Array) -> tuple[Array, Array, Array]:
        """Where the joints of these atoms are: rotation and position in the parent link's frame, and that link."""
        before, back = self.before[jointed], self.back[jointed]
        inner = before >= 0
        bend = turn_about("z", self.turning[before] + np.where(back, np.pi, 0.0))
        rotation = np.where(inner[:, None, None], bend, self.first_axis)
        start = np.where((inner & ~back)[:, None], self.ends[before], 0.0)
        on_base = 2 if self.floating else -1
        return (
            rotation @ turn_about("x", self.torsion[jointed]),
            start,
            np.where(inner, self.links[before], on_base),
        )


@dataclass(frozen=True)
class _Root:
    """The first links of a floating polymer."""

    joints: tuple[str, ...]
    joint_names: tuple[str, ...]
    links: tuple[str, ...]
    axes: Array
    mass: Array
    com: Array
    inertia: Array

    def names(self, more: int) -> tuple[str, ...]:
        """The names of all links, where `more` atoms follow, counted on from the last one here."""
        start = int(self.links[-1].removeprefix("atom")) + 1
        return (*self.links, *Names("atom{}", more, start))

    @classmethod
    def sliding(cls, mass: float) -> _Root:
        """An atom that slides along x, y and z."""
        axes = axis_frame(np.eye(3))
        masses = np.array([0.0, 0.0, mass])
        links = ("slide_x", "slide_y", "atom1")
        return cls(("prismatic",) * 3, ("x", "y", "z"), links, axes, masses, np.zeros((3, 3)), np.zeros((3, 3, 3)))

    @classmethod
    def body(cls, shape: Shape) -> _Root:
        """Three atoms that move freely as one body."""
        mass, at = shape.mass[:3], shape.ends[:3]
        total = mass.sum()
        centre = mass @ at / total if total > 0 else np.zeros(3)
        inertia = np.sum(mass[:, None, None] * steiner(at - centre), axis=0)
        return cls(
            ("free",), (ROOT_JOINT,), ("atom2",), np.eye(3)[None], np.array([total]), centre[None], inertia[None]
        )


def polymer_of(
    bonds: npt.ArrayLike,
    masses: npt.ArrayLike,
    angles: npt.ArrayLike,
    torsions: npt.ArrayLike,
    parents: npt.ArrayLike | None,
    coordinates: str,
    base: str,
) -> Shape:
    """The geometry that the arguments of :func:`point_mass_chain` describe, checked."""
    bends = chosen("coordinates", coordinates, ("torsions", "torsions+angles")) == "torsions+angles"
    (bond,) = together(bonds=bonds)
    n, free = len(bond), int(chosen("base", base, BASES) == "floating")
    (mass,) = together(n + free, masses=masses)
    angle, torsion = _some(n - free, "angles", angles), _some(n - 2 * free, "torsions", torsions)
    require(bond > 0, bond, "bonds", "above zero")
    require(mass >= 0, mass, "masses", "of zero or more")
    parent = _parents(parents, n + free, bool(free), bends)
    before, back = parent.copy(), np.zeros(n + free, dtype=bool)
    if free:
        slides = bends or n == 1
        torsion = np.concatenate([[0.0, 0.0, 0.5 * np.pi if slides else 0.0][: n + 1], torsion])
        angle = np.concatenate([[np.pi, 0.5 * np.pi if slides else np.pi], angle])
        bond = np.concatenate([[0.0], bond])
        before[:2] = -1
        back = (parent == 0) & (np.arange(n + 1) > 1)
        before[back] = 1
    return Shape(parent, before, back, mass, bond, np.pi - angle, torsion, bool(free), bends)


def _some(n: int, what: str, value: npt.ArrayLike) -> Array:
    """One number for each of n, which may be none."""
    if n > 0:
        return together(n, **{what: value})[0]
    if np.size(value) > 1:
        raise ModelError(f"{what}: expected none for so few bonds, found {np.size(value)}")
    return np.zeros(0)


def _parents(parents: npt.ArrayLike | None, atoms: int, free: bool, bends: bool) -> Array:
    """Each atom's parent, checked."""
    if parents is None:
        return np.arange(-1, atoms - 1, dtype=np.int64)
    given = np.asarray(parents)
    if given.shape != (atoms,) or not np.issubdtype(given.dtype, np.integer):
        raise ModelError(f"parents: expected {atoms} whole numbers, one for each atom, found {shown(parents)}")
    given = given.astype(np.int64)
    late = (given >= np.arange(atoms)) | (given < -1) | (free & (given < 0) & (np.arange(atoms) > 0))
    if late.any():
        i = int(np.argmax(late))
        raise ModelError(f"parents: expected an atom before atom {i} as its parent, found {given[i]} at position {i}")
    if free and not bends and atoms > 2 and given[2] != 1:
        raise ModelError(
            f"parents: expected atom 2 bonded to atom 1, as the first three atoms move as one body, found {given[2]}; "
            "number the atoms in another order"
        )
    return given
