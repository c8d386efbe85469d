"""Placements, velocities and accelerations of links, and Jacobians: what moves where, whatever the masses.

Velocities and Jacobians are spatial, angular part first, in one of three frames: "link", the body's own axes at its own
origin; "world", the base's axes at the base's origin; "mixed", the base's axes at the body's origin. Accelerations are
the rates of change of those numbers, so that the acceleration is J a + J̇ v in every frame: in "mixed" the linear part
is the acceleration of the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from catena.functions.function import Function
from catena.scalars import Scalar
from catena.spatial import Force, Motion, Transform, Vec3
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links

FRAMES = ("link", "world", "mixed")
"""The frames that motions can be asked for in."""


def placements(links: Links, q: Field) -> tuple[Field, Field]:
    """Rotation matrix and origin of each link's frame in the base's frame."""
    X, R, p = links.fields("X R p")
    X[links.base] = Pose.identity()
    for k in links.base_to_tip():
        X[k] = X[k.parent].then(k.joint(q[k])[0])
        user = X[k].then(k.frame)
        R[k], p[k] = user.R, user.p
    return R, p


def velocity_in(frame: str, X: Pose, V: Motion) -> Motion:
    """The velocity V of a body, given in its own frame with pose X, in the frame asked for."""
    if frame == "link":
        return V
    return X.motion_out(V) if frame == "world" else Motion(X.R @ V.angular, X.R @ V.linear)


def acceleration_in(frame: str, X: Pose, V: Motion, A: Motion) -> Motion:
    """The rate of change of :func:`velocity_in`, where A is that of V in the body's own frame."""
    if frame != "mixed":
        return velocity_in(frame, X, A)
    return Motion(X.R @ A.angular, X.R @ (A.linear + V.angular.cross(V.linear)))


def link_velocities(links: Links, q: Field, v: Field, frame: str = "link") -> Field:
    """The spatial velocity of each link."""
    X, V, out = links.fields("X V out")
    X[links.base], V[links.base] = Pose.identity(), Motion.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        X[k] = X[k.parent].then(phi)
        V[k] = phi.T @ V[k.parent] + H.T @ v[k]
        out[k] = velocity_in(frame, X[k].then(k.frame), k.frame.T @ V[k])
    return out


def link_accelerations(links: Links, q: Field, v: Field, vdot: Field | None = None, frame: str = "link") -> Field:
    """J v̇ + J̇ v of each link, without gravity; J̇ v alone where vdot is left out."""
    X, V, A, out = links.fields("X V A out")
    X[links.base], V[links.base], A[links.base] = Pose.identity(), Motion.zero(), Motion.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        X[k] = X[k.parent].then(phi)
        V[k] = phi.T @ V[k.parent] + H.T @ v[k]
        A[k] = phi.T @ A[k.parent] + k.bias_acceleration(V[k], H, q[k], v[k])
        if vdot is not None:
            A[k] = A[k] + H.T @ vdot[k]
        out[k] = acceleration_in(frame, X[k].then(k.frame), k.frame.T @ V[k], k.frame.T @ A[k])
    return out


def joint_axes(links: Links, q: Field) -> Field:
    """For each degree of freedom the motion that unit speed gives all links beyond it, in the base's frame."""
    X, axes = links.fields("X axes")
    X[links.base] = Pose.identity()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        X[k] = X[k.parent].then(phi)
        axes[k] = [X[k].motion_out(column) for column in H.columns]
    return axes


def wrench_torques(links: Links, q: Field, f_ext: Field) -> Field:
    """Σ Jᵀ f: the joint torques that wrenches on the links, in the links' frames, amount to."""
    phi, H, f, tau = links.fields("phi H f tau")
    for k in links.base_to_tip():
        phi[k], H[k] = k.joint(q[k])
        f[k] = k.frame @ f_ext[k]
    for k in links.tip_to_base():
        tau[k] = H[k] @ f[k]
        f[k.parent] += phi[k] @ f[k]
    return tau


class Place:
    """A frame fixed to link number `link`, at the transform `at` from that link's own frame."""

    def __init__(self, link: int, at: Transform, frame: str) -> None:
        self.link, self.at, self.frame = link, at, frame

    def target(self, point: Sequence[Scalar] | None) -> Transform:
        """From the frame of the link that carries it to the frame itself, moved by `point` in its own axes."""
        return self.at if point is None else self.at.then(Transform.shift(Vec3(*point)))

    def velocity_of(self, X: Pose, V: Motion, point: Sequence[Scalar] | None = None) -> Motion:
        """Its velocity, from the pose and velocity of the link that carries it."""
        at = self.target(point)
        return velocity_in(self.frame, X.then(at), at.T @ V)

    def acceleration_of(self, X: Pose, V: Motion, A: Motion, point: Sequence[Scalar] | None = None) -> Motion:
        """Its acceleration, from the pose, velocity and acceleration of the link that carries it."""
        at = self.target(point)
        return acceleration_in(self.frame, X.then(at), at.T @ V, at.T @ A)


