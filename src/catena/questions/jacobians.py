"""The part of Robot that answers about one link, frame or point: where it is, and how joints move it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.kinematics import (
    FRAMES,
    JOINT_AXES,
    LINK_ACCELERATIONS,
    WRENCH_TORQUES,
    Place,
    UnrolledPlace,
)
from catena.asking import ask, components, delivered, is_rolled, one_of, quick, serve_at_once, stacked
from catena.errors import ShapeError
from catena.kinds import Function
from catena.model.placement import snapped
from catena.model.reference import LinkLike, link_name
from catena.questions.kinematics import Kinematics, Placements
from catena.spatial import Force, Mat3, Motion, Transform, Turn, Vec3
from catena.spatial.pose import Pose
from catena.wrenches import wrenches

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]
_FLOAT64 = np.float64


class Jacobians(Kinematics):
    """Questions about one link or frame.

    `link` is its name (of a link, a link merged by a fixed joint, or the base), its number in `robot.links`, or one of
    these. `point` moves its origin to a point of the body, (..., 3) in m in the frame's own axes. `frame`, `out` and
    `dtype` are as in :class:`~catena.questions.kinematics.Kinematics`.
    """

    _jacobians: Mapping[tuple[str, str], Callable[[npt.ArrayLike], Array]] = {}

    def placement(
        self,
        q: npt.ArrayLike,
        link: LinkLike,
        point: npt.ArrayLike | None = None,
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Placements:
        """Rotation (..., 3, 3) and origin (..., 3) of one link or frame in the base's frame."""
        robot, link = self._robot, link_name(self._robot.tree, link)
        function = None if is_rolled(robot, shape) else _function(robot, "pose", link, "link", point)
        if function is not None:
            return Placements(*ask(robot, function, *_given(q, point=point), out=out, dtype=dtype))
        place = place_of(robot, link, "link")
        X = self._carrier(q, place, dtype, shape).then(place.target(_point(point)))
        batch = np.broadcast_shapes(_batch(robot, q), np.shape(point)[:-1] if point is not None else ())
        rotation = stacked([np.broadcast_to(x, batch) for x in X.R]).reshape(*batch, 3, 3).astype(dtype, copy=False)
        position = stacked([np.broadcast_to(x, batch) for x in X.p]).astype(dtype, copy=False)
        outs = out or (None, None)
        return Placements(delivered(rotation, outs[0]), delivered(position, outs[1]))

    def jacobian(
        self,
        q: npt.ArrayLike,
        link: LinkLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """J(q), (..., 6, nv): the spatial velocity of a link or frame is J v. Cost: its depth."""
        if point is None and out is None and shape is None and dtype is _FLOAT64 and isinstance(link, str):
            found = self._jacobians.get((link, frame))
            if found is not None:
                return found(q)
        robot, link = self._robot, link_name(self._robot.tree, link)
        function = None if is_rolled(robot, shape) else _function(robot, "jacobian", link, frame, point)
        if function is not None:
            if point is None and shape is None:
                fast = robot.__dict__.setdefault("_jacobians", {})[link, frame] = quick(robot, function)
                if frame == "link" and type(self).jacobian is Jacobians.jacobian:
                    serve_at_once(self, "jacobian", link, fast)
            return cast(Array, ask(robot, function, *_given(q, point=point), out=out, dtype=dtype))
        place = place_of(robot, link, frame)
        if place.link >= 0:
            return self._rolled_jacobian(q, place, point, out, dtype)
        batch = np.broadcast_shapes(_batch(robot, q), np.shape(point)[:-1] if point is not None else ())
        return delivered(np.zeros((*batch, 6, robot.nv), dtype), out)

    def jacobian_times(
        self,
        q: npt.ArrayLike,
        link: LinkLike,
        x: npt.ArrayLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """J x, (..., 6), without forming J: the velocity of a link or frame when joints move with x."""
        robot, link = self._robot, link_name(self._robot.tree, link)
        function = None if is_rolled(robot, shape) else _function(robot, "velocity", link, frame, point)
        if function is not None:
            return cast(Array, ask(robot, function, *_given(q, x, point=point), out=out, dtype=dtype))
        place = place_of(robot, link, frame)
        V = Motion.zero()
        if place.link >= 0:
            V = Motion.of(components(self.link_velocities(q, x, dtype=dtype, shape=shape)[..., place.link, :]))
        found = place.velocity_of(self._carrier(q, place, dtype, shape), V, _point(point))
        return _full(robot, found, q, x, point, out, dtype)

    def jacobian_transpose_times(
        self,
        q: npt.ArrayLike,
        link: LinkLike,
        f: npt.ArrayLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """Jᵀ f, (..., nv), without forming J: joint torques that amount to a wrench (moment, force), (..., 6)."""
        robot, link = self._robot, link_name(self._robot.tree, link)
        function = None if is_rolled(robot, shape) else _function(robot, "transpose_times", link, frame, point)
        if function is not None:
            return cast(Array, ask(robot, function, *_given(q, f, point=point), out=out, dtype=dtype))
        place = place_of(robot, link, frame)
        wrench = self._in_link(q, place, np.asarray(f, dtype=float), point, dtype, shape)
        f_ext = wrenches(robot, {place.link if place.link >= 0 else link: wrench})
        return cast(Array, ask(robot, WRENCH_TORQUES, q, f_ext, out=out, dtype=dtype, shape=shape))

    def jacobian_dot_v(
        self,
        q: npt.ArrayLike,
        link: LinkLike,
        v: npt.ArrayLike,
        point: npt.ArrayLike | None = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """J̇ v, (..., 6): the acceleration of a link or frame at zero joint accelerations; see `link_accelerations`."""
        robot, link = self._robot, link_name(self._robot.tree, link)
        function = None if is_rolled(robot, shape) else _function(robot, "bias_acceleration", link, frame, point)
        if function is not None:
            return cast(Array, ask(robot, function, *_given(q, v, point=point), out=out, dtype=dtype))
        place = place_of(robot, link, frame)
        V = A = Motion.zero()
        if place.link >= 0:
            V = Motion.of(components(self.link_velocities(q, v, dtype=dtype, shape=shape)[..., place.link, :]))
            rates = ask(robot, LINK_ACCELERATIONS["link"], q, v, dtype=dtype, shape=shape or "rolled")
            A = Motion.of(components(rates[..., place.link, :]))
        found = place.acceleration_of(self._carrier(q, place, dtype, shape), V, A, _point(point))
        return _full(robot, found, q, v, point, out, dtype)

    def _carrier(self, q: npt.ArrayLike, place: Place, dtype: npt.DTypeLike, shape: str | None) -> Pose:
        """The pose of the link that carries a frame, over arrays."""
        if place.link < 0:
            return Pose.identity()
        R, p = self.placements(q, dtype=dtype, shape=shape)
        return Pose(Mat3(*components(R[..., place.link, :, :], 2)), Vec3(*components(p[..., place.link, :])))

    def _in_link(
        self, q: npt.ArrayLike, place: Place, f: Array, point: npt.ArrayLike | None, dtype: Any, shape: str | None
    ) -> Array:
        """A wrench on a frame, given in place.frame, in the frame of the link that carries it."""
        at, wrench = place.target(_point(point)), Force.of(components(f))
        if place.frame == "link":
            return stacked((at @ wrench).components)
        X = self._carrier(q, place, dtype, shape)
        X_at = X.then(at)
        if place.frame == "mixed":
            turned = Force(X_at.R.T @ wrench.angular, X_at.R.T @ wrench.linear)
            return stacked((at @ turned).components)
        moment = wrench.angular - X.p.cross(wrench.linear)
        return stacked([*(X.R.T @ moment), *(X.R.T @ wrench.linear)])

    def _rolled_jacobian(
        self, q: npt.ArrayLike, place: Place, point: npt.ArrayLike | None, out: Array | None, dtype: npt.DTypeLike
    ) -> Array:
        """From the axes of all joints in the base's frame, those of the joints between the link and the base."""
        robot = self._robot
        axes = ask(robot, JOINT_AXES, q, dtype=dtype, shape="rolled")
        X = self._carrier(q, place, dtype, "rolled").then(place.target(_point(point)))
        start = robot.tree.v_start
        on_path = [j for k in _path(robot.tree.parent, place.link) for j in range(start[k], start[k + 1])]
        spread = Pose(Mat3(*[_wide(x) for x in X.R]), Vec3(*[_wide(x) for x in X.p]))
        columns = Motion.of(components(axes[..., on_path, :]))
        if place.frame == "mixed":
            columns = Motion(columns.angular, columns.linear + columns.angular.cross(spread.p))
        elif place.frame == "link":
            columns = spread.motion_in(columns)
        found = np.stack(np.broadcast_arrays(*columns.components), axis=-2)
        J = np.zeros((*found.shape[:-1], robot.nv), dtype)
        J[..., on_path] = found
        return delivered(J, out)


def _path(parent: Array, link: int) -> list[int]:
    """The numbers of the links from the base to `link`."""
    found = []
    while link >= 0:
        found.append(link)
        link = int(parent[link])
    return found[::-1]


def place_of(robot: Robot, link: str, frame: str, kind: Callable[..., Place] = Place) -> Place:
    """Where the frame of that name is, as a transform from the link that carries it."""
    one_of("frame", frame, FRAMES)
    at = robot.frame(link)
    turn, shift = snapped(np.asarray(at.rotation)), np.asarray(at.position)
    stages = Transform.shift(Vec3(*shift.tolist()))
    if not np.array_equal(turn, np.eye(3)):
        stages = stages.then(Transform.of(Turn(Mat3(*turn.ravel().tolist()))))
    return kind(at.link, stages, frame)


_QUESTIONS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "pose": ({"q": "q"}, {"rotation": "dense:3,3", "position": "dense:3"}),
    "jacobian": ({"q": "q"}, {"J": "dense:6,nv"}),
    "velocity": ({"q": "q", "v": "v"}, {"V": "dense:6"}),
    "bias_acceleration": ({"q": "q", "v": "v"}, {"A": "dense:6"}),
    "transpose_times": ({"q": "q", "f": "robot:6"}, {"tau": "dense:nv"}),
}
"""What can be asked about one frame in unrolled kernels: methods of UnrolledPlace, with their arrays."""


def _function(robot: Robot, question: str, link: str, frame: str, point: Any) -> Function | None:
    """The function that answers a question about one frame in unrolled kernels; None for a frame of the base."""
    known = robot.__dict__.setdefault("_questions", {})
    key = question, link, frame, point is None
    if key not in known:
        place, (inputs, outputs) = place_of(robot, link, frame, UnrolledPlace), _QUESTIONS[question]
        name = f"{question}/{frame}/{link}"
        if point is not None:
            inputs, name = {**inputs, "point": "robot:3"}, f"{name}+point"
        known[key] = None if place.link < 0 else Function(name, getattr(place, question), inputs, outputs)
    return cast("Function | None", known[key])


def _given(*arrays: npt.ArrayLike, point: npt.ArrayLike | None) -> tuple[npt.ArrayLike, ...]:
    return arrays if point is None else (*arrays, point)


def _point(point: npt.ArrayLike | None) -> list[Any] | None:
    if point is None:
        return None
    array = np.asarray(point, dtype=float)
    if array.shape[-1:] != (3,):
        raise ShapeError(f"point must have shape (..., 3), got {array.shape}")
    return components(array)


def _batch(robot: Robot, q: npt.ArrayLike) -> tuple[int, ...]:
    shape = np.shape(q)
    if shape[-1:] != (robot.nq,):
        raise ShapeError(f"q must have shape (..., {robot.nq}), got {shape}")
    return shape[:-1]


def _full(robot: Robot, V: Motion, q: Any, x: Any, point: Any, out: Array | None, dtype: npt.DTypeLike) -> Array:
    """A motion over arrays as one array with the leading dimensions of all arguments."""
    batch = np.broadcast_shapes(_batch(robot, q), np.shape(x)[:-1], np.shape(point)[:-1] if point is not None else ())
    return stacked([np.broadcast_to(np.asarray(c, dtype), batch) for c in V.components], out)


def _wide(x: Any) -> Any:
    return x[..., None] if isinstance(x, np.ndarray) else x
