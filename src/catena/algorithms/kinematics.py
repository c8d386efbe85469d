"""Placements, velocities and accelerations of links, and Jacobians: what moves where, whatever the masses.

Velocities and Jacobians are spatial, angular part first, in one of three frames: "link", the body's own axes at its own
origin; "world", the base's axes at the base's origin; "mixed", the base's axes at the body's origin. Accelerations are
the rates of change of those numbers, so that the acceleration is J a + J̇ v in every frame: in "mixed" the linear part is
the acceleration of the point.
"""

from __future__ import annotations

from typing import Any

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
    """A frame fixed to link number `link`, at the transform `at` from its own frame. For unrolled kernels only."""

    def __init__(self, link: int, at: Transform, frame: str) -> None:
        self.link, self.at, self.frame = link, at, frame

    def path(self, links: Any) -> list[Any]:
        """The links from the base to this one."""
        k = list(links)[self.link]
        found = [k]
        while k.parent is not links.base:
            k = k.parent
            found.append(k)
        return found[::-1]

    def target(self, k: Any, point: list[Scalar] | None) -> Transform:
        """From the internal frame of the link k that carries it to the frame itself, moved by `point` in its own axes."""
        at: Transform = k.frame.then(self.at)
        return at if point is None else at.then(Transform.shift(Vec3(*point)))

    def velocity(self, links: Any, q: Field, v: Field, point: list[Scalar] | None = None) -> list[Scalar]:
        """J v, six numbers."""
        X, V = Pose.identity(), Motion.zero()
        for k in self.path(links):
            phi, H = k.joint(q[k])
            X, V = X.then(phi), phi.T @ V + H.T @ v[k]
        at = self.target(k, point)
        return velocity_in(self.frame, X.then(at), at.T @ V).components

    def acceleration(
        self, links: Any, q: Field, v: Field, vdot: Field | None = None, point: list[Scalar] | None = None
    ) -> list[Scalar]:
        """J v̇ + J̇ v, six numbers."""
        X, V, A = Pose.identity(), Motion.zero(), Motion.zero()
        for k in self.path(links):
            phi, H = k.joint(q[k])
            X, V = X.then(phi), phi.T @ V + H.T @ v[k]
            A = phi.T @ A + k.bias_acceleration(V, H, q[k], v[k])
            if vdot is not None:
                A = A + H.T @ vdot[k]
        at = self.target(k, point)
        return acceleration_in(self.frame, X.then(at), at.T @ V, at.T @ A).components

    def columns(self, links: Any, q: Field, point: list[Scalar] | None = None) -> dict[int, list[Motion]]:
        """The columns of J by the number of the link whose joint they belong to."""
        path = self.path(links)
        at = self.target(path[-1], point)
        if self.frame == "link":
            X, found = Pose.identity().after(at), {}
            for k in reversed(path):
                phi, H = k.joint(q[k])
                found[k.index] = [X.motion_in(column) for column in H.columns]
                X = X.after(phi)
            return found
        poses, X = {}, Pose.identity()
        for k in path:
            phi, H = k.joint(q[k])
            X = X.then(phi)
            poses[k.index] = X, H
        origin = X.then(at).p
        if self.frame == "world":
            return {i: [X.motion_out(column) for column in H.columns] for i, (X, H) in poses.items()}
        return {i: [Pose(X.R, X.p - origin).motion_out(c) for c in H.columns] for i, (X, H) in poses.items()}

    def jacobian(self, links: Any, q: Field, point: list[Scalar] | None = None) -> list[list[Scalar]]:
        """J: six rows, one column for each degree of freedom."""
        found = self.columns(links, q, point)
        rows: list[list[Scalar]] = [[] for _ in range(6)]
        for k in links:
            for column in found.get(k.index, [Motion.zero()] * k.kind.nv):
                for row, x in zip(rows, column.components, strict=True):
                    row.append(x)
        return rows

    def transpose_times(
        self, links: Any, q: Field, wrench: list[Scalar], point: list[Scalar] | None = None
    ) -> list[Scalar]:
        """Jᵀ f, one number for each degree of freedom."""
        f, found = Force.of(wrench), self.columns(links, q, point)
        return [x for k in links for x in ([c.dot(f) for c in found[k.index]] if k.index in found else [0] * k.kind.nv)]
