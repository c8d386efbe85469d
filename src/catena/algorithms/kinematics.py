"""Placements, velocities and accelerations of links, and Jacobians: what moves where, whatever the masses.

Velocities and Jacobians are spatial, angular part first, in one of three frames: "link", the body's own axes at its own
origin; "world", the base's axes at the base's origin; "mixed", the base's axes at the body's origin. Accelerations are
the rates of change of those numbers, so that the acceleration is J a + J̇ v in every frame: in "mixed" the linear part
is the acceleration of the point.
"""

from __future__ import annotations

from functools import partial

from catena.functions.function import Function
from catena.spatial import Motion
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


PLACEMENTS = Function("placements", placements, {"q": "q"}, {"rotation": "rotation", "position": "point"})
JOINT_AXES = Function("joint_axes", joint_axes, {"q": "q"}, {"axes": "axes"})
WRENCH_TORQUES = Function("wrench_torques", wrench_torques, {"q": "q", "f_ext": "force"}, {"tau": "tau"})
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
