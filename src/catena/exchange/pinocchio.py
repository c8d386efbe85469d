"""States in Pinocchio's conventions.

Pinocchio orders joints in its own way, has linear speeds before angular ones in a free joint, and the cosine and sine
of an angle where a joint turns without limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.scalars import having
from catena.errors import UnsupportedError
from catena.exchange.states import Joined, State, empty, taken

if TYPE_CHECKING:
    from catena.robot import Robot

SWAPPED = np.r_[3:6, 0:3]
"""Angular before linear, and back."""

KINDS = {
    (1, 1): "number",
    (2, 1): "cosine and sine",
    (7, 6): "free",
    (4, 3): "ball",
}


def to_pinocchio(robot: Robot, model: Any, given: State) -> State:
    """From our arrays to those of a Pinocchio model of the same robot."""
    _check("to_pinocchio", model)
    ours = taken("to_pinocchio", robot.nq, robot.nv, given)
    theirs = empty(ours, model.nq, model.nv)
    for joint in _joined(robot, model):
        q = ours.q[..., joint.q_here]
        theirs.q[..., joint.q_there] = _with_cosines(q, joint.kind)
        for x, y in zip(ours[1:], theirs[1:], strict=True):
            if x is not None and y is not None:
                y[..., joint.v_there] = _speeds(x[..., joint.v_here], joint.kind)
    return theirs


def from_pinocchio(robot: Robot, model: Any, given: State) -> State:
    """From arrays of a Pinocchio model of the same robot to ours."""
    _check("from_pinocchio", model)
    theirs = taken("from_pinocchio", model.nq, model.nv, given)
    ours = empty(theirs, robot.nq, robot.nv)
    for joint in _joined(robot, model):
        ours.q[..., joint.q_here] = _with_angles(theirs.q[..., joint.q_there], joint.kind)
        for x, y in zip(theirs[1:], ours[1:], strict=True):
            if x is not None and y is not None:
                y[..., joint.v_here] = _speeds(x[..., joint.v_there], joint.kind)
    return ours


def _check(question: str, model: Any) -> None:
    having(question, "a pinocchio.Model", model, "nq", "nv", "names", "joints", "idx_qs")


def _joined(robot: Robot, model: Any) -> list[Joined]:
    """Each joint of the robot beside the model's of the same name."""
    found, missing, mimic = [], [], robot.tree.mimic
    names = {name: i for i, name in enumerate(model.names)}
    for ours in robot.joints:
        if ours.name not in names:
            missing.append(ours.name)
            continue
        theirs, speeds = model.joints[names[ours.name]], ours.v_slice.stop - ours.v_slice.start
        if speeds == theirs.nv == 0:  # both follow their leaders
            continue
        kind = "planar" if "Planar" in theirs.shortname() else KINDS.get((theirs.nq, theirs.nv), "")
        if not kind or speeds != theirs.nv:
            hint = (
                "; build that with mimic=True, or load the robot with mimic='independent'" if ours.name in mimic else ""
            )
            raise UnsupportedError(
                f"joint {ours.name!r} is {theirs.shortname()} with {theirs.nv} speeds in Pinocchio's model and has "
                f"{speeds} here: expected the same joint in both{hint}"
            )
        q, v = slice(theirs.idx_q, theirs.idx_q + theirs.nq), slice(theirs.idx_v, theirs.idx_v + theirs.nv)
        found.append(Joined(kind, ours.q_slice, ours.v_slice, q, v))
    if missing or sum(j.v_there.stop - j.v_there.start for j in found) != model.nv:
        raise UnsupportedError(
            f"Pinocchio's model is not that of {robot.name!r}: it has {model.nv} degrees of freedom, {robot.nv} here; "
            f"joints that it lacks: {', '.join(missing) or 'none'}; load both from the same file, with the same base"
        )
    return found


def _speeds(x: Any, kind: str) -> Any:
    return x[..., SWAPPED] if kind == "free" else x


def _with_cosines(q: Any, kind: str) -> Any:
    if kind == "cosine and sine":
        return np.concatenate([np.cos(q), np.sin(q)], axis=-1)
    if kind == "planar":
        return np.concatenate([q[..., :2], np.cos(q[..., 2:]), np.sin(q[..., 2:])], axis=-1)
    return q


def _with_angles(q: Any, kind: str) -> Any:
    if kind == "cosine and sine":
        return np.arctan2(q[..., 1:], q[..., :1])
    if kind == "planar":
        return np.concatenate([q[..., :2], np.arctan2(q[..., 3:], q[..., 2:3])], axis=-1)
    return q
