"""A mechanism as the kernels see it: internal frames, factored placements, inertias at the frames' origins.

Lowering is a series of passes, each of which leaves the joint-space dynamics as it is: internal frames are aligned with
the joints' axes (`aligned`), moved along those axes where that saves operations (:mod:`catena.model.lowering.frames`),
and inertial parameters that a joint cannot feel are moved to the parent link (:mod:`catena.model.lowering.regroup`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import Continuous, Revolute
from catena.model.lowering.frames import chosen
from catena.model.lowering.placement import ROUNDING, factored
from catena.model.lowering.regroup import Inertias, regrouped
from catena.model.lowering.turns import turned
from catena.model.mimic import Followers
from catena.model.singular import without_inverse
from catena.model.tree import Tree

Array = npt.NDArray[Any]
Rows = slice | Array

SMALL = 200
"""Up to this many links it pays to choose frames and to regroup; on long chains regrouped masses would cost digits."""

OF_JOINT = {"A": "armature", "D": "damping", "R": "friction", "K": "stiffness", "N": "rest"}
"""What joints have one of for each degree of freedom, by the letters of constants of links: A0, A1, … and so on."""

_CHUNK = 65_536
_AXES = "xyz"
_MIXER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Lowered:
    """Arrays with one row for each link; `constants` has a column for each number that an algorithm may read of it.

    Placement of a link on its parent: ct, st, a, b, d, ca, sa, phi, cp, sp, r (see
    :mod:`catena.model.lowering.placement`) and pitch; strain in its springs; inertia: m, hx … hz, Ixx … Izz; the
    user's frame in the internal one: Fxx … Fzz (rotation), Fx, Fy, Fz (origin). `solid` tells which links' own
    inertia has an inverse, where that was asked for; otherwise all count as solid. `turn` is the cosine and the
    sine of the angle about z by which the base's frame was turned. Where joints follow others, all rows are those
    of the whole tree, and `followers` says how it moves.
    """

    parent: Array
    joint_type: Array
    q_start: Array
    v_start: Array
    constants: Mapping[str, Array]
    armature: Array
    damping: Array
    friction: Array
    stiffness: Array
    rest: Array
    gravity: Array
    solid: Array
    followers: Followers | None = None
    turn: tuple[float, float] = (1.0, 0.0)

    @property
    def n(self) -> int:
        """Number of links."""
        return len(self.parent)

    def of_joint(self, name: str, rows: Rows = slice(None)) -> Array:
        """A constant of some links that their joints have for each degree of freedom, by letter and number.

        Links with fewer degrees of freedom have any number there.
        """
        column: Array = getattr(self, OF_JOINT[name[0]])
        if column.strides == (0,):
            return np.broadcast_to(column[0], self.n)[rows]
        chosen: Array = column[np.minimum(self.v_start[:-1][rows] + int(name[1:]), len(column) - 1)]
        return chosen

    def constant(self, name: str, rows: Rows = slice(None)) -> Array:
        """A constant of some links by its name, be it their own or their joints'."""
        return self.constants[name][rows] if name in self.constants else self.of_joint(name, rows)

    @property
    def on_solid(self) -> Array:
        """Whether each link's parent is solid; links on the base count the base as what they are themselves."""
        return np.where(self.parent < 0, self.solid, self.solid[self.parent])


