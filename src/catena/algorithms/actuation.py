"""From controls to torques: actuators with gears and limits, one at a degree of freedom. As in MuJoCo."""

from __future__ import annotations

from typing import Any

from catena.algorithms.rollouts import Law
from catena.model.actuators import DRIVE
from catena.scalars import Scalar, maximum, minimum
from catena.spatial import Dofs
from catena.sweeps import Field, Links


def driven(links: Links, t: Scalar, q: Field, v: Field, u: Field, *numbers: Field) -> Field:
    """The torques that controls u make; `numbers` are fields in the order of :data:`DRIVE`, with gear 0 for none."""
    (tau,) = links.fields("tau")
    for k in links.base_to_tip():
        if not k.joint_type.flat:
            tau[k] = Dofs([0] * k.joint_type.nv)
            continue
        each = zip(u[k], q[k], v[k], *[number[k] for number in numbers], strict=True)
        tau[k] = Dofs([_torque(*one) for one in each])
    return tau


def _torque(u: Scalar, q: Scalar, v: Scalar, *numbers: Any) -> Scalar:
    gear, gain, b0, b1, b2, u_lower, u_upper, f_lower, f_upper, effort = numbers
    force = gain * _within(u, u_lower, u_upper) + b0 + gear * (b1 * q + b2 * v)
    return _within(gear * _within(force, f_lower, f_upper), -effort, effort)


def _within(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    return minimum(maximum(x, lower), upper)


ACTUATORS = Law("actuators", driven, dict.fromkeys(DRIVE, "joint"))
"""Its numbers are data: other actuators need no other machine code."""
