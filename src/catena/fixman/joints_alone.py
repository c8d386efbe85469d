"""det G of a mechanism whose hard coordinates are let go: the determinant of its joints alone, up to a constant.

G is the mass matrix in all coordinates, soft and hard. What moves is then each link for itself, so that
log det G = 2 Σ log |det K(i)| + a constant, K(i) = [S(i) T(i)]: the motions S(i) that the joints between link i and the
massive link before it allow, and an orthonormal complement T(i), the directions in which the joint is hard. As
|det K|² = det SᵀS, the sum is log det M of another mechanism, which the usual sweeps know: every link is cut from
its massive parent, and its inertia is the identity in each direction in which it has an inertia at all.

- A *body* is measured in the frame of its joint, so T holds there. For every joint type det K is then constant.
- A *point* has the three directions of its position. On a universal joint with a bond across the second axis det K is
  L² sin θ.
- A *thin rod* has all but the turn about its own axis: there det K is sin θ.
- A *link without mass* stays with those that it carries: joints through it count as one joint. Three hinges that
  make up a ball have det K = sin β. So does a link whose own inertia does not feel its joint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import JOINT_TYPES, Prismatic, Universal
from catena.model.singular import THIN, unheld_among
from catena.model.tree import Tree

Array = npt.NDArray[Any]

_ROUNDING = 1e-9


def joints_alone(tree: Tree) -> Tree | None:
    """The mechanism whose mass matrix has the determinant Π |det K(i)|², or None where that is constant."""
    bare, thin = np.asarray(tree.mass <= 0), _thin(tree)
    body = ~bare & ~thin.any(axis=1)
    if body.all():
        return None
    alone = _with_unit_inertias(tree, bare, thin)
    unheld = unheld_among(alone, np.arange(tree.n))
    several = np.array([joint.nv > 1 for joint in JOINT_TYPES])[tree.joint_type]
    if not unheld and not (several & ~body).any():
        return None
    stays = np.zeros(tree.n + 1, dtype=bool)  # the base, number -1, comes last
    stays[unheld] = True
    return replace(alone, parent=np.where(stays[tree.parent], tree.parent, -1))


def all_on_bonds(tree: Tree) -> bool:
    """Whether all links are points or thin rods that turn about the one before and bend against it, or slide.

    Nothing then resists a turn about a bond, and det K = L² sin θ is a factor of det M that can be left out of it.
    """
    bond, slides = tree.joint_type == Universal.code, tree.joint_type == Prismatic.code
    if tree.armature.any() or not bond.any() or not (bond | slides).all():
        return False
    first, second = tree.joint_rotation[:, :, 2], tree.joint_rotation[:, :, 0]
    spin = np.linalg.norm(np.einsum("nij,nj->ni", tree.inertia, tree.com), axis=1)
    length = np.linalg.norm(tree.com, axis=1)
    thin = (tree.mass > 0) & (length > 0) & (spin <= THIN * tree.mass * length**3)
    across = np.abs(np.einsum("ni,ni->n", tree.com, second)) <= _ROUNDING * length
    held = (tree.parent < 0) | (tree.mass[tree.parent] > 0)
    beyond = np.flatnonzero((tree.parent >= 0) & bond[tree.parent])
    before = tree.com[tree.parent[beyond]]
    axis = np.einsum("nij,nj->ni", tree.placement_rotation[beyond], first[beyond])
    on_line = _parallel(axis, before) & _parallel(tree.placement_position[beyond], before)
    return bool((slides | (thin & across & held)).all() and (bond[beyond] & on_line).all())


def _parallel(x: Array, along: Array) -> Array:
    """Whether vectors x (n, 3) lie along others, of which none is zero."""
    off = np.linalg.norm(np.cross(x, along), axis=1)
    return np.asarray(off <= _ROUNDING * np.linalg.norm(along, axis=1) * np.linalg.norm(x, axis=1))


def _with_unit_inertias(tree: Tree, bare: Array, thin: Array) -> Tree:
    """Every link on a base of its own, without a rotor, with an inertia of one wherever it has an inertia."""
    moments, axes = np.linalg.eigh(tree.inertia)
    directions = np.where(bare[:, None], moments > 0, ~thin).astype(float)
    inertia = np.einsum("nij,nj,nkj->nik", axes, directions, axes)
    point = thin.all(axis=1)
    rod = thin.any(axis=1) & ~point
    off = tree.com - axes[:, :, 0] * np.einsum("ni,ni->n", axes[:, :, 0], tree.com)[:, None]
    aside = rod & (np.linalg.norm(off, axis=1) > _ROUNDING * np.linalg.norm(tree.com, axis=1))
    com = np.where((point | aside)[:, None], tree.com, 0.0)
    return replace(
        tree,
        parent=np.full(tree.n, -1),
        mass=np.where(bare, 0.0, 1.0),
        com=com,
        inertia=inertia,
        armature=np.zeros(tree.nv),
        frames={},
    )


def _thin(tree: Tree) -> Array:
    """Along which principal axes, smallest moment first, each link has no inertia, (n, 3)."""
    same = tree.inertia.strides[0] == 0
    moments = np.broadcast_to(np.linalg.eigvalsh(tree.inertia[:1] if same else tree.inertia), (tree.n, 3))
    most = moments[:, 2] + tree.mass * np.einsum("ni,ni->n", tree.com, tree.com)
    return np.asarray(moments <= THIN * most[:, None])
