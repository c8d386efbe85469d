"""The part of Robot that answers about chosen links, frames or points: where they are, and how joints move them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.links import LinkLike, link_name, link_names
from catena.arguments.points import points
from catena.functions.asking import ask, quick, serve_at_once
from catena.functions.frames import function_of
from catena.questions.kinematics import Kinematics, Placements

Array = npt.NDArray[Any]
Links = LinkLike | Sequence[LinkLike]
_FLOAT64 = np.float64


class Jacobians(Kinematics):
    """Questions about one link or frame, or about several at once, whose results then lie below each other.

    `link` is its name (of a link, a link merged by a fixed joint, or the base), its number in `robot.links`, or one of
    these; or a list of m of them: then there are 6 m numbers where one link has six. `point` moves its origin to a
    point of the body, (..., 3) in m in the frame's own axes; of several links it is (..., m, 3), or a list of points.
    `frame`, `out` and `dtype` are as in :class:`~catena.questions.kinematics.Kinematics`.
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
        name = link_name(self._robot.tree, link)
        return Placements(*self._of_frames("placement", name, point, "link", (q,), out, dtype, shape))

    def jacobian(
        self,
        q: npt.ArrayLike,
        link: Links,
        point: Any = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """J(q), (..., 6, nv): the spatial velocity (rad/s, m/s) of a link or frame is J v. Cost: its depth.

        Of a list of m links it is (..., 6 m, nv).
        """
        if point is None and out is None and shape is None and dtype is _FLOAT64 and isinstance(link, str):
            found = self._jacobians.get((link, frame))
            if found is None:
                robot = self._robot
                found = quick(robot, function_of(robot, "jacobian", link, frame))
                robot.__dict__.setdefault("_jacobians", {})[link, frame] = found
                if frame == "link" and type(self).jacobian is Jacobians.jacobian:
                    serve_at_once(self, "jacobian", link, found)
            return found(q)
        return cast(Array, self._of_frames("jacobian", link, point, frame, (q,), out, dtype, shape))

    def jacobian_times(
        self,
        q: npt.ArrayLike,
        link: Links,
        x: npt.ArrayLike,
        point: Any = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """J x, (..., 6), without forming J: the velocity (rad/s, m/s) of a link or frame when joints move with x.

        Of a list of m links it is (..., 6 m).
        """
        return cast(Array, self._of_frames("jacobian_times", link, point, frame, (q, x), out, dtype, shape))

    def jacobian_transpose_times(
        self,
        q: npt.ArrayLike,
        link: Links,
        f: npt.ArrayLike,
        point: Any = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """Jᵀ f, (..., nv) in N m or N, without forming J: what a wrench f, (..., 6) in N m and N, does to joints.

        For a list of m links f is (..., 6 m), and their torques are added.
        """
        return cast(Array, self._of_frames("jacobian_transpose_times", link, point, frame, (q, f), out, dtype, shape))

    def jacobian_dot_v(
        self,
        q: npt.ArrayLike,
        link: Links,
        v: npt.ArrayLike,
        point: Any = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """J̇ v, (..., 6): the acceleration (rad/s², m/s²) of a link or frame with joints that don't accelerate.

        What kind of acceleration it is, `link_accelerations` says. Of a list of m links it is (..., 6 m).
        """
        return cast(Array, self._of_frames("jacobian_dot_v", link, point, frame, (q, v), out, dtype, shape))

    def _of_frames(
        self,
        question: str,
        link: Links,
        point: Any,
        frame: str,
        arrays: tuple[npt.ArrayLike, ...],
        out: Any,
        dtype: npt.DTypeLike,
        shape: str | None,
    ) -> Any:
        """Answer a question about one frame or about several."""
        robot = self._robot
        several = isinstance(link, Iterable) and not isinstance(link, str)
        names = link_names(robot.tree, link) if several else link_name(robot.tree, link)
        function = function_of(robot, question, names, frame, point is not None)
        if point is not None:
            arrays = (*arrays, points(point, len(names), question) if several else point)
        return ask(robot, function, *arrays, out=out, dtype=dtype, shape=shape)
