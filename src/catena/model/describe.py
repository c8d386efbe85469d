"""A robot as readable text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.tree import Tree
from catena.model.views import JointView

LINES = 60


def summary(tree: Tree) -> str:
    """One line: name, sizes and mass."""
    joints = "1 joint" if tree.n == 1 else f"{tree.n:,} joints"
    return f"{tree.name}: {joints}, nq = {tree.nq:,}, nv = {tree.nv:,}, {float(tree.mass.sum()):.6g} kg moving"


def text(tree: Tree, lines: int = LINES) -> str:
    """The tree, one joint and its link a line, at most `lines` of them. A chain does not indent, a branch does."""
    rows = list(islice(_rows(tree), min(lines, tree.n)))
    body = [f"{margin}{_joint(tree, i)}" for margin, i in rows]
    if len(rows) < tree.n:
        body.append(f"… and {tree.n - len(rows):,} more")
    fixed = [name for name, frame in tree.frames.items() if frame.link < 0]
    base = f"{tree.base_name}  ({', '.join(fixed[:5])}{', …' if len(fixed) > 5 else ''})" if fixed else tree.base_name
    return "\n".join([summary(tree), base, *body])


def _rows(tree: Tree) -> Iterator[tuple[str, int]]:
    """The links, depth first, each with what stands before it."""
    order = np.argsort(tree.parent, kind="stable")
    first = np.searchsorted(tree.parent[order], np.arange(-1, tree.n + 1))
    waiting = _children(order, first, -1, "")
    while waiting:
        margin, below, i = waiting.pop()
        yield margin, i
        waiting.extend(_children(order, first, i, below))


def _children(order: npt.NDArray[Any], first: npt.NDArray[Any], link: int, below: str) -> list[tuple[str, str, int]]:
    """Margin, margin of what hangs on it, and number of each child of `link`, last child first."""
    children = order[first[link + 1] : first[link + 2]].tolist()
    if len(children) == 1 and link >= 0:
        return [(below, below, children[0])]
    last = [(f"{below}└─ ", f"{below}   ", i) for i in children[-1:]]
    return last + [(f"{below}├─ ", f"{below}│  ", i) for i in reversed(children[:-1])]


def _joint(tree: Tree, i: int) -> str:
    joint = JointView(tree, i)
    axis = "" if joint.axis is None else f" {_axis(joint.axis)}"
    limits = ""
    if joint.type not in ("spherical", "free") and np.isfinite([joint.lower, joint.upper]).any():
        limits = f" [{_number(joint.lower)}, {_number(joint.upper)}]"
    follows = f", mimics {tree.mimic[joint.name].master}" if joint.v_slice.start == joint.v_slice.stop else ""
    return f"{joint.name}: {joint.type}{axis}{limits}{follows} → {joint.child}, {float(tree.mass[i]):.4g} kg"


def _axis(axis: npt.NDArray[Any]) -> str:
    for letter, unit in zip("xyz", np.eye(3), strict=True):
        if np.array_equal(np.abs(axis), unit):
            return f"{'-' if axis.sum() < 0 else ''}{letter}"
    return "(" + ", ".join(f"{x:.3g}" for x in axis) + ")"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "(" + ", ".join(f"{x:.4g}" for x in value) + ")"
