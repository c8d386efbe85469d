"""Chains as arrays from the start: a million links cost a few arrays, not a million objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError
from catena.model.assemble import ROOT_JOINT, WORLD, checked_gravity, starts
from catena.model.axes import axis_frame, direction, two_axis_frame
from catena.model.joints import BY_NAME
from catena.model.lie import turn_about
from catena.model.merge import steiner
from catena.model.names import Names
from catena.model.numbers import count, require, together
from catena.model.singular import check_leaves
from catena.model.tree import Tree

Array = npt.NDArray[Any]

GRAVITY = (0.0, 0.0, -9.81)
TETRAHEDRAL = float(np.arccos(-1 / 3))


def planar_chain(
    lengths: npt.ArrayLike, masses: npt.ArrayLike, *, gravity: npt.ArrayLike = GRAVITY, name: str = "planar_chain"
) -> Tree:
    """Make a planar chain of point masses: massless links on revolute joints about z (Lee & Chirikjian 2005).

        chain = catena.planar_chain(np.ones(5), 0.2)

    Link i lies along its own x axis, `lengths[i]` (m) long, with a point mass of `masses[i]` (kg) at its far end. Both
    are of shape (n,), or one of them is a single number that serves all links. `gravity` (3 numbers, m/s², in the
    base's frame) acts along -z unless given, across the plane in which the chain moves. Links are called "link1", ...,
    joints "joint1", .... Returns the robot. Cost: O(n) time, a few arrays of memory.
    """
    length, mass = together(lengths=lengths, masses=masses)
    require(length > 0, length, "lengths", "above zero")
    require(mass >= 0, mass, "masses", "of zero or more")
    end = _along_x(length)
    return _chain(
        name, "revolute", len(length), np.eye(3), _shifted(end), np.eye(3), mass, end, np.zeros((3, 3)), gravity
    )


def rod_chain(
    n: int,
    length: npt.ArrayLike = 1.0,
    mass: npt.ArrayLike = 1.0,
    *,
    radius: npt.ArrayLike = 0.0,
    axes: str | Sequence[Any] = ("z", "y"),
    gravity: npt.ArrayLike = GRAVITY,
    name: str = "rod_chain",
) -> Tree:
    """Make a serial chain of n uniform round rods in space, joined end to end by revolute joints.

        snake = catena.rod_chain(1000, length=0.1, mass=0.2, radius=0.02)
        flat = catena.rod_chain(10, axes="y")  # swings in a vertical plane

    Each rod lies along its own x axis. `length` (m), `mass` (kg) and `radius` (m) are single numbers or of shape (n,);
    a radius of zero makes thin rods. `axes` are the joints' axes in the rod's frame, repeated along the chain: letters
    such as "zy", or vectors of 3 numbers; z and y in turn unless given. `gravity` is 3 numbers in the base's frame,
    m/s². Links are called "link1", ..., joints "joint1", .... Returns the robot. Cost: O(n) time, a few arrays of
    memory: a million links take a fraction of a second.
    """
    n = count(n)
    length, mass, radius = together(n, length=length, mass=mass, radius=radius)
    require(length > 0, length, "length", "above zero")
    require(mass >= 0, mass, "mass", "of zero or more")
    require(radius >= 0, radius, "radius", "of zero or more")
    if not len(axes):
        raise ModelError("axes: expected at least one axis, found none")
    pattern = axis_frame(np.array([direction(axis) for axis in axes]))
    repeated = pattern[0] if len(pattern) == 1 else pattern[np.arange(n) % len(pattern)]
    return _chain(
        name,
        "revolute",
        n,
        np.eye(3),
        _shifted(_along_x(length)),
        repeated,
        mass,
        _along_x(length / 2),
        _rod_inertia(length, mass, radius),
        gravity,
    )


def point_mass_chain(
    bonds: npt.ArrayLike,
    masses: npt.ArrayLike,
    angles: npt.ArrayLike = TETRAHEDRAL,
    torsions: npt.ArrayLike = np.pi,
    *,
    coordinates: Literal["torsions", "torsions+angles"] = "torsions",
    base: Literal["fixed", "floating"] = "fixed",
    gravity: npt.ArrayLike = (0.0, 0.0, 0.0),
    name: str = "point_mass_chain",
) -> Tree:
    """Make the backbone of a polymer in space: point masses (atoms) joined by bonds of fixed length.

        alkane = catena.point_mass_chain(np.full(20, 1.53), 14.0)  # torsions move, bonds and angles are rigid

    `bonds` are n lengths, `angles` (rad) those between successive bonds (π: straight on), `torsions` (rad) the torsions
    at joint zero (π: trans), to which the joint coordinates are added. Joint k turns all beyond a bond about it
    (`coordinates="torsions"`: revolute joints), and may also bend the next angle (`"torsions+angles"`: universal
    joints, two coordinates each, torsion and bend).

    With `base="fixed"` there are n `masses`, one at the end of each bond, and n angles and torsions, the first ones
    measured from the base's x axis, as if a bond came in along it. With `base="floating"` there are n + 1 masses, n - 1
    angles and n - 2 torsions, and the first three atoms move freely as one body, as fewer could not be told from a
    torsion. A single number serves all bonds, masses, angles or torsions (`bonds` must say how many there are). Units
    of length and mass are SI or any others that go together. No gravity unless given (3 numbers, base's frame).
    Returns the robot. Cost: O(n) time, a few arrays of memory.
    """
    if coordinates not in ("torsions", "torsions+angles"):
        raise ModelError(f"coordinates: expected 'torsions' or 'torsions+angles', found {coordinates!r}")
    if base not in ("fixed", "floating"):
        raise ModelError(f"base: expected 'fixed' or 'floating', found {base!r}")
    (bond,) = together(bonds=bonds)
    n, free = len(bond), int(base == "floating")
    if n < 1 + 2 * free:
        raise ModelError(f"bonds: expected at least {1 + 2 * free} for a {base} base, found {n}")
    (mass,) = together(n + free, masses=masses)
    (angle,) = together(n - free, angles=angles)
    (torsion,) = together(n - 2 * free, torsions=torsions)
    require(bond > 0, bond, "bonds", "above zero")
    require(mass >= 0, mass, "masses", "of zero or more")
    bend = turn_about("z", np.pi - angle)
    end = bond[free:, None] * bend[:, :, 0]  # of each bond, in the frame that its joint turns
    turn = np.concatenate([np.eye(3)[None], bend])[: n - free] if not free else bend[:-1]
    place = turn @ turn_about("x", torsion)
    frame = axis_frame(np.eye(3)[0])
    if coordinates == "torsions+angles":
        frame = two_axis_frame(np.eye(3)[0], np.eye(3)[2])
    joint_type = "revolute" if coordinates == "torsions" else "universal"
    if not free:
        none = np.zeros((3, 3))
        return _chain(
            name, joint_type, n, place, _shifted(end), frame, mass, end, none, gravity, ("atom{}", "torsion{}")
        )
    first = np.array([[0.0, 0.0, 0.0], [bond[0], 0.0, 0.0], [bond[0], 0.0, 0.0] + end[0]])
    ends = np.concatenate([first[2:], end[1:]])
    return _floating_polymer(name, joint_type, place, ends, frame, mass, first, gravity)


def _floating_polymer(
    name: str,
    joint_type: str,
    place: Array,
    ends: Array,
    frame: Array,
    mass: Array,
    first: Array,
    gravity: npt.ArrayLike,
) -> Tree:
    """A free body of three atoms, then joints of one type that carry one atom each."""
    n = len(place) + 1
    total = mass[:3].sum()
    centre = mass[:3] @ first / total if total > 0 else np.zeros(3)
    inertia = np.zeros((n, 3, 3))
    inertia[0] = np.sum(mass[:3, None, None] * steiner(first - centre), axis=0)
    return _chain(
        name,
        joint_type,
        n,
        np.concatenate([np.eye(3)[None], place]),
        _shifted(ends),
        np.concatenate([np.eye(3)[None], np.broadcast_to(frame, (n - 1, 3, 3))]),
        np.concatenate([[total], mass[3:]]),
        np.concatenate([centre[None], ends[1:]]),
        inertia,
        gravity,
        ("atom{}", "torsion{}"),
        free=True,
    )


def _chain(
    name: str,
    joint_type: str,
    n: int,
    placement_rotation: Array,
    placement_position: Array,
    joint_rotation: Array,
    mass: Array,
    com: Array,
    inertia: Array,
    gravity: npt.ArrayLike,
    names: tuple[str, str] = ("link{}", "joint{}"),
    free: bool = False,
) -> Tree:
    """A serial chain with joints of one type; rows that are all alike are given once and never copied.

    With `free`, link 0 is on a free joint and the names count from 2.
    """
    joint = BY_NAME[joint_type]
    code: Array = np.array(joint.code, dtype=np.int8)
    nq, nv = np.full(n, joint.nq), np.full(n, joint.nv)
    links: Sequence[str] = Names(names[0], n, 1 + free)
    joints: Sequence[str] = Names(names[1], n, 1)
    if free:
        code = np.full(n, code)
        code[0], nq[0], nv[0] = BY_NAME["free"].code, BY_NAME["free"].nq, BY_NAME["free"].nv
        joints = (ROOT_JOINT, *joints[:-1])
    q_start, v_start = starts(nq), starts(nv)
    per_q, per_v = (int(q_start[-1]),), (int(v_start[-1]),)
    zero, inf = np.zeros(()), np.array(np.inf)
    tree = Tree(
        name=name,
        parent=np.arange(-1, n - 1, dtype=np.int64),
        joint_type=np.broadcast_to(code, (n,)),
        placement_rotation=np.broadcast_to(placement_rotation, (n, 3, 3)),
        placement_position=placement_position,
        joint_rotation=np.broadcast_to(joint_rotation, (n, 3, 3)),
        pitch=np.broadcast_to(zero, (n,)),
        mass=mass,
        com=com,
        inertia=np.broadcast_to(inertia, (n, 3, 3)),
        q_start=q_start,
        v_start=v_start,
        lower=np.broadcast_to(-inf, per_q),
        upper=np.broadcast_to(inf, per_q),
        velocity_limit=np.broadcast_to(inf, per_v),
        effort_limit=np.broadcast_to(inf, per_v),
        damping=np.broadcast_to(zero, per_v),
        friction=np.broadcast_to(zero, per_v),
        armature=np.broadcast_to(zero, per_v),
        gravity=checked_gravity(gravity),
        link_names=links,
        joint_names=joints,
        base_name=WORLD if free else "base",
    )
    check_leaves(tree)
    return tree


def _along_x(length: Array) -> Array:
    """(length, 0, 0) for every link."""
    if length.strides == (0,):
        return np.broadcast_to(np.array([length[0], 0.0, 0.0]), (len(length), 3))
    ends = np.zeros((len(length), 3))
    ends[:, 0] = length
    return ends


def _shifted(ends: Array) -> Array:
    """Where each link starts: at the end of the one before; the first at the origin."""
    place = np.zeros((len(ends), 3))
    place[1:] = ends[:-1]
    return place


def _rod_inertia(length: Array, mass: Array, radius: Array) -> Array:
    """Inertia of solid cylinders along x about their centres; one matrix if they are all alike."""
    if all(array.strides == (0,) for array in (length, mass, radius)):
        length, mass, radius = length[:1], mass[:1], radius[:1]
    inertia = np.zeros((len(length), 3, 3))
    inertia[:, 0, 0] = mass * radius**2 / 2
    inertia[:, 1, 1] = inertia[:, 2, 2] = mass * (3 * radius**2 + length**2) / 12
    return inertia
