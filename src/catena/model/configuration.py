"""Configurations of a whole robot: neutral, random, integrate, difference, by joint type and never joint by joint."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError, shown
from catena.model.joints import JOINT_TYPES, JointType
from catena.model.topology import listed
from catena.model.tree import Tree
from catena.spatial import Dofs

Array = npt.NDArray[Any]

_MOST_DIMENSIONS, _MOST_SAMPLES = 30, 2**40


class Group(NamedTuple):
    """All joints of one type: the places of their coordinates in q, (m, nq), and of their speeds in v, (m, nv)."""

    type: type[JointType]
    q: Array
    v: Array


class Configurations:
    """Functions of the configuration space of one tree. Arrays broadcast: q is (..., nq), v is (..., nv)."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        joint_types = [JOINT_TYPES[joint_type] for joint_type in np.unique(tree.joint_type)]
        self.flat = all(joint_type.flat for joint_type in joint_types)
        self.groups = [self._group(joint_type) for joint_type in joint_types]

    def _group(self, joint_type: type[JointType]) -> Group:
        own = np.diff(self.tree.q_start) > 0  # joints that mimic others have no coordinates
        members = np.flatnonzero((self.tree.joint_type == joint_type.code) & own)
        q = self.tree.q_start[members][:, None] + np.arange(joint_type.nq)
        v = self.tree.v_start[members][:, None] + np.arange(joint_type.nv)
        return Group(joint_type, q, v)

    def neutral(self) -> Array:
        """The configuration in which every joint does nothing, (nq,)."""
        q = np.zeros(self.tree.nq)
        for group in self.groups:
            q[group.q] = group.type.neutral()
        return q

    def random(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Random configurations (*shape, nq) within the limits."""
        q = np.empty((*shape, self.tree.nq))
        for group in self.groups:
            lower, upper = self.tree.lower[group.q], self.tree.upper[group.q]
            q[..., group.q] = group.type.random(rng, lower, upper, shape)
        return q

    def integrate(self, q: npt.ArrayLike, dv: npt.ArrayLike) -> Array:
        """The configurations reached from q by moving with dv for unit time."""
        q, dv = coordinates(q, self.tree.nq, "integrate: q"), coordinates(dv, self.tree.nv, "integrate: dv")
        _agree("integrate", q=q, dv=dv)
        if self.flat:
            return np.asarray(q + dv)
        result = np.empty((*np.broadcast_shapes(q.shape[:-1], dv.shape[:-1]), self.tree.nq), np.result_type(q, dv))
        for group in self.groups:
            result[..., group.q] = on_arrays(group.type.integrate, q[..., group.q], dv[..., group.v])
        return result

    def difference(self, q0: npt.ArrayLike, q1: npt.ArrayLike) -> Array:
        """The constant velocities that lead from q0 to q1 in unit time."""
        q0, q1 = coordinates(q0, self.tree.nq, "difference: q0"), coordinates(q1, self.tree.nq, "difference: q1")
        _agree("difference", q0=q0, q1=q1)
        if self.flat:
            return np.asarray(q1 - q0)
        result = np.empty((*np.broadcast_shapes(q0.shape[:-1], q1.shape[:-1]), self.tree.nv), np.result_type(q0, q1))
        for group in self.groups:
            result[..., group.v] = on_arrays(group.type.difference, q0[..., group.q], q1[..., group.q])
        return result

    def normalize(self, q: npt.ArrayLike) -> Array:
        """q with quaternions of unit length."""
        result: Array = coordinates(q, self.tree.nq, "normalize: q").copy()
        for group in self.groups:
            if not group.type.flat:
                result[..., group.q] = on_arrays(group.type.normalize, result[..., group.q])
        return result


def on_arrays(function: Callable[..., Dofs], *arrays: Array) -> Array:
    """A joint type's function of coordinates or speeds, over arrays whose last axis is theirs; the others broadcast."""
    with np.errstate(all="ignore"):
        results = function(*[Dofs(list(np.moveaxis(array, -1, 0))) for array in arrays])
        return np.stack(np.broadcast_arrays(*results), axis=-1)


def coordinates(value: npt.ArrayLike, size: int, name: str) -> Array:
    """`value` as an array of floats (..., size), float32 kept; ShapeError, which calls it `name`, if it is none."""
    try:
        array = np.asarray(value)
        if array.dtype.kind != "f":
            array = array.astype(float, casting="safe" if array.dtype.kind in "biu" else "same_kind")
    except Exception as error:  # whatever the conversion of somebody's object raises
        raise ShapeError(f"{name} must hold real numbers, got {shown(value)}") from error
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f"{name} must have shape (..., {size}), got {array.shape}")
    return array


def batch_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """`shape` as a tuple of sizes."""
    try:
        sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(size) for size in shape)
    except Exception as error:  # whatever somebody's object raises
        raise ShapeError(f"shape: expected sizes such as () or (1000,), found {shown(shape)}") from error
    if len(sizes) > _MOST_DIMENSIONS or math.prod(sizes) > _MOST_SAMPLES or any(size < 0 for size in sizes):
        raise ShapeError(f"shape: expected few sizes of zero or more, found {listed(sizes)}")
    return sizes


def _agree(question: str, **arrays: Array) -> None:
    try:
        np.broadcast_shapes(*(array.shape[:-1] for array in arrays.values()))
    except ValueError as error:
        given = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ShapeError(f"{question}: the leading dimensions of {given} do not broadcast together") from error
