"""Long runs of links in trees, the patterns that they repeat, and where they are cut into pieces of equal length."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import SingularError, UnsupportedError
from catena.model.joints import SCREWS, AnyScrew, Continuous, Helical, Prismatic, Revolute
from catena.model.singular import check_invertible
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


class Run(NamedTuple):
    """Links `start` to `stop` - 1, each of which hangs on the one before, which carries no other."""

    start: int
    stop: int

    @property
    def length(self) -> int:
        """How many links these are."""
        return self.stop - self.start


class Pattern(NamedTuple):
    """From link `start` on, a run repeats itself every `period` links.

    If they are `alike`, in all numbers, the placement of link `start` aside; otherwise in the types of joints. If it is
    `mixed`, even these repeat themselves only with one type for all that turn about z or slide along z.
    """

    start: int
    period: int
    alike: bool
    mixed: bool = False


class Cut(NamedTuple):
    """Links `start` to `stop` - 1 in pieces of equal length, which are `alike` if they have the same numbers.

    If not, they are like all of those `among` which they are in the kinds of links.
    """

    start: int
    stop: int
    pieces: int
    alike: bool
    among: Run

    @property
    def length(self) -> int:
        """How many links a piece has."""
        return (self.stop - self.start) // self.pieces


def runs_of(tree: Tree) -> list[Run]:
    """The runs that a tree is made of, in the order of their links; each is as long as can be."""
    children = np.bincount(tree.parent + 1, minlength=tree.n + 1)
    number = np.arange(tree.n)
    on = (tree.parent == number - 1) & (number > 0) & (children[:-1] == 1)
    return _parted(np.flatnonzero(~on), tree.n)


def stretches_of(tree: Tree, run: Run) -> list[Run]:
    """A run taken apart into stretches of links on joints that turn about z or slide along z, and on all others."""
    one = np.isin(tree.joint_type[run.start : run.stop], SCREWS)
    return _parted(run.start + np.concatenate([[0], np.flatnonzero(one[1:] != one[:-1]) + 1]), run.stop)


def _parted(starts: Array, stop: int) -> list[Run]:
    ends = [*starts.tolist(), stop]
    return [Run(*pair) for pair in pairwise(ends)]


def pattern_of(tree: Tree, run: Run) -> Pattern:
    """The pattern of a run; UnsupportedError if it has none, or none between whose repetitions it could be cut.

    What is cut off must not be singular by itself.
    """
    kinds = np.where(tree.joint_type == Continuous.code, np.int8(Revolute.code), tree.joint_type)
    fault = (
        f"expected types of joints that repeat a pattern of at most {LONGEST_PATTERN} links, after at most "
        f"{LONGEST_START} others; found none"
    )
    for alike, any_screw in ((True, False), (False, False), (False, True)):
        for start in range(run.start, min(run.start + LONGEST_START + 1, run.stop)):
            period = _period(tree, _merged(kinds) if any_screw else kinds, start, run.stop, alike)
            if period is None:
                continue
            try:
                check_invertible(links_of(tree, start, start + period))
            except SingularError as error:
                fault = str(error)
            else:
                return Pattern(start, period, alike, any_screw)
    raise UnsupportedError(f"this chain cannot be cut into equal pieces: {fault}")


def _period(tree: Tree, kinds: Array, start: int, stop: int, alike: bool) -> int | None:
    """After how many links a run repeats itself from link `start` on, in all numbers or in kinds of links."""
    for period in range(1, min(LONGEST_PATTERN, (stop - start) // 2) + 1):
        ends = [min(start + _SAMPLE, stop), stop]
        if all(_repeats(tree, start, period, end) if alike else _same(kinds, start, period, end) for end in ends):
            return period
    return None


def _same(column: Array, start: int, period: int, stop: int) -> bool:
    return bool(np.array_equal(column[start + period : stop], column[start : stop - period]))


def _repeats(tree: Tree, start: int, period: int, stop: int) -> bool:
    for name in _PER_LINK:
        column = getattr(tree, name)
        if column.strides[0] and not _same(column, start + int(name in _PLACEMENT), period, stop):
            return False
    rows = tree.armature[tree.v_start[start] : tree.v_start[stop]]
    shift = int(tree.v_start[start + period] - tree.v_start[start])
    return bool(np.array_equal(rows[shift:], rows[: len(rows) - shift]))


def cuts_of(run: Run, pattern: Pattern, pieces: int, first: int) -> list[Cut]:
    """A run as what comes before link `first`, so many equal pieces from there on, and what is left."""
    stop = first + (run.stop - first) // pieces // pattern.period * pattern.period * pieces
    head, rest = Run(run.start, first), Run(first, run.stop)
    cuts = [
        Cut(*head, 1, False, head),
        Cut(first, stop, pieces, pattern.alike, rest),
        Cut(stop, run.stop, 1, pattern.alike, rest),
    ]
    return [cut for cut in cuts if cut.stop > cut.start]


def part_of(tree: Tree, pattern: Pattern, length: int) -> Tree:
    """Links like those of the pattern, `length` of them, on a base that stands for the link before them."""
    start = pattern.start + pattern.period
    part = _links(tree, start + np.arange(length) % pattern.period)
    return _on(part, tree.joint_rotation[start + pattern.period - 1])


def links_of(tree: Tree, start: int, stop: int) -> Tree:
    """Some links of a run, on a base that stands for the link before them."""
    part, parent = _links(tree, np.arange(start, stop)), int(tree.parent[start])
    return part if parent < 0 else _on(part, tree.joint_rotation[parent])


def _on(part: Tree, before: Array) -> Tree:
    """The same on a base whose frame is the joint frame of the link before: kernels compute in it if they choose none.

    `before` is the rotation of that frame.
    """
    if np.array_equal(before, np.eye(3)):
        return part
    placement = {name: getattr(part, name).copy() for name in _PLACEMENT}
    for column in placement.values():
        column[0] = before.T @ column[0]
    return replace(part, **placement)


def mixed(part: Tree) -> Tree:
    """The same with one type for all joints that turn about z or slide along z: for kernels, and for nothing else."""
    kinds = part.joint_type
    pitch = np.where(kinds == Prismatic.code, np.inf, np.where(kinds == Helical.code, part.pitch, 0.0))
    return replace(part, joint_type=_merged(kinds), pitch=pitch)


def _merged(kinds: Array) -> Array:
    """Types of joints, with one for all that turn about z or slide along z."""
    return np.where(np.isin(kinds, SCREWS), kinds.dtype.type(AnyScrew.code), kinds)


def linked(tree: Tree, parent: Array) -> Tree:
    """So many links as there are parents, which are all alike: somewhere to put numbers for each."""
    return replace(_links(tree, np.zeros(len(parent), dtype=np.int64)), parent=parent)


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
    changes.update(armature=tree.armature[own], frames={}, mimic={}, meshes={}, strain=np.broadcast_to(0.0, length))
    changes.update(link_names=tree.link_names[:length], joint_names=tree.joint_names[:length])
    return replace(tree, **changes)


def _picked(column: Array, order: Array) -> Array:
    if column.strides[0] == 0:
        return np.broadcast_to(column[0], (len(order), *column.shape[1:]))
    return column[order]
