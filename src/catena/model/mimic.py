"""Joints that mimic others, eliminated: they have no coordinates of their own, and follow those of their leaders.

A follower moves as q = ratio · q_leader + offset, whatever chain of rules leads to its leader. In coordinates,
q_full = G q + o and v_full = G v with one number in each row of G, so that torques are Gᵀ τ_full and the mass matrix is
Gᵀ M G. What joints have of their own (rotors, damping, springs) stays diagonal, and is felt at the leaders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, UnsupportedError
from catena.model.constraints import Coupling
from catena.model.joints import JOINT_TYPES
from catena.model.topology import listed
from catena.model.tree import Tree

Array = npt.NDArray[Any]

WORDS = ("eliminated", "independent")
"""What may become of mimic joints when a file is loaded."""

_Q = {"lower": -np.inf, "upper": np.inf}
_V = {
    "velocity_limit": np.inf,
    "effort_limit": np.inf,
    "damping": 0.0,
    "friction": 0.0,
    "armature": 0.0,
    "stiffness": 0.0,
    "rest": 0.0,
}
"""What a follower has in the whole tree: nothing of its own."""


class Follows(NamedTuple):
    """How a joint follows another: q = ratio · q_leader + offset."""

    leader: int
    ratio: float
    offset: float


@dataclass(frozen=True, eq=False)
class Followers:
    """The joints of a tree that have no coordinates of their own, and the `whole` tree, in which all have some.

    Coordinate i of the whole tree is q_ratio[i] · q[q_source[i]] + q_offset[i], speed i is v_ratio[i] · v[v_source[i]];
    q_own and v_own are the places of the tree's own coordinates and speeds among them.
    """

    rules: dict[int, Follows]
    whole: Tree
    q_source: Array
    q_ratio: Array
    q_offset: Array
    v_source: Array
    v_ratio: Array
    q_own: Array
    v_own: Array


def followers(tree: Tree) -> Followers | None:
    """The followers of a tree, found once; None if all joints have coordinates of their own."""
    return tree.once("followers", lambda: _found(tree)) if tree.mimic else None


def whole_tree(tree: Tree) -> Tree:
    """The tree with coordinates of its own for every joint."""
    found = followers(tree)
    return tree if found is None else found.whole


def refuse_followers(tree: Tree, what: str) -> None:
    """UnsupportedError, which names a joint, where something does not serve joints without coordinates."""
    found = followers(tree)
    if found is not None:
        joint, (leader, _, _) = next(iter(found.rules.items()))
        raise UnsupportedError(
            f"{what} does not serve mimic joints, and joint {tree.joint_names[joint]!r} mimics "
            f"{tree.joint_names[leader]!r}; load the robot with mimic='independent'"
        )


def couplings(tree: Tree) -> Iterator[Coupling]:
    """Couplings for the joints that mimic others; those that mimic nothing that moves have been warned of."""
    known = set(tree.joint_names) if tree.mimic else set()
    for joint, rule in tree.mimic.items():
        if rule.master in known:
            follows = {rule.master: -rule.multiplier} if rule.multiplier else {}
            yield Coupling({joint: 1.0, **follows}, rule.offset, name=f"mimic {joint}")


def eliminated(tree: Tree) -> Tree:
    """The tree with the joints that mimic others as followers; those that mimic nothing that moves stay as they are.

    Leaders feel what their followers have: armature and damping times ratio², friction times |ratio|, springs added up.
    Their limits are those within which all followers keep theirs. Cost: O(n).
    """
    number = {name: i for i, name in enumerate(tree.joint_names)} if tree.mimic else {}
    rules = {number[name]: number[rule.master] for name, rule in tree.mimic.items() if rule.master in number}
    if not rules or followers(tree) is not None:
        return tree
    for joint in {*rules, *rules.values()}:
        kind = JOINT_TYPES[tree.joint_type[joint]]
        if kind.nv != 1:
            name = tree.joint_names[joint]
            raise ModelError(
                f"joint {name!r} mimics or is mimicked, and is {kind.name}: expected joints of one degree of freedom; "
                "load with mimic='independent'",
                joint=name,
            )
    follows = {joint: _resolved(tree, number, joint) for joint in rules}
    own = np.ones(tree.n, dtype=bool)
    own[list(follows)] = False
    changed, notes = _felt(tree, follows)
    strain = changed.pop("strain")
    starts: dict[str, Any] = {}
    for start in ("q_start", "v_start"):
        sizes = np.diff(getattr(tree, start)) * own
        starts[start] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        owner = np.repeat(np.arange(tree.n), np.diff(getattr(tree, start)))
        for field in _Q if start == "q_start" else _V:
            changed[field] = changed.get(field, getattr(tree, field))[own[owner]]
    return replace(tree, **starts, **changed, strain=strain, warnings=(*tree.warnings, *notes))


def _resolved(tree: Tree, number: dict[str, int], joint: int) -> Follows:
    """Who leads a joint in the end, through a chain of rules."""
    ratio, offset, seen = 1.0, 0.0, [joint]
    while (rule := tree.mimic.get(tree.joint_names[joint])) is not None and rule.master in number:
        ratio, offset = ratio * rule.multiplier, ratio * rule.offset + offset
        joint = number[rule.master]
        if joint in seen:
            names = [tree.joint_names[i] for i in seen[seen.index(joint) :]]
            raise ModelError(f"joints that mimic each other in a circle: {listed(names)}", joint=names[0])
        seen.append(joint)
    if not (np.isfinite(ratio * ratio) and np.isfinite(offset)):
        name = tree.joint_names[seen[0]]
        raise ModelError(
            f"joint {name!r} mimics another: expected finite numbers, found {ratio} and {offset}", joint=name
        )
    return Follows(joint, ratio, offset)


def _felt(tree: Tree, follows: dict[int, Follows]) -> tuple[dict[str, Any], list[str]]:
    """What leaders have with their followers, in the order of all joints; and notes about limits that exclude."""
    new = {field: np.array(getattr(tree, field)) for field in (*_Q, *_V, "strain")}
    empty = []
    for joint, (leader, ratio, offset) in follows.items():
        i, k, l, m = tree.v_start[joint], tree.v_start[leader], tree.q_start[joint], tree.q_start[leader]
        for field, factor in (("armature", ratio * ratio), ("damping", ratio * ratio), ("friction", abs(ratio))):
            new[field][k] += factor * float(getattr(tree, field)[i])
        new["strain"][leader] += _add_spring(tree, new, i, k, ratio, offset)
        if ratio == 0:
            continue
        new["velocity_limit"][k] = min(new["velocity_limit"][k], float(tree.velocity_limit[i]) / abs(ratio))
        lower, upper = sorted((float(limit[l]) - offset) / ratio for limit in (tree.lower, tree.upper))
        lower, upper = max(new["lower"][m], lower), min(new["upper"][m], upper)
        if lower > upper:
            empty.append(tree.joint_names[joint])
        elif JOINT_TYPES[tree.joint_type[leader]].name != "continuous":
            new["lower"][m], new["upper"][m] = lower, upper
    notes = [f"mimic joints whose limits their leaders cannot keep, left out: {listed(empty)}"] if empty else []
    return new, notes


def _add_spring(tree: Tree, new: dict[str, Array], i: int, k: int, ratio: float, offset: float) -> float:
    """Add the spring of speed i, stiffness (rest − ratio q − offset), to that of the leader's speed k.

    Two springs that are slack at different places, a and b, hold energy wherever the leader is: their sum is one spring
    and ½ (a − b)² times their stiffness in series, which is given back. One that does not move holds all of it.
    """
    given, stiffness = float(tree.stiffness[i]), float(tree.stiffness[i]) * ratio * ratio
    if not stiffness:
        return 0.5 * given * (float(tree.rest[i]) - offset) ** 2
    before, rest, slack = float(new["stiffness"][k]), float(new["rest"][k]), (tree.rest[i] - offset) / ratio
    total = before + stiffness
    new["stiffness"][k], new["rest"][k] = total, (before * rest + stiffness * slack) / total
    return 0.5 * before * (stiffness / total) * float(rest - slack) ** 2


def _found(tree: Tree) -> Followers | None:
    sizes = np.array([JOINT_TYPES[kind].nv for kind in tree.joint_type.tolist()], dtype=np.int64)
    missing = np.flatnonzero(np.diff(tree.v_start) != sizes).tolist()
    if not missing:
        return None
    number = {name: i for i, name in enumerate(tree.joint_names)}
    rules = {joint: _resolved(tree, number, joint) for joint in missing}
    for joint, (leader, _, _) in rules.items():
        if leader == joint or leader in rules:
            name = tree.joint_names[joint]
            raise ModelError(
                f"joint {name!r} has no coordinates of its own, and what it mimics is no joint of this robot; keep "
                "both together, or load with mimic='independent'",
                joint=name,
            )
    fields: dict[str, Any] = {}
    maps: dict[str, Array] = {}
    for letter, given, nothing in (("q", tree.q_start, _Q), ("v", tree.v_start, _V)):
        count = [getattr(JOINT_TYPES[kind], f"n{letter}") for kind in tree.joint_type.tolist()]
        start = np.concatenate([[0], np.cumsum(count, dtype=np.int64)]).astype(np.int64)
        source, ratio, offset = np.zeros(start[-1], dtype=np.int64), np.ones(start[-1]), np.zeros(start[-1])
        own = np.ones(start[-1], dtype=bool)
        own[start[missing]] = False
        source[own] = np.arange(given[-1])
        for joint, follows in rules.items():
            source[start[joint]] = given[follows.leader]
            ratio[start[joint]], offset[start[joint]] = follows.ratio, follows.offset
        maps |= {f"{letter}_source": source, f"{letter}_ratio": ratio, f"{letter}_own": np.flatnonzero(own)}
        maps |= {"q_offset": offset} if letter == "q" else {}
        fields[f"{letter}_start"] = start
        for field, value in nothing.items():
            fields[field] = np.full(start[-1], value)
            fields[field][own] = getattr(tree, field)
    return Followers(rules, replace(tree, **fields), **maps)
