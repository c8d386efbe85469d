"""Questions about chosen frames, answered from the links between them and the base alone. For unrolled kernels only.

A frame is fixed to a link, or to the base, and a point of it may take the place of its origin. Of several frames the
results lie below each other, in blocks of six. Velocities and accelerations are as in
:mod:`catena.algorithms.kinematics`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from catena.algorithms.kinematics import acceleration_in, velocity_in
from catena.scalars import Scalar
from catena.spatial import Force, Motion, Transform, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field

Point = Sequence[Scalar] | None


class Place:
    """A frame fixed to link number `link` (-1 is the base), at the transform `at` from that link's own frame."""

    def __init__(self, link: int, at: Transform, frame: str) -> None:
        self.link, self.at, self.frame = link, at, frame

    def path(self, links: Any) -> list[Any]:
        """The links from the base to the one that carries it."""
        k = list(links)[self.link] if self.link >= 0 else links.base
        found = []
        while k is not links.base:
            found.append(k)
            k = k.parent
        return found[::-1]

    def target(self, path: Sequence[Any], point: Point = None) -> Transform:
        """From the internal frame of the last link of its path, or the base, to the frame, moved by `point`."""
        at = path[-1].frame.then(self.at) if path else self.at
        return at if point is None else at.then(Transform.shift(Vec3(*point)))

    def pose(self, links: Any, q: Field, point: Point = None) -> Pose:
        """Where it is in the base's frame."""
        X, path = Pose.identity(), self.path(links)
        for k in path:
            X = X.then(k.joint(q[k])[0])
        return X.then(self.target(path, point))

    def velocity(self, links: Any, q: Field, v: Field, point: Point = None) -> Motion:
        """J v."""
        X, V, path = Pose.identity(), Motion.zero(), self.path(links)
        for k in path:
            phi, H = k.joint(q[k])
            X, V = X.then(phi), phi.T @ V + H.T @ v[k]
        at = self.target(path, point)
        return velocity_in(self.frame, X.then(at), at.T @ V)

    def bias_acceleration(self, links: Any, q: Field, v: Field, point: Point = None) -> Motion:
        """J̇ v."""
        X, V, A, path = Pose.identity(), Motion.zero(), Motion.zero(), self.path(links)
        for k in path:
            phi, H = k.joint(q[k])
            X, V = X.then(phi), phi.T @ V + H.T @ v[k]
            A = phi.T @ A + k.bias_acceleration(V, H, q[k], v[k])
        at = self.target(path, point)
        return acceleration_in(self.frame, X.then(at), at.T @ V, at.T @ A)

    def columns(self, links: Any, q: Field, point: Point = None) -> list[Motion]:
        """The columns of J, one for each degree of freedom."""
        found = self._moving(links, q, point)
        return [column for k in links for column in found.get(k.index, [Motion.zero()] * k.joint_type.nv)]

    def _moving(self, links: Any, q: Field, point: Point) -> dict[int, list[Motion]]:
        """The columns of J that are not zero, by the number of the link whose joint they belong to."""
        path = self.path(links)
        at = self.target(path, point)
        joints = {k.index: k.joint(q[k]) for k in path}
        X, poses = Pose.identity(), {}
        if self.frame == "link":
            X = X.after(at)
            for k in reversed(path):
                phi, H = joints[k.index]
                poses[k.index], X = [X.motion_in(column) for column in H.columns], X.after(phi)
            return poses
        seen = {}
        for k in path:
            X = seen[k.index] = X.then(joints[k.index][0])
        if self.frame == "mixed":
            origin = X.then(at).p
            seen = {i: Pose(X.R, X.p - origin) for i, X in seen.items()}
        return {i: [X.motion_out(column) for column in joints[i][1].columns] for i, X in seen.items()}

    def unit_wrenches(self, links: Any, q: Field, point: Point = None) -> tuple[Any, list[Force]]:
        """The link that carries it, and the six unit wrenches on it (moments first) in that link's internal frame."""
        path = self.path(links)
        at = self.target(path, point)
        units = [Force.of([int(i == j) for i in range(6)]) for j in range(6)]
        if self.frame == "link":
            return path[-1], [at @ unit for unit in units]
        X = Pose.identity()
        for link in path:
            X = X.then(link.joint(q[link])[0])
        if self.frame == "mixed":
            X = Pose(X.R, X.p - X.then(at).p)
        return path[-1], [X.force_in(unit) for unit in units]


def points_of(point: Point, places: Sequence[Place]) -> list[Point]:
    """The point of each frame, from the numbers of all of them one after the other."""
    return [None if point is None else point[3 * i : 3 * i + 3] for i in range(len(places))]


def _each(point: Point, places: Sequence[Place]) -> Iterator[tuple[Place, Point]]:
    return zip(places, points_of(point, places), strict=True)


def placements(links: Any, q: Field, point: Point = None, *, places: Sequence[Place]) -> tuple[Any, Any]:
    """Rotation matrices, by rows, and origins in the base's frame."""
    poses = [place.pose(links, q, at) for place, at in _each(point, places)]
    return [[list(row) for row in X.R.rows] for X in poses], [list(X.p) for X in poses]


def jacobian(links: Any, q: Field, point: Point = None, *, places: Sequence[Place]) -> list[list[Scalar]]:
    """J: six rows for each frame, one column for each degree of freedom."""
    rows = []
    for place, at in _each(point, places):
        rows += [list(row) for row in zip(*[c.components for c in place.columns(links, q, at)], strict=True)]
    return rows


def jacobian_times(links: Any, q: Field, x: Field, point: Point = None, *, places: Sequence[Place]) -> list[Scalar]:
    """J x: six numbers for each frame."""
    return [y for place, at in _each(point, places) for y in place.velocity(links, q, x, at).components]


def jacobian_dot_times(links: Any, q: Field, v: Field, point: Point = None, *, places: Sequence[Place]) -> list[Scalar]:
    """J̇ v: six numbers for each frame."""
    return [y for place, at in _each(point, places) for y in place.bias_acceleration(links, q, v, at).components]


def jacobian_transpose_times(
    links: Any, q: Field, f: Sequence[Scalar], point: Point = None, *, places: Sequence[Place]
) -> list[Scalar]:
    """Jᵀ f, one number for each degree of freedom, of six numbers for each frame."""
    tau: list[Scalar] = [0] * links.nv
    for i, (place, at) in enumerate(_each(point, places)):
        wrench = Force.of(list(f[6 * i : 6 * i + 6]))
        tau = [x + column.dot(wrench) for x, column in zip(tau, place.columns(links, q, at), strict=True)]
    return tau
