"""Springs of joints: a potential, half of stiffness times stretch squared, and its gradient in the tangent space.

The stretch is how far the joint is from its rest pose, `integrate(neutral, rest)`, as seen from there: q − rest where
coordinates are simply added, else the rotation vector s of the turn R and the shift p. As the joint moves by δ, seen
from the child, s changes by J(s)⁻¹ δ, with J the right Jacobian of the exponential, and p by R δ: the gradient of the
potential is J(s)⁻ᵀ K s and Rᵀ K p.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from catena.algorithms.force_elements import Action, ForceElement
from catena.functions.function import Function
from catena.scalars import Scalar, is_zero
from catena.spatial import Dofs, Force, Motion, Vec3
from catena.spatial.exponential import exponential_slope, inverse_slope_rate, logarithm_slope
from catena.spatial.quaternion import pose_exp, quaternion_exp
from catena.sweeps import Field, Links


def slack(k: Any) -> bool:
    """Whether the joint of link k is known to have no springs."""
    return all(is_zero(x) for x in k.stiffness)


def stretch_at(k: Any, q: Dofs) -> Dofs:
    """How far the springs of the joint of link k are from where they are slack, as seen from there."""
    joint, neutral = k.joint_type, Dofs(k.joint_type.neutral().tolist())
    if joint.flat:
        return joint.difference(neutral, q) - k.rest  # type: ignore[no-any-return]
    at_rest = neutral if all(is_zero(x) for x in k.rest) else joint.integrate(neutral, k.rest)
    way = joint.difference(at_rest, q)
    if not joint.swings:
        return way  # type: ignore[no-any-return]
    twist = _motion(k, way)
    return _along(k, Motion(twist.angular, pose_exp(twist.angular, twist.linear)[1]))


def springs_at(k: Any, q: Dofs) -> Dofs:
    """The torques that springs of the joint of link k take at the configuration q: the gradient of their potential."""
    if slack(k):
        return Dofs([0] * k.joint_type.nv)
    stretch = stretch_at(k, q)
    return _pulled(k, stretch, k.stiffness * stretch)


def springs_by_stiffness(k: Any, q: Dofs, rate: Dofs) -> Dofs:
    """How these torques change when the stiffness changes at a rate."""
    stretch = stretch_at(k, q)
    return _pulled(k, stretch, rate * stretch)


def springs_slope(k: Any, q: Dofs, dq: Dofs) -> Dofs:
    """How these torques change when q, in the tangent space, changes at the rate dq."""
    if slack(k):
        return Dofs([0] * k.joint_type.nv)
    if k.joint_type.flat:
        return k.stiffness * dq  # type: ignore[no-any-return]
    stretch, moved = stretch_at(k, q), _motion(k, dq)
    s, turn = _motion(k, stretch).angular, quaternion_exp(_motion(k, stretch).angular)
    turning = logarithm_slope(_turning(s), _turning(moved.angular)).angular
    rate = _along(k, Motion(turning, turn.rotate(moved.linear)))
    force = turn.inverse.rotate(_motion(k, k.stiffness * stretch).linear)
    swung = Motion(Vec3.zero(), force.cross(moved.angular))
    return _pulled(k, stretch, k.stiffness * rate) + _twisted(k, stretch, turning) + _along(k, swung)


def springs_by_rest(k: Any, q: Dofs, rate: Dofs) -> Dofs:
    """How these torques change when the rest, as numbers, changes at a rate."""
    if k.joint_type.flat:
        return -(k.stiffness * rate)  # type: ignore[no-any-return]
    stretch = stretch_at(k, q)
    s, p = _motion(k, stretch).angular, _motion(k, stretch).linear
    back = exponential_slope(_motion(k, k.rest), _motion(k, rate))  # how the rest pose moves, seen from there
    turning = -logarithm_slope(_turning(-s), _turning(back.angular)).angular
    change = _along(k, Motion(turning, p.cross(back.angular) - back.linear))
    turn = quaternion_exp(s)
    seen = exponential_slope(_turning(s), _turning(turning)).angular  # the same change of the turn, from the child
    swung = turn.inverse.rotate(_motion(k, k.stiffness * stretch).linear).cross(seen)
    pulled = _pulled(k, stretch, k.stiffness * change) + _twisted(k, stretch, turning)
    return pulled + _along(k, Motion(Vec3.zero(), swung))


def _pulled(k: Any, stretch: Dofs, pull: Dofs) -> Dofs:
    """J(s)⁻ᵀ of a pull's moment, and Rᵀ of its force."""
    if k.joint_type.flat:
        return pull
    s, of = _motion(k, stretch).angular, _motion(k, pull)
    moment = logarithm_slope(_turning(-s), _turning(of.angular)).angular
    return _along(k, Motion(moment, quaternion_exp(s).inverse.rotate(of.linear)))


