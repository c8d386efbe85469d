"""Robots made of point masses in a plane, recognised: Fixman's partition has a form of its own for them.

A link is a point mass when it has no inertia about its centre: then its own inertia has no inverse, and Fixman's
partition works with positions of points instead of motions of bodies. *Planar* are weightless rods in a plane, each
turning about the mass at its parent's end (Lee & Chirikjian 2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import Continuous, Revolute
from catena.model.tree import Tree

Array = npt.NDArray[Any]

_ROUNDING = 1e-9
_TURNING = (Revolute.code, Continuous.code)


def is_point_masses(tree: Tree) -> bool:
    """Whether every link is a point with a mass, away from its joint, with its parent's point at the joint."""
    if not tree.n or not (tree.mass > 0).all() or tree.inertia.any() or tree.armature.any():
        return False
    reach = np.linalg.norm(tree.com, axis=1)
    inner = tree.parent >= 0
    gap = tree.placement_position[inner] - tree.com[tree.parent[inner]]
    return bool((reach > 0).all() and (np.abs(gap) <= _ROUNDING * reach[inner, None]).all())


def is_planar(tree: Tree) -> bool:
    """Whether point masses move in one plane: revolute joints about parallel axes across the links."""
    if not is_point_masses(tree) or not np.isin(tree.joint_type, _TURNING).all():
        return False
    axis, before = _axes(tree)
    reach = np.linalg.norm(tree.com, axis=1)
    across = np.abs(np.einsum("ni,ni->n", axis, tree.com)) <= _ROUNDING * reach
    inner = tree.parent >= 0
    parallel = np.abs(before[inner] - axis[tree.parent[inner]]).max(axis=1, initial=0.0) <= _ROUNDING
    roots = before[~inner]
    return bool(across.all() and parallel.all() and np.abs(roots - roots[0]).max() <= _ROUNDING)


def _axes(tree: Tree) -> tuple[Array, Array]:
    """Each joint's first axis: in its link's frame at joint zero, and in the parent's."""
    axis = tree.joint_rotation[:, :, 2]
    return axis, np.einsum("nij,nj->ni", tree.placement_rotation, axis)
