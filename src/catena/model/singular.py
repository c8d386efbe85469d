"""Inertias that are singular: links whose own inertia has no inverse, and joints that make M singular everywhere.

A joint does when nothing holds it back. On a leaf that is so with no mass, no inertia about its axes and no armature;
elsewhere, when what hangs on the link gives way too, as behind a free joint, or a hinge on the same axis.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import SingularError
from catena.model.giving import giving_way
from catena.model.joints import JOINT_TYPES, Prismatic
from catena.model.mimic import Followers, followers
from catena.model.topology import listed
from catena.model.tree import Tree
from catena.spatial import Dofs

Array = npt.NDArray[Any]

_GENERIC = [0.3, 0.7, 0.4, 0.5, 0.6, 0.2, 0.9]  # coordinates at which no joint type is special
_ROUNDING = 1e-14
THIN = 1e-9

_CHUNK = 65_536
_CONFIGURATIONS = 3
_MOST_LINKS, _MOST_SUSPECTS, _NEAR = 4000, 200, 16  # of longer trees, how much is looked at


def without_inverse(tree: Tree) -> Array:
    """The links whose own inertia has no inverse, or one with few digits: no mass, or hardly any inertia about an axis.

    Points and thin rods are such links: the inertia about some axis through the centre of mass is lost beside the
    inertia about the joint.
    """
    same = tree.inertia.strides[0] == 0
    moments = np.linalg.eigvalsh(tree.inertia[:1] if same else tree.inertia)
    most = moments[:, 2] + tree.mass * np.einsum("ni,ni->n", tree.com, tree.com)
    return np.flatnonzero((tree.mass <= 0) | (moments[:, 0] <= THIN * most))


def check_masses(tree: Tree) -> None:
    """SingularError for the first link without a mass, which Fixman's partition cannot do with.

    Except for sliders between the base and the first link: they only give that link more freedom.
    """
    massless = np.flatnonzero(tree.mass <= 0)
    sliders = 0
    while sliders < tree.n - 1 and tree.mass[sliders] <= 0 and _is_slider(tree, sliders):
        sliders += 1
    if len(massless := massless[massless >= sliders]):
        link = tree.link_names[int(massless[0])]
        raise SingularError(
            f"Fixman's partition needs a mass on every link: expected one above zero on link {link!r}, found "
            f"{tree.mass[massless[0]]:g}; give it one, or use method='innovations'",
            link=link,
        )


def _is_slider(tree: Tree, link: int) -> bool:
    """Whether a link slides on the one before it and carries the next one alone."""
    alone = int(np.sum(tree.parent == link)) == 1 and tree.parent[link + 1] == link
    return alone and tree.parent[link] == link - 1 and tree.joint_type[link] == Prismatic.code


def check_invertible(tree: Tree) -> None:
    """SingularError, with the names of a joint and its link, if M(q) is singular at every configuration q."""
    tree = _judged(tree)
    check_leaves(tree)
    unheld = tree.once("unheld", lambda: unheld_inside(tree))
    if unheld:
        link, joint = tree.link_names[unheld[0]], tree.joint_names[unheld[0]]
        raise SingularError(
            f"joint {joint!r} makes the mass matrix singular at every configuration: expected something that resists "
            f"it on its link {link!r} or beyond, found that the joints beyond give way; give the link an inertia or "
            "the joint an armature, or make one of them fixed (with a free joint of its own, a robot needs no "
            "floating base)",
            link=link,
            joint=joint,
        )


def check_leaves(tree: Tree, strict: bool = True) -> list[str]:
    """SingularError for the first unheld leaf; with `strict=False` a warning that names them instead."""
    tree = _judged(tree)
    loose = tree.once("unheld leaves", lambda: unheld_leaves(tree))
    if not loose:
        return []
    names = [tree.link_names[i] for i in loose]
    advice = "give it a mass away from the axis or an inertia, give the joint an armature, or make the joint fixed"
    if strict:
        link, joint = names[0], tree.joint_names[loose[0]]
        raise SingularError(
            f"link {link!r} makes the mass matrix singular: expected something that resists joint {joint!r}, "
            f"found mass {tree.mass[loose[0]]:g} and no inertia that does; {advice}",
            link=link,
            joint=joint,
        )
    return [f"massless leaves make the mass matrix singular, so forward dynamics will fail: {listed(names)}; {advice}"]


def _judged(tree: Tree) -> Tree:
    """The tree itself or, where joints follow others, the whole tree, in which one that is held holds its group."""
    found = followers(tree)
    return tree if found is None else tree.once("judged", lambda: _resisted(found))


def _resisted(found: Followers) -> Tree:
    """The whole tree with rotors on all joints of a group of which one, if only it moves, is held by itself."""
    whole, armature = found.whole, np.array(found.whole.armature)
    loose = {*unheld_leaves(whole), *unheld_inside(whole)}
    groups: dict[int, list[int]] = {}
    for joint, follows in found.rules.items():
        groups.setdefault(follows.leader, [follows.leader]).extend([joint] if follows.ratio else [])
    still = [joint for joint, follows in found.rules.items() if not follows.ratio]
    held = [joint for group in groups.values() if not loose.issuperset(group) for joint in group]
    armature[whole.v_start[[*held, *still]]] = 1.0
    return replace(whole, armature=armature)


def unheld_leaves(tree: Tree) -> list[int]:
    """Links without children whose own block of M(q) is singular at every q. Cost: O(n), vectorised by joint type."""
    carries = np.zeros(tree.n + 1, dtype=bool)
    carries[tree.parent] = True  # the base, -1, is the last entry
    return unheld_among(tree, np.flatnonzero(~carries[:-1]))


def unheld_inside(tree: Tree) -> list[int]:
    """Links at whose joint M(q) is singular at every q though they carry others, tips first.

    A link that holds its own joint needs no look at what it carries; where there are others, the articulated inertias
    of what they carry are found at a few configurations, in O(n). Of trees of more than some thousand links only what
    is near such links is looked at, and what cannot be told from that is not refused.
    """
    suspects = [i for start in range(0, tree.n, _CHUNK) for i in unheld_among(tree, np.arange(start, tree.n)[:_CHUNK])]
    if not suspects:
        return []
    if tree.n > _MOST_LINKS:
        suspects = suspects[-_MOST_SUSPECTS:]
    links, complete = _carried(tree, suspects)
    loose = set(suspects)
    for seed in range(_CONFIGURATIONS):
        if loose:
            loose &= giving_way(tree, links, seed)
    return sorted(loose, reverse=True) if complete else []


def _carried(tree: Tree, links: list[int]) -> tuple[list[int], bool]:
    """These links and those that they carry, base to tip; and whether these are all."""
    wanted = np.zeros(tree.n + 1, dtype=bool)
    frontier = np.array(links)
    for _ in range(tree.n if tree.n <= _MOST_LINKS else _NEAR):
        wanted[frontier] = True
        frontier = np.flatnonzero(wanted[tree.parent] & ~wanted[:-1])
        if not len(frontier):
            break
    return [int(i) for i in np.flatnonzero(wanted)], not len(frontier)


def unheld_among(tree: Tree, links: Array) -> list[int]:
    """Those of the links whose own inertia does not hold their joint."""
    types = tree.joint_type[links]
    loose = [_unheld(tree, links[types == joint_type], joint_type) for joint_type in np.unique(types)]
    return sorted(int(i) for group in loose for i in group)


def _unheld(tree: Tree, leaves: Array, joint_type: int) -> Array:
    """Those of the leaves, all on joints of one type, whose block of M is singular."""
    joint = JOINT_TYPES[joint_type]
    turn, slide = _motion_axes(tree, leaves, joint_type)
    mass, com, inertia = tree.mass[leaves], tree.com[leaves], tree.inertia[leaves]
    speed = slide + np.cross(turn, com[:, None, :])  # of the centre of mass, per axis: (leaves, nv, 3)
    block = turn @ inertia @ np.swapaxes(turn, -1, -2)
    block = block + mass[:, None, None] * (speed @ np.swapaxes(speed, -1, -2))
    armature = tree.armature[tree.v_start[leaves][:, None] + np.arange(joint.nv)]
    block = block + armature[:, :, None] * np.eye(joint.nv)
    held = np.diagonal(block, axis1=1, axis2=2)
    reach = np.sum(slide**2, axis=-1) + np.sum(turn**2, axis=-1) * np.sum(com**2, axis=-1)[:, None]
    most = mass[:, None] * reach + np.sum(turn**2, axis=-1) * np.trace(inertia, axis1=1, axis2=2)[:, None] + armature
    loose = (held <= _ROUNDING * most).any(axis=1)
    if joint.nv == 1:
        return np.asarray(leaves[loose])
    size = np.sqrt(np.where(held > 0, held, 1.0))
    correlation = block / (size[:, :, None] * size[:, None, :])
    return np.asarray(leaves[loose | (np.linalg.eigvalsh(correlation)[:, 0] <= _ROUNDING)])


def _motion_axes(tree: Tree, leaves: Array, joint_type: int) -> tuple[Array, Array]:
    """Angular and linear part of each axis in the link's frame, (leaves, nv, 3) both."""
    joint = JOINT_TYPES[joint_type]
    columns = joint.axes(Dofs(list(_GENERIC[: joint.nq])), tree.pitch[leaves]).columns
    shape = (len(leaves),)
    canonical = np.array([[np.broadcast_to(x, shape) for x in column.components] for column in columns], dtype=float)
    axes = np.moveaxis(canonical, -1, 0)  # (leaves, nv, 6)
    back = np.swapaxes(tree.joint_rotation[leaves], -1, -2)
    return axes[..., :3] @ back, axes[..., 3:] @ back
