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
from catena.arguments.links import LinkLike, link_name
from catena.arguments.wrenches import wrenches
from catena.functions.asking import (
    ask,
    checked,
    components,
    delivered,
    is_rolled,
    one_of,
    quick,
    serve_at_once,
    stacked,
)
from catena.functions.function import Function
from catena.model.lowering.placement import snapped
from catena.questions.kinematics import Kinematics, Placements
from catena.spatial import Force, Mat3, Motion, Transform, Turn, Vec3
from catena.spatial.pose import Pose

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
        """Rotation (..., 3, 3) and origin (..., 3), m, of one link or frame in the base's frame. Cost: its depth."""
        robot, link = self._robot, link_name(self._robot.tree, link)
        function, moves = _function(robot, "placement", link, "link", point)
        if moves and not is_rolled(robot, shape):
            return Placements(*ask(robot, function, *_given(q, point=point), out=out, dtype=dtype))
        (q, *at), batch, outs = checked(robot, function, *_given(q, point=point), out=out, dtype=dtype)
        place = place_of(robot, link, "link")
        X = self._carrier(q, place, dtype, shape).then(place.target(_point(*at)))
        rotation = stacked([np.broadcast_to(x, batch) for x in X.R]).reshape(*batch, 3, 3).astype(dtype, copy=False)
        position = stacked([np.broadcast_to(x, batch) for x in X.p]).astype(dtype, copy=False)
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
        """J(q), (..., 6, nv): the spatial velocity (rad/s, m/s) of a link or frame is J v. Cost: its depth."""
        if point is None and out is None and shape is None and dtype is _FLOAT64 and isinstance(link, str):
            found = self._jacobians.get((link, frame))
            if found is not None:
                return found(q)
        robot, link = self._robot, link_name(self._robot.tree, link)
        function, moves = _function(robot, "jacobian", link, frame, point)
        if moves and not is_rolled(robot, shape):
            if point is None and shape is None:
                fast = robot.__dict__.setdefault("_jacobians", {})[link, frame] = quick(robot, function)
                if frame == "link" and type(self).jacobian is Jacobians.jacobian:
                    serve_at_once(self, "jacobian", link, fast)
            return cast(Array, ask(robot, function, *_given(q, point=point), out=out, dtype=dtype))
        (q, *at), batch, outs = checked(robot, function, *_given(q, point=point), out=out, dtype=dtype)
        if moves:
            return delivered(self._rolled_jacobian(q, place_of(robot, link, frame), _point(*at), dtype), *outs)
        return delivered(np.zeros((*batch, 6, robot.nv), dtype), *outs)

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
        """J x, (..., 6), without forming J: the velocity (rad/s, m/s) of a link or frame when joints move with x."""
        robot, link = self._robot, link_name(self._robot.tree, link)
        function, moves = _function(robot, "jacobian_times", link, frame, point)
        if moves and not is_rolled(robot, shape):
            return cast(Array, ask(robot, function, *_given(q, x, point=point), out=out, dtype=dtype))
        (q, x, *at), batch, outs = checked(robot, function, *_given(q, x, point=point), out=out, dtype=dtype)
        place = place_of(robot, link, frame)
        V = Motion.zero()
        if moves:
            V = Motion.of(components(self.link_velocities(q, x, dtype=dtype, shape=shape)[..., place.link, :]))
        found = place.velocity_of(self._carrier(q, place, dtype, shape), V, _point(*at))
        return delivered(_full(found, batch, dtype), *outs)

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
        """Jᵀ f, (..., nv) in N m or N, without forming J: what a wrench f, (..., 6) in N m and N, does to joints."""
        robot, link = self._robot, link_name(self._robot.tree, link)
        function, moves = _function(robot, "jacobian_transpose_times", link, frame, point)
        if moves and not is_rolled(robot, shape):
            return cast(Array, ask(robot, function, *_given(q, f, point=point), out=out, dtype=dtype))
        (q, f, *at), batch, outs = checked(robot, function, *_given(q, f, point=point), out=out, dtype=dtype)
        if not moves:
            return delivered(np.zeros((*batch, robot.nv), dtype), *outs)
        place = place_of(robot, link, frame)
        wrench = self._in_link(q, place, f, _point(*at), dtype, shape)
        f_ext = wrenches(robot, {place.link: wrench}, "jacobian_transpose_times")
        return cast(Array, ask(robot, WRENCH_TORQUES, q, f_ext, out=out, dtype=dtype, shape=shape))

    def jacobian_dot_times(
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
        """J̇ v, (..., 6): the acceleration (rad/s², m/s²) of a link or frame with joints that don't accelerate.

        What kind of acceleration it is, `link_accelerations` says.
        """
        robot, link = self._robot, link_name(self._robot.tree, link)
        function, moves = _function(robot, "jacobian_dot_times", link, frame, point)
        if moves and not is_rolled(robot, shape):
            return cast(Array, ask(robot, function, *_given(q, v, point=point), out=out, dtype=dtype))
        (q, v, *at), batch, outs = checked(robot, function, *_given(q, v, point=point), out=out, dtype=dtype)
        place = place_of(robot, link, frame)
        V = A = Motion.zero()
        if moves:
            V = Motion.of(components(self.link_velocities(q, v, dtype=dtype, shape=shape)[..., place.link, :]))
            rates = ask(robot, LINK_ACCELERATIONS["link"], q, v, dtype=dtype, shape=shape or "rolled")
            A = Motion.of(components(rates[..., place.link, :]))
        found = place.acceleration_of(self._carrier(q, place, dtype, shape), V, A, _point(*at))
        return delivered(_full(found, batch, dtype), *outs)

    def _carrier(self, q: npt.ArrayLike, place: Place, dtype: npt.DTypeLike, shape: str | None) -> Pose:
        """The pose of the link that carries a frame, over arrays."""
        if place.link < 0:
            return Pose.identity()
        R, p = self.placements(q, dtype=dtype, shape=shape)
        return Pose(Mat3(*components(R[..., place.link, :, :], 2)), Vec3(*components(p[..., place.link, :])))

    def _in_link(
        self, q: npt.ArrayLike, place: Place, f: Array, point: list[Any] | None, dtype: Any, shape: str | None
    ) -> Array:
        """A wrench on a frame, given in place.frame, in the frame of the link that carries it."""
        at, wrench = place.target(point), Force.of(components(f))
        if place.frame == "link":
            return stacked((at @ wrench).components)
        X = self._carrier(q, place, dtype, shape)
        X_at = X.then(at)
        if place.frame == "mixed":
            turned = Force(X_at.R.T @ wrench.angular, X_at.R.T @ wrench.linear)
            return stacked((at @ turned).components)
        moment = wrench.angular - X.p.cross(wrench.linear)
        return stacked([*(X.R.T @ moment), *(X.R.T @ wrench.linear)])

    def _rolled_jacobian(self, q: Array, place: Place, point: list[Any] | None, dtype: npt.DTypeLike) -> Array:
        """From the axes of all joints in the base's frame, those of the joints between the link and the base."""
        robot = self._robot
        axes = ask(robot, JOINT_AXES, q, dtype=dtype, shape="rolled")
        X = self._carrier(q, place, dtype, "rolled").then(place.target(point))
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
        return J


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


_QUESTIONS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "placement": ("pose", {"q": "q"}, {"rotation": "dense:3,3", "position": "dense:3"}),
    "jacobian": ("jacobian", {"q": "q"}, {"J": "dense:6,nv"}),
    "jacobian_times": ("velocity", {"q": "q", "x": "v"}, {"V": "dense:6"}),
    "jacobian_dot_times": ("bias_acceleration", {"q": "q", "v": "v"}, {"A": "dense:6"}),
    "jacobian_transpose_times": ("transpose_times", {"q": "q", "f": "robot:6"}, {"tau": "dense:nv"}),
}
"""What can be asked about one frame in unrolled kernels: the method of UnrolledPlace, and its arrays."""


