"""Which joints nothing resists at one configuration: articulated inertias, with NumPy, of a few links.

The recursion is that of :func:`catena.algorithms.steps.free_joint`, but a joint along which D vanishes is passed by:
what does not resist it does not pull at its parent either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import JOINT_TYPES, Screw
from catena.model.lie import skew
from catena.model.tree import Tree
from catena.spatial import Dofs, Force

Array = npt.NDArray[Any]

_ROUNDING = 1e-13
"""Resistance below this, beside what all that moves along could offer, is rounding: no digit is left of it."""


def giving_way(tree: Tree, links: list[int], seed: int) -> set[int]:
    """Those of the links, given base to tip with all that they carry, whose joint nothing resists at a configuration.

    The configuration is one of its own for each seed, with no special angle. Cost: O(len(links)).
    """
    rng = np.random.default_rng(seed)
    found = set()
    P = {k: _inertia(tree, k) for k in links}
    total = {k: inertia.copy() for k, inertia in P.items()}
    for k in reversed(links):
        q = rng.uniform(0.2, 1.3, JOINT_TYPES[tree.joint_type[k]].nq)
        H, phi = _joint(tree, k, q)
        armature = tree.armature[tree.v_start[k] : tree.v_start[k + 1]]
        U = P[k] @ H.T
        D = H @ U + np.diag(armature)
        resistance = _most(total[k], H) + armature
        size = np.sqrt(np.where(resistance > 0, resistance, 1.0))
        moments, axes = np.linalg.eigh(D / np.outer(size, size))
        held = moments > _ROUNDING
        if not held.all():
            found.add(k)
        G = (U / size) @ axes[:, held]
        parent = int(tree.parent[k])
        if parent in P:
            P[parent] += phi @ (P[k] - (G / moments[held]) @ G.T) @ phi.T
            total[parent] += phi @ total[k] @ phi.T
    return found


def _most(total: Array, H: Array) -> Array:
    """The most that a rigid body with a spatial inertia could resist each axis, were it turned the best way."""
    turn, slide = np.sum(H[:, :3] ** 2, axis=1), np.sum(H[:, 3:] ** 2, axis=1)
    most: Array = turn * np.trace(total[:3, :3]) + slide * np.trace(total[3:, 3:])
    return most


def _inertia(tree: Tree, k: int) -> Array:
    """The spatial inertia of a link about its origin, (6, 6)."""
    mass, lever = float(tree.mass[k]), skew(tree.com[k])
    moment = mass * lever
    return np.block([[tree.inertia[k] - moment @ lever, moment], [-moment, mass * np.eye(3)]])


def _joint(tree: Tree, k: int, q: Array) -> tuple[Array, Array]:
    """The joint's axes in its link's frame, (nv, 6), and what brings wrenches from there to the parent's, (6, 6)."""
    joint_type, pitch = JOINT_TYPES[tree.joint_type[k]], float(tree.pitch[k])
    dofs = joint_type.normalize(Dofs(q.tolist()))
    Q = _turned(tree.joint_rotation[k])
    axes = np.array([column.components for column in joint_type.axes(dofs, pitch).columns], dtype=float)
    motion = joint_type.motion(dofs, pitch, Screw(0, 1, 0, 0))
    J = np.array([(motion @ Force.of(unit)).components for unit in np.eye(6).tolist()], dtype=float).T
    placed = _turned(tree.placement_rotation[k])
    placed[:3, 3:] = skew(tree.placement_position[k]) @ tree.placement_rotation[k]
    return axes @ Q.T, placed @ Q @ J @ Q.T


def _turned(R: Array) -> Array:
    turned = np.zeros((6, 6))
    turned[:3, :3] = turned[3:, 3:] = R
    return turned
