"""Regrouped inertial parameters: what a joint cannot feel is moved to the parent link.

A body that the joint's own motion neither moves nor turns noticeably, such as a mass m on the axis of a revolute joint with
inertia diag(a, a, 0) about a point of that axis, may as well be fixed to the parent. Moving it there, tip to base, leaves M(q), D(k)
and all joint-space dynamics unchanged and makes m, h_z and I_yy zero on every revolute link.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.model.joints import BY_NAME
from catena.model.tree import Tree

Array = npt.NDArray[Any]


class Inertias(NamedTuple):
    """Mass (n,), first moment (n, 3) and moment of inertia about the frame's origin (n, 3, 3) of each link."""

    m: Array
    h: Array
    I: Array


def regrouped(tree: Tree, R: Array, p: Array, inertias: Inertias) -> Inertias:
    """The inertias after moving, tip to base, what no joint feels; R, p place each internal frame on its parent's."""
    m, h, I = (np.array(x) for x in inertias)
    for i in reversed(range(tree.n)):
        moved = _unfelt(int(tree.kind[i]), m[i], h[i], I[i])
        if moved is None:
            continue
        m[i], h[i], I[i] = m[i] - moved.m, h[i] - moved.h, I[i] - moved.I
        parent = int(tree.parent[i])
        if parent >= 0:
            at = _at_parent(moved, R[i], p[i])
            m[parent], h[parent], I[parent] = m[parent] + at.m, h[parent] + at.h, I[parent] + at.I
    return Inertias(m, h, I)


def _unfelt(kind: int, m: Array, h: Array, I: Array) -> Inertias | None:
    """The part of an inertia that a joint of this kind cannot feel, in the child's frame; None where there is none."""
    zero = np.zeros(3)
    if kind in (BY_NAME["revolute"].code, BY_NAME["continuous"].code):
        return Inertias(m, np.array([0, 0, h[2]]), np.diag([I[1, 1], I[1, 1], 0.0]))
    if kind == BY_NAME["prismatic"].code:
        return Inertias(np.float64(0.0), zero, I.copy())
    if kind == BY_NAME["cylindrical"].code:
        return Inertias(np.float64(0.0), zero, np.diag([I[1, 1], I[1, 1], 0.0]))
    if kind in (BY_NAME["spherical"].code, BY_NAME["universal"].code):
        return Inertias(m, zero, np.zeros((3, 3)))
    return None


def _at_parent(body: Inertias, R: Array, p: Array) -> Inertias:
    """A body's inertia carried from the child's frame to the parent's."""
    m, h = body.m, R @ body.h
    I = R @ body.I @ R.T
    # (p·h + h·p) 1 − p hᵀ − h pᵀ + m (p·p 1 − p pᵀ)
    I = I + (2 * p @ h + m * p @ p) * np.eye(3) - np.outer(p, h) - np.outer(h, p) - m * np.outer(p, p)
    return Inertias(m, h + m * p, I)
