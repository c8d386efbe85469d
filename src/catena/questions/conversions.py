"""The part of Robot that turns states and torques into those of other engines, and back.

Joints go by their names. What differs: the order of joints and of a free joint's speeds, quaternions, the axes in which
a free joint's speed is given, and angles that are pairs (cos, sin).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.errors import ShapeError, UnknownNameError, UnsupportedError
from catena.model.lie import quaternion_normalized, rotation_matrix
from catena.model.tree import Tree
from catena.model.views import JointView, Views

Array = npt.NDArray[Any]
Change = Callable[[Array], Array]

FREE, BALL = 0, 1  # mjtJoint


class JointState(NamedTuple):
    """Configurations q (..., nq), velocities v, accelerations a, torques tau (..., nv); None if they were not given."""

    q: Array
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None


class _Pair(NamedTuple):
    """One joint here and there: where its coordinates and speeds are."""

    joint: JointView
    q: slice
    v: slice


class Conversions:
    """Conversions of states and torques to Pinocchio and MuJoCo, and back; arrays broadcast over leading dimensions."""

    __slots__ = ()

    tree: Tree

    def to_pinocchio(
        self,
        model: Any,
        q: npt.ArrayLike,
        v: npt.ArrayLike | None = None,
        a: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
    ) -> JointState:
        """A state of this robot as Pinocchio has it, for a model of the same robot.

            theirs = robot.to_pinocchio(model, q, v, tau=tau)
            pin.aba(model, data, theirs.q, theirs.v, theirs.tau)

        Args:
            model: a `pinocchio.Model` with joints of the same names.
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv).
            tau: joint torques, (..., nv).

        Returns:
            q, v, a and tau in Pinocchio's order and conventions.
        """
        pairs = list(_in_pinocchio(self.tree, model))
        given = _given(self.tree, q, v, a, tau)
        theirs = _empty(given, model.nq, model.nv)
        for joint, there, speeds in pairs:
            own = given.q[..., joint.q_slice]
            width = there.stop - there.start
            if width == own.shape[-1] + 1:  # the last angle is a pair
                own = np.concatenate([own[..., :-1], np.cos(own[..., -1:]), np.sin(own[..., -1:])], axis=-1)
            theirs.q[..., there] = own
            _copied(given, theirs, joint.v_slice, speeds, _swapped if joint.type == "free" else None)
        return theirs

    def from_pinocchio(
        self,
        model: Any,
        q: npt.ArrayLike,
        v: npt.ArrayLike | None = None,
        a: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
    ) -> JointState:
        """A state of Pinocchio as this robot has it; the way back of `to_pinocchio`.

        Args:
            model: a `pinocchio.Model` with joints of the same names.
            q: Pinocchio's configurations, (..., model.nq).
            v: Pinocchio's velocities, (..., model.nv).
            a: Pinocchio's accelerations, (..., model.nv).
            tau: Pinocchio's torques, (..., model.nv).

        Returns:
            q, v, a and tau in this robot's order and conventions.
        """
        theirs = _given(model, q, v, a, tau)
        ours = _empty(theirs, self.tree.nq, self.tree.nv)
        for joint, there, speeds in _in_pinocchio(self.tree, model):
            found = theirs.q[..., there]
            if found.shape[-1] == joint.q_slice.stop - joint.q_slice.start + 1:
                angle = np.arctan2(found[..., -1:], found[..., -2:-1])
                found = np.concatenate([found[..., :-2], angle], axis=-1)
            ours.q[..., joint.q_slice] = found
            _copied(theirs, ours, speeds, joint.v_slice, _swapped if joint.type == "free" else None)
        return ours

    def to_mujoco(
        self,
        model: Any,
        q: npt.ArrayLike,
        v: npt.ArrayLike | None = None,
        a: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
    ) -> JointState:
        """A state of this robot as MuJoCo has it, for a model of the same robot.

            theirs = robot.to_mujoco(model, q, v)
            data.qpos, data.qvel = theirs.q, theirs.v

        Args:
            model: a `mujoco.MjModel` with joints of the same names, such as the one that `catena.load` was given.
            q: configurations, (..., nq).
            v: joint velocities, (..., nv).
            a: joint accelerations, (..., nv); where a joint is free they need v.
            tau: joint torques, (..., nv).

        Returns:
            qpos, qvel, qacc and qfrc as MuJoCo has them.
        """
        given = _given(self.tree, q, v, a, tau)
        theirs = _empty(given, model.nq, model.nv)
        for joint, there, speeds in _in_mujoco(self.tree, model):
            own = given.q[..., joint.q_slice]
            theirs.q[..., there] = _w_first(own)
            turn = _turn(own) if joint.type == "free" else None
            _copied(given, theirs, joint.v_slice, speeds, None if turn is None else _into_world(turn))
            if turn is not None and given.a is not None and theirs.a is not None:
                w, moved = np.split(_speeds(given, joint.v_slice), 2, axis=-1)
                extra = _applied(turn, np.cross(w, moved))
                theirs.a[..., speeds.start : speeds.start + 3] += extra
        return theirs

    def from_mujoco(
        self,
        model: Any,
        q: npt.ArrayLike,
        v: npt.ArrayLike | None = None,
        a: npt.ArrayLike | None = None,
        tau: npt.ArrayLike | None = None,
    ) -> JointState:
        """A state of MuJoCo as this robot has it; the way back of `to_mujoco`.

        Args:
            model: a `mujoco.MjModel` with joints of the same names.
            q: MuJoCo's qpos, (..., model.nq).
            v: MuJoCo's qvel, (..., model.nv).
            a: MuJoCo's qacc, (..., model.nv); where a joint is free it needs v.
            tau: forces such as MuJoCo's qfrc_applied, (..., model.nv).

        Returns:
            q, v, a and tau in this robot's order and conventions.
        """
        theirs = _given(model, q, v, a, tau)
        ours = _empty(theirs, self.tree.nq, self.tree.nv)
        for joint, there, speeds in _in_mujoco(self.tree, model):
            own = _w_last(theirs.q[..., there])
            ours.q[..., joint.q_slice] = own
            turn = np.swapaxes(_turn(own), -1, -2) if joint.type == "free" else None
            _copied(theirs, ours, speeds, joint.v_slice, None if turn is None else _into_body(turn))
            if turn is not None and ours.a is not None:
                w, moved = np.split(_speeds(ours, joint.v_slice), 2, axis=-1)
                ours.a[..., joint.v_slice.start + 3 : joint.v_slice.stop] -= np.cross(w, moved)
        return ours


def _in_pinocchio(tree: Tree, model: Any) -> Iterator[_Pair]:
    for joint in Views(JointView, tree):
        if not model.existJointName(joint.name):
            raise UnknownNameError.among("joint of Pinocchio's model", joint.name, list(model.names))
        there = model.joints[model.getJointId(joint.name)]
        _check_sizes(joint, there.nq, there.nv, angles_as_pairs=True)
        yield _Pair(joint, slice(there.idx_q, there.idx_q + there.nq), slice(there.idx_v, there.idx_v + there.nv))


def _in_mujoco(tree: Tree, model: Any) -> Iterator[_Pair]:
    names = [model.joint(i).name or f"joint{i}" for i in range(model.njnt)]
    for joint in Views(JointView, tree):
        if joint.name not in names:
            raise UnknownNameError.among("joint of MuJoCo's model", joint.name, names)
        number = names.index(joint.name)
        kind = int(model.jnt_type[number])
        nq, nv = {FREE: (7, 6), BALL: (4, 3)}.get(kind, (1, 1))
        _check_sizes(joint, nq, nv, angles_as_pairs=False)
        q, v = int(model.jnt_qposadr[number]), int(model.jnt_dofadr[number])
        yield _Pair(joint, slice(q, q + nq), slice(v, v + nv))


def _check_sizes(joint: JointView, nq: int, nv: int, angles_as_pairs: bool) -> None:
    own = joint.q_slice.stop - joint.q_slice.start, joint.v_slice.stop - joint.v_slice.start
    pair = angles_as_pairs and joint.type in ("revolute", "continuous", "planar") and (nq - 1, nv) == own
    if (nq, nv) != own and not pair:
        raise UnsupportedError(
            f"joint {joint.name!r} is {joint.type} here, with {own[0]} coordinates and {own[1]} speeds, but has {nq} "
            f"and {nv} in the other model; make both from the same file"
        )


def _given(sizes: Any, q: Any, v: Any, a: Any, tau: Any) -> JointState:
    """The arrays as float64, their shapes checked and leading dimensions made the same."""
    nq, nv = (sizes.nq, sizes.nv)
    found = {name: np.asarray(x, float) for name, x in (("q", q), ("v", v), ("a", a), ("tau", tau)) if x is not None}
    for name, x in found.items():
        size = nq if name == "q" else nv
        if x.ndim < 1 or x.shape[-1] != size:
            raise ShapeError(f"{name} must have shape (..., {size}), got {x.shape}")
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in found.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in found.items())
        raise ShapeError(f"leading dimensions do not fit together: {shapes}") from None
    return JointState(**{name: np.broadcast_to(x, (*batch, x.shape[-1])) for name, x in found.items()})


def _empty(like: JointState, nq: int, nv: int) -> JointState:
    """Arrays of zeros for a state with the same entries."""
    batch = like.q.shape[:-1]
    return JointState(np.zeros((*batch, nq)), *(None if x is None else np.zeros((*batch, nv)) for x in like[1:]))


def _copied(start: JointState, end: JointState, here: slice, there: slice, change: Change | None) -> None:
    """Copy velocities, accelerations and torques of one joint, changed on the way."""
    for source, target in zip(start[1:], end[1:], strict=True):
        if source is not None and target is not None:
            part = source[..., here]
            target[..., there] = part if change is None else change(part)


def _swapped(x: Array) -> Array:
    """Linear before angular, or the other way round."""
    return np.concatenate([x[..., 3:], x[..., :3]], axis=-1)


def _into_world(turn: Array) -> Change:
    return lambda x: np.concatenate([_applied(turn, x[..., 3:]), x[..., :3]], axis=-1)


def _into_body(turn: Array) -> Change:
    return lambda x: np.concatenate([x[..., 3:], _applied(turn, x[..., :3])], axis=-1)


def _applied(turn: Array, x: Array) -> Array:
    return np.asarray((turn @ x[..., None])[..., 0])


def _speeds(state: JointState, place: slice) -> Array:
    if state.v is None:
        raise ShapeError("accelerations of a free joint depend on its velocity there: give v, too")
    return state.v[..., place]


def _turn(q: Array) -> Array:
    """The rotation matrices (..., 3, 3) of a free joint."""
    return rotation_matrix(quaternion_normalized(q[..., 3:]))


def _w_first(q: Array) -> Array:
    """A quaternion x, y, z, w at the end of q as w, x, y, z; other coordinates as they are."""
    if q.shape[-1] < 4:
        return q
    return np.concatenate([q[..., :-4], q[..., -1:], q[..., -4:-1]], axis=-1)


def _w_last(q: Array) -> Array:
    if q.shape[-1] < 4:
        return q
    return np.concatenate([q[..., :-4], q[..., -3:], q[..., -4:-3]], axis=-1)
