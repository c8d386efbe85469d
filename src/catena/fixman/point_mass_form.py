"""Robots made of point masses: recognising them, and Fixman's partition in the coordinates of their joints.

A link is a point mass when it has no inertia about its centre: then its own inertia has no inverse, and Fixman's
partition works with positions of points instead of motions of bodies. Two forms are known.

- *planar*: weightless rods in a plane, each turning about the mass at its parent's end (Lee & Chirikjian 2005).
- *polymer*: bonds in space, each carrying the next atom. A revolute joint turns about the bond before it: a torsion,
  with bond length and bond angle hard. A universal joint turns about that bond and then across it: torsion and bend are
  soft, the length is hard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.fixman.internal_coordinates import bend, distance, torsion
from catena.model.joints import Continuous, Revolute, Universal
from catena.model.tree import Tree

if TYPE_CHECKING:
    from catena.fixman.point_masses import Blocks, Partition
    from catena.robot import Robot

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


def is_polymer(tree: Tree) -> bool:
    """Whether point masses hang on torsions about the bond before them, with bends across it or without."""
    if not is_point_masses(tree) or not np.isin(tree.joint_type, (*_TURNING, Universal.code)).all():
        return False
    _, before = _axes(tree)
    inner = np.flatnonzero(tree.parent >= 0)
    bond = _unit(tree.com[tree.parent[inner]])
    along = np.abs(np.abs(np.einsum("ni,ni->n", before[inner], bond)) - 1) <= _ROUNDING
    bent = tree.joint_type == Universal.code
    across = np.abs(np.einsum("ni,ni->n", tree.joint_rotation[bent][:, :, 0], _unit(tree.com[bent]))) <= _ROUNDING
    return bool(along.all() and across.all())


class Polymer:
    """Fixman's partition of a polymer in its joints' coordinates: at configuration q, ``blocks(q)``.

    Points are the atoms, then for each root the base's point before it and the one before that, then each joint's axis
    across its bond, where one is needed; all but the atoms have infinite mass, so they never move.
    """

    def __init__(self, robot: Robot) -> None:
        from catena.fixman.point_masses import Family, partition  # brings in SciPy

        self.robot = robot
        tree = robot.tree
        n, parent = tree.n, tree.parent
        self._roots = np.flatnonzero(parent < 0)
        self._bent = np.flatnonzero(tree.joint_type == Universal.code)
        fixed, straight = len(self._roots), np.flatnonzero(tree.joint_type != Universal.code)
        before = parent.copy()
        before[self._roots] = n + np.arange(fixed)
        ends = np.concatenate([before, n + fixed + np.arange(fixed), n + 2 * fixed + np.arange(fixed)])
        second = ends[before]
        third = ends[second]
        atom, axis = np.arange(n), np.empty(n, dtype=np.int64)
        axis[self._bent] = n + 3 * fixed + np.arange(len(self._bent))
        axis[straight] = n + 3 * fixed + len(self._bent) + np.arange(len(straight))
        bends = np.stack([second, before, atom, axis], axis=1)
        torsions = Family(torsion, np.stack([third, second, before, atom], axis=1))
        lengths = Family(distance, np.stack([before, atom], axis=1))
        masses = np.concatenate([tree.mass, np.full(3 * fixed + n, np.inf)])
        self._straight = straight
        self._partition: Partition = partition(
            [torsions, Family(bend, bends[self._bent])], [lengths, Family(bend, bends[straight])], masses
        )
        self._order = np.argsort(np.concatenate([tree.v_start[:-1], tree.v_start[self._bent] + 1]), kind="stable")

    def blocks(self, q: Array) -> Blocks:
        """The blocks of H at one configuration (nq,), soft rows in the order of the joint velocities."""
        tree = self.robot.tree
        R, p = self.robot.placements(q)
        atoms = p + np.einsum("nij,nj->ni", R, tree.com)
        axis, before = _axes(tree)
        world = np.einsum("nij,nj->ni", R, axis)  # of turning joints; fixed in the parent, so before its own bend
        first = np.where((tree.joint_type == Universal.code)[:, None], _first_axis(tree, R, before), world)
        start = p[self._roots]
        behind = start - first[self._roots]
        beside = behind + _across(first[self._roots])
        bends = np.einsum("nij,nj->ni", R[self._bent], tree.joint_rotation[self._bent][:, :, 0])
        bond = atoms - p
        normals = _unit(np.cross(first, bond))[self._straight]
        points = np.concatenate([atoms, start, behind, beside, bends, normals])
        found = self._partition.at(points)
        signs = np.where(np.einsum("ni,ni->n", first, self._incoming(p, points)) < 0, -1.0, 1.0)
        found.soft = found.soft.multiply(np.concatenate([signs, np.ones(len(self._bent))])[:, None]).tocsr()
        found.soft = found.soft[self._order]
        return found

    def _incoming(self, p: Array, points: Array) -> Array:
        """The direction of the bond before each atom."""
        n, fixed = self.robot.tree.n, len(self._roots)
        start = self.robot.tree.parent.copy()
        start[self._roots] = n + fixed + np.arange(fixed)
        inner = self.robot.tree.parent >= 0
        behind = points[start]
        behind[inner] = p[start[inner]]
        return np.asarray(p - behind)


def _axes(tree: Tree) -> tuple[Array, Array]:
    """Each joint's first axis: in its link's frame at joint zero, and in the parent's."""
    axis = tree.joint_rotation[:, :, 2]
    return axis, np.einsum("nij,nj->ni", tree.placement_rotation, axis)


def _first_axis(tree: Tree, R: Array, before: Array) -> Array:
    """First axes of the joints in the base's frame: they move with the parents."""
    turned = np.concatenate([R, np.eye(3)[None]])[tree.parent]  # the base is number -1
    return np.asarray(np.einsum("nij,nj->ni", turned, before))


def _unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


def _across(x: Array) -> Array:
    """A unit vector across each of x."""
    helper = np.where(np.abs(x[:, :1]) < 0.5, np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]]))
    return _unit(np.cross(x, helper))
