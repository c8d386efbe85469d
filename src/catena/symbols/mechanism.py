"""A mechanism with letters for numbers: what is zero or a right angle by design stays so, the rest gets a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import JOINT_TYPES
from catena.model.lowering.placement import factored
from catena.model.tree import Tree
from catena.scalars import Scalar
from catena.spatial import Dofs, Motion, RigidInertia, Sym3, Vec3
from catena.spatial.transform import ShiftAlong, Transform
from catena.sweeps import Base, RealLink, RealLinks
from catena.symbols.ring import QUARTER, Ring

Array = npt.NDArray[Any]

NEGLIGIBLE = 1e-12
"""Below this part of what it is compared with a number is zero up to rounding."""

_AXES = "xyz"


@dataclass(frozen=True)
class Parameter:
    """A letter of a symbolic mechanism: its name, the robot's number for it, and what it means."""

    name: str
    value: float
    meaning: str


class Names:
    """The parameters found so far; each nonzero number asks for a name and gets a letter."""

    def __init__(self) -> None:
        self.parameters: dict[str, Parameter] = {}
        self.angles: list[str] = []

    def letter(self, name: str, value: float, meaning: str) -> str:
        """The name, remembered with its value and meaning."""
        self.parameters[name] = Parameter(name, float(value), meaning)
        return name

    def angle(self, name: str, value: float, meaning: str) -> str:
        """The same for an angle."""
        self.angles.append(name)
        return self.letter(name, value, meaning)


Maker = Callable[[Ring], Scalar]
"""What gives a constant once the ring of all letters is known."""


def zero(_: Ring) -> Scalar:
    """Nothing, by construction."""
    return 0


def named(name: str, sign: int = 1) -> Maker:
    """A letter, or minus it."""
    return (lambda ring: ring.variable(name)) if sign > 0 else (lambda ring: -ring.variable(name))


@dataclass(frozen=True)
class Body:
    """One link: its mass, mass centre and inertia about it, its placement, its rotors and its pitch."""

    mass: Maker
    com: list[Maker]
    inertia: list[Maker]
    shift: list[Maker]
    turns: list[tuple[Maker, Maker, Maker]]
    armature: list[Maker]
    pitch: Maker


class Letters:
    """The letters of a tree. Links are numbered from 1, as in the papers."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.names = tree, Names()
        self._branching = np.bincount(tree.parent + 1, minlength=tree.n + 1) > 1  # the base comes first
        self.bodies = [self._body(i) for i in range(tree.n)]
        self.gravity = self._gravity()

    @property
    def inertial(self) -> frozenset[str]:
        """The names of masses, moments of inertia and rotor inertias, in which dynamics is linear."""
        return frozenset(name for name in self.names.parameters if name[0] in "mIJ")

    def _body(self, i: int) -> Body:
        tree, k, Q = self.tree, i + 1, self.tree.joint_rotation[i]
        link = repr(tree.link_names[i])
        mass = self._scalar(f"m_{k}", tree.mass[i], f"mass of link {link}")
        com = self._vector(f"c_{k}", tree.com[i], Q, f"mass centre of link {link}", alone=True)
        inertia = self._tensor(f"I_{k}", tree.inertia[i], Q, f"moment of inertia of link {link} about its mass centre")
        start, joint_type = int(tree.v_start[i]), JOINT_TYPES[int(tree.joint_type[i])]
        joint = repr(tree.joint_names[i])
        armature = [
            self._scalar(f"J_{start + j + 1}", tree.armature[start + j], f"rotor inertia of joint {joint}")
            for j in range(joint_type.nv)
        ]
        pitch = self._scalar(f"h_{k}", tree.pitch[i], f"pitch of joint {joint}")
        return Body(mass, com, inertia, *self._placement(i), armature, pitch)

    def _scalar(self, name: str, value: float, meaning: str) -> Maker:
        return named(self.names.letter(name, value, meaning)) if value else zero

    def _vector(self, name: str, value: Array, Q: Array, meaning: str, alone: bool = False) -> list[Maker]:
        """A vector given in the link's axes, along the joint's axes Q; named by the link's axes where they agree."""
        scale = float(np.abs(value).max())
        aligned = _is_permutation(Q)
        given = value if aligned else Q.T @ value
        where = "link's" if aligned else "joint's"
        nonzero = [j for j in range(3) if abs(given[j]) > NEGLIGIBLE * scale]
        makers: list[tuple[str, int] | None] = [None] * 3
        for j in nonzero:
            axis = "" if alone and len(nonzero) == 1 else _AXES[j]
            full = self.names.letter(f"{name}{axis}", given[j], f"{meaning}, along the {where} {_AXES[j]}")
            makers[j] = (full, 1)
        if aligned:
            source = [int(np.argmax(np.abs(Q[:, j]))) for j in range(3)]
            makers = [_signed(makers[s], int(np.sign(Q[s, j]))) for j, s in enumerate(source)]
        return [zero if maker is None else named(*maker) for maker in makers]

    def _tensor(self, name: str, value: Array, Q: Array, meaning: str) -> list[Maker]:
        """The six entries of a symmetric matrix along the joint's axes Q, upper triangle by rows."""
        scale = float(np.abs(value).max())
        aligned = _is_permutation(Q)
        given = value if aligned else Q.T @ value @ Q
        source = [int(np.argmax(np.abs(Q[:, j]))) if aligned else j for j in range(3)]
        sign = [int(np.sign(Q[s, j])) if aligned else 1 for j, s in enumerate(source)]
        where = "link's" if aligned else "joint's"
        makers: list[Maker] = []
        for a, b in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            row, column = sorted((source[a], source[b]))
            if abs(given[row, column]) <= NEGLIGIBLE * scale:
                makers.append(zero)
                continue
            axes = _AXES[row] + _AXES[column]
            full = self.names.letter(f"{name}{axes}", given[row, column], f"{meaning}, {axes} in the {where} axes")
            makers.append(named(full, sign[a] * sign[b]))
        return makers

    def _placement(self, i: int) -> tuple[list[Maker], list[tuple[Maker, Maker, Maker]]]:
        """The shift from the parent's frame, and the turns about z, x and z that follow, as in Link.joint."""
        tree, k, parent = self.tree, i + 1, int(self.tree.parent[i])
        above = tree.joint_rotation[parent] if parent >= 0 else np.eye(3)
        R = above.T @ tree.placement_rotation[i] @ tree.joint_rotation[i]
        before = f"link {tree.link_names[parent]!r}" if parent >= 0 else "the base"
        label = f"l_{parent + 1},{k}" if self._branching[parent + 1] else f"l_{parent + 1}"
        meaning = f"from the origin of {before} to joint {tree.joint_names[i]!r}"
        shift = self._vector(label, tree.placement_position[i], above, meaning, alone=True)
        f = factored(R, np.zeros(3))
        joint = f"between the axes before and at joint {tree.joint_names[i]!r}"
        names = (f"theta_{k}", "ct", "st"), (f"alpha_{k}", "ca", "sa"), (f"phi_{k}", "cp", "sp")
        return shift, [self._turn(name, float(f[c]), float(f[s]), f"angle {joint}") for name, c, s in names]

    def _turn(self, name: str, c: float, s: float, meaning: str) -> tuple[Maker, Maker, Maker]:
        """A constant angle with its cosine and sine."""
        quarters: dict[tuple[float, float], int] = {(1, 0): 0, (0, 1): 1, (-1, 0): 2, (0, -1): 3}
        if (c, s) in quarters:
            count = quarters[c, s]
            return (lambda ring: count * ring.variable(QUARTER) if count else 0), (lambda _: int(c)), (lambda _: int(s))
        self.names.angle(name, float(np.arctan2(s, c)), meaning)
        angle = named(name)
        return angle, (lambda ring: ring.sincos(angle(ring))[1]), (lambda ring: ring.sincos(angle(ring))[0])

    def _gravity(self) -> list[Maker]:
        nonzero = [j for j in range(3) if self.tree.gravity[j]]
        makers: list[Maker] = [zero, zero, zero]
        for j in nonzero:
            value = float(self.tree.gravity[j])
            sign = int(np.sign(value)) if len(nonzero) == 1 else 1
            name = "g" if len(nonzero) == 1 else f"g_{_AXES[j]}"
            makers[j] = named(
                self.names.letter(name, sign * value, f"gravity along {'-' * (sign < 0)}{_AXES[j]}"), sign
            )
        return makers


