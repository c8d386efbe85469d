"""Who hangs on whom: names checked, the root found, links put in order base to tip. No recursion, O(n)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from catena.errors import ModelError
from catena.model.parts import JointPart, LinkPart


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
    return ", ".join(map(repr, islice(names, limit))) + more


def arrange(links: Sequence[LinkPart], joints: Sequence[JointPart]) -> Topology:
    """The order of the links; ModelError for duplicated or unknown names, loops, no root or several."""
    number = _numbered("link", [link.name for link in links])
    _numbered("joint", [joint.name for joint in joints])
    if not links:
        raise ModelError("a robot needs at least one link, found none; add the link that is its base")
    joint_of, parent_of = [-1] * len(links), [-1] * len(links)
    children: list[list[int]] = [[] for _ in links]
    for j, (parent, child) in enumerate(_ends(joints, number)):
        if joint_of[child] >= 0:
            joint = joints[j]
            raise ModelError(
                f"link {joint.child!r} closes a loop: joints {joints[joint_of[child]].name!r} and {joint.name!r} both "
                "have it as child; a robot is a tree, every link has one parent: remove one of the joints",
                link=joint.child,
                joint=joint.name,
            )
        joint_of[child], parent_of[child] = j, parent
        children[parent].append(child)
    root = _root(links, joint_of)
    return Topology(_depth_first(links, root, children), joint_of, parent_of)


def _numbered(what: str, names: Sequence[str]) -> dict[str, int]:
    if set(map(type, names)) <= {str}:
        number = dict(zip(names, range(len(names)), strict=True))
        if len(number) == len(names) and "" not in number:
            return number
    number = {}
    for i, name in enumerate(names):
        culprit = {what: str(name)}
        if not isinstance(name, str) or not name:
            raise ModelError(f"{what} number {i} needs a name, a non-empty string; found {name!r}", **culprit)
        if name in number:
            raise ModelError(f"two {what}s are named {name!r}; names must be unique: rename one", **culprit)
        number[name] = i
    return number


def _ends(joints: Sequence[JointPart], number: dict[str, int]) -> list[tuple[int, int]]:
    """The numbers of each joint's parent and child."""
    try:
        return [(number[joint.parent], number[joint.child]) for joint in joints]
    except (KeyError, TypeError):
        return [(_known(joint, "parent", number), _known(joint, "child", number)) for joint in joints]


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


def _root(links: Sequence[LinkPart], joint_of: Sequence[int]) -> int:
    roots = [i for i, joint in enumerate(joint_of) if joint < 0]
    if len(roots) == 1:
        return roots[0]
    if roots:
        names = [links[i].name for i in roots]
        raise ModelError(
            f"a robot has one root link, found {len(roots)} links that no joint carries: {listed(names)}; "
            "connect all but one of them to the others by joints",
            link=names[1],
        )
    raise ModelError(
        f"a robot has one root link, found none: {listed(x.name for x in links)} carry each other in a loop; "
        "remove a joint of the loop",
        link=links[0].name,
    )


def _depth_first(links: Sequence[LinkPart], root: int, children: Sequence[Sequence[int]]) -> list[int]:
    order, waiting = [], [root]
    while waiting:
        link = waiting.pop()
        order.append(link)
        waiting.extend(reversed(children[link]))
    if len(order) < len(links):
        lost = sorted(set(range(len(links))) - set(order))
        names = [links[i].name for i in lost]
        raise ModelError(
            f"links {listed(names)} form a loop that is not connected to the root {links[root].name!r}; "
            "a robot is a tree: remove a joint of the loop and connect it",
            link=names[0],
        )
    return order