def _twisted(k: Any, stretch: Dofs, turning: Vec3) -> Dofs:
    """How J(s)⁻ᵀ K s changes with J alone, where s changes at the rate `turning`."""
    s, moment = _motion(k, stretch).angular, _motion(k, k.stiffness * stretch).angular
    return _along(k, Motion(inverse_slope_rate(-s, -turning, moment), Vec3.zero()))


def _motion(k: Any, x: Dofs) -> Motion:
    return k.joint_type.axes(x, 0).T @ x  # type: ignore[no-any-return]


def _along(k: Any, x: Motion) -> Dofs:
    """The parts along the axes of the joint, which are unit vectors."""
    components = Force.of(x.components)
    return k.joint_type.axes(Dofs([0] * k.joint_type.nq), 0) @ components  # type: ignore[no-any-return]


def _turning(x: Vec3) -> Motion:
    return Motion(x, Vec3.zero())


def joint_springs(links: Links, q: Field) -> Field:
    """The torques that all joints' springs take at the configuration q. O(n)."""
    (torques,) = links.fields("torques")
    for k in links.base_to_tip():
        torques[k] = springs_at(k, q[k])
    return torques


def spring_energy(links: Links, q: Field) -> Field:
    """At the base: the potential of all joints' springs. O(n)."""
    (energy,) = links.fields("energy")
    energy[links.base] = 0.0
    for k in links.base_to_tip():
        stretch = stretch_at(k, q[k])
        half: Scalar = 0.5 * stretch.dot(k.stiffness * stretch)
        energy[k] = half + k.strain
    for k in links.tip_to_base():
        energy[k.parent] += energy[k]
    return energy


def _rates(links: Links, q: Field, rate: Field, *, by: Any) -> Field:
    (torques,) = links.fields("torques")
    for k in links.base_to_tip():
        torques[k] = by(k, q[k], rate[k])
    return torques


JOINT_SPRINGS = Function("joint_springs", joint_springs, inputs={"q": "q"}, outputs={"tau": "tau"})
SPRING_ENERGY = Function("spring_energy", spring_energy, inputs={"q": "q"}, outputs={"energy": "robot"})
SPRINGS_BY_STIFFNESS, SPRINGS_BY_REST = (
    Function(f"joint_springs/{name}", partial(_rates, by=by), {"q": "q", "rate": "v"}, {"tau": "tau"})
    for name, by in (("by_stiffness", springs_by_stiffness), ("by_rest", springs_by_rest))
)


class _Stretched(Action):
    """Springs a time `ahead` of a state, as far as the stiffness along the axes says."""

    def __init__(self, q: Field, v: Field, ahead: Scalar) -> None:
        self.q, self.v, self.ahead = q, v, ahead

    def torques(self, k: Any) -> Dofs | None:
        """−k (q + h v − rest) where coordinates are simply added."""
        if slack(k):
            return None
        moved = self.v[k].scaled(self.ahead)
        if k.joint_type.flat:
            return -(k.stiffness * (stretch_at(k, self.q[k]) + moved))  # type: ignore[no-any-return]
        return -(springs_at(k, self.q[k]) + k.stiffness * moved)  # type: ignore[no-any-return]

    def armature(self, k: Any) -> Dofs | None:
        """h² k."""
        return None if slack(k) or is_zero(self.ahead) else k.stiffness.scaled(self.ahead * self.ahead)


class JointSprings(ForceElement):
    """The springs of all joints."""

    name, at_links, stiff = "springs", False, False

    def during(self, links: Links, q: Field, v: Field, dt: Scalar, given: Sequence[Any]) -> Action:
        """The springs, taken after dt."""
        return _Stretched(q, v, dt)
