"""Chains as arrays from the start: a million links cost a few arrays, not a million objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError
from catena.model.assemble import WORLD, checked_gravity, starts
from catena.model.axes import axis_frame, direction
from catena.model.joints import BY_NAME
from catena.model.names import Names
from catena.model.numbers import count, listed, require, together
from catena.model.singular import check_leaves
from catena.model.tree import Tree

Array = npt.NDArray[Any]

GRAVITY = (0.0, 0.0, -9.81)


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
    return linked(
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
    if not len(axes := axes if isinstance(axes, str) else listed("axes", axes)):
        raise ModelError("axes: expected at least one axis, found none")
    pattern = axis_frame(np.array([direction(axis) for axis in axes]))
    repeated = pattern[0] if len(pattern) == 1 else pattern[np.arange(n) % len(pattern)]
    return linked(
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


def linked(
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
    names: tuple[Sequence[str], Sequence[str]] | None = None,
    first: Sequence[str] = (),
    parent: Array | None = None,
) -> Tree:
    """A tree with joints of one type, a serial chain unless `parent` is given; rows all alike are never copied.

    `first` are the joint types of the first links, where they differ: then nothing holds the chain to the ground.
    `names` are those of the links and of the joints.
    """
    joint = BY_NAME[joint_type]
    code: Array = np.array(joint.code, dtype=np.int8)
    nq, nv = np.full(n, joint.nq), np.full(n, joint.nv)
    if first:
        code = np.full(n, code)
    for i, other in enumerate(first):
        code[i], nq[i], nv[i] = BY_NAME[other].code, BY_NAME[other].nq, BY_NAME[other].nv
    q_start, v_start = starts(nq), starts(nv)
    per_q, per_v = (int(q_start[-1]),), (int(v_start[-1]),)
    zero, inf = np.zeros(()), np.array(np.inf)
    tree = Tree(
        name=name,
        parent=np.arange(-1, n - 1, dtype=np.int64) if parent is None else parent,
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
        link_names=Names("link{}", n, 1) if names is None else names[0],
        joint_names=Names("joint{}", n, 1) if names is None else names[1],
        base_name=WORLD if first else "base",
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
