"""Chains that repeat a pattern of links: from where on, how long it is, and shorter chains of the same links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import UnsupportedError
from catena.model.tree import Tree

Array = npt.NDArray[Any]

LONGEST_PATTERN = 12
"""Patterns of at most this many links are looked for."""

LONGEST_START = 6
"""So many links may come before the pattern: a free joint, or a mount."""

_SAMPLE = 4 * LONGEST_PATTERN
"""So many links are compared first, which rules out most patterns."""

_PLACEMENT = ("placement_rotation", "placement_position")
_PER_LINK = ("joint_type", *_PLACEMENT, "joint_rotation", "pitch", "mass", "com", "inertia")


class Pattern(NamedTuple):
    """From link `start` on, a chain repeats itself every `period` links, the placement of link `start` aside."""

    start: int
    period: int


def pattern_of(tree: Tree) -> Pattern:
    """The pattern of a serial chain; UnsupportedError if it has none."""
    if tree.n < 2 or not np.array_equal(tree.parent, np.arange(-1, tree.n - 1)):
        raise UnsupportedError("only a serial chain of two links or more can be cut into pieces one after the other")
    for start in range(LONGEST_START + 1):
        for period in range(1, min(LONGEST_PATTERN, (tree.n - start) // 2) + 1):
            if _repeats(tree, start, period, start + _SAMPLE) and _repeats(tree, start, period, tree.n):
                return Pattern(start, period)
    raise UnsupportedError(
        f"a chain can be cut into equal pieces if it repeats a pattern of at most {LONGEST_PATTERN} links, after at "
        f"most {LONGEST_START} others; this one does not"
    )


def _repeats(tree: Tree, start: int, period: int, stop: int) -> bool:
    stop = min(stop, tree.n)
    for name in _PER_LINK:
        column = getattr(tree, name)
        first = start + int(name in _PLACEMENT)
        if column.strides[0] and not np.array_equal(column[first + period : stop], column[first : stop - period]):
            return False
    rows = tree.armature[tree.v_start[start] : tree.v_start[stop]]
    shift = int(tree.v_start[start + period] - tree.v_start[start])
    return bool(np.array_equal(rows[shift:], rows[: len(rows) - shift]))


def part_of(tree: Tree, pattern: Pattern, length: int) -> Tree:
    """Links like those of the pattern, `length` of them, on a base that stands for the link before them.

    The base's frame is that link's joint frame, the one in which kernels compute when no other is chosen.
    """
    start = min(pattern.start + pattern.period, tree.n - pattern.period)
    part = _links(tree, start + np.arange(length) % pattern.period)
    before = tree.joint_rotation[start + pattern.period - 1]
    if np.array_equal(before, np.eye(3)):
        return part
    placement = {name: getattr(part, name).copy() for name in _PLACEMENT}
    for column in placement.values():
        column[0] = before.T @ column[0]
    return replace(part, **placement)


def first_links(tree: Tree, length: int) -> Tree:
    """The first links of a chain, `length` of them."""
    return _links(tree, np.arange(length))


def _links(tree: Tree, order: Array) -> Tree:
    """A chain of some links of another: as much of them as their dynamics need."""
    nq, nv = (np.diff(x)[order] for x in (tree.q_start, tree.v_start))
    q_start, v_start = (np.concatenate([[0], np.cumsum(x)]) for x in (nq, nv))
    per_q, per_v = (np.broadcast_to(np.inf, (int(x[-1]),)) for x in (q_start, v_start))
    own = np.repeat(tree.v_start[order] - v_start[:-1], nv) + np.arange(int(v_start[-1]))
    changes: dict[str, Any] = {name: _picked(getattr(tree, name), order) for name in _PER_LINK}
    length = len(order)
    changes.update(parent=np.arange(-1, length - 1), q_start=q_start, v_start=v_start, lower=-per_q, upper=per_q)
    changes.update(dict.fromkeys(("velocity_limit", "effort_limit"), per_v))
    changes.update(dict.fromkeys(("damping", "friction", "stiffness", "rest"), np.broadcast_to(0.0, per_v.shape)))
    changes.update(armature=tree.armature[own], frames={}, mimic={}, meshes={})
    changes.update(link_names=tree.link_names[:length], joint_names=tree.joint_names[:length])
    return replace(tree, **changes)


def _picked(column: Array, order: Array) -> Array:
    if column.strides[0] == 0:
        return np.broadcast_to(column[0], (len(order), *column.shape[1:]))
    return column[order]
