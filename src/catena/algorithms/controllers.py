"""Controllers that are sweeps over links: torques from time and state, towards a target that stands still."""

from __future__ import annotations

from catena.algorithms.energy import gravity_torque
from catena.algorithms.newton_euler import inverse_dynamics
from catena.algorithms.resistance import Servos
from catena.algorithms.rollouts import Law
from catena.scalars import Scalar
from catena.sweeps import Field, Links

_GAINS = {"target": "q", "kp": "v", "kd": "v"}


def pd(links: Links, t: Scalar, q: Field, v: Field, target: Field, kp: Field, kd: Field) -> Field:
    """τ = kp (target − q) − kd v, with the difference taken in the joints' own coordinates."""
    (tau,) = links.fields("tau")
    for k in links.base_to_tip():
        tau[k] = kp[k] * k.joint_type.difference(q[k], target[k]) - kd[k] * v[k]
    return tau


def gravity(links: Links, t: Scalar, q: Field, v: Field) -> Field:
    """The torques that hold the mechanism against gravity where it is."""
    return gravity_torque(links, q)


def hold(links: Links, t: Scalar, q: Field, v: Field, target: Field, kp: Field, kd: Field) -> Field:
    """Gravity compensation and PD together: nothing pulls away from the target."""
    (tau,) = links.fields("tau")
    drawn, carried = pd(links, t, q, v, target, kp, kd), gravity_torque(links, q)
    for k in links.base_to_tip():
        tau[k] = drawn[k] + carried[k]
    return tau


def feed_forward(
    links: Links, t: Scalar, q: Field, v: Field, kp: Field, kd: Field, target: Field, speed: Field, ahead: Field
) -> Field:
    """Torques that are known ahead, and τ = kp (target − q) + kd (speed − v) for what they do not know."""
    (tau,) = links.fields("tau")
    for k in links.base_to_tip():
        drawn = kp[k] * k.joint_type.difference(q[k], target[k]) + kd[k] * (speed[k] - v[k])
        tau[k] = ahead[k] + drawn
    return tau


def computed_torque(links: Links, t: Scalar, q: Field, v: Field, target: Field, kp: Field, kd: Field) -> Field:
    """Inverse dynamics of the accelerations kp (target − q) − kd v: every joint moves as an oscillator of its own."""
    return inverse_dynamics(links, q, v, pd(links, t, q, v, target, kp, kd))


PD = Law("pd", pd, _GAINS)
SERVO = Law("servo", pd, _GAINS, resistance=Servos())
GRAVITY = Law("gravity_compensation", gravity)
HOLD = Law("hold", hold, _GAINS)
FEED_FORWARD = Law(
    "feed_forward",
    feed_forward,
    {"kp": "v", "kd": "v", "target": "q", "speed": "v", "ahead": "v"},
    each=("target", "speed", "ahead"),
)
COMPUTED_TORQUE = Law("computed_torque", computed_torque, _GAINS, followed=False)