class UnrolledPlace(Place):
    """Questions about one frame, answered from the links between it and the base alone. For unrolled kernels only."""

    def _path(self, links: Any) -> list[Any]:
        """The links from the base to this one."""
        k = list(links)[self.link]
        found = [k]
        while k.parent is not links.base:
            k = k.parent
            found.append(k)
        return found[::-1]

    def pose(self, links: Any, q: Field, point: list[Scalar] | None = None) -> tuple[Any, Any]:
        """Rotation matrix, by rows, and origin in the base's frame."""
        X, path = Pose.identity(), self._path(links)
        for k in path:
            X = X.then(k.joint(q[k])[0])
        X = X.then(path[-1].frame).then(self.target(point))
        return [list(row) for row in X.R.rows], list(X.p)

    def velocity(self, links: Any, q: Field, v: Field, point: list[Scalar] | None = None) -> list[Scalar]:
        """J v, six numbers."""
        X, V, path = Pose.identity(), Motion.zero(), self._path(links)
        for k in path:
            phi, H = k.joint(q[k])
            X, V = X.then(phi), phi.T @ V + H.T @ v[k]
        frame = path[-1].frame
        return self.velocity_of(X.then(frame), frame.T @ V, point).components

    def bias_acceleration(self, links: Any, q: Field, v: Field, point: list[Scalar] | None = None) -> list[Scalar]:
        """J̇ v, six numbers."""
        X, V, A, path = Pose.identity(), Motion.zero(), Motion.zero(), self._path(links)
        for k in path:
            phi, H = k.joint(q[k])
            X, V = X.then(phi), phi.T @ V + H.T @ v[k]
            A = phi.T @ A + k.bias_acceleration(V, H, q[k], v[k])
        frame = path[-1].frame
        return self.acceleration_of(X.then(frame), frame.T @ V, frame.T @ A, point).components

    def columns(self, links: Any, q: Field, point: list[Scalar] | None = None) -> dict[int, list[Motion]]:
        """The columns of J by the number of the link whose joint they belong to."""
        path = self._path(links)
        at = path[-1].frame.then(self.target(point))
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

    def jacobian(self, links: Any, q: Field, point: list[Scalar] | None = None) -> list[list[Scalar]]:
        """J: six rows, one column for each degree of freedom."""
        found = self.columns(links, q, point)
        columns = [c for k in links for c in found.get(k.index, [Motion.zero()] * k.kind.nv)]
        return [list(row) for row in zip(*[c.components for c in columns], strict=True)]

    def unit_wrenches(self, links: Any, q: Field, point: list[Scalar] | None = None) -> tuple[Any, list[Force]]:
        """The link that carries it, and the six unit wrenches on it (moments first) in that link's internal frame."""
        path = self._path(links)
        k = path[-1]
        at = k.frame.then(self.target(point))
        units = [Force.of([int(i == j) for i in range(6)]) for j in range(6)]
        if self.frame == "link":
            return k, [at @ unit for unit in units]
        X = Pose.identity()
        for link in path:
            X = X.then(link.joint(q[link])[0])
        if self.frame == "mixed":
            X = Pose(X.R, X.p - X.then(at).p)
        return k, [X.force_in(unit) for unit in units]

    def transpose_times(self, links: Any, q: Field, f: list[Scalar], point: list[Scalar] | None = None) -> list[Scalar]:
        """Jᵀ f, one number for each degree of freedom."""
        wrench, found = Force.of(list(f)), self.columns(links, q, point)
        return [c.dot(wrench) for k in links for c in found.get(k.index, [Motion.zero()] * k.kind.nv)]


PLACEMENTS = Function("placements", placements, {"q": "q"}, {"rotation": "rotation", "position": "point"})
JOINT_AXES = Function("joint_axes", joint_axes, {"q": "q"}, {"axes": "axes"})
WRENCH_TORQUES = Function("wrench_torques", wrench_torques, {"q": "q", "f_ext": "force"}, {"tau": "v"})
LINK_VELOCITIES = {
    frame: Function(
        f"link_velocities/{frame}", partial(link_velocities, frame=frame), {"q": "q", "v": "v"}, {"V": "motion"}
    )
    for frame in FRAMES
}
LINK_ACCELERATIONS = {
    frame: Function(
        f"link_accelerations/{frame}",
        partial(link_accelerations, frame=frame),
        {"q": "q", "v": "v", "a": "v"},
        {"A": "motion"},
        optional=("a",),
    )
    for frame in FRAMES
}
