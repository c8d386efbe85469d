"""Who hangs on whom: names checked, the root found, links put in order base to tip. No recursion, O(n)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, shown
from catena.model.parts import JointPart, LinkPart, Parts

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Topology:
    """The links by index, depth first from the root: `order[0]` is the root; `joint[i]`, `parent[i]` are -1 for it."""

    order: list[int]
    joint: list[int]  # of each link: the joint that carries it
    parent: list[int]  # of each link: the link that carries that joint


def listed(names: Iterable[object], limit: int = 4) -> str:
    """A few names, quoted, for a message."""
    names = list(names)
    more = f" and {len(names) - limit} others" if len(names) > limit else ""
    return ", ".join(map(shown, islice(names, limit))) + more


def arrange(links: Parts[LinkPart], joints: Parts[JointPart]) -> Topology:
    """The order of the links; ModelError for duplicated or unknown names, loops, no root or several."""
    names = links.column("name")
    number = _numbered("link", names)
    _numbered("joint", joints.column("name"))
    if not names:
        raise ModelError("a robot needs at least one link, found none; add the link that is its base")
    joint_of, parent_of = np.full((2, len(links)), -1)
    parents, children = _ends(joints, number)
    joint_of[children] = np.arange(len(children))
    parent_of[children] = parents
    again = np.flatnonzero(joint_of[children] != np.arange(len(children)))
    if len(again):
        raise _loop(joints, children, int(children[again[0]]))
    root = _root(names, joint_of.tolist())
    return Topology(_depth_first(names, root, parents, children), joint_of.tolist(), parent_of.tolist())


def _loop(joints: Parts[JointPart], children: Array, child: int) -> ModelError:
    """The error for a link that several joints have as child."""
    first, joint = (joints[int(j)] for j in np.flatnonzero(children == child)[:2])
    return ModelError(
        f"link {joint.child!r} closes a loop: joints {first.name!r} and {joint.name!r} both "
        "have it as child; a robot is a tree, every link has one parent: remove one of the joints",
        link=joint.child,
        joint=joint.name,
    )


def _numbered(what: str, names: Sequence[str]) -> dict[str, int]:
    if set(map(type, names)) <= {str}:
        number = dict(zip(names, range(len(names)), strict=True))
        if len(number) == len(names) and "" not in number:
            return number
    number = {}
    for i, name in enumerate(names):
        culprit = {what: str(name)}
        if not isinstance(name, str) or not name:
            raise ModelError(f"{what} number {i} needs a name, a non-empty string; found {shown(name)}", **culprit)
        if name in number:
            raise ModelError(f"two {what}s are named {name!r}; names must be unique: rename one", **culprit)
        number[name] = i
    return number


def _ends(joints: Parts[JointPart], number: dict[str, int]) -> Array:
    """The numbers of all joints' parents, and of their children: (2, joints)."""
    roles = "parent", "child"
    try:
        ends = [list(map(number.__getitem__, joints.column(role))) for role in roles]
    except (KeyError, TypeError):
        ends = [[_known(joint, role, number) for joint in joints] for role in roles]
    return np.array(ends, dtype=np.int64).reshape(2, len(joints))


def _known(joint: JointPart, role: str, number: dict[str, int]) -> int:
    name = getattr(joint, role)
    try:
        return number[name]
    except (KeyError, TypeError):
        from difflib import get_close_matches

        close = get_close_matches(str(name), islice(number, 10_000), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "add that link or correct the name"
        message = f"joint {joint.name!r} has the {role} link {name!r}, which does not exist; {hint}"
        raise ModelError(message, joint=joint.name, link=str(name)) from None


def _root(links: Sequence[str], joint_of: Sequence[int]) -> int:
    roots = [i for i, joint in enumerate(joint_of) if joint < 0]
    if len(roots) == 1:
        return roots[0]
    if roots:
        names = [links[i] for i in roots]
        raise ModelError(
            f"a robot has one root link, found {len(roots)} links that no joint carries: {listed(names)}; "
            "connect all but one of them to the others by joints",
            link=names[1],
        )
    raise ModelError(
        f"a robot has one root link, found none: {listed(links)} carry each other in a loop; "
        "remove a joint of the loop",
        link=links[0],
    )


def _depth_first(links: Sequence[str], root: int, parents: Array, children: Array) -> list[int]:
    first, after = _first_and_next(len(links), parents, children)
    order, waiting, link = list[int](), list[int](), root
    while link >= 0:
        order.append(link)
        if after[link] >= 0:
            waiting.append(after[link])
        link = first[link]
        if link < 0 and waiting:
            link = waiting.pop()
    if len(order) < len(links):
        lost = sorted(set(range(len(links))) - set(order))
        names = [links[i] for i in lost]
        raise ModelError(
            f"links {listed(names)} form a loop that is not connected to the root {links[root]!r}; "
            "a robot is a tree: remove a joint of the loop and connect it",
            link=names[0],
        )
    return order


def _first_and_next(links: int, parents: Array, children: Array) -> list[list[int]]:
    """Of each link: its first child, and the next child of its parent; -1 if there is none."""
    first, after = np.full((2, links), -1)
    by_parent = np.argsort(parents, kind="stable")
    parent, child = parents[by_parent], children[by_parent]
    same = parent[1:] == parent[:-1]
    after[child[:-1][same]] = child[1:][same]
    leading = np.concatenate([[True], ~same])[: len(parent)]
    first[parent[leading]] = child[leading]
    return [first.tolist(), after.tolist()]
