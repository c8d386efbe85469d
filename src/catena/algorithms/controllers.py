"""Controllers that are sweeps over links: torques from time and state, towards a target that stands still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from catena.algorithms.altered import Altered, AlteredLink
from catena.algorithms.energy import gravity_torque
from catena.algorithms.newton_euler import inverse_dynamics
from catena.algorithms.rollouts import Law
from catena.algorithms.udu import solve
from catena.model.joints import Free
from catena.scalars import Scalar
from catena.spatial import Axes, Dofs, Motion
from catena.sweeps import Field, Links

_GAINS = {"target": "q", "kp": "joint", "kd": "joint"}


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


def computed_torque_of_joints(links: Links, t: Scalar, q: Field, v: Field, *given: Field) -> Field:
    """The same where nothing drives free joints: these accelerate so that no force at them is missing."""
    wanted = _at_joints(links, pd(links, t, q, v, *given))
    (a,) = links.fields("a")
    missing = inverse_dynamics(links, q, v, wanted)
    more = solve(_locked(links), q, _chosen(links, lambda k: -missing[k] if k.joint_type is Free else None))
    for k in links.base_to_tip():
        a[k] = wanted[k] + more[k]
    return _at_joints(links, inverse_dynamics(links, q, v, a))


def _locked(links: Links) -> Any:
    """Links whose joints do not move but for free ones: they have axes of zero."""

    def locked(k: Any) -> AlteredLink:
        if k.joint_type is Free:
            return AlteredLink(k)
        still, n = Axes([Motion.zero()] * k.joint_type.nv), k.joint_type.nv
        return AlteredLink(k, joint=lambda q: (k.joint(q)[0], still), armature=Dofs([1] * n))

    return Altered(links, locked)


def _at_joints(links: Links, tau: Field) -> Field:
    """A field that is zero at free joints."""
    return _chosen(links, lambda k: None if k.joint_type is Free else tau[k])


def _chosen(links: Links, choose: Callable[[Any], Dofs | None]) -> Field:
    """A field with what is chosen at each joint, zero for None."""
    (chosen,) = links.fields("chosen")
    for k in links.base_to_tip():
        found = choose(k)
        chosen[k] = Dofs([0] * k.joint_type.nv) if found is None else found
    return chosen


def _of_joints(algorithm: Callable[..., Field]) -> Callable[..., Field]:
    """A controller that leaves free joints alone, which nothing drives: bases that float and objects."""

    def alone(links: Links, *given: Any) -> Field:
        return _at_joints(links, algorithm(links, *given))

    return alone


PD = Law("pd", pd, _GAINS)
SERVO = Law("servo", pd, _GAINS)
GRAVITY = Law("gravity_compensation", _of_joints(gravity))
HOLD = Law("hold", _of_joints(hold), _GAINS)
FEED_FORWARD = Law(
    "feed_forward",
    feed_forward,
    {"kp": "joint", "kd": "joint", "target": "q", "speed": "v", "ahead": "tau"},
    each=("target", "speed", "ahead"),
)
COMPUTED_TORQUE = Law("computed_torque", computed_torque_of_joints, _GAINS, followed=False)
DRIVING_FREE_JOINTS = {
    law.name: replace(law, name=f"{law.name} of all", algorithm=algorithm)
    for law, algorithm in ((GRAVITY, gravity), (HOLD, hold), (COMPUTED_TORQUE, computed_torque))
}
"""The same with forces at free joints too, as if something drove them."""