@dataclass(frozen=True)
class Frames:
    """Where each link's internal frame is in the frame the user knows: rotation (n, 3, 3), position (n, 3)."""

    rotation: Array
    position: Array

    @classmethod
    def aligned(cls, tree: Tree) -> Frames:
        """The canonical frames of the joints: every 1-dof joint moves about or along z."""
        return cls(tree.joint_rotation, np.broadcast_to(np.zeros(3), (tree.n, 3)))

    def placements(self, tree: Tree, rows: Rows = slice(None)) -> tuple[Array, Array]:
        """Rotations and positions of some links' internal frames in their parents' at joint zero."""
        placement, parent = tree.placement_rotation[rows], tree.parent[rows]
        R = placement @ self.rotation[rows]
        p = tree.placement_position[rows] + np.einsum("nij,nj->ni", placement, self.position[rows])
        moving = np.flatnonzero(parent >= 0)
        above = parent[moving]
        up = np.swapaxes(self.rotation[above], 1, 2)
        R[moving] = up @ R[moving]
        p[moving] = np.einsum("nij,nj->ni", up, p[moving] - self.position[above])
        return R, p

    def inertias(self, tree: Tree, rows: Rows = slice(None)) -> Inertias:
        """Mass, first moment and moment of inertia of some links at their internal frames."""
        A, m = self.rotation[rows], tree.mass[rows]
        c = np.einsum("nji,nj->ni", A, tree.com[rows] - self.position[rows])
        I = np.swapaxes(A, 1, 2) @ tree.inertia[rows] @ A + _of_points(m, c)
        if (exactly := _hung_points(tree, rows, c, I)).any():
            I[exactly] = _of_points(m[exactly], c[exactly].astype(np.longdouble)).astype(float)
        return Inertias(m, m[:, None] * c, I)

    def seen_from_inside(self, rows: Rows = slice(None)) -> dict[str, Array]:
        """The users' frames of some links in the internal ones, as columns of constants."""
        R = np.swapaxes(self.rotation[rows], 1, 2)
        p = -np.einsum("nij,nj->ni", R, self.position[rows])
        R, p = (np.where(np.abs(x) < ROUNDING, 0.0, x) for x in (R, p))
        turns = {f"F{x}{y}": R[:, i, j] for i, x in enumerate(_AXES) for j, y in enumerate(_AXES)}
        return {**turns, **{f"F{x}": p[:, i] for i, x in enumerate(_AXES)}}


def lower(tree: Tree, *, regroup: bool = True, choose: bool = True, cut: bool = False, turn: bool = False) -> Lowered:
    """The mechanism for the kernels.

    `regroup=False` keeps every link's own inertia, which outputs such as interlink forces need. `cut` tells solid links
    from those whose own inertia has no inverse. With `turn`, frames of a chain and of its base are turned about z
    (:mod:`catena.model.lowering.turns`), except that of the last link.
    """
    frames = Frames.aligned(tree)
    small = tree.n <= SMALL
    if choose and small:
        frames = _moved(frames, *chosen(tree, *frames.placements(tree)))
    columns = Columns(tree.n)
    for start in range(0, tree.n, _CHUNK):
        rows = slice(start, min(start + _CHUNK, tree.n))
        few, which = (rows, slice(None)) if small else distinct(tree, frames, rows)
        R, p = frames.placements(tree, few)
        inertias = frames.inertias(tree, few)
        if regroup and small:
            inertias = regrouped(tree, R, p, inertias)
        columns.add(rows, {**factored(R, p), **_inertial(inertias), **frames.seen_from_inside(few)}, which)
    # to a kernel revolute and continuous joints are the same
    joint_type = np.where(tree.joint_type == Continuous.code, np.int8(Revolute.code), tree.joint_type)
    constants = {**columns.arrays(), "pitch": tree.pitch, "strain": tree.strain}
    solid = np.broadcast_to(True, tree.n)
    if cut and len(thin := without_inverse(tree)):
        solid = ~np.isin(np.arange(tree.n), thin)
    of_joint = tree.armature, tree.damping, tree.friction, tree.stiffness, tree.rest
    lowered = Lowered(tree.parent, joint_type, tree.q_start, tree.v_start, constants, *of_joint, tree.gravity, solid)
    return turned(lowered, tree) if turn else lowered


