"""Chains that repeat a pattern of links: how long it is, and shorter chains of the same links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import UnsupportedError
from catena.model.tree import Tree

Array = npt.NDArray[Any]

LONGEST_PATTERN = 12
"""Patterns of at most this many links are looked for."""

_PLACEMENT = ("placement_rotation", "placement_position")
_PER_LINK = ("joint_type", *_PLACEMENT, "joint_rotation", "pitch", "mass", "com", "inertia")


def pattern_of(tree: Tree) -> int:
    """After how many links a serial chain repeats itself, its first placement aside; UnsupportedError if never."""
    if tree.n < 2 or not np.array_equal(tree.parent, np.arange(-1, tree.n - 1)):
        raise UnsupportedError("only a serial chain of two links or more can be cut into pieces one after the other")
    for period in range(1, min(LONGEST_PATTERN, tree.n // 2) + 1):
        if _repeats(tree, period):
            return period
    raise UnsupportedError(
        f"a chain can be cut into equal pieces if it repeats a pattern of at most {LONGEST_PATTERN} links; this one "
        "does not"
    )


def _repeats(tree: Tree, period: int) -> bool:
    for name in _PER_LINK:
        column = getattr(tree, name)
        skip = int(name in _PLACEMENT)
        if column.strides[0] and not np.array_equal(column[skip + period :], column[skip:-period]):
            return False
    start = int(tree.v_start[period])
    return bool(np.array_equal(tree.armature[start:], tree.armature[: tree.nv - start]))


def part_of(tree: Tree, pattern: int, length: int) -> Tree:
    """Links like those from `pattern` on, `length` of them, on a base that stands for the link before them.

    The base's frame is that link's joint frame, the one in which kernels compute when no other is chosen.
    """
    start = min(pattern, tree.n - pattern)
    order = start + np.arange(length) % pattern
    nq, nv = (np.diff(x)[order] for x in (tree.q_start, tree.v_start))
    q_start, v_start = (np.concatenate([[0], np.cumsum(x)]) for x in (nq, nv))
    per_q, per_v = (np.broadcast_to(np.inf, (int(x[-1]),)) for x in (q_start, v_start))
    armature = tree.armature[tree.v_start[start] : tree.v_start[start + pattern]]
    changes: dict[str, Any] = {name: _picked(getattr(tree, name), order) for name in _PER_LINK}
    before = tree.joint_rotation[start + pattern - 1]
    if not np.array_equal(before, np.eye(3)):
        for name in _PLACEMENT:
            changes[name] = changes[name].copy()
            changes[name][0] = before.T @ changes[name][0]
    changes.update(parent=np.arange(-1, length - 1), q_start=q_start, v_start=v_start, lower=-per_q, upper=per_q)
    changes.update(dict.fromkeys(("velocity_limit", "effort_limit"), per_v))
    changes.update(dict.fromkeys(("damping", "friction", "stiffness", "rest"), np.broadcast_to(0.0, per_v.shape)))
    changes.update(armature=np.resize(armature, len(per_v)), frames={}, mimic={}, meshes={})
    changes.update(link_names=tree.link_names[:length], joint_names=tree.joint_names[:length])
    return replace(tree, **changes)


def _picked(column: Array, order: Array) -> Array:
    if column.strides[0] == 0:
        return np.broadcast_to(column[0], (len(order), *column.shape[1:]))
    return column[order]
