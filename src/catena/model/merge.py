"""Links on fixed joints become part of the body that carries them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.topology import Topology
from catena.model.tree import Frame

Array = npt.NDArray[Any]
Pose = tuple[Array, Array]  # rotation, position


@dataclass(frozen=True)
class Bodies:
    """What moves as one, in order base to tip. Entry 0 of link, mass, com, inertia is the base."""

    link: list[int]  # the link whose frame is the body's
    joint: list[int]  # of each body but the base: the joint that carries it
    parent: Array  # of each body but the base: the carrying body, -1 the base
    placement_rotation: Array
    placement_position: Array
    mass: Array
    com: Array
    inertia: Array
    frames: dict[int, Frame]  # by link: those merged into another


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is refused by name with the tree
def merged(
    topology: Topology, fixed: Array, rotation: Array, position: Array, mass: Array, com: Array, inertia: Array
) -> Bodies:
    """The bodies that links joined by `fixed` joints make up; arrays are by joint, or by link. O(n)."""
    order, joint_of, parent_of = (np.array(each) for each in (topology.order, topology.joint, topology.parent))
    is_merged = np.zeros(len(mass), dtype=bool)
    is_merged[order[1:]] = fixed[joint_of[order[1:]]]
    heads = order[~is_merged[order]]
    joints = joint_of[heads[1:]]
    owner = np.zeros(len(mass), dtype=np.int64)  # of each link: its body
    owner[heads] = np.arange(len(heads))
    pose: dict[int, Pose] = {}  # of each merged link: in its body's frame
    for link in order[is_merged[order]].tolist():
        j, above = joint_of[link], int(parent_of[link])
        place = rotation[j], position[j]
        pose[link] = compose(pose[above], place) if above in pose else place
        owner[link] = owner[above]
    carriers = parent_of[heads[1:]]
    turns, shifts = rotation[joints], position[joints]
    for i in np.flatnonzero(is_merged[carriers]):
        turns[i], shifts[i] = compose(pose[int(carriers[i])], (turns[i], shifts[i]))
    bodies = (mass[heads], com[heads], inertia[heads])
    joined = [link for link in pose if mass[link] or inertia[link].any()]
    if joined:
        bodies = _joined(bodies, owner[joined], _moved(joined, pose, mass, com, inertia))
    return Bodies(
        link=heads.tolist(),
        joint=joints.tolist(),
        parent=owner[carriers] - 1,
        placement_rotation=turns,
        placement_position=shifts,
        mass=bodies[0],
        com=bodies[1],
        inertia=bodies[2],
        frames={link: Frame(int(owner[link]) - 1, *place) for link, place in pose.items()},
    )


def compose(outer: Pose, inner: Pose) -> Pose:
    """The pose `inner`, given in the frame at `outer`, seen from where `outer` is given."""
    return outer[0] @ inner[0], outer[1] + outer[0] @ inner[1]


def steiner(offset: Array) -> Array:
    """|d|² 1 - d dᵀ: the inertia of a unit mass at `offset` (..., 3)."""
    square = np.sum(offset**2, axis=-1)[..., None, None]
    return np.asarray(square * np.eye(3) - offset[..., :, None] * offset[..., None, :])


def _moved(
    joined: list[int], pose: dict[int, Pose], mass: Array, com: Array, inertia: Array
) -> tuple[Array, Array, Array]:
    """Mass, centre and inertia of the merged links in the frames of their bodies."""
    turn = np.array([pose[link][0] for link in joined])
    shift = np.array([pose[link][1] for link in joined])
    centre = (turn @ com[joined, :, None])[..., 0] + shift
    return mass[joined], centre, turn @ inertia[joined] @ np.swapaxes(turn, -1, -2)


def _joined(
    bodies: tuple[Array, Array, Array], owner: Array, parts: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """The bodies with the parts added to their owners; bodies that get none keep their numbers to the last bit."""
    mass, com, inertia = (array.copy() for array in bodies)
    part_mass, part_com, part_inertia = parts
    touched = np.unique(owner)
    total, moment = mass.copy(), mass[:, None] * com
    np.add.at(total, owner, part_mass)
    np.add.at(moment, owner, part_mass[:, None] * part_com)
    heavy = touched[total[touched] > 0]
    centre = com.copy()
    centre[heavy] = moment[heavy] / total[heavy, None]
    inertia[touched] += mass[touched, None, None] * steiner(com[touched] - centre[touched])
    np.add.at(inertia, owner, part_inertia + part_mass[:, None, None] * steiner(part_com - centre[owner]))
    return total, centre, inertia
