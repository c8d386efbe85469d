"""Who hangs on whom: names checked, the root found, links put in order base to tip. No recursion, O(n)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from catena.errors import ModelError, shown
from catena.model.parts import JointPart, LinkPart, Parts


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
    joint_of, parent_of = [-1] * len(links), [-1] * len(links)
    parents, children = _ends(joints, number)
    for j, (parent, child) in enumerate(zip(parents, children, strict=True)):
        if joint_of[child] >= 0:
            joint = joints[j]
            raise ModelError(
                f"link {joint.child!r} closes a loop: joints {joints[joint_of[child]].name!r} and {joint.name!r} both "
                "have it as child; a robot is a tree, every link has one parent: remove one of the joints",
                link=joint.child,
                joint=joint.name,
            )
        joint_of[child], parent_of[child] = j, parent
    root = _root(names, joint_of)
    return Topology(_depth_first(names, root, parents, children), joint_of, parent_of)


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


def _ends(joints: Parts[JointPart], number: dict[str, int]) -> list[list[int]]:
    """The numbers of all joints' parents, and of their children."""
    roles = "parent", "child"
    try:
        return [list(map(number.__getitem__, joints.column(role))) for role in roles]
    except (KeyError, TypeError):
        ends = [[_known(joint, role, number) for role in roles] for joint in joints]
        return [list(column) for column in zip(*ends, strict=True)]


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


def _depth_first(links: Sequence[str], root: int, parents: Sequence[int], children: Sequence[int]) -> list[int]:
    first, after = [-1] * len(links), [-1] * len(links)  # of each link: its first child, and the next one of its parent
    for parent, child in zip(reversed(parents), reversed(children), strict=True):
        first[parent], after[child] = child, first[parent]
    order, waiting = [], [root]
    while waiting:
        link = waiting.pop()
        order.append(link)
        if after[link] >= 0:
            waiting.append(after[link])
        if first[link] >= 0:
            waiting.append(first[link])
    if len(order) < len(links):
        lost = sorted(set(range(len(links))) - set(order))
        names = [links[i] for i in lost]
        raise ModelError(
            f"links {listed(names)} form a loop that is not connected to the root {links[root]!r}; "
            "a robot is a tree: remove a joint of the loop and connect it",
            link=names[0],
        )
    return order
