"""The decoupled natural orthogonal complement: Saha (1995), sections 2 and 3.

All twists of a mechanism are t = T θ̇ with T = T_l T_d (8): T_d holds what each joint adds, T_l carries it outwards.
Premultiplying the Newton-Euler equations of the free links by Tᵀ = T_dᵀ T_lᵀ removes the bearings' forces, and with
T_l a sweep to the tips and T_lᵀ a sweep to the base that is inverse dynamics in O(n).
"""

from __future__ import annotations

from catena.algorithms.newton_euler import at_rest
from catena.functions.function import Function
from catena.spatial import Motion
from catena.spatial.pose import Pose
from catena.sweeps import Field, Links


def inverse_dynamics(links: Links, q: Field, v: Field, a: Field, f_ext: Field | None = None) -> Field:
    """The joint torques τ = T_dᵀ T_lᵀ w, where w are the inertia forces of the links, each moving as the joints ask."""
    Bt, pt, t, w, tau = links.fields("Bt pt t w tau")
    t[links.base] = at_rest(links)
    for i in links.base_to_tip():
        Bt[i], pt[i] = i.joint(q[i])
        driven = i.joint_type.axes_rate(q[i], v[i]) + pt[i].T @ a[i]
        t[i] = t[i.parent].through(Bt[i]).joined(pt[i], v[i], driven)  # (3) and its rate: T_l T_d
        w[i] = t[i].wrench(i.M)  # the free link's equations of Newton and Euler
        if f_ext is not None:
            w[i] = w[i] - i.frame @ f_ext[i]
    for i in links.tip_to_base():
        tau[i] = pt[i] @ w[i] + i.armature * a[i] + i.rotor_bias(pt[i], v[i])  # T_dᵀ
        w[i.parent] += Bt[i] @ w[i]  # T_lᵀ
    return tau


def composite_bodies(links: Links, q: Field) -> Field:
    """M̃_i (15): the extended mass of links i, i + 1, … frozen into one rigid body, about the origin of link i."""
    M, Bt = links.fields("M Bt")
    for i in links.base_to_tip():
        M[i], Bt[i] = i.M, i.joint(q[i])[0]
    for i in links.tip_to_base():
        M[i.parent] += Bt[i].congruence(M[i])  # (15c)
    return M


def poses_and_axes(links: Links, q: Field) -> tuple[Field, Field, Field]:
    """Rotation and origin of each link's frame, and for each degree of freedom its twist about the base's origin.

    All in the base's axes: what B_ij and p_i of (4) are made of.
    """
    X, R, o, p = links.fields("X R o p")
    X[links.base] = Pose.identity()
    for i in links.base_to_tip():
        Bt, pt = i.joint(q[i])
        X[i] = X[i.parent].then(Bt)
        user = X[i].then(i.frame)
        R[i], o[i] = user.R, user.p
        p[i] = _carried_out(X[i], pt.columns)
    return R, o, p


def _carried_out(X: Pose, columns: list[Motion]) -> list[Motion]:
    return [X.motion_out(column) for column in columns]


INVERSE_DYNAMICS = Function(
    "inverse_dynamics/denoc",
    inverse_dynamics,
    {"q": "q", "v": "v", "a": "v", "f_ext": "force"},
    {"tau": "tau"},
    optional=("f_ext",),
)
POSES_AND_AXES = Function(
    "natural_orthogonal_complement/poses_and_axes",
    poses_and_axes,
    {"q": "q"},
    {"R": "rotation", "o": "point", "p": "axes"},
)