def _function(robot: Robot, question: str, link: str, frame: str, point: Any) -> tuple[Function, bool]:
    """The function that answers a question about one frame, for unrolled kernels; and whether that frame can move."""
    known = robot.__dict__.setdefault("_questions", {})
    key = question, link, frame, point is None
    if key not in known:
        place, (method, inputs, outputs) = place_of(robot, link, frame, UnrolledPlace), _QUESTIONS[question]
        name = f"{question}/{frame}/{link}"
        if point is not None:
            inputs, name = {**inputs, "point": "robot:3"}, f"{name}+point"
        known[key] = Function(name, getattr(place, method), inputs, outputs), place.link >= 0
    return cast("tuple[Function, bool]", known[key])


def _given(*arrays: npt.ArrayLike, point: npt.ArrayLike | None) -> tuple[npt.ArrayLike, ...]:
    return arrays if point is None else (*arrays, point)


def _point(point: Array | None = None) -> list[Any] | None:
    return None if point is None else components(np.asarray(point, dtype=float))


def _full(V: Motion, batch: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """A motion over arrays as one array with all leading dimensions."""
    return stacked([np.broadcast_to(np.asarray(c, dtype), batch) for c in V.components])


def _wide(x: Any) -> Any:
    return x[..., None] if isinstance(x, np.ndarray) else x