def distinct(tree: Tree, frames: Frames, rows: slice) -> tuple[Rows, Rows]:
    """Links that stand for all in `rows`, and which of them stands for each: long chains repeat a few links.

    Links are alike when every number that `lower` reads of them has the same bits; equal hashes are compared in full.
    """
    above = tree.parent[rows]
    numbers = [tree.placement_rotation, tree.placement_position, tree.mass, tree.com, tree.inertia]
    read = [x[rows] for x in (*numbers, frames.rotation, frames.position)] + [(above < 0).astype(float)]
    if frames.rotation.strides[0]:
        read.append(frames.rotation[above])
    bits = [np.ascontiguousarray(x).reshape(len(x), -1).view(np.uint64) for x in read if x.strides[0]]
    mixed = np.zeros(len(above), np.uint64)
    for x in bits:
        for column in x.T:
            mixed = (mixed ^ column) * _MIXER
            mixed ^= mixed >> np.uint64(32)
    _, first, which = np.unique(mixed, return_index=True, return_inverse=True)
    if all(np.array_equal(x[first][which], x) for x in bits):
        return first + rows.start, which
    return rows, slice(None)


class Columns:
    """Columns of n numbers, filled piece by piece; one in which all numbers are the same takes no memory."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._same: dict[str, float] = {}
        self._full: dict[str, Array] = {}

    def add(self, rows: slice, piece: Mapping[str, Array], which: Rows = slice(None)) -> None:
        """Fill in some rows of every column, with the numbers `which` of `piece`."""
        for name, numbers in piece.items():
            same = self._same.setdefault(name, float(numbers[0]))
            if name not in self._full and np.all(numbers == same):
                continue
            if name not in self._full:
                self._full[name] = np.full(self._n, same)
            self._full[name][rows] = numbers[which]

    def arrays(self) -> dict[str, Array]:
        """The columns by name."""
        return {name: self._full.get(name, np.broadcast_to(x, self._n)) for name, x in self._same.items()}


def _moved(frames: Frames, turn: Array, slide: Array) -> Frames:
    """The frames turned about and slid along their own z axes."""
    c, s = np.cos(turn), np.sin(turn)
    c, s = (np.where(np.abs(x) < ROUNDING, 0.0, x) for x in (c, s))
    zero, one = np.zeros_like(c), np.ones_like(c)
    Z = np.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=-1).reshape(-1, 3, 3)
    return Frames(frames.rotation @ Z, frames.position + slide[:, None] * frames.rotation[:, :, 2])


def _of_points(m: Array, c: Array) -> Array:
    """Moments of inertia (n, 3, 3) of points with masses m (n,) at c (n, 3)."""
    c2 = np.einsum("ni,ni->n", c, c)
    moments: Array = m[:, None, None] * (c2[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :])
    return moments


def _hung_points(tree: Tree, rows: Rows, c: Array, I: Array) -> Array:
    """Which links are single points, aslant to their frame's axes, on a joint whose origin lies in the parent's.

    The axes of both joints meet there, and a point resists no turn about the line to it: nearly all of I cancels when
    that line comes close to the last axis. So I has to be rounded only once.
    """
    far = np.abs(c).max(axis=1, initial=0.0)
    meet = np.abs(tree.placement_position[rows]).max(axis=1, initial=0.0) <= ROUNDING * far
    point = np.abs(tree.inertia[rows]).max(axis=(1, 2), initial=0.0) <= ROUNDING**2 * np.abs(I).max(axis=(1, 2))
    slanted = (I[:, (0, 0, 1), (1, 2, 2)] != 0.0).any(axis=1)
    found: Array = meet & point & slanted & (tree.parent[rows] >= 0)
    return found


def _inertial(inertias: Inertias) -> dict[str, Array]:
    m, h, I = inertias
    first = {f"h{x}": h[:, i] for i, x in enumerate(_AXES)}
    second = {f"I{x}{y}": I[:, i, j] for i, x in enumerate(_AXES) for j, y in enumerate(_AXES) if i <= j}
    return {"m": m, **first, **second}
