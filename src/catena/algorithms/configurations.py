"""Functions of the configuration space: what joint types say of their own coordinates, for all joints of a mechanism.

One sweep, O(n); joints do not know of each other here.
"""

from __future__ import annotations

from catena.functions.function import Function
from catena.model.joints import JointType
from catena.model.spaces import spun
from catena.scalars import Scalar
from catena.spatial import Axes, Dofs, Force, Motion, Vec3
from catena.spatial.exponential import exponential_slope, logarithm_slope
from catena.spatial.quaternion import quaternion_exp
from catena.sweeps import Field, Links


def integrate(links: Links, q: Field, dv: Field) -> Field:
    """The configuration reached from q by moving with the constant velocity dv for unit time."""
    (reached,) = links.fields("reached")
    for k in links.base_to_tip():
        reached[k] = k.joint_type.integrate(q[k], dv[k])
    return reached


def integrate_slopes(links: Links, dv: Field, q_rate: Field, dv_rate: Field) -> Field:
    """How `integrate(q, dv)` changes, in its tangent space, when q changes at the rate q_rate and dv at dv_rate."""
    (rate,) = links.fields("rate")
    for k in links.base_to_tip():
        rate[k] = integrate_slope(k.joint_type, dv[k], q_rate[k], dv_rate[k])
    return rate


def integrate_slope(joint_type: type[JointType], dv: Dofs, q_rate: Dofs, dv_rate: Dofs) -> Dofs:
    """The same for one joint: J dv_rate + (1 − ad J) q_rate, with J and ad of the twist dv seen from the child.

    J is the right Jacobian of the exponential, and 1 − ad J = exp(−ad) carries q_rate along with the motion.
    """
    if joint_type.flat:
        return q_rate + dv_rate
    H = joint_type.axes(dv, 0)  # the same at all configurations
    twist, before = H.T @ dv, H.T @ q_rate
    carried = before - twist.cross(exponential_slope(twist, before))
    return _speeds(H, carried + exponential_slope(twist, H.T @ dv_rate))


def advance_slopes(
    links: Links, v: Field, a: Field, dt: Scalar, q_rate: Field, v_rate: Field, a_rate: Field
) -> tuple[Field, Field]:
    """How coordinates and speeds after a step of Euler's change, in the tangent space, as q, v and a do."""
    q1_rate, v1_rate = links.fields("q1_rate v1_rate")
    for k in links.base_to_tip():
        given = v[k], a[k], dt, q_rate[k], v_rate[k], a_rate[k]
        q1_rate[k], v1_rate[k] = advance_slope(k.joint_type, *given)
    return q1_rate, v1_rate


def advance_slope(
    joint_type: type[JointType], v: Dofs, a: Dofs, dt: Scalar, q_rate: Dofs, v_rate: Dofs, a_rate: Dofs
) -> tuple[Dofs, Dofs]:
    """The same for one joint, of what its `advance` does."""
    if joint_type.flat:
        v1_rate = v_rate + a_rate.scaled(dt)
        return q_rate + v1_rate.scaled(dt), v1_rate
    H = joint_type.axes(v, 0)  # the same at all configurations
    (V, A), (dq, dV, dA) = ((H.T @ x for x in given) for given in ((v, a), (q_rate, v_rate, a_rate)))
    swerved = dA.angular.cross(V.angular) + A.angular.cross(dV.angular)
    angular_rate = dV.angular + (dA.angular + swerved * (0.5 * dt)) * dt
    moving = V.linear + (A.linear + V.angular.cross(V.linear)) * dt  # in axes that do not turn
    moving_rate = dV.linear + (dA.linear + dV.angular.cross(V.linear) + V.angular.cross(dV.linear)) * dt
    turn = spun(V.angular, A.angular, dt) * dt
    back = quaternion_exp(turn).inverse
    turned = exponential_slope(Motion(turn, Vec3.zero()), Motion(angular_rate * dt, Vec3.zero())).angular
    shifted = back.rotate(dq.linear + (moving_rate + dq.angular.cross(moving)) * dt)
    swung = back.rotate(moving_rate) + back.rotate(moving).cross(turned)
    return _speeds(H, Motion(back.rotate(dq.angular) + turned, shifted)), _speeds(H, Motion(angular_rate, swung))


def drifts(links: Links, v: Field, q_rate: Field) -> Field:
    """How fast a small difference q_rate of two configurations changes while both move with speeds v: −ad(v) q_rate."""
    (rate,) = links.fields("rate")
    for k in links.base_to_tip():
        rate[k] = drift(k.joint_type, v[k], q_rate[k])
    return rate


def drift(joint_type: type[JointType], v: Dofs, q_rate: Dofs) -> Dofs:
    """The same for one joint."""
    if joint_type.flat:
        return Dofs([0] * joint_type.nv)
    H = joint_type.axes(v, 0)
    return _speeds(H, (H.T @ q_rate).cross(H.T @ v))


def _speeds(H: Axes, motion: Motion) -> Dofs:
    """The speeds along axes that are unit vectors."""
    return H @ Force.of(motion.components)


def difference(links: Links, q0: Field, q1: Field) -> Field:
    """The constant velocity that leads from q0 to q1 in unit time, by the shorter turn where there are two."""
    (v,) = links.fields("v")
    for k in links.base_to_tip():
        v[k] = k.joint_type.difference(q0[k], q1[k])
    return v


def difference_slope(joint_type: type[JointType], v: Dofs, q1_rate: Dofs) -> Dofs:
    """How `difference(q0, q1)`, which is v, changes for one joint when q1 changes at the rate q1_rate."""
    if joint_type.flat:
        return q1_rate
    H = joint_type.axes(v, 0)  # the same at all configurations
    return _speeds(H, logarithm_slope(H.T @ v, H.T @ q1_rate))


def normalize(links: Links, q: Field) -> Field:
    """The configuration q with quaternions of unit length."""
    (unit,) = links.fields("unit")
    for k in links.base_to_tip():
        unit[k] = k.joint_type.normalize(q[k])
    return unit


INTEGRATE = Function("integrate", integrate, inputs={"q": "q", "dv": "v"}, outputs={"q": "q"})
INTEGRATE_SLOPES = Function(
    "integrate_slopes", integrate_slopes, inputs={"dv": "v", "q_rate": "v", "dv_rate": "v"}, outputs={"rate": "v"}
)
ADVANCE_SLOPES = Function(
    "advance_slopes",
    advance_slopes,
    inputs={"v": "v", "a": "v", "dt": "robot", "q_rate": "v", "v_rate": "v", "a_rate": "v"},
    outputs={"q_rate": "v", "v_rate": "v"},
)
DRIFTS = Function("drifts", drifts, inputs={"v": "v", "q_rate": "v"}, outputs={"rate": "v"})
DIFFERENCE = Function("difference", difference, inputs={"q0": "q", "q1": "q"}, outputs={"v": "v"})
NORMALIZE = Function("normalize", normalize, inputs={"q": "q"}, outputs={"q": "q"})
