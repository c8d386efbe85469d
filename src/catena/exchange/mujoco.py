"""States in MuJoCo's conventions.

MuJoCo's quaternions begin with w. A free joint has its position first; its linear velocity, acceleration and force are
along the world's axes, and the acceleration is that of the point, R (v̇ + ω × v), where ours is v̇ in the body's axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.scalars import having
from catena.errors import UnsupportedError
from catena.exchange.states import Array, Joined, State, empty, taken
from catena.functions.recipes import times
from catena.model.lie import quaternion_normalized, rotation_matrix

if TYPE_CHECKING:
    from catena.robot import Robot

KINDS = ("free", "ball", "number", "number")  # mjtJoint
SIZES = ((7, 6), (4, 3), (1, 1), (1, 1))
LAST_FIRST, FIRST_LAST = np.r_[3, 0:3], np.r_[1:4, 0]
"""From x, y, z, w to w, x, y, z, and back."""


def to_mujoco(robot: Robot, model: Any, given: State) -> State:
    """From our arrays to those of an MjModel of the same robot."""
    _check("to_mujoco", model)
    ours = taken("to_mujoco", robot.nq, robot.nv, given)
    theirs = empty(ours, model.nq, model.nv)
    for joint in _joined(robot, model):
        q = ours.q[..., joint.q_here]
        theirs.q[..., joint.q_there] = _reordered(q, joint.kind, LAST_FIRST)
        parts = [None if x is None else x[..., joint.v_here] for x in ours[1:]]
        if joint.kind == "free":
            parts = _to_world(rotation_matrix(quaternion_normalized(q[..., 3:])), *parts)
        _put(theirs, joint.v_there, parts)
    return theirs


def from_mujoco(robot: Robot, model: Any, given: State) -> State:
    """From arrays of an MjModel of the same robot to ours."""
    _check("from_mujoco", model)
    theirs = taken("from_mujoco", model.nq, model.nv, given)
    ours = empty(theirs, robot.nq, robot.nv)
    for joint in _joined(robot, model):
        q = ours.q[..., joint.q_here] = _reordered(theirs.q[..., joint.q_there], joint.kind, FIRST_LAST)
        parts = [None if x is None else x[..., joint.v_there] for x in theirs[1:]]
        if joint.kind == "free":
            parts = _to_body(rotation_matrix(quaternion_normalized(q[..., 3:])), *parts)
        _put(ours, joint.v_here, parts)
    return ours


def _check(question: str, model: Any) -> None:
    having(question, "a mujoco.MjModel", model, "nq", "nv", "njnt", "jnt_type", "joint")


def _joined(robot: Robot, model: Any) -> list[Joined]:
    """Each joint of the model beside the robot's of the same name; a free one beside that of the same link."""
    ours, found = {joint.name: joint for joint in robot.joints}, []
    free = [joint for joint in robot.joints if joint.type == "free"]
    for i in range(model.njnt):
        kind, (nq, nv) = KINDS[model.jnt_type[i]], SIZES[model.jnt_type[i]]
        joint = ours.get(model.joint(i).name or f"joint{i}")
        if joint is None and kind == "free" and len(free) == 1:
            joint = free[0]
        if joint is None or joint.v_slice.stop - joint.v_slice.start != nv:
            raise UnsupportedError(
                f"MuJoCo's joint {model.joint(i).name!r} ({kind}) is not one of {robot.name!r}, whose joints are "
                f"{', '.join(map(repr, ours))}; load both from the same file, with the same base"
            )
        q, v = int(model.jnt_qposadr[i]), int(model.jnt_dofadr[i])
        found.append(Joined(kind, joint.q_slice, joint.v_slice, slice(q, q + nq), slice(v, v + nv)))
    if model.nv != robot.nv:
        raise UnsupportedError(
            f"MuJoCo's model has {model.nv} degrees of freedom and {robot.name!r} has {robot.nv}; load both from the "
            "same file, with the same base"
        )
    return found


def _reordered(q: Array, kind: str, order: Array) -> Array:
    if kind == "free":
        return np.concatenate([q[..., :3], q[..., 3:][..., order]], axis=-1)
    return q[..., order] if kind == "ball" else q


def _put(state: State, where: slice, parts: list[Array | None]) -> None:
    for x, part in zip(state[1:], parts, strict=True):
        if x is not None and part is not None:
            x[..., where] = part


def _to_world(R: Array, v: Array | None, a: Array | None, tau: Array | None) -> list[Array | None]:
    """(ω, v), (ω̇, v̇) and (moment, force) in the body's axes, as MuJoCo has them."""
    if a is not None:
        a = np.concatenate([a[..., :3], a[..., 3:] + _turning(v)], axis=-1)
    return [None if x is None else np.concatenate([times(R, x[..., 3:]), x[..., :3]], axis=-1) for x in (v, a, tau)]


def _to_body(R: Array, v: Array | None, a: Array | None, tau: Array | None) -> list[Array | None]:
    """The way back."""
    Rt = np.swapaxes(R, -1, -2)
    found = [None if x is None else np.concatenate([x[..., 3:], times(Rt, x[..., :3])], axis=-1) for x in (v, a, tau)]
    velocity, acceleration, _ = found
    if acceleration is not None:
        acceleration[..., 3:] -= _turning(velocity)
    return found


def _turning(v: Array | None) -> Array:
    """ω × v of a free joint: by how much the acceleration of its point is more than v̇ in the body's axes."""
    if v is None:
        raise UnsupportedError("accelerations of a free joint depend on its velocity: give v along with a")
    return np.cross(v[..., :3], v[..., 3:])
