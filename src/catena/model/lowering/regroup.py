"""Regrouped inertial parameters: what a joint cannot feel is moved to the parent link.

A body that the joint's own motion neither moves nor turns noticeably, such as a mass m on the axis of a revolute joint
with inertia diag(a, a, 0) about a point of that axis, may as well be fixed to the parent. Moving it there, tip to base,
leaves M(q), D(k) and all joint-space dynamics unchanged and makes m, h_z and I_yy zero on every revolute link.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.model.joints import BY_NAME, JOINT_TYPES
from catena.model.tree import Tree
from catena.spatial import Dofs

Array = npt.NDArray[Any]

_ROUNDING = 1e-12
_SOMEWHERE = 0.7  # a coordinate at which no joint is special


class Inertias(NamedTuple):
    """Mass (n,), first moment (n, 3) and moment of inertia about the frame's origin (n, 3, 3) of each link."""

    m: Array
    h: Array
    I: Array


AMPLIFIED = 30.0
"""How many times larger a link's inertia about its joint may become: so many times larger may rounding errors be."""


def regrouped(tree: Tree, R: Array, p: Array, inertias: Inertias) -> Inertias:
    """The inertias after moving, tip to base, what no joint feels; R, p place each internal frame on its parent's.

    A parent with little inertia of its own about its joint does not take in what its children offer: its joint feels
    the difference of what it took in and what its children then take back, and small differences of large numbers cost
    digits.
    """
    m, h, I = (np.array(x) for x in inertias)
    children: list[list[int]] = [[] for _ in range(tree.n)]
    for i, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            children[parent].append(i)
    for k in reversed(range(tree.n)):
        moved = [_unfelt(int(tree.joint_type[i]), m[i], h[i], I[i]) for i in children[k]]
        parts = [_at_parent(part, R[i], p[i]) for part, i in zip(moved, children[k], strict=True)]
        own = Inertias(m[k], h[k], I[k])
        total = Inertias(*[sum(bodies) for bodies in zip(own, *parts, strict=True)])
        if not parts or _amplification(int(tree.joint_type[k]), own, total) > AMPLIFIED:
            continue
        m[k], h[k], I[k] = total
        for part, i in zip(moved, children[k], strict=True):
            m[i], h[i], I[i] = m[i] - part.m, h[i] - part.h, I[i] - part.I
    for i in np.flatnonzero(tree.parent < 0).tolist():  # what the base takes in, nobody feels
        part = _unfelt(int(tree.joint_type[i]), m[i], h[i], I[i])
        m[i], h[i], I[i] = m[i] - part.m, h[i] - part.h, I[i] - part.I
    return Inertias(m, h, I)


def _amplification(joint_type: int, own: Inertias, total: Inertias) -> float:
    """The largest factor by which the inertia that a joint of this type feels would grow."""
    H = JOINT_TYPES[joint_type].axes(Dofs([_SOMEWHERE] * JOINT_TYPES[joint_type].nq), 0.0)
    columns = np.array([column.components for column in H.columns], dtype=float)
    before, after = (columns @ _matrix(body) @ columns.T for body in (own, total))
    values, vectors = np.linalg.eigh(before)
    if values[0] <= _ROUNDING * max(values[-1], np.abs(after).max()):
        return np.inf
    scaled = vectors / np.sqrt(values)
    return float(np.linalg.eigvalsh(scaled.T @ after @ scaled)[-1])


def _matrix(body: Inertias) -> Array:
    """A rigid inertia as a 6 x 6 matrix."""
    skew = np.cross(np.eye(3), body.h).T
    return np.block([[body.I, skew], [skew.T, body.m * np.eye(3)]])


def _unfelt(joint_type: int, m: Array, h: Array, I: Array) -> Inertias:
    """The part of an inertia that a joint of this type cannot feel, in the child's frame."""
    zero = np.zeros(3)
    if joint_type in (BY_NAME["revolute"].code, BY_NAME["continuous"].code):
        return Inertias(m, np.array([0, 0, h[2]]), np.diag([I[1, 1], I[1, 1], 0.0]))
    if joint_type == BY_NAME["prismatic"].code:
        return Inertias(np.float64(0.0), zero, I.copy())
    if joint_type == BY_NAME["cylindrical"].code:
        return Inertias(np.float64(0.0), zero, np.diag([I[1, 1], I[1, 1], 0.0]))
    if joint_type in (BY_NAME["spherical"].code, BY_NAME["universal"].code):
        return Inertias(m, zero, np.zeros((3, 3)))
    return Inertias(np.float64(0.0), zero, np.zeros((3, 3)))


def _at_parent(body: Inertias, R: Array, p: Array) -> Inertias:
    """A body's inertia carried from the child's frame to the parent's."""
    m, h = body.m, R @ body.h
    I = R @ body.I @ R.T
    # (p·h + h·p) 1 − p hᵀ − h pᵀ + m (p·p 1 − p pᵀ)
    I = I + (2 * p @ h + m * p @ p) * np.eye(3) - np.outer(p, h) - np.outer(h, p) - m * np.outer(p, p)
    return Inertias(m, h + m * p, I)