def _signed(maker: tuple[str, int] | None, sign: int) -> tuple[str, int] | None:
    return None if maker is None else (maker[0], maker[1] * sign)


def _is_permutation(Q: Array) -> bool:
    """Whether every axis of the joint is one of the link's axes or its opposite."""
    return bool(np.isin(Q, (-1.0, 0.0, 1.0)).all())


class SymbolicLinks(RealLinks):
    """The links of a mechanism over the ring's scalars; with ``weightless``, without gravity."""

    def __init__(self, letters: Letters, ring: Ring, lowered: Any, *, weightless: bool = False) -> None:
        self.base, self.lowered = Base(), lowered
        gravity = [0, 0, 0] if weightless else [maker(ring) for maker in letters.gravity]
        self.gravity = Motion(Vec3.zero(), Vec3(*gravity))
        self._links: list[RealLink] = []
        tree = letters.tree
        for i, body in enumerate(letters.bodies):
            joint_type = JOINT_TYPES[int(tree.joint_type[i])]
            armature, start = Dofs([maker(ring) for maker in body.armature]), int(tree.v_start[i])
            others = tree.damping, tree.friction, tree.stiffness, tree.rest
            own = [Dofs(of[start : start + joint_type.nv].tolist()) for of in others]
            constants = {**_constants(body, ring), "strain": float(tree.strain[i])}
            link = RealLink(i, start, joint_type, constants, armature, *own)
            link.solid, link.on_solid = bool(lowered.solid[i]), bool(lowered.on_solid[i])
            parent = int(tree.parent[i])
            link.parent = self._links[parent] if parent >= 0 else self.base
            self._links.append(link)


def _constants(body: Body, ring: Ring) -> dict[str, Scalar]:
    """The constants that a link reads, as :class:`~catena.model.lowering.lowered.Lowered` names them."""
    (_, ct, st), (_, ca, sa), (phi, cp, sp) = [tuple(maker(ring) for maker in turn) for turn in body.turns]
    x, y, z = (maker(ring) for maker in body.shift)
    placed = {"ct": ct, "st": st, "a": ct * x + st * y, "b": ct * y - st * x, "d": z, "ca": ca, "sa": sa}
    M = _at_origin(body, ring)
    inertia = dict(zip(("m", "hx", "hy", "hz"), (M.m, *M.h), strict=True))
    moments = dict(zip(("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"), M.I, strict=True))
    return {**placed, "phi": phi, "cp": cp, "sp": sp, "r": 0, "pitch": body.pitch(ring), **inertia, **moments}


def _at_origin(body: Body, ring: Ring) -> RigidInertia:
    """The link's inertia about its frame's origin, by the parallel-axis theorem."""
    about_com = RigidInertia(body.mass(ring), Vec3.zero(), Sym3(*[maker(ring) for maker in body.inertia]))
    x, y, z = (maker(ring) for maker in body.com)
    to_com = Transform((ShiftAlong("x", x), ShiftAlong("y", y), ShiftAlong("z", z)))
    return to_com.congruence(about_com)
